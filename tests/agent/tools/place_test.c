/* Paths as models give them. */
#include "agent/tools/place.h"

#include "agent/base/path.h"
#include "tests/test.h"

static void
test_table(void **state)
{
	static const struct {
		const char *given, *path, *inside;
	} rows[] = {
		{ "/home/daytona/a", "/home/daytona/a", "a" },
		{ "/home/daytona", "/home/daytona", "" },
		{ "/home/daytona/", "/home/daytona", "" },
		{ "a.txt", "/home/daytona/a.txt", "a.txt" },
		{ "./x//y/./z", "/home/daytona/x/y/z", "x/y/z" },
		{ "", "/home/daytona", "" },
		{ ".", "/home/daytona", "" },
		{ "/", "/", NULL },
		{ "//etc///passwd", "/etc/passwd", NULL },
		{ "/home/daytonax/a", "/home/daytonax/a", NULL },
		{ "/home", "/home", NULL },
		{ "a..b/..c/d..", "/home/daytona/a..b/..c/d..",
		    "a..b/..c/d.." },
		{ "a~", "/home/daytona/a~", "a~" },
		{ "/home/daytona/.daytona", "/home/daytona/.daytona", NULL },
		{ ".daytona/x", "/home/daytona/.daytona/x", NULL },
		{ ".daytonax", "/home/daytona/.daytonax", ".daytonax" },
		{ "C:", "/home/daytona/C:", "C:" },
	};
	struct status st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct place p;
		assert_int_equal(place_read(&p, rows[i].given, &st), 0);
		assert_string_equal(p.path, rows[i].path);
		if (rows[i].inside)
			assert_string_equal(p.inside, rows[i].inside);
		else
			assert_null(p.inside);
		place_finish(&p);
	}
}

static void
test_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "../a", "Path traversal not allowed: ../a" },
		{ "/a/../b", "Path traversal not allowed: /a/../b" },
		{ "/a/..", "Path traversal not allowed: /a/.." },
		{ "~/a", "Path traversal not allowed: ~/a" },
		{ "~root", "Path traversal not allowed: ~root" },
		{ "C:\\a", "Windows absolute paths are not supported: C:\\a" },
		{ "c:/a", "Windows absolute paths are not supported: c:/a" },
	};
	struct status st;
	struct place p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(place_read(&p, rows[i][0], &st), -1);
		assert_string_equal(st.text, rows[i][1]);
		place_finish(&p);
	}
	auto_free char *name = xcalloc(PATH_NAME_MAX + 2, 1);
	memset(name, 'a', PATH_NAME_MAX + 1);
	assert_int_equal(place_read(&p, name, &st), -1);
	assert_non_null(strstr(st.text, "too long"));
	place_finish(&p);
	auto_free char *path = xcalloc(PATH_BYTES_MAX + 2, 1);
	for (size_t i = 0; i <= PATH_BYTES_MAX; i++)
		path[i] = i % 2 ? '/' : 'a';
	assert_int_equal(place_read(&p, path, &st), -1);
	place_finish(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
