/*
 * Messages requests; see request.h. All results of one step go into the next
 * user message, before any text; thinking goes back unchanged, first. The
 * system prompt and the newest message carry cache marks.
 */
#include "agent/model/request.h"

#define CACHE_MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"

static void
put_string(struct buf *out, const char *s)
{
	json_print_string(out, s, strlen(s));
}

static void
put_text(struct buf *out, const char *text, bool mark)
{
	buf_puts(out, "{\"type\":\"text\",\"text\":");
	put_string(out, text);
	buf_puts(out, mark ? CACHE_MARK "}" : "}");
}

/* Blocks that read_file made: images as Anthropic takes them. */
static void
put_media(struct buf *out, const char *blocks)
{
	struct status st;
	auto_json *list = json_parse(blocks, strlen(blocks), &st);
	const cJSON *block;

	cJSON_ArrayForEach(block, list) {
		const char *mime = json_string_or(block, "mime_type", "");
		if (strncmp(mime, "image/", 6) != 0)
			continue;
		buf_puts(out,
		    ",{\"type\":\"image\",\"source\":{\"type\":"
		    "\"base64\",\"media_type\":");
		put_string(out, mime);
		buf_puts(out, ",\"data\":");
		put_string(out, json_string_or(block, "base64", ""));
		buf_puts(out, "}}");
	}
}

static void
put_result(struct buf *out, const struct wire_message *m, bool mark)
{
	buf_printf(out,
	    "{\"type\":\"tool_result\",\"tool_use_id\":\"%s\","
	    "\"content\":[",
	    m->call_id);
	put_text(out, m->content, false);
	if (m->blocks)
		put_media(out, m->blocks);
	buf_printf(out, "]%s%s}", m->failed ? ",\"is_error\":true" : "",
	    mark ? CACHE_MARK : "");
}

static bool
is_thinking(const cJSON *block)
{
	const char *type = json_string_or(block, "type", "");

	return strcmp(type, "thinking") == 0 ||
	    strcmp(type, "redacted_thinking") == 0;
}

static void
put_assistant(struct buf *out, const struct wire_message *m)
{
	struct status st;
	auto_json *blocks =
	    m->blocks ? json_parse(m->blocks, strlen(m->blocks), &st) : NULL;
	const cJSON *block;
	bool first = true;

	cJSON_ArrayForEach(block, blocks) {
		if (!is_thinking(block))
			continue;
		buf_puts(out, first ? "" : ",");
		json_print(out, block);
		first = false;
	}
	if (m->content) {
		buf_puts(out, first ? "" : ",");
		put_text(out, m->content, false);
		first = false;
	}
	for (size_t i = 0; i < m->call_count; i++) {
		buf_printf(out,
		    "%s{\"type\":\"tool_use\",\"id\":\"%s\","
		    "\"name\":\"%s\",\"input\":%s}",
		    first ? "" : ",", m->calls[i].id, m->calls[i].name,
		    m->calls[i].arguments);
		first = false;
	}
}

static bool
is_user_side(const struct wire_message *m)
{
	return m->role == WIRE_USER || m->role == WIRE_TOOL;
}

static void
put_messages(struct buf *out, const struct history *h)
{
	bool open = false;

	buf_puts(out, "\"messages\":[");
	for (size_t i = 0; i < h->count; i++) {
		const struct wire_message *m = &h->messages[i];
		bool last = i + 1 == h->count;
		if (m->role == WIRE_SYSTEM)
			continue;
		bool joins = i > 0 && is_user_side(m) &&
		    is_user_side(&h->messages[i - 1]);
		if (joins) {
			buf_putc(out, ',');
		} else {
			buf_printf(out, "%s{\"role\":\"%s\",\"content\":[",
			    open ? "]}," : "",
			    is_user_side(m) ? "user" : "assistant");
			open = true;
		}
		if (m->role == WIRE_ASSISTANT)
			put_assistant(out, m);
		else if (m->role == WIRE_TOOL)
			put_result(out, m, last);
		else
			put_text(out, m->content, last);
	}
	buf_puts(out, open ? "]}]" : "]");
}

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
		buf_puts(out, first ? "{\"name\":" : ",{\"name\":");
		put_string(out, json_string_or(tool, "name", ""));
		buf_puts(out, ",\"description\":");
		put_string(out, json_string_or(tool, "description", ""));
		buf_puts(out, ",\"input_schema\":");
		json_print(out,
		    cJSON_GetObjectItemCaseSensitive(tool, "parameters"));
		buf_putc(out, '}');
		first = false;
	}
	buf_puts(out, "],\"tool_choice\":{\"type\":\"auto\"}");
}

void
request_anthropic(struct buf *out, const struct request_profile *profile,
    const struct model_request *request)
{
	struct history h;

	history_build(&h, request->system_prompt, request->messages,
	    request->count, &profile->rules);
	buf_puts(out, "{\"model\":");
	put_string(out, profile->model);
	/* The field is required here. */
	buf_printf(out, ",\"max_tokens\":%lld,\"stream\":true,",
	    (long long)(request->max_tokens > 0 ? request->max_tokens : 16384));
	if (h.count > 0 && h.messages[0].role == WIRE_SYSTEM) {
		buf_puts(out, "\"system\":[");
		put_text(out, h.messages[0].content, true);
		buf_puts(out, "],");
	}
	put_messages(out, &h);
	if (request->tools)
		put_tools(out, request->tools);
	buf_putc(out, '}');
	history_finish(&h);
}
