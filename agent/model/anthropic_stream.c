/*
 * Messages answers; see anthropic_stream.h. While it streams, answer->blocks
 * is an array of the blocks as they are built, each with its "index"; tool
 * input is collected in the slots under the same index.
 */
#include "agent/model/anthropic_stream.h"

#include <strings.h>

#include "agent/base/text.h"

#define BODY_MAX (64U << 20)

static const cJSON *
get(const cJSON *obj, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(obj, name);
}

static cJSON *
block_at(struct answer *a, int64_t index)
{
	cJSON *block;

	cJSON_ArrayForEach(block, a->blocks) {
		if (json_int_or(block, "index", -1) == index)
			return block;
	}
	return NULL;
}

/* Takes value. The field need not be there (cJSON's own replacing leaks then). */
static void
set_field(cJSON *block, const char *field, cJSON *value)
{
	cJSON_DeleteItemFromObjectCaseSensitive(block, field);
	cJSON_AddItemToObject(block, field, value);
}

/* Appends to a string field of a block. */
static void
append(cJSON *block, const char *field, const char *text)
{
	auto_buf joined = BUF_INIT(BODY_MAX);

	buf_puts(&joined, json_string_or(block, field, ""));
	buf_puts(&joined, text);
	cJSON *value = cJSON_CreateString(joined.bytes);
	set_field(block, field, value);
}

static void
take_usage(struct answer *a, const cJSON *usage)
{
	int64_t input = json_int_or(usage, "input_tokens", -1);
	int64_t output = json_int_or(usage, "output_tokens", -1);

	if (input >= 0)
		input += json_int_or(usage, "cache_creation_input_tokens", 0) +
		    json_int_or(usage, "cache_read_input_tokens", 0);
	/* Gateways send 0 first and the truth in message_delta. */
	if (input > 0 || a->input_tokens < 0)
		a->input_tokens = input;
	if (output >= 0)
		a->output_tokens = output;
}

static void
message_start(struct anthropic_stream *s, const cJSON *event)
{
	const cJSON *message = get(event, "message");
	const char *id = json_string_or(message, "id", "");

	if (s->open) {
		/* The same one twice is a gateway's stutter; another one in
		 * between must never be spliced. */
		if (strcmp(id, s->message_id) != 0)
			failure_set(&s->answer->failure, FAILURE_PROTOCOL,
			    "another message began within the answer");
		return;
	}
	s->open = true;
	snprintf(s->message_id, sizeof s->message_id, "%s", id);
	take_usage(s->answer, get(message, "usage"));
}

static void
block_start(struct anthropic_stream *s, const cJSON *event)
{
	struct answer *a = s->answer;
	int64_t index = json_int_or(event, "index", 0);
	const cJSON *given = get(event, "content_block");
	const char *type = json_string_or(given, "type", "");

	if (!cJSON_IsObject(given) || block_at(a, index))
		return;
	cJSON *block = cJSON_Duplicate(given, true);
	cJSON_AddNumberToObject(block, "index", (double)index);
	if (!a->blocks)
		a->blocks = cJSON_CreateArray();
	cJSON_AddItemToArray(a->blocks, block);
	if (strcmp(type, "tool_use") == 0) {
		slots_add(&a->slots,
		    &(struct slot_piece){
			.has_index = true,
			.index = index,
			.id = json_string_or(given, "id", ""),
			.name = json_string_or(given, "name", ""),
			.arguments = "",
		    });
	} else if (strcmp(type, "text") == 0) {
		buf_puts(&a->content, json_string_or(given, "text", ""));
	} else if (strcmp(type, "thinking") == 0) {
		buf_puts(&a->reasoning, json_string_or(given, "thinking", ""));
	}
}

static void
block_delta(struct anthropic_stream *s, const cJSON *event)
{
	struct answer *a = s->answer;
	int64_t index = json_int_or(event, "index", 0);
	const cJSON *delta = get(event, "delta");
	const char *type = json_string_or(delta, "type", "");
	cJSON *block = block_at(a, index);

	if (!block)
		return;
	if (strcmp(type, "text_delta") == 0) {
		const char *text = json_string_or(delta, "text", "");
		append(block, "text", text);
		buf_puts(&a->content, text);
		if (s->text && *text)
			s->text(s->arg, text, strlen(text));
	} else if (strcmp(type, "thinking_delta") == 0) {
		const char *text = json_string_or(delta, "thinking", "");
		append(block, "thinking", text);
		buf_puts(&a->reasoning, text);
	} else if (strcmp(type, "signature_delta") == 0) {
		set_field(block, "signature",
		    cJSON_CreateString(json_string_or(delta, "signature", "")));
	} else if (strcmp(type, "input_json_delta") == 0) {
		const char *json = json_string_or(delta, "partial_json", "");
		slots_add(&a->slots,
		    &(struct slot_piece){ .has_index = true,
			.index = index,
			.arguments = json,
			.len = strlen(json) });
	}
}

static void
message_delta(struct anthropic_stream *s, const cJSON *event)
{
	const char *reason =
	    json_string_or(get(event, "delta"), "stop_reason", "");

	if (*reason)
		snprintf(s->answer->finish_raw, sizeof s->answer->finish_raw,
		    "%s", reason);
	take_usage(s->answer, get(event, "usage"));
}

static void
message_stop(struct anthropic_stream *s, const cJSON *event)
{
	(void)event;
	s->answer->done = true;
}

static void
take_error(struct anthropic_stream *s, const cJSON *event)
{
	if (!failure_from_json(&s->answer->failure, 0, event))
		failure_classify(&s->answer->failure, 0,
		    "the server reported an error", "", "");
}

static const struct {
	const char *type;
	void (*apply)(struct anthropic_stream *s, const cJSON *event);
} events[] = {
	{ "message_start", message_start },
	{ "content_block_start", block_start },
	{ "content_block_delta", block_delta },
	{ "message_delta", message_delta },
	{ "message_stop", message_stop },
	{ "error", take_error },
};

static void
take_event(void *arg, const struct sse_event *e)
{
	struct anthropic_stream *s = arg;
	struct answer *a = s->answer;
	auto_buf clean = BUF_INIT(BODY_MAX);
	struct status st;

	if (a->done || a->failure.kind != FAILURE_NONE)
		return;
	text_scrub_json(&clean, e->data, e->len, true);
	auto_json *event = json_parse(clean.bytes, clean.len, &st);
	if (!event) {
		bool is_error = strcmp(e->name, "error") == 0;
		if (is_error)
			failure_classify(&a->failure, 0,
			    e->len ? e->data : e->comment, "", "");
		else if (e->len > 0 && !e->at_end)
			failure_set(&a->failure, FAILURE_PROTOCOL,
			    "an event of the stream is not JSON");
		return;
	}
	a->any_chunk = true;
	/* The event line may be missing at gateways: the type decides. */
	const char *type = json_string_or(event, "type", e->name);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (strcmp(type, events[i].type) == 0)
			events[i].apply(s, event);
}

void
anthropic_stream_init(struct anthropic_stream *s, struct answer *answer,
    int status, const char *content_type)
{
	*s = (struct anthropic_stream){ .answer = answer, .status = status };
	sse_init(&s->sse, take_event, s);
	buf_init(&s->body, BODY_MAX);
	s->is_stream = status == 200 &&
	    !(content_type &&
		strncasecmp(content_type, "application/json", 16) == 0);
}

void
anthropic_stream_finish(struct anthropic_stream *s)
{
	sse_finish(&s->sse);
	buf_finish(&s->body);
}

bool
anthropic_stream_feed(struct anthropic_stream *s, const char *bytes, size_t len)
{
	struct answer *a = s->answer;
	struct status st;

	if (!s->is_stream) {
		buf_add(&s->body, bytes, len);
		return !s->body.failed;
	}
	if (sse_feed(&s->sse, bytes, len, &st) < 0 &&
	    a->failure.kind == FAILURE_NONE)
		failure_set(&a->failure, FAILURE_PROTOCOL, st.text);
	return !a->done && a->failure.kind == FAILURE_NONE;
}

/* A whole message where a stream was asked for. */
static void
take_document(struct anthropic_stream *s)
{
	struct answer *a = s->answer;
	struct status st;
	auto_json *message = json_parse(s->body.bytes, s->body.len, &st);
	const cJSON *block;
	int64_t index = 0;

	if (!message || failure_from_json(&a->failure, 0, message)) {
		if (!message)
			failure_set(&a->failure, FAILURE_PROTOCOL,
			    "the answer is neither a stream nor JSON");
		return;
	}
	a->any_chunk = a->done = true;
	take_usage(a, get(message, "usage"));
	snprintf(a->finish_raw, sizeof a->finish_raw, "%s",
	    json_string_or(message, "stop_reason", ""));
	cJSON_ArrayForEach(block, get(message, "content")) {
		auto_json *event = cJSON_CreateObject();
		cJSON_AddNumberToObject(event, "index", (double)index++);
		cJSON_AddItemToObject(event, "content_block",
		    cJSON_Duplicate(block, true));
		block_start(s, event);
	}
}

void
anthropic_stream_end(struct anthropic_stream *s)
{
	struct answer *a = s->answer;
	cJSON *block;

	if (s->status != 200)
		failure_from_body(&a->failure, s->status, s->body.bytes,
		    s->body.len);
	else if (s->is_stream)
		sse_end(&s->sse);
	else
		take_document(s);
	/* Gateways put the whole input into content_block_start. */
	cJSON_ArrayForEach(block, a->blocks) {
		const cJSON *input = get(block, "input");
		if (!cJSON_IsObject(input) || !input->child)
			continue;
		for (size_t i = 0; i < a->slots.count; i++) {
			struct slot *slot = &a->slots.slot[i];
			if (slot->index == json_int_or(block, "index", -1) &&
			    slot->arguments.len == 0)
				json_print(&slot->arguments, input);
		}
	}
}

static bool
is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

void
anthropic_stream_blocks(struct answer *a)
{
	cJSON *kept = cJSON_CreateArray();
	cJSON *block;

	while ((block = cJSON_DetachItemFromArray(a->blocks, 0))) {
		const char *type = json_string_or(block, "type", "");
		bool cut = strcmp(type, "thinking") == 0 &&
		    !*json_string_or(block, "signature", "");
		bool empty = strcmp(type, "text") == 0 &&
		    is_blank(json_string_or(block, "text", ""));
		if (cut || empty) {
			cJSON_Delete(block);
			continue;
		}
		cJSON_DeleteItemFromObjectCaseSensitive(block, "index");
		if (strcmp(type, "tool_use") == 0) {
			const char *object = NULL;
			for (size_t i = 0; i < a->call_count; i++)
				if (strcmp(a->calls[i].id,
					json_string_or(block, "id", "")) == 0)
					object = a->calls[i].object;
			cJSON *input = object ? cJSON_Parse(object) : NULL;
			set_field(block, "input",
			    input ? input : cJSON_CreateObject());
		}
		cJSON_AddItemToArray(kept, block);
	}
	cJSON_Delete(a->blocks);
	a->blocks = kept;
}
