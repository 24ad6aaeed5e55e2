/* The mount table, and names of checkpoint files. */
#include "fs/mountinfo.h"

#include "fs/checkpoints.h"
#include "tests/test.h"

static const char table[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "40 22 0:40 / /home/u/a\\040b rw,nosuid - fuse.sandagentfs sandagentfs rw\n"
    "41 22 0:41 / /mnt/x rw shared:2 master:3 - fuse.sshfs host:/ rw\n"
    "42 22 0:42 / /mnt/two rw - tmpfs none rw\n"
    "43 42 0:43 / /mnt/two rw - fuse.sandagentfs mine rw\n"
    "44 22 0:44 / /mnt/over rw - fuse.sandagentfs mine rw\n"
    "45 44 0:45 / /mnt/over rw - tmpfs fuse.sandagentfs rw\n"
    "46 22 0:46 / /mnt/short rw - fuse.sandagentfs";

static void
finds_what_lies_on_top(void **state)
{
	(void)state;
	assert_int_equal(mountinfo_at(table, "/home/u/a b"), MOUNTINFO_OURS);
	assert_int_equal(mountinfo_at(table, "/home/u/a"), MOUNTINFO_NONE);
	assert_int_equal(mountinfo_at(table, "/home/u/a bc"), MOUNTINFO_NONE);
	assert_int_equal(mountinfo_at(table, "/mnt/x"), MOUNTINFO_OTHER);
	assert_int_equal(mountinfo_at(table, "/mnt/two"), MOUNTINFO_OURS);
	assert_int_equal(mountinfo_at(table, "/mnt/over"), MOUNTINFO_OTHER);
	assert_int_equal(mountinfo_at(table, "/mnt/short"), MOUNTINFO_OURS);
	assert_int_equal(mountinfo_at("", "/"), MOUNTINFO_NONE);
	assert_int_equal(mountinfo_at("\n\n1 2\n", "/"), MOUNTINFO_NONE);
}

static void
finds_any(void **state)
{
	(void)state;
	assert_true(mountinfo_any_ours(table));
	assert_false(mountinfo_any_ours(
	    "22 1 8:1 / / rw - ext4 /dev/fuse.sandagentfs rw\n"));
	assert_false(mountinfo_any_ours(""));
}

static void
checkpoint_names(void **state)
{
	char id[40];

	(void)state;
	assert_true(checkpoint_id("12-1ef0-6-ab.json", id));
	assert_string_equal(id, "1ef0-6-ab");
	assert_true(checkpoint_id("-1-1ef0.json", id));
	assert_string_equal(id, "1ef0");
	assert_false(checkpoint_id("12-.json", id));
	assert_false(checkpoint_id("12.json", id));
	assert_false(checkpoint_id("12-abc.jso", id));
	assert_false(checkpoint_id("", id));
	assert_false(
	    checkpoint_id("1-0123456789012345678901234567890123456789.json",
		id));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_lies_on_top),
		cmocka_unit_test(finds_any),
		cmocka_unit_test(checkpoint_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
