/* Chat-completions answers; see openai_stream.h. */
#include "agent/model/openai_stream.h"

#include <strings.h>

#include "agent/base/text.h"

#define BODY_MAX (256U << 20)

static const cJSON *
get(const cJSON *obj, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(obj, name);
}

static void
add_text(struct openai_stream *s, struct buf *to, const char *text)
{
	size_t len = strlen(text);

	buf_add(to, text, len);
	if (to == &s->answer->content && s->text && len > 0)
		s->text(s->arg, text, len);
}

/* A string, or Mistral's array of parts: text, and thinking that is itself a
 * string or an array of texts. */
static void
take_content(struct openai_stream *s, const cJSON *content)
{
	const cJSON *part, *inner;

	if (cJSON_IsString(content))
		add_text(s, &s->answer->content, content->valuestring);
	if (!cJSON_IsArray(content))
		return;
	cJSON_ArrayForEach(part, content) {
		add_text(s, &s->answer->content,
		    json_string_or(part, "text", ""));
		const cJSON *thinking = get(part, "thinking");
		const cJSON *texts = cJSON_IsArray(thinking) ? thinking : NULL;
		if (cJSON_IsString(thinking))
			buf_puts(&s->answer->reasoning, thinking->valuestring);
		cJSON_ArrayForEach(inner, texts) {
			buf_puts(&s->answer->reasoning,
			    json_string_or(inner, "text", ""));
		}
	}
}

static void
take_call(struct answer *a, const cJSON *call)
{
	const cJSON *index = get(call, "index");
	const cJSON *function = get(call, "function");
	const cJSON *arguments = get(function, "arguments");
	auto_buf text = BUF_INIT(ARGUMENTS_MAX);
	struct slot_piece piece = {
		.has_index = cJSON_IsNumber(index),
		.index = json_int_or(call, "index", 0),
		.id = json_string_or(call, "id", ""),
		.name = json_string_or(function, "name", ""),
	};

	if (cJSON_IsString(arguments)) {
		piece.arguments = arguments->valuestring;
		piece.len = strlen(piece.arguments);
	} else if (cJSON_IsObject(arguments) || cJSON_IsArray(arguments)) {
		json_print(&text, arguments);
		a->slots.overflow |= text.failed;
		piece.arguments = text.bytes;
		piece.len = text.len;
		piece.replaces = true;
	} else {
		piece.arguments = "";
	}
	slots_add(&a->slots, &piece);
}

static void
take_delta(struct openai_stream *s, const cJSON *delta)
{
	struct answer *a = s->answer;
	const cJSON *calls = get(delta, "tool_calls"), *call;
	const char *reasoning = json_string_or(delta, "reasoning_content", "");

	take_content(s, get(delta, "content"));
	/* Some servers send both fields with the same text. */
	if (!*reasoning)
		reasoning = json_string_or(delta, "reasoning", "");
	buf_puts(&a->reasoning, reasoning);
	buf_puts(&a->refusal, json_string_or(delta, "refusal", ""));
	if (cJSON_IsObject(calls)) {
		take_call(a, calls);
		return;
	}
	cJSON_ArrayForEach(call, calls) {
		take_call(a, call);
	}
}

static void
take_choice(struct openai_stream *s, const cJSON *choice)
{
	struct answer *a = s->answer;
	const cJSON *delta = get(choice, "delta");
	const cJSON *message = get(choice, "message");
	const char *finish = json_string_or(choice, "finish_reason", "");

	if (json_int_or(choice, "index", 0) != 0)
		return;
	if (cJSON_IsObject(delta)) {
		take_delta(s, delta);
	} else if (cJSON_IsObject(message)) {
		/* A snapshot: it replaces what was collected. */
		buf_reset(&a->content);
		buf_reset(&a->reasoning);
		buf_reset(&a->refusal);
		slots_finish(&a->slots);
		take_delta(s, message);
	}
	if (*finish)
		snprintf(a->finish_raw, sizeof a->finish_raw, "%s", finish);
}

static void
take_usage(struct answer *a, const cJSON *chunk)
{
	const cJSON *usage = get(chunk, "usage");

	if (!cJSON_IsObject(usage))
		usage = get(get(chunk, "x_groq"), "usage");
	if (!cJSON_IsNumber(get(usage, "prompt_tokens")) &&
	    !cJSON_IsNumber(get(usage, "completion_tokens")))
		return;
	/* The last one counts: vLLM and NIM can send a running total. */
	a->input_tokens = json_int_or(usage, "prompt_tokens", 0);
	a->output_tokens = json_int_or(usage, "completion_tokens", 0);
}

static void
take_chunk(struct openai_stream *s, const cJSON *chunk, bool error_event)
{
	struct answer *a = s->answer;
	const cJSON *choice;

	if (!cJSON_IsObject(chunk))
		return;
	/* Choices first: OpenRouter puts text and error into one chunk. */
	cJSON_ArrayForEach(choice, get(chunk, "choices")) {
		take_choice(s, choice);
	}
	take_usage(a, chunk);
	if (failure_from_json(&a->failure, s->status == 200 ? 0 : s->status,
		chunk))
		return;
	if (error_event)
		failure_classify(&a->failure, 0,
		    json_string_or(chunk, "message",
			"the server reported an error"),
		    "", "");
	else
		a->any_chunk = true;
}

static cJSON *
parse(const char *text, size_t len)
{
	auto_buf clean = BUF_INIT(BODY_MAX);
	struct status st;

	text_scrub_json(&clean, text, len, true);
	return clean.failed ? NULL : json_parse(clean.bytes, clean.len, &st);
}

/* Servers that end their frames with one newline: each line is a chunk. */
static bool
take_lines(struct openai_stream *s, const char *data, size_t len, bool check)
{
	for (const char *p = data; p < data + len;) {
		size_t n = (size_t)((data + len) - p);
		const char *lf = memchr(p, '\n', n);
		n = lf ? (size_t)(lf - p) : n;
		bool done = n >= 6 && memcmp(p, "[DONE]", 6) == 0;
		auto_json *chunk = n == 0 || done ? NULL : parse(p, n);
		if (n > 0 && !done && !chunk)
			return false;
		if (!check) {
			s->answer->done |= done;
			take_chunk(s, chunk, false);
		}
		p += n + 1;
	}
	return true;
}

static void
take_event(void *arg, const struct sse_event *e)
{
	struct openai_stream *s = arg;
	struct answer *a = s->answer;
	bool is_error = strcmp(e->name, "error") == 0;
	const char *data = e->data + strspn(e->data, " \t\n");

	if (a->done || a->failure.kind != FAILURE_NONE)
		return;
	if (is_error && !*data) {
		failure_classify(&a->failure, 0,
		    *e->comment ? e->comment : "the server reported an error",
		    "", "");
		return;
	}
	if (!*data)
		return;
	if (strncmp(data, "[DONE]", 6) == 0) {
		a->done = true;
		return;
	}
	auto_json *chunk = parse(e->data, e->len);
	if (chunk)
		take_chunk(s, chunk, is_error);
	else if (is_error)
		failure_classify(&a->failure, 0, data, "", "");
	else if (e->lines >= 2 && take_lines(s, e->data, e->len, true))
		take_lines(s, e->data, e->len, false);
	else if (!e->at_end)
		failure_set(&a->failure, FAILURE_PROTOCOL,
		    "an event of the stream is not JSON");
}

void
openai_stream_init(struct openai_stream *s, struct answer *answer, int status,
    const char *content_type)
{
	*s = (struct openai_stream){ .answer = answer, .status = status };
	sse_init(&s->sse, take_event, s);
	buf_init(&s->body, BODY_MAX);
	bool named = content_type && *content_type;
	s->is_stream =
	    named && strncasecmp(content_type, "text/event-stream", 17) == 0;
	s->json =
	    named && strncasecmp(content_type, "application/json", 16) == 0;
	s->decided = status != 200 || named;
}

void
openai_stream_finish(struct openai_stream *s)
{
	sse_finish(&s->sse);
	buf_finish(&s->body);
}

bool
openai_stream_feed(struct openai_stream *s, const char *bytes, size_t len)
{
	struct answer *a = s->answer;
	struct status st;

	if (len == 0)
		return true;
	if (!s->decided) {
		s->decided = true;
		s->json = *bytes == '{';
		s->is_stream = !s->json;
	}
	if (s->status != 200 || !s->is_stream) {
		buf_add(&s->body, bytes, len);
		return !s->body.failed;
	}
	if (sse_feed(&s->sse, bytes, len, &st) < 0 &&
	    a->failure.kind == FAILURE_NONE)
		failure_set(&a->failure, FAILURE_PROTOCOL, st.text);
	return !a->done && a->failure.kind == FAILURE_NONE;
}

/* One JSON document where a stream was asked for. */
static void
take_document(struct openai_stream *s)
{
	struct answer *a = s->answer;
	auto_json *chunk = parse(s->body.bytes, s->body.len);

	if (!cJSON_IsObject(chunk)) {
		failure_set(&a->failure, FAILURE_PROTOCOL,
		    "the answer is neither a stream nor JSON");
		return;
	}
	take_chunk(s, chunk, false);
	if (a->failure.kind != FAILURE_NONE)
		return;
	if (!cJSON_IsArray(get(chunk, "choices")))
		failure_set(&a->failure, FAILURE_PROTOCOL,
		    "the answer has no choices");
	a->done = true;
}

void
openai_stream_end(struct openai_stream *s)
{
	if (s->status != 200)
		failure_from_body(&s->answer->failure, s->status, s->body.bytes,
		    s->body.len);
	else if (s->is_stream || !s->decided)
		sse_end(&s->sse);
	else
		take_document(s);
}
