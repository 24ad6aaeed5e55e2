/* grep's records. */
#include "agent/tools/matches.h"

#include "tests/test.h"

static void
read_text(struct matches *m, const char *text, size_t len, const char *root,
    const char *glob, size_t max)
{
	struct pattern p = { 0 };
	auto_buf out = BUF_INIT(100000);

	*m = (struct matches){ 0 };
	buf_add(&out, text, len);
	if (glob)
		assert_null(pattern_read(&p, glob));
	matches_read(m, &out, root, glob ? &p : NULL, max);
	pattern_finish(&p);
}

#define READ(m, text, root, glob, max) \
	read_text(m, text, sizeof(text) - 1, root, glob, max)

static void
test_names(void **state)
{
	struct matches m;

	(void)state;
	/* Colons and line ends in names, colons in lines. */
	READ(&m,
	    "/r/b:1:2\0"
	    "3:x: y\r\n"
	    "/r/a\nb\0"
	    "12:  z\n"
	    "/r/a\nb\0"
	    "7:w\n",
	    "/r", NULL, 10);
	assert_int_equal(m.count, 3);
	assert_false(m.more);
	matches_sort(&m);
	assert_string_equal(m.match[0].path, "/r/a\nb");
	assert_int_equal(m.match[0].line, 12);
	assert_string_equal(m.match[0].text, "  z");
	assert_int_equal(m.match[1].line, 7);
	assert_string_equal(m.match[2].path, "/r/b:1:2");
	assert_string_equal(m.match[2].text, "x: y");
	matches_finish(&m);
}

static void
test_binary(void **state)
{
	struct matches m;

	(void)state;
	READ(&m,
	    "grep: /r/a.bin: binary file matches\n"
	    "/r/b\0"
	    "1:x\n"
	    "Binary file /r/c matches\n"
	    "/r/d\0"
	    "2:y\n",
	    "/r", NULL, 10);
	assert_int_equal(m.count, 4);
	assert_string_equal(m.match[0].path, "/r/a.bin");
	assert_int_equal(m.match[0].line, 0);
	assert_null(m.match[0].text);
	assert_string_equal(m.match[2].path, "/r/c");
	assert_string_equal(m.match[3].path, "/r/d");
	matches_finish(&m);
}

static void
test_bounds(void **state)
{
	static const char text[] = "/r/a\0"
				   "1:x\n"
				   "/r/a\0"
				   "2:x\n"
				   "/r/b\0"
				   "3:x";
	struct matches m;

	(void)state;
	/* The last record was cut. */
	READ(&m, text, "/r", NULL, 10);
	assert_int_equal(m.count, 2);
	assert_false(m.more);
	matches_finish(&m);
	READ(&m, text, "/r", NULL, 2);
	assert_int_equal(m.count, 2);
	assert_false(m.more);
	matches_finish(&m);
	READ(&m, text, "/r", NULL, 1);
	assert_int_equal(m.count, 1);
	assert_true(m.more);
	matches_finish(&m);
	/* Other words are passed over. */
	READ(&m,
	    "grep: /r/x: Permission denied\n/r/a\0001:x\nnonsense\n"
	    "grep: /r/y: Is a directory\n"
	    "grep: /r/z: binary file matches\n"
	    "/r/b\0001:y\nmore",
	    "/r", NULL, 9);
	assert_int_equal(m.count, 3);
	assert_string_equal(m.match[1].path, "/r/z");
	assert_string_equal(m.match[2].path, "/r/b");
	matches_finish(&m);
	READ(&m, "/r/a\0x:y\n", "/r", NULL, 9);
	assert_int_equal(m.count, 0);
	matches_finish(&m);
	READ(&m, "/r/a\0001", "/r", NULL, 9);
	assert_int_equal(m.count, 0);
	matches_finish(&m);
	READ(&m, "/r/a\0", "/r", NULL, 9);
	assert_int_equal(m.count, 0);
	matches_finish(&m);
}

static void
test_filter(void **state)
{
	static const char text[] = "/r/a.py\0"
				   "1:x\n"
				   "/r/.git/b.py\0"
				   "1:x\n"
				   "/r/src/c.c\0"
				   "1:x\n"
				   "/home/daytona/.daytona/d.py\0"
				   "1:x\n";
	struct matches m;

	(void)state;
	READ(&m, text, "/r", "*.py", 9);
	assert_int_equal(m.count, 2);
	matches_finish(&m);
	READ(&m, text, "/r", "src/*.{c,h}", 9);
	assert_int_equal(m.count, 1);
	assert_string_equal(m.match[0].path, "/r/src/c.c");
	matches_finish(&m);
	READ(&m, text, "/", "r/src/*", 9);
	assert_int_equal(m.count, 1);
	matches_finish(&m);
	READ(&m, text, "/r/a.py", "*.py", 1);
	assert_int_equal(m.count, 1);
	assert_string_equal(m.match[0].path, "/r/a.py");
	matches_finish(&m);
}

static void
test_long_line(void **state)
{
	auto_buf text = BUF_INIT(10000);
	struct matches m;

	(void)state;
	buf_add(&text, "/r/a\0001:", 7);
	for (unsigned i = 0; i < 600; i++)
		buf_puts(&text, "é");
	buf_putc(&text, '\n');
	read_text(&m, text.bytes, text.len, "/r", NULL, 9);
	assert_int_equal(m.count, 1);
	assert_int_equal(strlen(m.match[0].text), 1003);
	assert_string_equal(m.match[0].text + 998, "é...");
	matches_finish(&m);
}

static void
test_only_names(void **state)
{
	static const char text[] = "/r/b\0/r/a\nx\0/r/c.py\0/r/cut";
	struct matches m = { 0 };
	auto_buf out = BUF_INIT(1000);

	(void)state;
	buf_add(&out, text, sizeof text - 1);
	matches_read_names(&m, &out, "/r", NULL, 9);
	matches_sort(&m);
	assert_int_equal(m.count, 3);
	assert_string_equal(m.match[0].path, "/r/a\nx");
	assert_string_equal(m.match[2].path, "/r/c.py");
	matches_finish(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_only_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
