/* The push queue: order, bytes, superseding, crashes. */
#include "tests/agent/store/fixture.h"

static void
list(void *arg, const struct queued_push *row)
{
	buf_printf(arg, "%d %s %s %s %s;", row->kind, row->path, row->path2,
	    row->file, row->detail);
}

static void
assert_queue(struct fixture *f, int64_t thread, const char *wanted)
{
	auto_buf all = BUF_INIT(1 << 20);

	SUCCEEDS(f, store_queue_load(f->store, thread, list, &all, &f->st));
	assert_string_equal(all.bytes, wanted);
}

static struct queued_push
push(int64_t thread, const char *path)
{
	return (struct queued_push){ .thread = thread,
		.kind = 2,
		.path = path,
		.path2 = "",
		.file = "17",
		.detail = "{}" };
}

static void
test_order(void **state)
{
	struct fixture *f = *state;
	int64_t a = make_thread(f, "a"), b = make_thread(f, "b");
	struct queued_push rows[] = { push(a, "x"), push(b, "\xff\xfe bytes"),
		push(a, "y") };

	SUCCEEDS(f, store_queue_add(f->store, rows, 3, NULL, 0, &f->st));
	assert_true(rows[0].id > 0 && rows[0].id < rows[1].id &&
	    rows[1].id < rows[2].id);
	fixture_reopen(f);
	assert_queue(f, a, "2 x  17 {};2 y  17 {};");
	assert_queue(f, b, "2 \xff\xfe bytes  17 {};");
	SUCCEEDS(f, store_queue_done(f->store, &rows[2].id, 1, &f->st));
	/* Ids never come back, so the order holds. */
	int64_t last = rows[2].id;
	struct queued_push later = push(a, "z");
	SUCCEEDS(f,
	    store_queue_add(f->store, &later, 1, &rows[0].id, 1, &f->st));
	assert_true(later.id > last);
	SUCCEEDS(f, store_queue_add(f->store, NULL, 0, NULL, 0, &f->st));
	SUCCEEDS(f, store_thread_delete(f->store, b, &f->st));
	assert_queue(f, b, "");
}

static void
test_superseded(void **state)
{
	struct fixture *f = *state;
	int64_t a = make_thread(f, "a");
	struct queued_push first = push(a, "x"), second = push(a, "x");

	SUCCEEDS(f, store_queue_add(f->store, &first, 1, NULL, 0, &f->st));
	second.detail = "{\"mode\":420}";
	SUCCEEDS(f,
	    store_queue_add(f->store, &second, 1, &first.id, 1, &f->st));
	assert_queue(f, a, "2 x  17 {\"mode\":420};");
	/* Written anew it keeps its place. */
	struct queued_push third = push(a, "y");
	SUCCEEDS(f, store_queue_add(f->store, &third, 1, NULL, 0, &f->st));
	second.detail = "{}";
	second.file = "18";
	int64_t id = second.id;
	SUCCEEDS(f, store_queue_add(f->store, &second, 1, NULL, 0, &f->st));
	assert_int_equal(second.id, id);
	assert_queue(f, a, "2 x  18 {};2 y  17 {};");
}

/* All rows or none. */
static void
test_whole(void **state)
{
	struct fixture *f = *state;
	int64_t a = make_thread(f, "a");
	struct queued_push rows[] = { push(a, "x"), push(99, "y") };

	REFUSED(f, STATUS_NOT_FOUND,
	    store_queue_add(f->store, rows, 2, NULL, 0, &f->st));
	assert_queue(f, a, "");
	/* So that the next try makes them anew. */
	assert_int_equal(rows[0].id, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, fixture_setup_open,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_superseded,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_whole, fixture_setup_open,
		    fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
