/* Exact replacing, whatever the line ends. */
#include "agent/tools/replace.h"

#include "tests/test.h"

static void
test_table(void **state)
{
	static const struct {
		const char *text, *from, *to;
		bool all;
		enum replace_end end;
		size_t count;
		const char *result;
	} rows[] = {
		{ "a b c", "b", "x", false, REPLACE_OK, 1, "a x c" },
		{ "a b b", "b", "x", false, REPLACE_SEVERAL, 2, NULL },
		{ "a b b", "b", "xy", true, REPLACE_OK, 2, "a xy xy" },
		{ "aaa", "aa", "b", true, REPLACE_OK, 1, "ba" },
		{ "abc", "d", "x", true, REPLACE_NOT_FOUND, 0, NULL },
		{ "abc", "abc", "", false, REPLACE_OK, 1, "" },
		{ "abc", "b", "b", false, REPLACE_OK, 1, "abc" },
		{ "abc", "B", "x", false, REPLACE_NOT_FOUND, 0, NULL },
		/* A file with CRLF, text with LF. */
		{ "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, REPLACE_OK, 1,
		    "x\r\ny\r\nz\r\nc\r\n" },
		{ "a\r\nb\r\n", "b", "x\ny", false, REPLACE_OK, 1,
		    "a\r\nx\r\ny\r\n" },
		{ "a\r\nb\r\n", "b", "x\r\ny", false, REPLACE_OK, 1,
		    "a\r\nx\r\ny\r\n" },
		{ "a\r\nb\r\n", "a\r\nb", "x\r\ny", false, REPLACE_OK, 1,
		    "x\r\ny\r\n" },
		/* The other way round. */
		{ "a\nb\n", "a\r\nb", "x\r\ny", false, REPLACE_OK, 1,
		    "x\ny\n" },
		/* A file of both is changed as asked. */
		{ "a\r\nb\nc", "c", "x\ny", false, REPLACE_OK, 1,
		    "a\r\nb\nx\ny" },
		{ "a\nb\r\nc", "b\nc", "x\ny", false, REPLACE_OK, 1,
		    "a\nx\r\ny" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf out = BUF_INIT(1000);
		size_t count = 99;
		enum replace_end end =
		    replace_text(&out, rows[i].text, strlen(rows[i].text),
			rows[i].from, rows[i].to, rows[i].all, &count);
		if (end != rows[i].end)
			fail_msg("row %zu: %d", i, (int)end);
		assert_int_equal(count, rows[i].count);
		if (rows[i].result)
			assert_string_equal(out.bytes, rows[i].result);
	}
}

static void
test_bytes_and_bound(void **state)
{
	static const char text[] = "a\0b\0b";
	auto_buf out = BUF_INIT(5), small = BUF_INIT(4);
	size_t count;

	(void)state;
	assert_int_equal(replace_text(&out, text, 5, "b", "c", true, &count),
	    REPLACE_OK);
	assert_int_equal(out.len, 5);
	assert_memory_equal(out.bytes, "a\0c\0c", 5);
	assert_int_equal(replace_text(&small, text, 5, "b", "c", true, &count),
	    REPLACE_TOO_BIG);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_bytes_and_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
