/* Removing trees: links, closed directories, any depth. */
#include "agent/box/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/box/files_open.h"
#include "tests/test.h"

static char base[] = "/tmp/tree-test-XXXXXX";

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(base) && chdir(base) == 0 ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	return chdir("/") == 0 ? tree_remove(AT_FDCWD, base, true) : -1;
}

static void
touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void
links_are_not_followed(void **state)
{
	(void)state;
	assert_int_equal(files_make_dirs("keep/in", 0755, NULL), 0);
	touch("keep/in/f");
	assert_int_equal(files_make_dirs("t", 0755, NULL), 0);
	assert_int_equal(symlink("../keep", "t/link"), 0);
	assert_int_equal(symlink("nowhere", "t/dangling"), 0);
	assert_int_equal(tree_remove(AT_FDCWD, "t", false), 0);
	assert_int_equal(access("keep/in/f", F_OK), 0);
	assert_int_equal(access("t", F_OK), -1);
	assert_int_equal(symlink("keep", "link"), 0);
	assert_int_equal(tree_remove(AT_FDCWD, "link", true), 0);
	assert_int_equal(access("keep/in/f", F_OK), 0);
	assert_int_equal(tree_remove(AT_FDCWD, "absent", false), 0);
	touch("file");
	assert_int_equal(tree_remove(AT_FDCWD, "file", false), 0);
}

static void
closed_directories(void **state)
{
	(void)state;
	assert_int_equal(files_make_dirs("c/in/x", 0755, NULL), 0);
	touch("c/in/x/f");
	assert_int_equal(chmod("c/in/x", 0), 0);
	assert_int_equal(chmod("c/in", 0500), 0);
	if (geteuid() != 0) {
		assert_int_equal(tree_remove(AT_FDCWD, "c", false), -1);
		assert_int_equal(access("c/in", F_OK), 0);
	}
	assert_int_equal(tree_remove(AT_FDCWD, "c", true), 0);
	assert_int_equal(access("c", F_OK), -1);
}

static void
any_depth(void **state)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(mkdirat(fd, "d", 0755), 0);
		int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		close(fd);
		fd = next;
	}
	close(fd);
	assert_int_equal(tree_remove(AT_FDCWD, "d", false), 0);
	assert_int_equal(access("d", F_OK), -1);
}

static void
folders(void **state)
{
	struct stat st;
	auto_buf failed = BUF_INIT(1000);

	(void)state;
	assert_int_equal(files_make_dirs("m/n//o/", 0700, NULL), 0);
	assert_int_equal(stat("m/n", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(files_make_dirs("m/n/o", 0755, NULL), 0);
	touch("m/f");
	assert_int_equal(files_make_dirs("m/f/x/y", 0755, &failed), -1);
	assert_int_equal(errno, ENOTDIR);
	assert_string_equal(failed.bytes, "m/f");
	assert_int_equal(files_make_parents("m/p/q/file", 0755, NULL), 0);
	assert_int_equal(stat("m/p/q", &st), 0);

	static const struct {
		const char *path, *parent;
	} cases[] = { { "/a/b", "/a" }, { "/a", "/" }, { "a", "." },
		{ "a/b/", "a" }, { "/a//b", "/a" }, { "", "." } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_free char *parent = files_parent(cases[i].path);
		assert_string_equal(parent, cases[i].parent);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(closed_directories),
		cmocka_unit_test(any_depth),
		cmocka_unit_test(folders),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
