/* Entries of the log: their form, escapes, cuts. */
#include "agent/thread/entry.h"

#include "tests/test.h"

static void
is(struct buf *b, const char *expected)
{
	assert_false(b->failed);
	assert_string_equal(b->bytes, expected);
	buf_reset(b);
}

static void
test_lines(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX);

	(void)state;
	entry_add(&b, "user", "one", 3);
	is(&b, "[user] one\n");
	entry_add(&b, "user", "one\n\n2\nthree\r\n\n", 15);
	is(&b, "[user] one\n    \n    2\n    three\n");
	entry_add(&b, "user", "", 0);
	is(&b, "[user] \n");
	entry_add(&b, "model", "a\033[2J\tb\rc\x7f", 10);
	is(&b, "[model] a\\x1b[2J\\tb\\rc\\x7f\n");
	entry_add(&b, "model", "\xc2\x9b\xff\xe2\x80\xae", 6);
	is(&b, "[model] \\xc2\\x9b\\xff\\xe2\\x80\\xae\n");
	entry_add(&b, "user", "北京 🤣", 11);
	is(&b, "[user] 北京 🤣\n");
	entry_header(&b, 12, 1796066527123, "shell:");
	is(&b, "=== turn 12 · 2026-11-30T19:22:07Z · shell: ===\n");
}

/* A prompt may be a mebibyte; no entry is. */
static void
test_long_texts(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX), text = BUF_INIT(2 << 20);

	(void)state;
	while (text.len < 1 << 20)
		buf_puts(&text, "é\n");
	entry_add(&b, "user", text.bytes, text.len);
	assert_false(b.failed);
	assert_in_range(b.len, 64 << 10, 512 << 10);
	assert_string_equal(b.bytes + b.len - 4, "...\n");
}

static void
call(struct buf *b, const char *args, const char *invalid)
{
	struct tool_call c = { .id = (char *)"1",
		.name = (char *)"execute",
		.arguments = (char *)args,
		.invalid = (char *)invalid };

	entry_call(b, &c);
}

static void
test_calls(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX);

	(void)state;
	call(&b, "{\"command\":\"cd / &&\\n ls\",\n \"timeout\" : 3}", NULL);
	is(&b,
	    "[agent] -> execute({\"command\": \"cd / &&\\n ls\", "
	    "\"timeout\": 3})\n");
	call(&b, "{\"a\":\"x\\\":,y\"}", NULL);
	is(&b, "[agent] -> execute({\"a\": \"x\\\":,y\"})\n");
	call(&b, "{}", NULL);
	is(&b, "[agent] -> execute({})\n");
	call(&b, "not: json\n\033", "why");
	is(&b, "[agent] -> execute(not: json\\n\\x1b)\n");
}

static void
test_arguments_are_cut(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX), args = BUF_INIT(100000);

	(void)state;
	buf_puts(&args, "{\"command\":\"");
	for (int i = 0; i < 1000; i++)
		buf_puts(&args, "é");
	buf_puts(&args, "\"}");
	call(&b, args.bytes, NULL);
	const char *open = strchr(b.bytes, '(');
	const char *dots = strstr(b.bytes, "...)\n");
	assert_non_null(dots);
	/* 13 characters before the string, 187 of two bytes. */
	assert_int_equal(dots - open - 1, 13 + 187 * 2);
}

static void
result(struct buf *b, const char *text, int64_t ms)
{
	struct message m = { .type = MESSAGE_TOOL,
		.name = (char *)"execute",
		.content = (char *)text };

	entry_result(b, &m, ms);
}

static void
test_results(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX);
	char text[700];

	(void)state;
	result(&b, "ok\n[Command succeeded with exit code 0]\n", 41345);
	is(&b,
	    "[tools] <- execute: ok\n"
	    "    [Command succeeded with exit code 0] (41.3 s)\n");
	result(&b, "ok", -1);
	is(&b, "[tools] <- execute: ok\n");
	memset(text, 'x', sizeof text);
	text[300] = '\0';
	result(&b, text, 0);
	assert_null(strstr(b.bytes, "..."));
	buf_reset(&b);
	text[300] = 'x';
	text[sizeof text - 1] = '\0';
	result(&b, text, 99);
	assert_int_equal(b.len,
	    strlen("[tools] <- execute: ") + 300 + strlen("... (0.0 s)\n"));
}

static void
test_live(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX);

	(void)state;
	entry_live(&b, "execute", "50%\033[K\0", 7);
	is(&b, "[tools] .. execute: 50%\\x1b[K\\x00\n");
}

static void
test_ends(void **state)
{
	auto_buf b = BUF_INIT(ENTRY_MAX);
	struct tally t = { .ms = 73949,
		.model_calls = 6,
		.tool_calls = 5,
		.usage = { 21403, 1377 } };

	(void)state;
	entry_end(&b, "done in", &t, NULL);
	is(&b,
	    "[turn] done in 73.9 s · 6 model calls · 5 tool calls · "
	    "21,403 tokens in, 1,377 out\n");
	t = (struct tally){ .ms = 3200,
		.model_calls = 1,
		.tool_calls = 1,
		.usage = { -1, -1 } };
	entry_end(&b, "failed after", &t, "no key:\nset it");
	is(&b,
	    "[turn] failed after 3.2 s: no key:\\nset it · 1 model call · "
	    "1 tool call · 0 tokens in, 0 out\n");
	t.ms = -1;
	t.usage.input_tokens = 1234567;
	entry_end(&b, "interrupted", &t, NULL);
	is(&b,
	    "[turn] interrupted · 1 model call · 1 tool call · "
	    "1,234,567 tokens in, 0 out\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_arguments_are_cut),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
