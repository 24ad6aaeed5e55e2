/* The queue: order, its limit, cancelling, fairness over threads. */
#include "tests/agent/thread/fixture.h"

#define SLOW "{\"content\":\"ok\",\"delay_ms\":20000}\n"

static int
count(struct fixture *f, struct thread *t, const char *what)
{
	auto_buf text = BUF_INIT(1 << 20);
	int n = 0;

	SUCCEEDS(f, thread_messages_text(t, &text, &f->st));
	for (const char *p = text.bytes; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void
test_in_order(void **state)
{
	struct fixture *f = *state;
	auto_buf text = BUF_INIT(1 << 20);
	char one[32];

	script(f, "{\"content\":\"ok\",\"delay_ms\":2}\n");
	struct thread *t = make(f, "one");
	for (int i = 0; i < 12; i++) {
		snprintf(one, sizeof one, "number %02d", i);
		prompt(f, t, one);
		assert_true(thread_busy(t));
	}
	wait_idle(f, t);
	messages_are(f, t, &text);
	const char *at = text.bytes;
	for (int i = 0; i < 12; i++) {
		snprintf(one, sizeof one, "number %02d", i);
		at = strstr(at, one);
		assert_non_null(at);
	}
	thread_put(t);
}

struct nth {
	struct thread *thread;
	int turn;
};

static bool
runs(void *arg)
{
	const struct nth *n = arg;
	auto_json *tree = NULL;

	return state_of(n->thread, "turn", &tree)->valueint == n->turn &&
	    is_running(n->thread);
}

static void
test_its_limit(void **state)
{
	struct fixture *f = *state;
	auto_json *tree = NULL;

	script(f, SLOW);
	struct thread *t = make(f, "one");
	prompt(f, t, "runs");
	for (int i = 0; i < 15; i++)
		prompt(f, t, "waits");
	SUCCEEDS(f, thread_prompt_check(t, &f->st));
	SUCCEEDS(f, thread_prompt_reserve(t, &f->st));
	REFUSED(f, STATUS_BUSY, thread_prompt_check(t, &f->st));
	REFUSED(f, STATUS_BUSY, thread_prompt_reserve(t, &f->st));
	thread_prompt_release(t, NULL);
	prompt(f, t, "fits");
	REFUSED(f, STATUS_BUSY, thread_prompt_reserve(t, &f->st));
	wait_until(f, is_running, t);
	assert_int_equal(state_of(t, "queue", &tree)->valueint, 16);
	thread_refused(t, &f->st);
	log_has(t, "[turn] refused: 16 prompts wait already");
	for (int i = 1; i <= 17; i++) {
		wait_until(f, runs, &(struct nth){ t, i });
		SUCCEEDS(f, thread_ctl(t, "cancel", 6, NULL, &f->st));
	}
	wait_idle(f, t);
	phase_is(t, "cancelled");
	thread_put(t);
}

static void
test_cancel(void **state)
{
	struct fixture *f = *state;
	struct reply *r;
	bool more;
	char byte;

	script(f, SLOW);
	struct thread *t = make(f, "one");
	SUCCEEDS(f, thread_ctl(t, "cancel", 6, NULL, &f->st));
	phase_is(t, "idle");
	prompt(f, t, "go");
	wait_until(f, is_running, t);
	SUCCEEDS(f, reply_open(t, &r, &f->st));
	int64_t began = clock_mono_ms();
	SUCCEEDS(f, thread_ctl(t, "cancel", 6, NULL, &f->st));
	wait_idle(f, t);
	assert_true(clock_mono_ms() - began < 1000);
	phase_is(t, "cancelled");
	log_has(t, "[turn] cancelled after 0.");
	REFUSED(f, STATUS_IO, reply_read(r, 0, &byte, 1, &more, &f->st));
	assert_false(more);
	reply_close(r);
	thread_put(t);
}

/* Two run at once; a third thread's prompt is cancelled before it began. */
static void
test_cancel_what_waits(void **state)
{
	struct fixture *f = *state;
	struct thread *t[3];
	static const char *const names[] = { "a", "b", "c" };

	script(f, SLOW);
	for (int i = 0; i < 3; i++) {
		t[i] = make(f, names[i]);
		prompt(f, t[i], "go");
		if (i < 2)
			wait_until(f, is_running, t[i]);
	}
	phase_is(t[2], "queued");
	SUCCEEDS(f, thread_ctl(t[2], "cancel", 6, NULL, &f->st));
	phase_is(t[2], "cancelled");
	log_has(t[2], "[turn] cancelled turn 1 before it began\n");
	lane_drain(threads_disk_lane(f->threads));
	for (int i = 0; i < 2; i++)
		SUCCEEDS(f, thread_ctl(t[i], "cancel", 6, NULL, &f->st));
	for (int i = 0; i < 3; i++)
		wait_idle(f, t[i]);
	assert_int_equal(count(f, t[2], "\"type\""), 0);
	for (int i = 0; i < 3; i++)
		thread_put(t[i]);
	fixture_close(f);
	fixture_open(f);
	struct thread *c = thread_find(f->threads, "c");
	phase_is(c, "cancelled");
	thread_put(c);
}

/* One worker, a thread with five prompts and one with one: the one does not
 * wait for the five. */
static void
test_fair(void **state)
{
	struct fixture *f = *state;

	script(f, "{\"content\":\"ok\",\"delay_ms\":30}\n");
	struct thread *many = make(f, "many"), *one = make(f, "one");
	for (int i = 0; i < 5; i++)
		prompt(f, many, "go");
	prompt(f, one, "go");
	wait_idle(f, one);
	assert_true(thread_busy(many));
	assert_true(count(f, many, "\"type\":\"human\"") <= 3);
	wait_idle(f, many);
	assert_int_equal(count(f, many, "\"type\":\"ai\""), 5);
	thread_put(many);
	thread_put(one);
}

/* What waits at the end of the mount runs at the next one; what ran is
 * interrupted. */
static void
test_the_end_of_the_mount(void **state)
{
	struct fixture *f = *state;
	auto_buf text = BUF_INIT(1 << 20);

	script(f, SLOW);
	struct thread *t = make(f, "one");
	prompt(f, t, "first");
	prompt(f, t, "second");
	wait_until(f, is_running, t);
	thread_put(t);
	int64_t began = clock_mono_ms();
	fixture_close(f);
	assert_true(clock_mono_ms() - began < 5000);
	script(f, "{\"content\":\"ok\"}\n");
	fixture_open(f);
	t = thread_find(f->threads, "one");
	wait_idle(f, t);
	phase_is(t, "idle");
	log_has(t, "[turn] interrupted after 0.");
	auto_free char *log = log_of(t);
	assert_null(strstr(strstr(log, "interrupted") + 1, "interrupted"));
	messages_are(f, t, &text);
	assert_non_null(strstr(text.bytes, "\"content\":\"second\""));
	thread_put(t);
}

static int
setup_with_two(void **state)
{
	fixture_setup_closed(state);
	((struct fixture *)*state)->max_turns = 2;
	fixture_open(*state);
	return 0;
}

static int
setup_with_one(void **state)
{
	fixture_setup_closed(state);
	((struct fixture *)*state)->max_turns = 1;
	fixture_open(*state);
	return 0;
}

int
main(void)
{
#define TEST(name, setup) \
	cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_in_order, fixture_setup),
		TEST(test_its_limit, fixture_setup),
		TEST(test_cancel, fixture_setup),
		TEST(test_cancel_what_waits, setup_with_two),
		TEST(test_fair, setup_with_one),
		TEST(test_the_end_of_the_mount, fixture_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
