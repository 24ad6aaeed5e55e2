/* The lines of a thread's config. */
#include "agent/config/thread_config.h"

#include "tests/test.h"

static int
line(struct thread_config *c, const char *text, struct status *st)
{
	return thread_config_line(c, text, strlen(text), st);
}

static void
test_values(void **state)
{
	static const char text[] = "# a comment\n"
				   "\n"
				   "  model =  shell:  \r\n"
				   "base_url=http://localhost:1/v1 # here\n"
				   "temperature = 0.5\n"
				   "max_tokens = 100\n"
				   "system_prompt = Use # headings \n"
				   "approve = execute, write_file\n"
				   "tools = read_file ls\n"
				   "recursion_limit = 50\n"
				   "ttl_minutes = 0 # for ever\n"
				   "stop_minutes=7\n"
				   "snapshot = my-image:1\n"
				   "network = off\n"
				   "cpu = 2\nmemory = 4\ndisk = 8\n"
				   "env.A = 1\n"
				   "env.B_2 = x y\n"
				   "env.A = 2";
	struct thread_config c;
	struct status st;

	(void)state;
	thread_config_init(&c);
	assert_int_equal(thread_config_parse(&c, text, &st), 0);
	assert_string_equal(c.model, "shell:");
	assert_string_equal(c.base_url, "http://localhost:1/v1");
	assert_true(c.temperature == 0.5);
	assert_int_equal(c.max_tokens, 100);
	assert_string_equal(c.system_prompt, "Use # headings");
	assert_string_equal(c.approve, "execute,write_file");
	assert_string_equal(c.tools, "read_file,ls");
	assert_int_equal(c.recursion_limit, 50);
	assert_int_equal(c.ttl_minutes, 0);
	assert_int_equal(c.stop_minutes, 7);
	assert_string_equal(c.snapshot, "my-image:1");
	assert_int_equal(c.network_off, 1);
	assert_int_equal(c.cpu, 2);
	assert_int_equal(c.memory, 4);
	assert_int_equal(c.disk, 8);
	assert_int_equal(c.env_count, 2);
	assert_string_equal(c.env[0], "A");
	assert_string_equal(c.env[1], "2");
	assert_string_equal(c.env[3], "x y");
	assert_null(c.env[4]);
	thread_config_finish(&c);
}

static void
test_unset(void **state)
{
	struct thread_config c;
	struct status st;

	(void)state;
	thread_config_init(&c);
	assert_int_equal(thread_config_parse(&c, "# nothing\n\n", &st), 0);
	assert_null(c.model);
	assert_true(c.temperature < 0);
	assert_int_equal(c.ttl_minutes, -1);
	assert_int_equal(c.network_off, -1);
	assert_int_equal(c.env_count, 0);
	/* No names at all: no tools. */
	assert_int_equal(line(&c, "tools =", &st), 0);
	assert_string_equal(c.tools, "");
	thread_config_finish(&c);
}

static void
test_quotes(void **state)
{
	struct thread_config c;
	struct status st;

	(void)state;
	thread_config_init(&c);
	assert_int_equal(
	    line(&c, "system_prompt = \"  a\\nb\\t\\\"c\\\" \\\\ \\x # \" # d",
		&st),
	    0);
	assert_string_equal(c.system_prompt, "  a\nb\t\"c\" \\ \\x # ");
	assert_int_equal(line(&c, "model = \"shell:\"", &st), 0);
	assert_string_equal(c.model, "shell:");
	assert_int_equal(line(&c, "model = \"shell:", &st), -1);
	assert_int_equal(line(&c, "model = \"a\" b", &st), -1);
	assert_string_equal(c.model, "shell:");
	thread_config_finish(&c);
}

static void
test_faults(void **state)
{
	static const struct {
		const char *line, *words;
	} bad[] = {
		{ "nonsense", "not of the form key = value" },
		{ "colour = red", "unknown key \"colour\"" },
		{ "= 1", "unknown key \"\"" },
		{ "model =", "model has no value" },
		{ "base_url = localhost", "must be a URL" },
		{ "temperature = 2.5", "number from 0 to 2" },
		{ "temperature = warm", "number from 0 to 2" },
		{ "max_tokens = 0", "whole number from 1" },
		{ "ttl_minutes = -1", "whole number from 0" },
		{ "ttl_minutes = 1h", "whole number from 0" },
		{ "recursion_limit = 1.5", "whole number from 1" },
		{ "network = yes", "must be on or off" },
		{ "tools = ls; rm", "names of tools" },
		{ "approve = a/b", "names of tools" },
		{ "env.1A = x", "a variable's name" },
		{ "env. = x", "a variable's name" },
		{ "env.A-B = x", "a variable's name" },
		{ "model = a\xff", "not UTF-8" },
	};
	struct thread_config c;
	struct status st;

	(void)state;
	thread_config_init(&c);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(line(&c, bad[i].line, &st), -1);
		assert_int_equal(st.code, STATUS_INVALID);
		if (!strstr(st.text, bad[i].words))
			fail_msg("%s: %s", bad[i].line, st.text);
		assert_int_equal(line(NULL, bad[i].line, &st), -1);
	}
	assert_int_equal(thread_config_line(&c, "model = a\0b", 11, &st), -1);
	assert_int_equal(thread_config_parse(&c, "cpu = 1\n\ncpu = x\n", &st),
	    -1);
	assert_non_null(strstr(st.text, "line 3"));
	thread_config_finish(&c);
}

static void
test_check_only(void **state)
{
	struct status st;

	(void)state;
	assert_int_equal(line(NULL, "model = shell:", &st), 0);
	assert_int_equal(line(NULL, "env.A = b", &st), 0);
	assert_int_equal(line(NULL, "# x", &st), 0);
	assert_int_equal(line(NULL, "", &st), 0);
	/* Only the length counts. */
	assert_int_equal(thread_config_line(NULL, "cpu = 1x", 7, &st), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_unset),
		cmocka_unit_test(test_quotes),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_check_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
