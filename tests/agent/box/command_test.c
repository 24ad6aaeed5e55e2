/* Bodies of POST /process/execute. */
#include "agent/box/command.h"

#include "tests/test.h"

static int
parse(struct command *c, const char *text, struct buf *error)
{
	auto_buf body = BUF_INIT(100000);

	*c = (struct command){ 0 };
	buf_puts(&body, text);
	return command_parse(c, &body, error);
}

static void
good(void **state)
{
	struct command c;
	auto_buf error = BUF_INIT(1000);

	(void)state;
	assert_int_equal(
	    parse(&c,
		"{\"command\":\"a\\u0000b\\\\u0000\\ud800\",\"cwd\":\"\","
		"\"timeout\":7,\"envs\":{\"A\":\"x=y\",\"_1\":\"\"},\"zzz\":1}",
		&error),
	    0);
	/* NUL is dropped, as a shell would; an escaped backslash is none. */
	assert_string_equal(c.text, "ab\\u0000\xef\xbf\xbd");
	assert_null(c.cwd);
	assert_int_equal(c.timeout_s, 7);
	assert_int_equal(c.env_count, 2);
	assert_string_equal(c.envs[0], "A=x=y");
	assert_string_equal(c.envs[1], "_1=");
	command_finish(&c);
	assert_int_equal(parse(&c,
			     "{\"command\":\"x\",\"cwd\":null,\"timeout\":null,"
			     "\"envs\":null}",
			     &error),
	    0);
	command_finish(&c);
}

static void
bad(void **state)
{
	static const struct {
		const char *body, *words;
	} cases[] = {
		{ "", "EOF" },
		{ "{", "unexpected EOF" },
		{ "[]", "cannot unmarshal" },
		{ "{}", "'required' tag" },
		{ "{\"command\":\"\"}", "'required' tag" },
		{ "{\"command\":\" \\n\"}", "empty command" },
		{ "{\"command\":5}",
		    "cannot unmarshal number into Go struct field "
		    "ExecuteRequest.command of type string" },
		{ "{\"command\":\"x\",\"timeout\":-1}",
		    "cannot unmarshal number -1 into" },
		{ "{\"command\":\"x\",\"timeout\":1.5}",
		    "cannot unmarshal number 1.5 into" },
		{ "{\"command\":\"x\",\"timeout\":4294967296}", "4294967296" },
		{ "{\"command\":\"x\",\"timeout\":\"5\"}",
		    "cannot unmarshal string into" },
		{ "{\"command\":\"x\",\"envs\":{\"1A\":\"\"}}",
		    "invalid environment variable name: '1A'" },
		{ "{\"command\":\"x\",\"envs\":{\"A\":1}}",
		    "cannot unmarshal number into" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct command c;
		auto_buf error = BUF_INIT(1000);
		assert_int_equal(parse(&c, cases[i].body, &error), -1);
		if (!strstr(error.bytes, cases[i].words) ||
		    strncmp(error.bytes, "bad request: ", 13) != 0)
			fail_msg("%s: %s", cases[i].body, error.bytes);
		command_finish(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
