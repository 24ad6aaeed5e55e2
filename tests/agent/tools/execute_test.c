/* execute over a fake mirror: what it asks for and how results look. */
#include "agent/base/path.h"
#include "agent/tools/result.h"
#include "tests/agent/tools/fake_mirror.h"

static char live[16];

static void
on_live(void *arg, const char *bytes, size_t len)
{
	memcpy(arg, bytes, MIN(len, sizeof live - 1));
}

static struct tool_result
run(const char *args)
{
	struct tool_context ctx = { .call_id = "call_42",
		.live = on_live,
		.live_arg = live };
	struct tool_result r;

	tool_run("execute", args, NULL, &ctx, &r);
	return r;
}

static void
prints(const char *output, enum exec_end end, int exit_code)
{
	fake.output = output;
	fake.result.end = end;
	fake.result.exit_code = exit_code;
	fake.result.output_bytes = (int64_t)strlen(output);
}

static void
test_request(void **state)
{
	(void)state;
	prints("", EXEC_EXITED, 0);
	struct tool_result r = run("{\"command\":\"echo 'hi'\"}");
	assert_string_equal(fake.command, "echo 'hi'");
	assert_string_equal(fake.id, "call_42");
	assert_null(fake.request.cwd);
	assert_int_equal(fake.request.timeout_s, 1800);
	assert_true(fake.request.list);
	assert_string_equal(live, "live");
	tool_result_finish(&r);
	r = run("{\"command\":\"x\",\"timeout\":\"60\"}");
	assert_int_equal(fake.request.timeout_s, 60);
	tool_result_finish(&r);
	r = run("{\"command\":\"x\",\"timeout\":0}");
	assert_int_equal(fake.request.timeout_s, 0);
	tool_result_finish(&r);
	r = run("{\"command\":\"x\",\"timeout\":null}");
	assert_int_equal(fake.request.timeout_s, 1800);
	tool_result_finish(&r);
}

static void
test_results(void **state)
{
	static const struct {
		const char *output;
		enum exec_end end;
		int exit_code;
		const char *text;
		int code;
		bool failed, canceled, unknown;
	} rows[] = {
		{ "hi\n", EXEC_EXITED, 0,
		    "hi\n\n[Command succeeded with exit code 0]", 0, false,
		    false, false },
		{ "hi", EXEC_EXITED, 3, "hi\n[Command failed with exit code 3]",
		    3, false, false, false },
		{ "", EXEC_EXITED, 0, "\n[Command succeeded with exit code 0]",
		    0, false, false, false },
		{ "a\xff\n", EXEC_EXITED, 137,
		    "a\xef\xbf\xbd\n\n[Command failed with exit code 137]", 137,
		    false, false, false },
		{ "before\n", EXEC_TIMED_OUT, -1,
		    "Command timed out after 3 seconds\nbefore\n\n[Command "
		    "failed with exit code 124]",
		    124, false, false, false },
		{ "half", EXEC_CANCELED, -1, "half\n[Command was cancelled]",
		    -1, true, true, false },
		{ "half", EXEC_LOST, -1,
		    "half\n[The sandbox was lost while the command ran. It may "
		    "or may not have run to its end: look before you run it "
		    "again.]",
		    -1, true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		prints(rows[i].output, rows[i].end, rows[i].exit_code);
		struct tool_result r = run("{\"command\":\"x\",\"timeout\":3}");
		assert_string_equal(r.text.bytes, rows[i].text);
		assert_int_equal(r.exit_code, rows[i].code);
		assert_int_equal(r.failed, rows[i].failed);
		assert_int_equal(r.canceled, rows[i].canceled);
		assert_int_equal(r.unknown, rows[i].unknown);
		tool_result_finish(&r);
	}
}

static void
test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"command\":\"x\",\"timeout\":-1}",
		    "Error: timeout must be non-negative, got -1." },
		{ "{\"command\":\"x\",\"timeout\":3601}",
		    "Error: timeout 3601s exceeds maximum allowed (3600s)." },
		{ "{\"command\":\" \\n\"}", "Error: command cannot be empty." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct tool_result r = run(rows[i][0]);
		assert_string_equal(r.text.bytes, rows[i][1]);
		assert_true(r.failed);
		assert_int_equal(r.exit_code, -1);
		tool_result_finish(&r);
	}
	assert_null(fake.command);
	status_set(&fake.next, STATUS_UNAVAILABLE, "the sandbox is gone");
	struct tool_result r = run("{\"command\":\"x\"}");
	assert_string_equal(r.text.bytes, "Error: the sandbox is gone");
	assert_true(r.failed);
	assert_int_equal(r.exit_code, -1);
	tool_result_finish(&r);
}

static void
check_long(const char *letter, size_t count)
{
	auto_buf output = BUF_INIT(4 << 20);

	buf_puts(&output, "HEAD");
	for (size_t i = 0; i < count; i++)
		buf_puts(&output, letter);
	buf_puts(&output, "TAIL");
	prints(output.bytes, EXEC_EXITED, 0);
	struct tool_result r = run("{\"command\":\"x\"}");
	assert_true(utf8_valid(r.text.bytes, r.text.len));
	assert_true(r.text.len < TOOL_RESULT_MAX);
	assert_true(text_chars(r.text.bytes, r.text.len) < RESULT_CHARS + 200);
	assert_true(strncmp(r.text.bytes, "HEAD", 4) == 0);
	const char *note = strstr(r.text.bytes, "\n[... ");
	assert_non_null(note);
	long long left = strtoll(note + 6, NULL, 10);
	assert_non_null(strstr(note,
	    " bytes of the output are left out here "
	    "...]\n"));
	assert_non_null(
	    strstr(note, "TAIL\n[Command succeeded with exit code 0]"));
	/* All of it is shown or counted. */
	size_t words = r.text.len -
	    strlen("\n[Command succeeded with exit "
		   "code 0]");
	words -= (size_t)(strstr(note + 1, "...]\n") + 5 - note);
	assert_int_equal((size_t)left + words, output.len);
	tool_result_finish(&r);
}

static void
test_long_output(void **state)
{
	(void)state;
	check_long("a", 80000);
	check_long("é", 100000);
	check_long("😀", 70000);
	check_long("a", 300000);
	/* Exactly what fits is whole. */
	auto_free char *output = xcalloc(RESULT_CHARS + 1, 1);
	memset(output, 'a', RESULT_CHARS);
	prints(output, EXEC_EXITED, 0);
	struct tool_result r = run("{\"command\":\"x\"}");
	assert_null(strstr(r.text.bytes, "left out"));
	tool_result_finish(&r);
	/* What the sandbox left out already counts, too. */
	fake.result.truncated = true;
	fake.result.output_bytes = 50000000;
	char *more = xasprintf("%s%s", output, output);
	fake.output = more;
	r = run("{\"command\":\"x\"}");
	assert_non_null(strstr(r.text.bytes,
	    "[... 49920000 bytes of the output are left out here ...]"));
	assert_non_null(strstr(r.text.bytes,
	    "\n[Output was truncated due to size limits]"));
	tool_result_finish(&r);
	free(more);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fake_set_up, fake_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_request),
		TEST(test_results),
		TEST(test_refused),
		TEST(test_long_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
