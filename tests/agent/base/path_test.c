/* Names, and text that is made harmless. */
#include "agent/base/path.h"

#include "tests/test.h"

static void
test_thread_names(void **state)
{
	static const char *const good[] = { "t", "ds-pipeline-demo-1",
		"New Folder",
		"\xeb\x85\xbc\xeb\xac\xb8-\xec\x8b\xa4\xed\x97\x98", "a.b",
		"quo'te\"%", "ww.x" };
	static const char *const bad[] = { "", ".Trash", "-rf", "a/b", "a<b",
		"a>b", "http://x", "www.x", "WWW.x", "a\nb", "\x7f", "\xc2\x80",
		"\xff", "\xc0\xaf", "..", "." };
	char longest[130];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(thread_name_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(thread_name_valid(bad[i]));
	memset(longest, 'a', sizeof longest);
	longest[128] = '\0';
	assert_true(thread_name_valid(longest));
	longest[128] = 'a';
	longest[129] = '\0';
	assert_false(thread_name_valid(longest));
}

static void
test_relative_paths(void **state)
{
	(void)state;
	assert_true(relpath_valid(""));
	assert_true(relpath_valid("a"));
	assert_true(relpath_valid("a/.b/c\n\xff"));
	assert_false(relpath_valid("/a"));
	assert_false(relpath_valid("a/"));
	assert_false(relpath_valid("a//b"));
	assert_false(relpath_valid("a/../b"));
	assert_false(relpath_valid("./a"));
}

static void
test_utf8(void **state)
{
	static const char *const bad[] = { "\x80", "\xc0\x80", "\xc1\xbf",
		"\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
		"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xfe" };

	(void)state;
	assert_true(utf8_valid("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(utf8_valid(bad[i], strlen(bad[i])));
	assert_int_equal(utf8_prefix("a\xe2\x82\xac", 4, 3), 1);
	assert_int_equal(utf8_prefix("a\xe2\x82\xac", 4, 4), 4);
	assert_int_equal(utf8_prefix("abc", 3, 2), 2);
}

static void
test_escape(void **state)
{
	static const struct {
		const char *raw, *safe;
	} rows[] = {
		{ "plain \xe2\x82\xac", "plain \xe2\x82\xac" },
		{ "a\nb\tc\rd", "a\\nb\\tc\\rd" }, { "\x1b[2J", "\\x1b[2J" },
		{ "\xff", "\\xff" }, { "\xc2\x9b", "\\xc2\\x9b" }, /* C1: CSI */
		{ "\xe2\x80\xae",
		    "\\xe2\\x80\\xae" },      /* right-to-left override */
		{ "\xd8\x9c", "\\xd8\\x9c" }, /* Arabic letter mark */
	};

	char out[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		escape_line(out, sizeof out, rows[i].raw, strlen(rows[i].raw));
		assert_string_equal(out, rows[i].safe);
	}
	assert_int_equal(escape_line(out, 4, "ab\xe2\x82\xac", 5), 2);
	assert_string_equal(out, "ab");
	escape_line(out, sizeof out, "a\0b", 3);
	assert_string_equal(out, "a\\x00b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_names),
		cmocka_unit_test(test_relative_paths),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_escape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
