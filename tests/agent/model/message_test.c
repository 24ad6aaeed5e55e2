/* Messages: their records there and back, their lines, the guards. */
#include "agent/model/message.h"

#include "agent/model/guard.h"
#include "tests/test.h"

static void
set_text(char **field, const char *text)
{
	free(*field);
	*field = xstrdup(text);
}

static void
to_record(const struct message *m, struct buf *out)
{
	struct status st;

	message_to_record(m, out);
	assert_false(out->failed);
	auto_json *json = json_parse(out->bytes, out->len, &st);
	assert_non_null(json);
}

static void
read_back(const struct message *m, struct message *out)
{
	auto_buf record = BUF_INIT(1 << 20);
	struct status st = { 0 };

	to_record(m, &record);
	if (message_from_record(out, record.bytes, record.len, &st) < 0)
		fail_msg("%s", st.text);
}

static struct message
ai_with(const char *const *arguments, size_t count)
{
	struct message m;

	message_init(&m, MESSAGE_AI);
	m.id = xstrdup("a1");
	for (size_t i = 0; i < count; i++)
		message_add_call(&m, xasprintf("call_%zu", i), xstrdup("ls"),
		    xstrdup(arguments[i]));
	return m;
}

static void
test_record_form(void **state)
{
	struct message m;
	auto_buf record = BUF_INIT(4096);

	(void)state;
	message_init(&m, MESSAGE_HUMAN);
	m.id = xstrdup("h1");
	set_text(&m.content, "hi \"you\"\n");
	m.turn = 2;
	m.ts_ms = 1796070000123;
	to_record(&m, &record);
	assert_string_equal(record.bytes,
	    "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"langchain_core\","
	    "\"messages\",\"HumanMessage\"],\"kwargs\":{\"content\":"
	    "\"hi \\\"you\\\"\\n\",\"id\":\"h1\",\"additional_kwargs\":"
	    "{\"sandagentfs\":{\"turn\":2,\"ts\":1796070000123}},"
	    "\"response_metadata\":{}}}");
	message_finish(&m);
	message_finish(&m);
}

static void
test_all_fields(void **state)
{
	struct message m, back;

	(void)state;
	message_init(&m, MESSAGE_TOOL);
	m.id = xstrdup("t1");
	set_text(&m.content, "no such file");
	m.tool_call_id = xstrdup("call_1");
	m.name = xstrdup("execute");
	m.failed = true;
	m.exit_code = 0;
	m.turn = 7;
	m.ts_ms = 1;
	read_back(&m, &back);
	assert_int_equal(back.type, MESSAGE_TOOL);
	assert_string_equal(back.id, "t1");
	assert_string_equal(back.content, "no such file");
	assert_string_equal(back.tool_call_id, "call_1");
	assert_string_equal(back.name, "execute");
	assert_true(back.failed);
	assert_int_equal(back.exit_code, 0);
	assert_int_equal(back.turn, 7);
	assert_int_equal(back.ts_ms, 1);
	message_finish(&back);
	message_finish(&m);

	message_init(&m, MESSAGE_AI);
	m.reasoning = xstrdup("let me think");
	m.usage = (struct usage){ 12, 34 };
	read_back(&m, &back);
	assert_null(back.id);
	assert_string_equal(back.reasoning, "let me think");
	assert_int_equal(back.usage.input_tokens, 12);
	assert_int_equal(back.usage.output_tokens, 34);
	assert_int_equal(back.exit_code, -1);
	message_finish(&back);
	message_finish(&m);
}

/* Whatever the model wrote comes back byte for byte. */
static void
test_raw_arguments(void **state)
{
	static const char *const raw[] = {
		"{\"path\": \"/a b\",  \"n\":12345678901234567890}",
		"{\"n\":123456789012345678901234567890,\"f\":1.10}",
		"{}",
		"",
		"null",
		" {\"a\":1}\n",
		"{'a': True,}",
		"{\"a\":1,\"a\":\"\x04\"}",
		"{\"a\":{\"lc\":1,\"type\":\"constructor\",\"id\":[\"x\"]}}",
		"{\"lc\":1,\"type\":\"secret\",\"id\":[\"x\"]}",
		"{\"a\":[{\"l\\u0063\":2, \"x\":{\"lc\":1}}]}",
		"{\"a\":\"\\ud800\",\"b\":\"\\u0000\"}",
		"{\"deep\":[[[[{\"a\":[1e400,-0.0]}]]]]}",
		"\"{\\\"a\\\":1}\"",
	};
	struct message m = ai_with(raw, ARRAY_SIZE(raw)), back;

	(void)state;
	read_back(&m, &back);
	assert_int_equal(back.call_count, ARRAY_SIZE(raw));
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++) {
		assert_string_equal(back.calls[i].arguments, raw[i]);
		assert_string_equal(back.calls[i].id, m.calls[i].id);
		assert_null(back.calls[i].invalid);
	}
	message_finish(&back);
	message_finish(&m);
}

static const cJSON *
kwargs_of(const cJSON *record)
{
	return cJSON_GetObjectItemCaseSensitive(record, "kwargs");
}

static void
test_invalid_calls(void **state)
{
	static const char *const raw[] = { "{\"a\":1}", "{\"a\": \"/",
		"{\"b\":2}", "]" };
	struct message m = ai_with(raw, 4), back;
	auto_buf record = BUF_INIT(1 << 20);

	(void)state;
	m.calls[1].invalid = xstrdup("cut off");
	/* calls[3] cannot run whatever its maker thought. */
	to_record(&m, &record);
	auto_json *json = cJSON_Parse(record.bytes);
	const cJSON *kwargs = kwargs_of(json);
	assert_int_equal(cJSON_GetArraySize(
			     cJSON_GetObjectItemCaseSensitive(kwargs,
				 "tool_calls")),
	    2);
	const cJSON *invalid =
	    cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(kwargs,
				   "invalid_tool_calls"),
		0);
	assert_string_equal(json_string_or(invalid, "args", ""), raw[1]);
	assert_string_equal(json_string_or(invalid, "error", ""), "cut off");
	assert_string_equal(json_string_or(invalid, "type", ""),
	    "invalid_tool_call");
	read_back(&m, &back);
	assert_int_equal(back.call_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(back.calls[i].arguments, raw[i]);
	assert_string_equal(back.calls[1].invalid, "cut off");
	assert_non_null(back.calls[3].invalid);
	message_finish(&back);
	message_finish(&m);
}

/* The text kept for precision gives way when the call was changed since. */
static void
test_edited_call(void **state)
{
	static const char *const raw[] = { "{'path': '/a'}" };
	struct message m = ai_with(raw, 1), back;
	auto_buf record = BUF_INIT(1 << 20);
	struct status st;

	(void)state;
	to_record(&m, &record);
	char *at = strstr(record.bytes, "\"/a\"");
	assert_non_null(at);
	at[2] = 'b';
	assert_int_equal(message_from_record(&back, record.bytes, record.len,
			     &st),
	    0);
	assert_string_equal(back.calls[0].arguments, "{\"path\":\"/b\"}");
	message_finish(&back);
	message_finish(&m);
}

static void
guarded(const char *json, const char *wanted)
{
	auto_buf out = BUF_INIT(4096);

	guard_add(&out, json, strlen(json));
	assert_string_equal(out.bytes, wanted);
}

static void
unguarded(const char *json, const char *wanted)
{
	auto_buf out = BUF_INIT(4096);

	guard_remove(&out, json, strlen(json));
	assert_string_equal(out.bytes, wanted);
}

static void
test_guards(void **state)
{
	(void)state;
	guarded("{\"a\":[1,{\"b\":null}]}", "{\"a\":[1,{\"b\":null}]}");
	guarded("{\"lc\":1}", "{\"__lc_escaped__\":{\"lc\":1}}");
	guarded("{\"l\\u0063\":1}", "{\"__lc_escaped__\":{\"l\\u0063\":1}}");
	guarded("{\"a\":{\"lc\":1,\"type\":\"secret\"}}",
	    "{\"a\":{\"lc_text\":"
	    "\"{\\\"lc\\\":1,\\\"type\\\":\\\"secret\\\"}\"}}");
	guarded("{\"__lc_escaped__\":{\"lc\":1}}",
	    "{\"__lc_escaped__\":{\"lc\":1}}");
	guarded("[18446744073709551615,18446744073709551616,"
		"-9223372036854775809,123456789012345678901.5]",
	    "[18446744073709551615,18446744073709551616.0,"
	    "-9223372036854775809.0,123456789012345678901.5]");
	unguarded("{ \"a\" : {\"__lc_escaped__\": {\"lc\": 1} } }",
	    "{\"a\":{\"lc\":1}}");
	unguarded("{\"__lc_escaped__\":1,\"b\":2}",
	    "{\"__lc_escaped__\":1,\"b\":2}");
	unguarded("[18446744073709551616]", "[18446744073709551616]");
	/* Not JSON: some answer, no crash. */
	auto_buf out = BUF_INIT(4096);
	static const char *const broken[] = { "", "{", "{\"", "[}", "{]:,",
		"{\"a\"", "\"\\", "{\"lc\":1" };
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		guard_add(&out, broken[i], strlen(broken[i]));
		guard_remove(&out, broken[i], strlen(broken[i]));
	}
}

static void
test_blocks(void **state)
{
	struct message m, back;
	auto_buf record = BUF_INIT(4096);

	(void)state;
	message_init(&m, MESSAGE_TOOL);
	set_text(&m.content, "an image");
	m.blocks = xstrdup("[{\"type\":\"image\",\"base64\":\"AA==\","
			   "\"mime_type\":\"image/png\",\"x\":{\"lc\":1}}]");
	to_record(&m, &record);
	assert_non_null(strstr(record.bytes,
	    "\"content\":[{\"type\":\"text\",\"text\":\"an image\"},"
	    "{\"type\":\"image\""));
	read_back(&m, &back);
	assert_string_equal(back.content, m.content);
	assert_string_equal(back.blocks, m.blocks);
	message_finish(&back);
	message_finish(&m);

	/* Thinking stands before the text; what repeats is not kept. */
	message_init(&m, MESSAGE_AI);
	set_text(&m.content, "yes");
	m.blocks = xstrdup("[{\"type\":\"thinking\",\"thinking\":\"hm\"},"
			   "{\"type\":\"text\",\"text\":\"yes\"}]");
	buf_reset(&record);
	to_record(&m, &record);
	assert_non_null(strstr(record.bytes,
	    "\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},"
	    "{\"type\":\"text\",\"text\":\"yes\"}]"));
	read_back(&m, &back);
	assert_string_equal(back.content, "yes");
	assert_string_equal(back.blocks,
	    "[{\"type\":\"thinking\",\"thinking\":\"hm\"}]");
	message_finish(&back);
	message_finish(&m);
}

static void
test_plain_records(void **state)
{
	static const struct {
		const char *json;
		int type; /* -1: refused */
		const char *content;
	} cases[] = {
		{ "{\"role\":\"user\",\"content\":\"hi\"}", MESSAGE_HUMAN,
		    "hi" },
		{ "{\"type\":\"ai\",\"content\":[\"a\",{\"type\":\"text\","
		  "\"text\":\"b\"}]}",
		    MESSAGE_AI, "ab" },
		{ "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"langchain_core"
		  "\",\"messages\",\"AIMessageChunk\"],\"kwargs\":"
		  "{\"content\":\"\\ud83d\\ude00 \\ud800\"}}",
		    MESSAGE_AI, "\xf0\x9f\x98\x80 \xef\xbf\xbd" },
		{ "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"RemoveMessage"
		  "\"],\"kwargs\":{\"id\":\"x\"}}",
		    -1, "" },
		{ "{\"lc\":1,\"type\":\"constructor\",\"id\":[\"AIMessage\"]}",
		    -1, "" },
		{ "{\"role\":\"nobody\"}", -1, "" },
		{ "[]", -1, "" },
		{ "null", -1, "" },
		{ "", -1, "" },
		{ "{\"role\":\"tool\",\"tool_calls\":7,\"content\":{}}",
		    MESSAGE_TOOL, "" },
		{ "{\"role\":\"ai\",\"tool_calls\":[7,null,{\"args\":[]}],"
		  "\"invalid_tool_calls\":[{}],\"usage_metadata\":3}",
		    MESSAGE_AI, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct message m;
		struct status st = { 0 };
		int r = message_from_record(&m, cases[i].json,
		    strlen(cases[i].json), &st);
		assert_int_equal(r, cases[i].type < 0 ? -1 : 0);
		if (r < 0) {
			assert_int_equal(st.code, STATUS_INVALID);
			continue;
		}
		assert_int_equal(m.type, cases[i].type);
		assert_string_equal(m.content, cases[i].content);
		message_finish(&m);
	}
}

static void
assert_line(const struct message *m, const char *wanted)
{
	auto_buf line = BUF_INIT(1 << 20);

	message_to_line(m, &line);
	assert_string_equal(line.bytes, wanted);
}

static void
test_lines(void **state)
{
	static const char *const raw[] = {
		"{ \"n\": 12345678901234567890, \"s\":\"a\\u001bb\" }",
		"",
		"{'a': None}",
		"{\"a\": \"/",
	};
	struct message m;

	(void)state;
	message_init(&m, MESSAGE_HUMAN);
	m.id = xstrdup("h1");
	set_text(&m.content, "a\x1b\x7f\xff");
	assert_line(&m,
	    "{\"type\":\"human\",\"id\":\"h1\",\"content\":"
	    "\"a\\u001b\\u007f\xef\xbf\xbd\",\"turn\":null,\"ts\":null}\n");
	m.turn = 3;
	m.ts_ms = 1796070000123;
	set_text(&m.content, "x");
	assert_line(&m,
	    "{\"type\":\"human\",\"id\":\"h1\",\"content\":\"x\",\"turn\":3,"
	    "\"ts\":\"2026-11-30T20:20:00.123Z\"}\n");
	message_finish(&m);

	m = ai_with(raw, 4);
	m.calls[3].invalid = xstrdup("cut off");
	m.usage.input_tokens = 5;
	assert_line(&m,
	    "{\"type\":\"ai\",\"id\":\"a1\",\"content\":\"\",\"tool_calls\":["
	    "{\"id\":\"call_0\",\"name\":\"ls\",\"args\":"
	    "{\"n\":12345678901234567890,\"s\":\"a\\u001bb\"}},"
	    "{\"id\":\"call_1\",\"name\":\"ls\",\"args\":{}},"
	    "{\"id\":\"call_2\",\"name\":\"ls\",\"args\":{\"a\":null}},"
	    "{\"id\":\"call_3\",\"name\":\"ls\",\"args\":\"{\\\"a\\\": "
	    "\\\"/\"}],\"usage\":{\"input_tokens\":5,\"output_tokens\":null},"
	    "\"turn\":null,\"ts\":null}\n");
	message_finish(&m);

	message_init(&m, MESSAGE_TOOL);
	m.tool_call_id = xstrdup("call_0");
	m.failed = true;
	assert_line(&m,
	    "{\"type\":\"tool\",\"id\":null,\"content\":\"\","
	    "\"tool_call_id\":\"call_0\",\"name\":null,\"status\":\"error\","
	    "\"exit_code\":null,\"turn\":null,\"ts\":null}\n");
	message_finish(&m);
}

static void
test_ids(void **state)
{
	auto_free char *a = message_new_id();
	auto_free char *b = message_new_id();

	(void)state;
	assert_int_equal(strlen(a), 40);
	assert_int_equal(strspn(a, "abcdefghijklmnopqrstuvwxyz0123456789-"),
	    40);
	assert_string_not_equal(a, b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record_form),
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_raw_arguments),
		cmocka_unit_test(test_invalid_calls),
		cmocka_unit_test(test_edited_call),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_plain_records),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
