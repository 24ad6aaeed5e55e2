/*
 * Recorded model streams (tests/cases/sse) against their right result, at
 * every chunk size: the pieces in which a body arrives must not matter.
 */
#include <dirent.h>
#include <math.h>

#include "agent/model/anthropic_stream.h"
#include "agent/model/openai_stream.h"
#include "tests/test.h"

#define DIR_CASES "tests/cases/sse"

static char context[200];

static void
fail_case(const char *what, const char *got, const char *want)
{
	print_error("%s: %s: got %s, want %s\n", context, what, got, want);
	fail();
}

static char *
slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	auto_buf b = BUF_INIT(1U << 20);
	char piece[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_add(&b, piece, n);
	fclose(f);
	*len = b.len;
	return buf_take(&b);
}

static void
same_json(const char *what, const cJSON *got, const cJSON *want)
{
	if (cJSON_Compare(got, want, true))
		return;
	char *g = cJSON_PrintUnformatted(got),
	     *w = cJSON_PrintUnformatted(want);
	fail_case(what, g ? g : "nothing", w);
	cJSON_free(g);
	cJSON_free(w);
}

static cJSON *
text_or_null(const struct buf *b)
{
	return b->len > 0 ? cJSON_CreateString(b->bytes) : cJSON_CreateNull();
}

static const char *const finish_words[] = {
	[FINISH_STOP] = "stop",
	[FINISH_TOOL_CALLS] = "tool_calls",
	[FINISH_LENGTH] = "length",
	[FINISH_CONTENT_FILTER] = "content_filter",
	[FINISH_PAUSE] = "pause",
	[FINISH_ERROR] = "error",
	[FINISH_OTHER] = "other",
};

static const char *const argument_words[] = {
	[ARGUMENTS_EMPTY] = "empty",
	[ARGUMENTS_OK] = "ok",
	[ARGUMENTS_REPAIRED] = "repaired",
	[ARGUMENTS_INVALID] = "invalid",
};

/* The answer in the words of the expectation. */
static cJSON *
describe_call(const struct answer_call *call)
{
	cJSON *j = cJSON_CreateObject();

	cJSON_AddStringToObject(j, "id", call->id);
	cJSON_AddStringToObject(j, "name", call->name);
	cJSON_AddStringToObject(j, "arguments", call->arguments);
	cJSON_AddItemToObject(j, "args",
	    call->object ? cJSON_Parse(call->object) : cJSON_CreateNull());
	cJSON_AddStringToObject(j, "args_status", argument_words[call->status]);
	cJSON_AddBoolToObject(j, "exec", call->runnable);
	if (call->from_text)
		cJSON_AddStringToObject(j, "source", "text");
	return j;
}

static void
check_calls(const struct answer *a, const cJSON *want)
{
	const cJSON *w;
	size_t i = 0;

	assert_int_equal(a->call_count, cJSON_GetArraySize(want));
	cJSON_ArrayForEach(w, want) {
		const cJSON *field;
		cJSON *got = describe_call(&a->calls[i]);
		cJSON_ArrayForEach(field, w) {
			if (cJSON_IsString(field) &&
			    strcmp(field->valuestring, "@gen") == 0) {
				assert_true(strlen(a->calls[i].id) > 0);
				for (size_t k = 0; k < a->call_count; k++)
					if (k != i)
						assert_string_not_equal(
						    a->calls[i].id,
						    a->calls[k].id);
				continue;
			}
			same_json(field->string,
			    cJSON_GetObjectItem(got, field->string), field);
		}
		cJSON_Delete(got);
		i++;
	}
}

static void
check_message(const struct answer *a, const cJSON *want, bool failed)
{
	cJSON *content = text_or_null(&a->content);

	if (cJSON_HasObjectItem(want, "content"))
		same_json("content", content,
		    cJSON_GetObjectItem(want, "content"));
	cJSON_Delete(content);
	const char *reasoning = json_string_or(want, "reasoning", "");
	if (strcmp(a->reasoning.bytes, reasoning) != 0)
		fail_case("reasoning", a->reasoning.bytes, reasoning);
	const char *refusal = json_string_or(want, "refusal", "");
	if (strcmp(a->refusal.bytes, refusal) != 0)
		fail_case("refusal", a->refusal.bytes, refusal);
	if (cJSON_HasObjectItem(want, "blocks"))
		same_json("blocks", a->blocks,
		    cJSON_GetObjectItem(want, "blocks"));
	if (!failed && cJSON_HasObjectItem(want, "tool_calls"))
		check_calls(a, cJSON_GetObjectItem(want, "tool_calls"));
	for (size_t i = 0; failed && i < a->call_count; i++)
		assert_false(a->calls[i].runnable);
}

static void
check_usage(const struct answer *a, const cJSON *want)
{
	cJSON *got = cJSON_CreateNull();

	if (a->input_tokens >= 0) {
		cJSON_Delete(got);
		got = cJSON_CreateObject();
		cJSON_AddNumberToObject(got, "input", (double)a->input_tokens);
		cJSON_AddNumberToObject(got, "output",
		    (double)a->output_tokens);
	}
	same_json("usage", got, want);
	cJSON_Delete(got);
}

static void
check_answer(const struct answer *a, const cJSON *want)
{
	bool failed = a->failure.kind != FAILURE_NONE;
	const cJSON *error = cJSON_GetObjectItem(want, "error");
	const cJSON *raw = cJSON_GetObjectItem(want, "finish_raw");
	const cJSON *done = cJSON_GetObjectItem(want, "done");
	const char *result = json_string_or(want, "result", "");

	if (strcmp(result, failed ? "error" : "ok") != 0)
		fail_case("result", failed ? a->failure.message : "ok", result);
	if (!failed && cJSON_HasObjectItem(want, "finish") &&
	    strcmp(finish_words[a->finish],
		json_string_or(want, "finish", "")) != 0)
		fail_case("finish", finish_words[a->finish],
		    json_string_or(want, "finish", ""));
	if (raw &&
	    strcmp(a->finish_raw,
		cJSON_IsString(raw) ? raw->valuestring : "") != 0)
		fail_case("finish_raw", a->finish_raw, raw->valuestring);
	if (done)
		assert_int_equal(a->done, cJSON_IsTrue(done));
	if (cJSON_HasObjectItem(want, "usage"))
		check_usage(a, cJSON_GetObjectItem(want, "usage"));
	if (error) {
		const char *kind = json_string_or(error, "kind", "");
		if (strcmp(failure_word(a->failure.kind), kind) != 0)
			fail_case("kind", failure_word(a->failure.kind), kind);
		assert_int_equal(failure_attempts(a->failure.kind) > 1,
		    json_bool_or(error, "retryable", false));
		const char *words =
		    json_string_or(error, "message_contains", "");
		if (!strstr(a->failure.message, words))
			fail_case("message", a->failure.message, words);
	}
	if (cJSON_HasObjectItem(want, "message"))
		check_message(a, cJSON_GetObjectItem(want, "message"), failed);
}

/* {name, params} of a case as the tools of a request. */
static cJSON *
offered_tools(const cJSON *vector)
{
	const cJSON *tool, *param;
	const cJSON *given =
	    cJSON_GetObjectItem(cJSON_GetObjectItem(vector, "options"),
		"tools");

	if (!given)
		return NULL;
	cJSON *tools = cJSON_CreateArray();
	cJSON_ArrayForEach(tool, given) {
		cJSON *t = cJSON_CreateObject();
		cJSON *parameters = cJSON_AddObjectToObject(t, "parameters");
		cJSON *properties =
		    cJSON_AddObjectToObject(parameters, "properties");
		cJSON_AddStringToObject(t, "name",
		    json_string_or(tool, "name", ""));
		cJSON_ArrayForEach(param, cJSON_GetObjectItem(tool, "params")) {
			cJSON *p =
			    cJSON_AddObjectToObject(properties, param->string);
			cJSON_AddStringToObject(p, "type", param->valuestring);
		}
		cJSON_AddItemToArray(tools, t);
	}
	return tools;
}

struct body {
	const char *bytes;
	size_t len, chunk;
	int status;
	const char *type;
};

static void
run_openai(struct answer *a, const struct body *b)
{
	struct openai_stream s;

	openai_stream_init(&s, a, b->status, b->type);
	for (size_t i = 0; i < b->len; i += b->chunk)
		if (!openai_stream_feed(&s, b->bytes + i,
			MIN(b->chunk, b->len - i)))
			break;
	openai_stream_end(&s);
	openai_stream_finish(&s);
}

static void
run_anthropic(struct answer *a, const struct body *b)
{
	struct anthropic_stream s;

	anthropic_stream_init(&s, a, b->status, b->type);
	for (size_t i = 0; i < b->len; i += b->chunk)
		if (!anthropic_stream_feed(&s, b->bytes + i,
			MIN(b->chunk, b->len - i)))
			break;
	anthropic_stream_end(&s);
	anthropic_stream_finish(&s);
}

struct sse_seen {
	cJSON *events;
	cJSON *pending;
};

static void
see_event(void *arg, const struct sse_event *e)
{
	struct sse_seen *seen = arg;

	if (e->at_end) {
		cJSON_Delete(seen->pending);
		seen->pending = cJSON_CreateString(e->data);
		return;
	}
	cJSON *event = cJSON_CreateObject();
	cJSON_AddStringToObject(event, "event", e->name);
	cJSON_AddStringToObject(event, "data", e->data);
	cJSON_AddItemToArray(seen->events, event);
}

static void
check_sse(const struct body *b, const cJSON *want)
{
	struct sse_seen seen = { cJSON_CreateArray(), cJSON_CreateNull() };
	struct sse p;
	struct status st;

	sse_init(&p, see_event, &seen);
	for (size_t i = 0; i < b->len; i += b->chunk)
		assert_int_equal(sse_feed(&p, b->bytes + i,
				     MIN(b->chunk, b->len - i), &st),
		    0);
	sse_end(&p);
	same_json("events", seen.events, cJSON_GetObjectItem(want, "events"));
	same_json("pending", seen.pending,
	    cJSON_GetObjectItem(want, "pending"));
	assert_int_equal(p.comments, json_int_or(want, "comments", -1));
	sse_finish(&p);
	cJSON_Delete(seen.events);
	cJSON_Delete(seen.pending);
}

static void
check_body(const cJSON *vector, const struct body *b)
{
	const char *dialect = json_string_or(vector, "dialect", "");
	const cJSON *want = cJSON_GetObjectItem(vector, "expect");
	struct answer a;

	if (strcmp(dialect, "sse") == 0) {
		check_sse(b, want);
		return;
	}
	cJSON *tools = offered_tools(vector);
	answer_init(&a);
	if (strcmp(dialect, "anthropic") == 0) {
		run_anthropic(&a, b);
		answer_finish(&a, tools);
		anthropic_stream_blocks(&a);
	} else {
		run_openai(&a, b);
		answer_finish(&a, tools);
	}
	check_answer(&a, want);
	answer_deinit(&a);
	cJSON_Delete(tools);
}

static void
check_case(const char *name)
{
	static const size_t chunks[] = { 1, 2, 3, 7, 64, SIZE_MAX / 2 };
	auto_free char *json_path = xasprintf(DIR_CASES "/%s.json", name);
	auto_free char *body_path = xasprintf(DIR_CASES "/%s.sse", name);
	size_t json_len, body_len;
	auto_free char *json = slurp(json_path, &json_len);
	auto_free char *bytes = slurp(body_path, &body_len);
	cJSON *vector = cJSON_ParseWithLength(json, json_len);
	const cJSON *http = cJSON_GetObjectItem(vector, "http");

	assert_non_null(vector);
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		snprintf(context, sizeof context, "%s, pieces of %zu", name,
		    chunks[i]);
		struct body b = {
			.bytes = bytes,
			.len = body_len,
			.chunk = chunks[i],
			.status = (int)json_int_or(http, "status", 200),
			.type = json_string_or(http, "content_type",
			    "text/event-stream"),
		};
		check_body(vector, &b);
	}
	cJSON_Delete(vector);
}

static void
test_vectors(void **state)
{
	DIR *dir = opendir(DIR_CASES);
	struct dirent *e;
	unsigned cases = 0;

	(void)state;
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		size_t n = strlen(e->d_name);
		if (n < 6 || strcmp(e->d_name + n - 5, ".json") != 0)
			continue;
		auto_free char *name = xstrndup(e->d_name, n - 5);
		check_case(name);
		cases++;
	}
	closedir(dir);
	assert_true(cases >= 66);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
