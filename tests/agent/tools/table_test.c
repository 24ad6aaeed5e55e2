/* The table, its schema for a model, bad calls, and texts of results. */
#include "agent/tools/result.h"
#include "tests/agent/tools/fake_mirror.h"

static void
expect(const char *name, const char *args, const char *allowed,
    const char *text)
{
	struct tool_context ctx = { .call_id = "call_1" };
	struct tool_result r;

	tool_run(name, args, allowed, &ctx, &r);
	assert_string_equal(r.text.bytes, text);
	assert_true(r.failed);
	assert_int_equal(fake.reads + fake.scripts + fake.writes, 0);
	tool_result_finish(&r);
}

static void
test_unknown(void **state)
{
	(void)state;
	expect("rm", "{}", NULL,
	    "Error: rm is not a valid tool, try one of [ls, read_file, "
	    "write_file, edit_file, glob, grep, execute].");
	expect("execute", "{\"command\":\"x\"}", "ls, read_file",
	    "Error: execute is not a valid tool, try one of [ls, read_file].");
	expect("ls", "{}", "", "Error: ls is not a valid tool, try one of [].");
	expect("", "{}", "ls", "Error:  is not a valid tool, try one of [ls].");
}

static void
test_arguments(void **state)
{
	(void)state;
	expect("ls", "{broken", NULL,
	    "Error: the arguments of ls are not JSON at byte 2: {broken\n"
	    "Please fix the error and try again.");
	expect("ls", "[\"/\"]", NULL,
	    "Error: the arguments of ls are not a JSON object: [\"/\"]\n"
	    "Please fix the error and try again.");
	expect("read_file", "  ", NULL,
	    "Error invoking tool 'read_file' with kwargs {} with error:\n"
	    "file_path: Field required\n"
	    "Please fix the error and try again.");
	expect("write_file", "{\"file_path\":null,\"x\":1}", NULL,
	    "Error invoking tool 'write_file' with kwargs {\"file_path\":null,"
	    "\"x\":1} with error:\n"
	    "file_path: Input should be a valid string\n"
	    "content: Field required\n"
	    "Please fix the error and try again.");
}

static void
test_cancelled_before(void **state)
{
	struct tool_context ctx = { .call_id = "call_1",
		.cancel = cancel_create(NULL) };
	struct tool_result r;

	(void)state;
	cancel_fire(ctx.cancel);
	tool_run("execute", "{\"command\":\"x\"}", NULL, &ctx, &r);
	assert_true(r.canceled);
	assert_null(fake.command);
	tool_result_finish(&r);
	cancel_put(ctx.cancel);
}

static void
test_schema(void **state)
{
	struct status st;
	auto_free char *all = tools_schema(NULL);
	auto_free char *again = tools_schema(NULL);
	auto_free char *some = tools_schema("grep,ls,nosuch");
	auto_free char *none = tools_schema("");
	auto_json *json = json_parse(all, strlen(all), &st);
	const cJSON *tool;
	size_t i = 0;

	(void)state;
	assert_string_equal(all, again);
	assert_string_equal(none, "[]");
	cJSON_ArrayForEach(tool, json) {
		const cJSON *parameters =
		    cJSON_GetObjectItemCaseSensitive(tool, "parameters");
		const char *name = json_string_or(tool, "name", "");
		assert_string_equal(name, tools[i]->name);
		assert_ptr_equal(tool_find(name), tools[i]);
		assert_true(
		    strlen(json_string_or(tool, "description", "")) > 20);
		assert_string_equal(json_string_or(parameters, "type", ""),
		    "object");
		assert_true(
		    cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(parameters,
			"properties")));
		i++;
	}
	assert_null(tools[i]);
	assert_null(tool_find("nosuch"));
	auto_json *two = json_parse(some, strlen(some), &st);
	assert_int_equal(cJSON_GetArraySize(two), 2);
}

static void
test_list(void **state)
{
	static const char *const names[] = { "/a", "/b'c", "/d\"'\\e",
		"/\n\x01", "/\xff" };
	char *paths[5];
	struct tool_result r;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		paths[i] = xstrdup(names[i]);
	result_init(&r);
	result_add_list(&r, paths, 5);
	assert_string_equal(r.text.bytes,
	    "['/a', \"/b'c\", '/d\"\\'\\\\e', '/\\n\\x01', '/\xef\xbf\xbd']");
	tool_result_finish(&r);
	for (size_t i = 0; i < 5; i++)
		free(paths[i]);
}

static void
test_capped(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);
	struct tool_result r;

	(void)state;
	for (size_t i = 0; i < RESULT_CHARS; i++)
		buf_puts(&text, "é");
	result_init(&r);
	result_add_capped(&r, text.bytes, text.len);
	assert_string_equal(r.text.bytes, text.bytes);
	tool_result_finish(&r);
	buf_puts(&text, "x");
	result_init(&r);
	result_add_capped(&r, text.bytes, text.len);
	assert_int_equal(r.text.bytes[text.len - 1], '\n');
	assert_string_equal(r.text.bytes + text.len,
	    "... [results truncated, try being more specific with your "
	    "parameters]");
	tool_result_finish(&r);
	/* Bytes are bounded, too, also where each becomes three. */
	auto_free char *bad = xcalloc(1 << 20, 1);
	memset(bad, 0xff, (1 << 20) - 1);
	result_init(&r);
	result_add_capped(&r, bad, (1 << 20) - 1);
	assert_true(r.text.len < TOOL_RESULT_MAX && !r.text.failed);
	assert_int_equal(result_error(&r, "%s", bad), 0);
	assert_true(r.text.len > 1000 && !r.text.failed);
	tool_result_finish(&r);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fake_set_up, fake_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_unknown),
		TEST(test_arguments),
		TEST(test_cancelled_before),
		TEST(test_schema),
		TEST(test_list),
		TEST(test_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
