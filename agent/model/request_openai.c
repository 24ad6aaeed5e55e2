/* Chat-completions requests; see request.h. */
#include "agent/model/request.h"

static void
put_string(struct buf *out, const char *s)
{
	json_print_string(out, s, strlen(s));
}

static void
put_calls(struct buf *out, const struct wire_message *m)
{
	buf_puts(out, ",\"tool_calls\":[");
	for (size_t i = 0; i < m->call_count; i++) {
		buf_printf(out,
		    "%s{\"id\":\"%s\",\"type\":\"function\","
		    "\"function\":{\"name\":\"%s\",\"arguments\":",
		    i ? "," : "", m->calls[i].id, m->calls[i].name);
		put_string(out, m->calls[i].arguments);
		buf_puts(out, "}}");
	}
	buf_putc(out, ']');
}

static void
put_message(struct buf *out, const struct request_profile *profile,
    const struct wire_message *m)
{
	static const char *const roles[] = {
		[WIRE_SYSTEM] = "system",
		[WIRE_USER] = "user",
		[WIRE_ASSISTANT] = "assistant",
		[WIRE_TOOL] = "tool",
	};

	buf_printf(out, "{\"role\":\"%s\",\"content\":", roles[m->role]);
	if (m->content)
		put_string(out, m->content);
	else
		buf_puts(out, "null");
	if (m->role == WIRE_TOOL)
		buf_printf(out, ",\"tool_call_id\":\"%s\"", m->call_id);
	if (m->role == WIRE_ASSISTANT && profile->send_reasoning) {
		buf_puts(out, ",\"reasoning_content\":");
		put_string(out, m->reasoning ? m->reasoning : "");
	}
	if (m->call_count > 0)
		put_calls(out, m);
	buf_putc(out, '}');
}

/* Images of tool results, which only user messages may carry: one message
 * after the group of results. `blocks` is JSON that read_file made. */
static void
put_images(struct buf *out, const char *blocks)
{
	struct status st;
	auto_json *list = json_parse(blocks, strlen(blocks), &st);
	const cJSON *block;
	bool first = true;

	buf_puts(out, ",{\"role\":\"user\",\"content\":[");
	cJSON_ArrayForEach(block, list) {
		const char *mime = json_string_or(block, "mime_type", "");
		const char *data = json_string_or(block, "base64", "");
		if (strncmp(mime, "image/", 6) != 0)
			continue;
		buf_printf(out,
		    "%s{\"type\":\"image_url\",\"image_url\":{\"url\":",
		    first ? "" : ",");
		auto_free char *url =
		    xasprintf("data:%s;base64,%s", mime, data);
		put_string(out, url);
		buf_puts(out, "}}");
		first = false;
	}
	if (first)
		buf_puts(out, "{\"type\":\"text\",\"text\":\"(no image)\"}");
	buf_puts(out, "]}");
}

static void
put_messages(struct buf *out, const struct request_profile *profile,
    const struct history *h)
{
	buf_puts(out, "\"messages\":[");
	for (size_t i = 0; i < h->count; i++) {
		const struct wire_message *m = &h->messages[i];
		bool group_ends =
		    i + 1 == h->count || h->messages[i + 1].role != WIRE_TOOL;
		buf_puts(out, i ? "," : "");
		put_message(out, profile, m);
		if (m->role != WIRE_TOOL || !group_ends || !profile->images)
			continue;
		size_t first = i;
		while (first > 0 && h->messages[first - 1].role == WIRE_TOOL)
			first--;
		for (size_t k = first; k <= i; k++)
			if (h->messages[k].blocks)
				put_images(out, h->messages[k].blocks);
	}
	buf_putc(out, ']');
}

/* [{name, description, parameters}] as functions, in the same order. */
static void
put_tools(struct buf *out, const char *tools)
{
	struct status st;
	auto_json *list = json_parse(tools, strlen(tools), &st);
	const cJSON *tool;
	bool first = true;

	if (cJSON_GetArraySize(list) == 0)
		return;
	buf_puts(out, ",\"tools\":[");
	cJSON_ArrayForEach(tool, list) {
		buf_printf(out,
		    "%s{\"type\":\"function\",\"function\":", first ? "" : ",");
		json_print(out, tool);
		buf_putc(out, '}');
		first = false;
	}
	buf_puts(out, "],\"tool_choice\":\"auto\"");
}

void
request_openai(struct buf *out, const struct request_profile *profile,
    const struct model_request *request)
{
	struct history h;

	history_build(&h, request->system_prompt, request->messages,
	    request->count, &profile->rules);
	buf_puts(out, "{\"model\":");
	put_string(out, profile->model);
	buf_putc(out, ',');
	put_messages(out, profile, &h);
	buf_puts(out, ",\"stream\":true");
	if (!profile->no_stream_options)
		buf_puts(out, ",\"stream_options\":{\"include_usage\":true}");
	if (request->max_tokens > 0)
		buf_printf(out, ",\"%s\":%lld",
		    profile->completion_tokens ? "max_completion_tokens"
					       : "max_tokens",
		    (long long)request->max_tokens);
	if (request->temperature >= 0 && !profile->no_sampling)
		buf_printf(out, ",\"temperature\":%g", request->temperature);
	if (request->tools)
		put_tools(out, request->tools);
	if (profile->nim_thinking)
		buf_puts(out,
		    ",\"chat_template_kwargs\":"
		    "{\"enable_thinking\":true}");
	buf_putc(out, '}');
	history_finish(&h);
}
