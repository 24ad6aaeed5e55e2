/* The inode table: identity, lookup counts, renewal, st_ino. */
#include "fs/inode.h"

#include "tests/test.h"

static struct inode
file(int64_t thread, uint32_t node)
{
	return (struct inode){ .kind = INODE_WORKSPACE,
		.thread = thread,
		.node = node };
}

static void
one_key_one_id(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode a = file(1, 5), b = file(2, 5), out;

	(void)state;
	uint64_t id = inode_get(t, &a, false);
	assert_int_equal(inode_get(t, &a, false), id);
	assert_int_not_equal(inode_get(t, &b, false), id);
	assert_true(inode_find(t, id, &out));
	assert_int_equal(out.thread, 1);
	assert_int_equal(out.node, 5);
	assert_int_equal(inode_count(t), 2);
	inode_table_destroy(t);
}

static void
lookups_are_counted(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode a = file(1, 5), out;

	(void)state;
	uint64_t id = inode_get(t, &a, false);
	inode_get(t, &a, false);
	inode_get(t, &a, false);
	assert_true(inode_forget(t, id, 2, &out));
	assert_true(inode_find(t, id, &out));
	assert_true(inode_forget(t, id, 1, &out));
	assert_int_equal(out.node, 5);
	assert_false(inode_find(t, id, &out));
	assert_false(inode_forget(t, id, 1, &out));
	/* An id is never used again: no generation is needed. */
	assert_int_not_equal(inode_get(t, &a, false), id);
	inode_table_destroy(t);
}

static void
root_is_always_there(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode out;

	(void)state;
	assert_true(inode_find(t, 1, &out));
	assert_int_equal(out.kind, INODE_ROOT);
	inode_table_destroy(t);
}

/* A writer of `ctl` that waits must not hold up the next one. */
static void
fresh_ones_are_alone(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode ctl = { .kind = INODE_CONTROL, .thread = 1, .node = 4 };
	struct inode out;

	(void)state;
	uint64_t a = inode_get(t, &ctl, true), b = inode_get(t, &ctl, true);
	assert_int_not_equal(a, b);
	assert_int_not_equal(inode_get(t, &ctl, false), a);
	assert_true(inode_forget(t, a, 1, &out));
	assert_true(inode_find(t, b, &out));
	inode_table_destroy(t);
}

/* RMDIR of `workspace`: who stands in the old one goes on. */
static void
renewal_leaves_the_old_one(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode a = file(1, 1), out;

	(void)state;
	uint64_t old = inode_get(t, &a, false);
	inode_renew(t, &a);
	uint64_t new = inode_get(t, &a, false);
	assert_int_not_equal(old, new);
	assert_true(inode_find(t, old, &out));
	assert_true(inode_forget(t, old, 1, &out));
	assert_int_equal(inode_get(t, &a, false), new);
	inode_table_destroy(t);
}

static void
many(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode out;
	uint64_t ids[5000];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct inode key = file(i % 7, i);
		ids[i] = inode_get(t, &key, false);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_true(inode_find(t, ids[i], &out));
		assert_int_equal(out.node, i);
		struct inode key = file(i % 7, i);
		assert_int_equal(inode_get(t, &key, false), ids[i]);
	}
	for (uint32_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_true(inode_forget(t, ids[i], 2, &out));
	assert_int_equal(inode_count(t), 0);
	inode_table_destroy(t);
}

static void
sizes_are_remembered(void **state)
{
	struct inode_table *t = inode_table_create();
	struct inode a = { .kind = INODE_CONTROL, .thread = 1, .node = 2 };

	(void)state;
	uint64_t id = inode_get(t, &a, false);
	assert_int_equal(inode_size(t, id), 0);
	inode_set_size(t, id, 77);
	assert_int_equal(inode_size(t, id), 77);
	inode_set_size(t, id + 1, 5);
	assert_int_equal(inode_size(t, id + 1), 0);
	inode_table_destroy(t);
}

/* design.md §6: thread above bit 40; ours have bit 39; no two alike. */
static void
numbers(void **state)
{
	uint64_t seen[64];
	size_t count = 0;

	(void)state;
	for (int kind = INODE_THREAD; kind < INODE_KINDS; kind++)
		for (uint32_t node = 0; node < 7; node++) {
			struct inode key = { .kind = (enum inode_kind)kind,
				.thread = kind >= INODE_DIAGDIR ? 0 : 9 };
			if (kind == INODE_CONTROL || kind == INODE_DIAGFILE)
				key.node = node;
			else if (node)
				break;
			uint64_t n = inode_number(&key);
			assert_true(n >> 40 == (uint64_t)key.thread);
			assert_true(n >> 39 & 1);
			if (kind != INODE_CHECKPOINT)
				assert_true((n & 0x7fffffffffULL) < 64);
			for (size_t i = 0; i < count; i++)
				assert_true(seen[i] != n);
			seen[count++] = n;
		}
	assert_true(inode_number_of(3, 0xffffffffffULL) == 0x3ffffffffffULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_key_one_id),
		cmocka_unit_test(lookups_are_counted),
		cmocka_unit_test(root_is_always_there),
		cmocka_unit_test(fresh_ones_are_alone),
		cmocka_unit_test(renewal_leaves_the_old_one),
		cmocka_unit_test(many),
		cmocka_unit_test(sizes_are_remembered),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
