/*
 * Messages as LangChain records; see message.h. Arguments go into the record
 * as the model wrote them wherever that is safe, and are read back from the
 * record's text, not from a tree, so that numbers and spelling survive. What
 * LangChain has no place for is in additional_kwargs.sandagentfs: turn, ts,
 * exit_code, `arguments` (an array: the raw text of each call, where it is not
 * the same as in tool_calls, else null) and `invalid_at` (which calls, in the
 * order of the message, are in invalid_tool_calls).
 */
#include "agent/base/path.h"
#include "agent/base/span.h"
#include "agent/base/text.h"
#include "agent/model/arguments.h"
#include "agent/model/guard.h"
#include "agent/model/message.h"

#define RECORD_MAX (64U << 20)
#define EXTRAS     "sandagentfs"

static void
put_text(struct buf *out, const char *s)
{
	json_print_string(out, s, strlen(s));
}

/* --- Writing -------------------------------------------------------------- */

/* A call as it goes into the record. */
struct written_call {
	bool invalid;
	bool verbatim; /* args are the raw text itself */
	struct buf args;
};

static void
write_call(struct written_call *w, const struct tool_call *call)
{
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 4);
	const char *raw = call->arguments;
	size_t len = strlen(raw);

	*w = (struct written_call){ .args = BUF_INIT(RECORD_MAX) };
	enum arguments_status status = call->invalid
	    ? ARGUMENTS_INVALID
	    : arguments_read(raw, len, true, &object);
	w->invalid = status == ARGUMENTS_INVALID || object.failed;
	if (w->invalid)
		return;
	guard_add(&w->args, object.bytes, object.len);
	/* Only blanks between the tokens differ from what was read. */
	auto_buf scrubbed = BUF_INIT(RECORD_MAX);
	text_scrub_json(&scrubbed, raw, len, false);
	w->verbatim = status == ARGUMENTS_OK && raw[0] == '{' &&
	    raw[len - 1] == '}' && strcmp(object.bytes, w->args.bytes) == 0 &&
	    strcmp(scrubbed.bytes, raw) == 0 && utf8_valid(raw, len);
	if (w->verbatim) {
		buf_reset(&w->args);
		buf_add(&w->args, raw, len);
	} else if (!utf8_valid(w->args.bytes, w->args.len)) {
		auto_buf clean = BUF_INIT(RECORD_MAX);
		text_add_utf8(&clean, w->args.bytes, w->args.len);
		buf_reset(&w->args);
		buf_add(&w->args, clean.bytes, clean.len);
	}
}

static void
put_valid_call(struct buf *out, const struct tool_call *call,
    const struct written_call *w)
{
	buf_puts(out, "{\"name\":");
	put_text(out, call->name);
	buf_puts(out, ",\"args\":");
	buf_add(out, w->args.bytes, w->args.len);
	buf_puts(out, ",\"id\":");
	put_text(out, call->id);
	buf_puts(out, ",\"type\":\"tool_call\"}");
}

static void
put_invalid_call(struct buf *out, const struct tool_call *call)
{
	buf_puts(out, "{\"name\":");
	put_text(out, call->name);
	buf_puts(out, ",\"args\":");
	put_text(out, call->arguments);
	buf_puts(out, ",\"id\":");
	put_text(out, call->id);
	buf_puts(out, ",\"error\":");
	put_text(out,
	    call->invalid ? call->invalid : "the arguments are not an object");
	buf_puts(out, ",\"type\":\"invalid_tool_call\"}");
}

/* Both lists, and what the extras say about the calls. */
static void
put_calls(struct buf *out, const struct message *m, struct buf *extras)
{
	struct written_call *w = xcalloc(m->call_count, sizeof *w);
	auto_buf invalid = BUF_INIT(RECORD_MAX);
	auto_buf raw = BUF_INIT(RECORD_MAX);
	auto_buf at = BUF_INIT(RECORD_MAX);
	const char *separator = "";
	bool any_raw = false;

	buf_puts(out, ",\"tool_calls\":[");
	for (size_t i = 0; i < m->call_count; i++) {
		const struct tool_call *call = &m->calls[i];
		write_call(&w[i], call);
		buf_puts(&raw, i > 0 ? "," : "");
		if (w[i].invalid) {
			buf_puts(&invalid, invalid.len > 0 ? "," : "");
			put_invalid_call(&invalid, call);
			buf_printf(&at, "%s%zu", at.len > 0 ? "," : "", i);
			buf_puts(&raw, "null");
			continue;
		}
		buf_puts(out, separator);
		separator = ",";
		put_valid_call(out, call, &w[i]);
		any_raw |= !w[i].verbatim;
		if (w[i].verbatim)
			buf_puts(&raw, "null");
		else
			put_text(&raw, call->arguments);
	}
	buf_puts(out, "]");
	if (invalid.len > 0) {
		buf_printf(extras, ",\"invalid_at\":[%s]", at.bytes);
		buf_puts(out, ",\"invalid_tool_calls\":[");
		buf_add(out, invalid.bytes, invalid.len);
		buf_putc(out, ']');
	}
	if (any_raw) {
		buf_puts(extras, ",\"arguments\":[");
		buf_add(extras, raw.bytes, raw.len);
		buf_putc(extras, ']');
	}
	out->failed |= invalid.failed || raw.failed || at.failed;
	for (size_t i = 0; i < m->call_count; i++)
		buf_finish(&w[i].args);
	free(w);
}

/* Blocks that say what content and tool_calls say already. */
static bool
is_repeated(const struct message *m, const cJSON *block)
{
	const char *type = json_string_or(block, "type", "");

	return strcmp(type, "text") == 0 ||
	    (m->type == MESSAGE_AI && strcmp(type, "tool_use") == 0);
}

/* A plain string, or a list: the thinking of an AI message stands before its
 * text, images behind. */
static void
put_content(struct buf *out, const struct message *m)
{
	struct status st;
	auto_json *blocks =
	    m->blocks ? json_parse(m->blocks, strlen(m->blocks), &st) : NULL;
	auto_buf others = BUF_INIT(RECORD_MAX);
	const cJSON *block;

	cJSON_ArrayForEach(block, blocks) {
		auto_buf text = BUF_INIT(RECORD_MAX);
		if (!cJSON_IsObject(block) || is_repeated(m, block))
			continue;
		json_print(&text, block);
		buf_puts(&others, others.len > 0 ? "," : "");
		guard_add(&others, text.bytes, text.len);
		others.failed |= text.failed;
	}
	out->failed |= others.failed;
	if (others.len == 0) {
		put_text(out, m->content);
		return;
	}
	bool before = m->type == MESSAGE_AI;
	buf_puts(out, "[");
	if (before)
		buf_add(out, others.bytes, others.len);
	if (*m->content) {
		buf_puts(out, before ? "," : "");
		buf_puts(out, "{\"type\":\"text\",\"text\":");
		put_text(out, m->content);
		buf_puts(out, before ? "}" : "},");
	}
	if (!before)
		buf_add(out, others.bytes, others.len);
	buf_puts(out, "]");
}

static const char *
class_name(enum message_type type)
{
	switch (type) {
	case MESSAGE_HUMAN:
		return "HumanMessage";
	case MESSAGE_AI:
		return "AIMessage";
	case MESSAGE_TOOL:
		return "ToolMessage";
	case MESSAGE_SYSTEM:
		break;
	}
	return "SystemMessage";
}

static void
put_usage(struct buf *out, const struct usage *usage)
{
	if (usage->input_tokens < 0 && usage->output_tokens < 0)
		return;
	/* Python insists on all three. */
	long long in = (long long)MAX(usage->input_tokens, (int64_t)0);
	long long o = (long long)MAX(usage->output_tokens, (int64_t)0);
	buf_printf(out,
	    ",\"usage_metadata\":{\"input_tokens\":%lld,"
	    "\"output_tokens\":%lld,\"total_tokens\":%lld}",
	    in, o, in + o);
}

void
message_to_record(const struct message *m, struct buf *out)
{
	auto_buf extras = BUF_INIT(RECORD_MAX);

	buf_printf(out,
	    "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"langchain_core\","
	    "\"messages\",\"%s\"],\"kwargs\":{\"content\":",
	    class_name(m->type));
	put_content(out, m);
	if (m->id) {
		buf_puts(out, ",\"id\":");
		put_text(out, m->id);
	}
	if (m->turn > 0)
		buf_printf(&extras, ",\"turn\":%lld", (long long)m->turn);
	if (m->ts_ms > 0)
		buf_printf(&extras, ",\"ts\":%lld", (long long)m->ts_ms);
	if (m->type == MESSAGE_AI) {
		put_calls(out, m, &extras);
		put_usage(out, &m->usage);
	} else if (m->type == MESSAGE_TOOL) {
		buf_puts(out, ",\"tool_call_id\":");
		put_text(out, m->tool_call_id ? m->tool_call_id : "");
		if (m->name) {
			buf_puts(out, ",\"name\":");
			put_text(out, m->name);
		}
		buf_printf(out, ",\"status\":\"%s\"",
		    m->failed ? "error" : "success");
		if (m->exit_code >= 0)
			buf_printf(&extras, ",\"exit_code\":%d", m->exit_code);
	}
	buf_puts(out, ",\"additional_kwargs\":{");
	if (m->reasoning) {
		buf_puts(out, "\"reasoning_content\":");
		put_text(out, m->reasoning);
	}
	if (extras.len > 0) {
		buf_puts(out, m->reasoning ? "," : "");
		buf_puts(out, "\"" EXTRAS "\":{");
		buf_add(out, extras.bytes + 1, extras.len - 1);
		buf_putc(out, '}');
	}
	buf_puts(out, "},\"response_metadata\":{}}}");
	out->failed |= extras.failed;
}

/* --- Reading -------------------------------------------------------------- */

static bool
type_from_word(const char *word, enum message_type *type)
{
	static const struct {
		const char *word;
		enum message_type type;
	} words[] = {
		{ "HumanMessage", MESSAGE_HUMAN },
		{ "HumanMessageChunk", MESSAGE_HUMAN },
		{ "AIMessage", MESSAGE_AI },
		{ "AIMessageChunk", MESSAGE_AI },
		{ "ToolMessage", MESSAGE_TOOL },
		{ "ToolMessageChunk", MESSAGE_TOOL },
		{ "SystemMessage", MESSAGE_SYSTEM },
		{ "SystemMessageChunk", MESSAGE_SYSTEM },
		{ "human", MESSAGE_HUMAN },
		{ "user", MESSAGE_HUMAN },
		{ "ai", MESSAGE_AI },
		{ "assistant", MESSAGE_AI },
		{ "tool", MESSAGE_TOOL },
		{ "system", MESSAGE_SYSTEM },
		{ "developer", MESSAGE_SYSTEM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].word, word) == 0) {
			*type = words[i].type;
			return true;
		}
	}
	return false;
}

static char *
copy_or_null(const cJSON *obj, const char *name)
{
	const char *s = json_string_or(obj, name, NULL);

	return s ? xstrdup(s) : NULL;
}

/* Text of a string or of a list's text blocks; the other blocks apart. */
static void
read_content(struct message *m, const cJSON *content)
{
	auto_buf text = BUF_INIT(RECORD_MAX);
	auto_buf others = BUF_INIT(RECORD_MAX);
	const cJSON *block = NULL;

	if (cJSON_IsString(content))
		buf_puts(&text, content->valuestring);
	else if (cJSON_IsArray(content))
		block = content->child;
	for (; block; block = block->next) {
		if (cJSON_IsString(block)) {
			buf_puts(&text, block->valuestring);
		} else if (strcmp(json_string_or(block, "type", ""), "text") ==
		    0) {
			buf_puts(&text, json_string_or(block, "text", ""));
		} else if (!is_repeated(m, block)) {
			auto_buf one = BUF_INIT(RECORD_MAX);
			json_print(&one, block);
			buf_puts(&others, others.len > 0 ? "," : "[");
			guard_remove(&others, one.bytes, one.len);
		}
	}
	free(m->content);
	m->content = buf_take(&text);
	if (others.len > 0) {
		buf_putc(&others, ']');
		m->blocks = buf_take(&others);
	}
}

/* The raw text kept in the extras belongs to these args unless somebody has
 * changed the call since (an edit at an approval). */
static bool
raw_belongs(const char *raw, const char *args)
{
	struct written_call w;
	struct tool_call call = { .arguments = (char *)raw };

	write_call(&w, &call);
	bool same = !w.invalid && strcmp(w.args.bytes, args) == 0;
	if (!same && !w.invalid) {
		auto_json *a = cJSON_Parse(w.args.bytes);
		auto_json *b = cJSON_Parse(args);
		same = a && b && cJSON_Compare(a, b, true);
	}
	buf_finish(&w.args);
	return same;
}

static char *
read_arguments(struct span args, const cJSON *kept)
{
	auto_buf text = BUF_INIT(RECORD_MAX);

	if (!args.bytes || args.len == 0 || args.bytes[0] != '{')
		return xstrdup("{}");
	auto_free char *written = xstrndup(args.bytes, args.len);
	if (cJSON_IsString(kept) && raw_belongs(kept->valuestring, written))
		return xstrdup(kept->valuestring);
	if (!strstr(written, "__lc_escaped__"))
		return take(written);
	guard_remove(&text, args.bytes, args.len);
	return buf_take(&text);
}

static void
read_valid(struct message *m, const cJSON *call, struct span text,
    const cJSON *kept)
{
	message_add_call(m, copy_or_null(call, "id"),
	    xstrdup(json_string_or(call, "name", "")),
	    read_arguments(span_member(text, "args"), kept));
}

static void
read_invalid(struct message *m, const cJSON *call)
{
	struct tool_call *c = message_add_call(m, copy_or_null(call, "id"),
	    xstrdup(json_string_or(call, "name", "")),
	    xstrdup(json_string_or(call, "args", "")));

	c->invalid = xstrdup(
	    json_string_or(call, "error", "the arguments are not valid JSON"));
}

static bool
listed(const cJSON *numbers, size_t n)
{
	const cJSON *number;

	cJSON_ArrayForEach(number, numbers) {
		if (cJSON_IsNumber(number) && number->valuedouble == (double)n)
			return true;
	}
	return false;
}

/* Both lists, merged in the order that the extras tell. */
static void
read_calls(struct message *m, const cJSON *kwargs, struct span text,
    const cJSON *extras)
{
	const cJSON *valid =
	    cJSON_GetObjectItemCaseSensitive(kwargs, "tool_calls");
	const cJSON *invalid =
	    cJSON_GetObjectItemCaseSensitive(kwargs, "invalid_tool_calls");
	const cJSON *at =
	    cJSON_GetObjectItemCaseSensitive(extras, "invalid_at");
	const cJSON *kept =
	    cJSON_GetObjectItemCaseSensitive(extras, "arguments");
	struct span list = span_member(text, "tool_calls"), element = { 0 };

	valid = cJSON_IsArray(valid) ? valid->child : NULL;
	invalid = cJSON_IsArray(invalid) ? invalid->child : NULL;
	for (size_t i = 0; valid || invalid; i++) {
		if (invalid && (!valid || listed(at, i))) {
			read_invalid(m, invalid);
			invalid = invalid->next;
			continue;
		}
		if (!span_next(list, &element))
			element = (struct span){ 0 };
		read_valid(m, valid, element, cJSON_GetArrayItem(kept, (int)i));
		valid = valid->next;
	}
}

static void
read_usage(struct message *m, const cJSON *kwargs)
{
	const cJSON *usage =
	    cJSON_GetObjectItemCaseSensitive(kwargs, "usage_metadata");

	m->usage.input_tokens = json_int_or(usage, "input_tokens", -1);
	m->usage.output_tokens = json_int_or(usage, "output_tokens", -1);
}

static void
read_fields(struct message *m, const cJSON *kwargs, struct span text)
{
	const cJSON *additional =
	    cJSON_GetObjectItemCaseSensitive(kwargs, "additional_kwargs");
	const cJSON *extras =
	    cJSON_GetObjectItemCaseSensitive(additional, EXTRAS);

	m->id = copy_or_null(kwargs, "id");
	m->reasoning = copy_or_null(additional, "reasoning_content");
	m->turn = json_int_or(extras, "turn", 0);
	m->ts_ms = json_int_or(extras, "ts", 0);
	read_content(m, cJSON_GetObjectItemCaseSensitive(kwargs, "content"));
	if (m->type == MESSAGE_AI) {
		read_calls(m, kwargs, text, extras);
		read_usage(m, kwargs);
	} else if (m->type == MESSAGE_TOOL) {
		m->tool_call_id =
		    xstrdup(json_string_or(kwargs, "tool_call_id", ""));
		m->name = copy_or_null(kwargs, "name");
		m->failed =
		    strcmp(json_string_or(kwargs, "status", ""), "error") == 0;
		m->exit_code = (int)json_int_or(extras, "exit_code", -1);
	}
}

/* Finds class and fields: a constructor record, or an object that LangChain
 * takes for a message ({role, content}, {type, content}). */
static const char *
find_class(const cJSON *record, const cJSON **kwargs, struct span *text)
{
	const cJSON *id = cJSON_GetObjectItemCaseSensitive(record, "id");

	if (strcmp(json_string_or(record, "type", ""), "constructor") == 0 &&
	    cJSON_IsArray(id)) {
		const cJSON *last =
		    cJSON_GetArrayItem(id, cJSON_GetArraySize(id) - 1);
		*kwargs = cJSON_GetObjectItemCaseSensitive(record, "kwargs");
		*text = span_member(*text, "kwargs");
		return cJSON_IsString(last) ? last->valuestring : "";
	}
	*kwargs = record;
	return json_string_or(record, "role",
	    json_string_or(record, "type", ""));
}

int
message_from_record(struct message *m, const char *json, size_t len,
    struct status *st)
{
	auto_buf clean = BUF_INIT(RECORD_MAX);
	auto_buf scrubbed = BUF_INIT(RECORD_MAX);
	const cJSON *kwargs = NULL;
	enum message_type type;

	*m = (struct message){ 0 };
	text_add_utf8(&clean, json, len);
	text_scrub_json(&scrubbed, clean.bytes, clean.len, false);
	if (scrubbed.failed || clean.failed)
		return status_set(st, STATUS_INVALID,
		    "a message record is too big");
	struct span text = { clean.bytes, clean.len };
	auto_json *record = json_parse(scrubbed.bytes, scrubbed.len, st);
	if (!record)
		return -1;
	const char *word = find_class(record, &kwargs, &text);
	if (!type_from_word(word, &type) || !cJSON_IsObject(kwargs))
		return status_set(st, STATUS_INVALID,
		    "not a message record: \"%s\"", word);
	message_init(m, type);
	read_fields(m, kwargs, text);
	return 0;
}
