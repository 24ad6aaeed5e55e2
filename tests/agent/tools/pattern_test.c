/* Patterns of file names. */
#include "agent/tools/pattern.h"

#include <time.h>

#include "agent/base/clock.h"
#include "tests/test.h"

static bool
matches(const char *pattern, const char *path, bool any_dot)
{
	struct pattern p;

	assert_null(pattern_read(&p, pattern));
	bool match = pattern_match(&p, path, any_dot);
	pattern_finish(&p);
	return match;
}

static void
test_table(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} rows[] = {
		/* Without a slash: the base name, at any depth. */
		{ "*.py", "a.py", true },
		{ "*.py", "src/deep/a.py", true },
		{ "*.py", "a.pyc", false },
		{ "*.py", ".hidden/a.py", false },
		{ "*.py", ".a.py", false },
		{ ".*.py", ".a.py", true },
		{ "a?c", "abc", true },
		{ "a?c",
		    "a\xc3\xa9"
		    "c",
		    true },
		{ "a?c", "ac", false },
		{ "a.txt", "a.txt", true },
		{ "a.txt", "x/a.txt", true },
		{ "*", "a", true },
		{ "*", ".a", false },
		{ "?a", ".a", false },
		{ "[.]a", ".a", false },
		{ "**", "a/b/c", true },
		{ "a**b", "axxb", true },
		/* With one: the path from the root. */
		{ "/a.txt", "a.txt", true },
		{ "/a.txt", "x/a.txt", false },
		{ "src/*.c", "src/a.c", true },
		{ "src/*.c", "src/x/a.c", false },
		{ "src/*.c", "x/src/a.c", false },
		{ "src/**/*.c", "src/a.c", true },
		{ "src/**/*.c", "src/x/y/a.c", true },
		{ "src/**/*.c", "src/.x/a.c", false },
		{ "src/.x/*.c", "src/.x/a.c", true },
		{ "src/*/*.c", "src/.x/a.c", false },
		{ "**/a/**/b", "x/a/b", true },
		{ "**/a/**/b", "a/x/y/b", true },
		{ "**/a/**/b", "a/x/a/y/b", true },
		{ "**/a/**/b", "x/b", false },
		{ "**/*.c", "a.c", true },
		{ "src/**", "src/a", true },
		{ "src/**", "src/x/a", true },
		{ "src/**", "src/.a", false },
		{ "src/**", "src", false },
		{ "src/**", "srcx/a", false },
		{ "a/b", "a/b/c", false },
		{ "a/b/c", "a/b", false },
		{ "./a", "a", false },
		/* Classes. */
		{ "[abc].c", "b.c", true },
		{ "[a-c].c", "d.c", false },
		{ "[!a-c].c", "d.c", true },
		{ "[^a-c].c", "a.c", false },
		{ "[]a].c", "].c", true },
		{ "[a-].c", "-.c", true },
		{ "[a", "[a", true },
		{ "[가-힣]x", "논x", true },
		{ "[!x]y", "\xffy", true },
		/* Braces. */
		{ "*.{c,h}", "a.h", true },
		{ "*.{c,h}", "a.o", false },
		{ "{a,b{1,2}}.c", "b2.c", true },
		{ "{a,b{1,2}}.c", "b.c", false },
		{ "{,x}a", "a", true },
		{ "{,x}a", "xa", true },
		{ "{src,test}/*.{c,h}", "test/a.h", true },
		{ "{a/b,c}", "a/b", true },
		{ "{a/b,c}", "x/c", true },
		{ "{a}", "{a}", true },
		{ "{a", "{a", true },
		{ "a}", "a}", true },
		{ "\\{a,b\\}", "{a,b}", true },
		/* Escapes. */
		{ "a\\*b", "a*b", true },
		{ "a\\*b", "axb", false },
		{ "a\\", "a\\", true },
		{ "[\\]]", "]", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (matches(rows[i].pattern, rows[i].path, false) !=
		    rows[i].match)
			fail_msg("%s %s", rows[i].pattern, rows[i].path);
}

static void
test_any_dot(void **state)
{
	(void)state;
	assert_true(matches("*.py", ".git/x/a.py", true));
	assert_false(matches("*.py", ".git/x/.a.py", true));
	assert_true(matches("**/*.py", ".git/x/a.py", true));
	assert_false(matches("src/*.py", ".git/src/a.py", true));
}

static void
test_faults(void **state)
{
	struct pattern p;

	(void)state;
	static const char *const invalid[] = { "", "/", "../a", "a/../b",
		"a/..", "{..,b}/a" };
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		assert_string_equal(pattern_read(&p, invalid[i]),
		    "invalid_pattern");
		pattern_finish(&p);
	}
	assert_null(pattern_read(&p, "a..b/..c/d.."));
	pattern_finish(&p);
	assert_string_equal(pattern_read(&p,
				"{0,1,2,3,4,5,6,7,8,9}{0,1,2,3,4,5,6,7,8,9}"
				"{0,1,2,3,4,5,6,7,8,9}{0,1}"),
	    "pattern_too_broad");
	pattern_finish(&p);
	assert_null(pattern_read(&p,
	    "{0,1,2,3,4,5,6,7,8,9}{0,1,2,3,4,5,6,7,8,9}"
	    "{0,1,2,3,4,5,6,7,8,9}"));
	assert_int_equal(p.count, 1000);
	pattern_finish(&p);
}

static void
test_hints(void **state)
{
	struct pattern p;
	const char *base;

	(void)state;
	assert_null(pattern_read(&p, "src/*.{c,h}"));
	assert_int_equal(p.count, 2);
	assert_true(pattern_base(&p, 0, &base));
	assert_string_equal(base, "*.c");
	assert_true(pattern_base(&p, 1, &base));
	assert_string_equal(base, "*.h");
	assert_false(pattern_wants_hidden(&p));
	assert_int_equal(pattern_depth(&p), 2);
	pattern_finish(&p);
	assert_null(pattern_read(&p, "{/a,b/c/d}"));
	assert_int_equal(pattern_depth(&p), 3);
	pattern_finish(&p);
	assert_null(pattern_read(&p, "{a/b,*.c}"));
	assert_int_equal(pattern_depth(&p), 0);
	pattern_finish(&p);
	static const char *const none[] = { "[!a].c", "src/**", "a\\*" };
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		assert_null(pattern_read(&p, none[i]));
		assert_false(pattern_base(&p, 0, &base));
		pattern_finish(&p);
	}
	assert_null(pattern_read(&p, "a/.github/*.yml"));
	assert_true(pattern_wants_hidden(&p));
	pattern_finish(&p);
}

/* Many stars do not make it slow. */
static void
test_time(void **state)
{
	auto_free char *name = xcalloc(256, 1);
	auto_free char *path = xcalloc(4100, 1);
	int64_t began = clock_mono_ms();

	(void)state;
	memset(name, 'a', 255);
	assert_false(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name, false));
	for (size_t i = 0; i < 4096; i++)
		path[i] = i % 2 ? '/' : 'a';
	path[4095] = '\0';
	assert_false(
	    matches("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b", path, false));
	assert_true(clock_mono_ms() - began < 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_any_dot),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
