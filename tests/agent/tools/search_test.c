/* glob and grep over a fake mirror, with this machine's find and grep. */
#include "agent/tools/tool.h"
#include "tests/agent/tools/fake_mirror.h"

static struct tool_result
run(const char *name, const char *args)
{
	struct tool_context ctx = { .call_id = "call_1" };
	struct tool_result r;

	tool_run(name, args, NULL, &ctx, &r);
	return r;
}

static void
expect(const char *name, const char *args, bool failed, const char *text)
{
	struct tool_result r = run(name, args);

	assert_string_equal(r.text.bytes, text);
	assert_int_equal(r.failed, failed);
	assert_int_equal(fake.scripts, 1);
	fake.scripts = 0;
	tool_result_finish(&r);
}

static void
put(const char *path, const char *text)
{
	fake_put(path, text, strlen(text));
}

static void
put_tree(void)
{
	put("a.py", "import os\nx = 1 # os\n");
	put("src/b.py", "import sys\n");
	put("src/deep/c.c", "int x; // os\r\n");
	put("src/deep/c.h", "");
	put(".git/d.py", "os\n");
	put("src/.hidden.py", "os\n");
	put("it's [x]/n:1\nl.py", "os: 1\n");
	put(".daytona/e.py", "os\n");
}

#define H "/home/daytona"

static void
test_glob(void **state)
{
	(void)state;
	put_tree();
	expect("glob", "{\"pattern\":\"*.py\"}", false,
	    "['" H "/a.py', \"" H "/it's [x]/n:1\\nl.py\", '" H "/src/b.py']");
	expect("glob", "{\"pattern\":\"src/**/*.{c,h}\"}", false,
	    "['" H "/src/deep/c.c', '" H "/src/deep/c.h']");
	expect("glob", "{\"pattern\":\"/*.py\"}", false, "No files found");
	expect("glob", "{\"pattern\":\"*.py\",\"path\":\"src\"}", false,
	    "['" H "/src/b.py']");
	expect("glob", "{\"pattern\":\"/*.py\",\"path\":\"src\"}", false,
	    "['" H "/src/b.py']");
	expect("glob", "{\"pattern\":\"" H "/**/*.c\"}", false,
	    "['" H "/src/deep/c.c']");
	expect("glob", "{\"pattern\":\"" H "/src/b.py\"}", false,
	    "['" H "/src/b.py']");
	expect("glob", "{\"pattern\":\"" H "/src/*.py\",\"path\":\"" H "\"}",
	    false, "['" H "/src/b.py']");
	expect("glob", "{\"pattern\":\".*.py\"}", false,
	    "['" H "/src/.hidden.py']");
	/* The daemon's own folder is nobody's business. */
	expect("glob", "{\"pattern\":\".*/*.py\"}", false,
	    "['" H "/.git/d.py']");
	expect("glob", "{\"pattern\":\"[!a].py\"}", false,
	    "['" H "/src/b.py']");
	expect("glob", "{\"pattern\":\"src\"}", false, "No files found");
	expect("glob", "{\"pattern\":\"*\",\"path\":\"none\"}", true,
	    "Error: Path '" H "/none': path_not_found");
	expect("glob", "{\"pattern\":\"*\",\"path\":\"a.py\"}", true,
	    "Error: Path '" H "/a.py': not_a_directory");
	struct tool_result r = run("glob", "{\"pattern\":\"../*\"}");
	assert_string_equal(r.text.bytes,
	    "Error: Path '" H "': invalid_pattern");
	assert_true(r.failed);
	tool_result_finish(&r);
}

static void
test_glob_bounds(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 10001; i++) {
		auto_free char *name = xasprintf("%05u", i);
		put(name, "");
	}
	struct tool_result r = run("glob", "{\"pattern\":\"0*\"}");
	assert_false(r.failed);
	assert_non_null(strstr(r.text.bytes, "['" H "/00000', '"));
	/* 10,000 paths are over the characters of a result. */
	assert_non_null(strstr(r.text.bytes,
	    ", '... [results truncated, try being more specific with your "
	    "parameters]']"));
	assert_null(strstr(r.text.bytes, "stopped early"));
	tool_result_finish(&r);
	r = run("glob", "{\"pattern\":\"*\"}");
	assert_non_null(strstr(r.text.bytes, "stopped early"));
	assert_true(r.text.len < TOOL_RESULT_MAX);
	tool_result_finish(&r);
}

static void
test_grep(void **state)
{
	(void)state;
	put_tree();
	expect("grep", "{\"pattern\":\"os\"}", false,
	    H "/.git/d.py\n" H "/a.py\n" H "/it's [x]/n:1\nl.py\n" H
	      "/src/.hidden.py\n" H "/src/deep/c.c");
	expect("grep",
	    "{\"pattern\":\"os\",\"path\":\"a.py\",\"output_mode\":\"content\"}",
	    false, H "/a.py:\n  1: import os\n  2: x = 1 # os");
	expect("grep",
	    "{\"pattern\":\"os\",\"glob\":\"*.{c,h}\",\"output_mode\":"
	    "\"content\"}",
	    false, H "/src/deep/c.c:\n  1: int x; // os");
	expect("grep",
	    "{\"pattern\":\"os\",\"glob\":\"src/**\",\"output_mode\":"
	    "\"count\"}",
	    false, H "/src/deep/c.c: 1");
	expect("grep", "{\"pattern\":\"os\",\"glob\":\"[ab].py\"}", false,
	    H "/a.py");
	expect("grep", "{\"pattern\":\"os\",\"output_mode\":\"count\"}", false,
	    H "/.git/d.py: 1\n" H "/a.py: 2\n" H "/it's [x]/n:1\nl.py: 1\n" H
	      "/src/.hidden.py: 1\n" H "/src/deep/c.c: 1");
	expect("grep", "{\"pattern\":\"x = 1 # os\"}", false, H "/a.py");
	expect("grep", "{\"pattern\":\"nowhere to be found\"}", false,
	    "No matches found");
	expect("grep", "{\"pattern\":\"o.*s\"}", false,
	    "No matches found\n\n[The pattern is searched for as it is "
	    "written, not as a regular expression.]");
	expect("grep", "{\"pattern\":\"x\",\"path\":\"/none\"}", true,
	    "Error: Path '/none': path_not_found");
	/* What looks like an option is none. */
	put("opt", "-e it's \"$x\" `y` \\z\n");
	expect("grep", "{\"pattern\":\"-e it's \\\"$x\\\" `y` \\\\z\"}", false,
	    H "/opt");
}

static void
test_grep_binary(void **state)
{
	(void)state;
	fake_put("b.bin", "os\0\xff\n", 5);
	put("c", "os");
	expect("grep", "{\"pattern\":\"os\",\"output_mode\":\"content\"}",
	    false, H "/b.bin:\n  binary file matches\n" H "/c:\n  1: os");
	expect("grep", "{\"pattern\":\"os\",\"output_mode\":\"count\"}", false,
	    H "/b.bin: binary file matches\n" H "/c: 1");
	expect("grep", "{\"pattern\":\"os\"}", false, H "/b.bin\n" H "/c");
}

static void
test_grep_bounds(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);

	(void)state;
	for (unsigned i = 0; i < 1001; i++)
		buf_puts(&text, "abc\n");
	put("a", text.bytes);
	expect("grep",
	    "{\"pattern\":\"abc\",\"output_mode\":\"content\",\"max_count\":2}",
	    false,
	    H "/a:\n  1: abc\n  2: abc\n\n[Only the first 2 matches are "
	      "shown: search a smaller directory or with a longer pattern.]");
	expect("grep", "{\"pattern\":\"abc\",\"output_mode\":\"count\"}", false,
	    H "/a: 1000\n\n[Only the first 1000 matches are shown: search a "
	      "smaller directory or with a longer pattern.]");
	struct tool_result r =
	    run("grep", "{\"pattern\":\"abc\",\"max_count\":0}");
	assert_true(r.failed);
	tool_result_finish(&r);
	r = run("grep", "{\"pattern\":\"\"}");
	assert_string_equal(r.text.bytes, "Error: pattern cannot be empty.");
	tool_result_finish(&r);
	r = run("grep", "{\"pattern\":\"a\\nb\"}");
	assert_string_equal(r.text.bytes,
	    "Error: pattern must be within one line.");
	tool_result_finish(&r);
	r = run("grep", "{\"pattern\":\"a\",\"glob\":\"../x\"}");
	assert_string_equal(r.text.bytes,
	    "Error: glob '../x': invalid_pattern");
	tool_result_finish(&r);
}

/* The whole root is searched without what the kernel makes up. */
static void
test_root(void **state)
{
	(void)state;
	struct tool_result r = run("glob", "{\"pattern\":\"/etc/pass[w]d\"}");
	assert_string_equal(r.text.bytes, "['/etc/passwd']");
	tool_result_finish(&r);
	r = run("glob", "{\"pattern\":\"/proc/vers*\",\"path\":\"/\"}");
	assert_true(strncmp(r.text.bytes, "No files found", 14) == 0);
	tool_result_finish(&r);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fake_set_up, fake_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_glob),
		TEST(test_glob_bounds),
		TEST(test_grep),
		TEST(test_grep_binary),
		TEST(test_grep_bounds),
		TEST(test_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
