/* Status codes as errno values: every code has one, and which. */
#include "fs/reply.h"

#include <errno.h>
#include <sys/stat.h>

#include "tests/test.h"

static void
every_code_has_its_errno(void **state)
{
	static const int expected[] = {
		[STATUS_OK] = 0,
		[STATUS_CANCELED] = ECANCELED,
		[STATUS_NOT_FOUND] = ENOENT,
		[STATUS_EXISTS] = EEXIST,
		[STATUS_DENIED] = EACCES,
		[STATUS_BUSY] = EBUSY,
		[STATUS_TIMEOUT] = ETIMEDOUT,
		[STATUS_UNAVAILABLE] = EHOSTDOWN,
		[STATUS_INVALID] = EINVAL,
		[STATUS_NOT_DIR] = ENOTDIR,
		[STATUS_IS_DIR] = EISDIR,
		[STATUS_NOT_EMPTY] = ENOTEMPTY,
		[STATUS_NOT_SUPPORTED] = ENOTSUP,
		[STATUS_TOO_BIG] = EFBIG,
		[STATUS_NO_MEMORY] = ENOMEM,
		[STATUS_NO_SPACE] = ENOSPC,
		[STATUS_IO] = EIO,
		[STATUS_BUG] = EIO,
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(expected), STATUS_BUG + 1);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(reply_errno((enum status_code)i), expected[i]);
}

/* EINTR without a signal makes tools try for ever; ENOSYS switches an
 * operation off for the whole mount. */
static void
no_code_is_eintr_or_enosys(void **state)
{
	(void)state;
	for (int i = STATUS_OK; i <= STATUS_BUG; i++) {
		assert_int_not_equal(reply_errno((enum status_code)i), EINTR);
		assert_int_not_equal(reply_errno((enum status_code)i), ENOSYS);
		assert_int_equal(reply_errno((enum status_code)i) == 0,
		    i == STATUS_OK);
	}
}

static void
directories_and_files_are_the_mounters(void **state)
{
	struct session s = { .uid = 7, .gid = 8 };
	struct inode key = { .kind = INODE_CONTROL, .thread = 3, .node = 1 };
	struct stat st;

	(void)state;
	reply_fill(&s, &key, S_IFREG | 0600, 1000, 12345, &st);
	assert_int_equal(st.st_uid, 7);
	assert_int_equal(st.st_gid, 8);
	assert_int_equal(st.st_size, 1000);
	assert_int_equal(st.st_blocks, 2);
	assert_int_equal(st.st_mtim.tv_sec, 12);
	assert_int_equal(st.st_mtim.tv_nsec, 345000000);
	assert_int_equal(st.st_ino, inode_number(&key));
	reply_fill(&s, &key, S_IFDIR | 0700, -1, 0, &st);
	assert_int_equal(st.st_size, 0);
}

static void
workspace_keeps_its_number(void **state)
{
	struct session s = { .uid = 7, .gid = 8 };
	struct mirror_attr attr = { .node = MIRROR_ROOT,
		.ino = 17,
		.mode = S_IFDIR | 0755 };
	struct stat before, after, below;

	(void)state;
	reply_fill_mirror(&s, 3, &attr, &before);
	attr.ino = 99; /* the sandbox was made */
	reply_fill_mirror(&s, 3, &attr, &after);
	assert_int_equal(before.st_ino, after.st_ino);
	attr.node = 2;
	reply_fill_mirror(&s, 3, &attr, &below);
	assert_true(below.st_ino == ((uint64_t)3 << 40 | 99));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_its_errno),
		cmocka_unit_test(no_code_is_eintr_or_enosys),
		cmocka_unit_test(directories_and_files_are_the_mounters),
		cmocka_unit_test(workspace_keeps_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
