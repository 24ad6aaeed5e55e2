/* Turns: their phases, calls, counters; what a crash leaves. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/agent/store/fixture.h"

static struct stored_turn
load(struct fixture *f, int64_t thread, int64_t turn)
{
	struct stored_turn t;

	SUCCEEDS(f, store_turn_load(f->store, thread, turn, &t, &f->st));
	return t;
}

static void
assert_phase(struct fixture *f, int64_t thread, int64_t turn,
    enum turn_phase phase)
{
	struct stored_turn t = load(f, thread, turn);

	assert_int_equal(t.phase, phase);
	stored_turn_finish(&t);
}

static void
test_whole_turn(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct usage usage;

	int64_t turn = begin_turn(f, thread, "do it");
	assert_int_equal(turn, 1);
	add_reply(f, thread, turn, "looking", "c1");
	add_result(f, thread, turn, "c1", "a b c");
	add_reply(f, thread, turn, "done", NULL);
	end_turn(f, thread, turn);
	struct stored_turn t = load(f, thread, 0);
	assert_int_equal(t.turn, 1);
	assert_int_equal(t.phase, TURN_DONE);
	assert_string_equal(t.prompt, "do it");
	assert_string_equal(t.model, "script:x");
	assert_int_equal(t.model_calls, 2);
	assert_int_equal(t.tool_calls, 1);
	assert_int_equal(t.usage.input_tokens, 20);
	assert_int_equal(t.usage.output_tokens, 6);
	assert_true(t.queued_ms > 0 && t.queued_ms <= t.started_ms &&
	    t.started_ms <= t.ended_ms);
	stored_turn_finish(&t);
	SUCCEEDS(f, store_thread_usage(f->store, thread, &usage, &f->st));
	assert_int_equal(usage.input_tokens, 20);
	fixture_reopen(f);
	assert_contents(f, thread, "do it|looking|a b c|done");
	REFUSED(f, STATUS_NOT_FOUND,
	    store_turn_load(f->store, thread, 2, &t, &f->st));
}

static void
test_unknown_usage(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct usage usage = { 0 };

	SUCCEEDS(f, store_thread_usage(f->store, thread, &usage, &f->st));
	assert_int_equal(usage.input_tokens, -1);
	int64_t turn = begin_turn(f, thread, "x");
	struct message ai = new_message(MESSAGE_AI, turn, "y");
	ai.usage.output_tokens = 4;
	SUCCEEDS(f, store_turn_reply(f->store, thread, turn, &ai, 2, &f->st));
	message_finish(&ai);
	SUCCEEDS(f, store_thread_usage(f->store, thread, &usage, &f->st));
	assert_int_equal(usage.input_tokens, -1);
	assert_int_equal(usage.output_tokens, 4);
}

/* No turn is started twice, ended twice or gone on with after its end. */
static void
test_order(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t"), second = 0;
	struct message m = new_message(MESSAGE_HUMAN, 1, "x");
	struct store *s = f->store;

	REFUSED(f, STATUS_NOT_FOUND,
	    store_turn_accept(s, 99, "x", &second, &f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_start(s, thread, 1, "m", &m, &f->st));
	int64_t turn = begin_turn(f, thread, "one");
	REFUSED(f, STATUS_INVALID,
	    store_turn_start(s, thread, turn, "m", &m, &f->st));
	SUCCEEDS(f, store_turn_accept(s, thread, "two", &second, &f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_reply(s, thread, second, &m, -1, &f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_results(s, thread, second, &m, 1, &f->st));
	REFUSED(f, STATUS_BUG,
	    store_turn_end(s, thread, turn, TURN_QUEUED, NULL, NULL, &f->st));
	SUCCEEDS(f,
	    store_turn_end(s, thread, turn, TURN_FAILED, "model", "no luck",
		&f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_end(s, thread, turn, TURN_DONE, NULL, NULL, &f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_reply(s, thread, turn, &m, -1, &f->st));
	struct stored_turn t = load(f, thread, turn);
	assert_string_equal(t.error_code, "model");
	assert_string_equal(t.error_text, "no luck");
	stored_turn_finish(&t);
	SUCCEEDS(f,
	    store_turn_end(s, thread, second, TURN_CANCELED, NULL, NULL,
		&f->st));
	REFUSED(f, STATUS_INVALID,
	    store_turn_start(s, thread, second, "m", &m, &f->st));
	assert_contents(f, thread, "one");
	message_finish(&m);
}

static void
list_queued(void *arg, const struct stored_turn *t)
{
	buf_printf(arg, "%lld.%lld %s;", (long long)t->thread,
	    (long long)t->turn, t->prompt);
}

static void
test_recovery(void **state)
{
	struct fixture *f = *state;
	int64_t a = make_thread(f, "a"), b = make_thread(f, "b"), turn = 0;
	auto_buf queued = BUF_INIT(4096);

	int64_t running = begin_turn(f, a, "one");
	SUCCEEDS(f, store_turn_accept(f->store, b, "x\ny", &turn, &f->st));
	SUCCEEDS(f, store_turn_accept(f->store, a, "two", &turn, &f->st));
	fixture_reopen(f);
	assert_phase(f, a, running, TURN_INTERRUPTED);
	SUCCEEDS(f, store_turns_queued(f->store, list_queued, &queued, &f->st));
	assert_string_equal(queued.bytes, "2.1 x\ny;1.2 two;");
	struct message m = new_message(MESSAGE_HUMAN, 1, "again");
	REFUSED(f, STATUS_INVALID,
	    store_turn_start(f->store, a, running, "m", &m, &f->st));
	message_finish(&m);
}

static void
assert_unknown(struct fixture *f, int64_t thread, const char *wanted)
{
	char **ids = NULL;
	auto_buf all = BUF_INIT(4096);

	SUCCEEDS(f, store_calls_unknown(f->store, thread, &ids, &f->st));
	for (char **p = ids; *p; p++) {
		buf_printf(&all, "%s;", *p);
		free(*p);
	}
	free(ids);
	assert_string_equal(all.bytes, wanted);
}

static void
add_two_calls(struct fixture *f, int64_t thread, int64_t turn)
{
	struct message ai = new_message(MESSAGE_AI, turn, "");

	message_add_call(&ai, xstrdup("c1"), xstrdup("ls"), xstrdup("{}"));
	message_add_call(&ai, xstrdup("c0"), xstrdup("ls"), xstrdup("{"))
	    ->invalid = xstrdup("cut off");
	message_add_call(&ai, xstrdup("c2"), xstrdup("ls"), xstrdup("{}"));
	SUCCEEDS(f, store_turn_reply(f->store, thread, turn, &ai, -1, &f->st));
	message_finish(&ai);
}

static void
test_unknown_calls(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t"), next = 0;

	int64_t turn = begin_turn(f, thread, "one");
	add_two_calls(f, thread, turn);
	assert_unknown(f, thread, ""); /* they are running */
	/* Ids may repeat from reply to reply. */
	add_result(f, thread, turn, "c1", "r");
	add_result(f, thread, turn, "c2", "r");
	add_two_calls(f, thread, turn);
	add_result(f, thread, turn, "c1", "r");
	SUCCEEDS(f, store_turn_accept(f->store, thread, "two", &next, &f->st));
	fixture_reopen(f);
	assert_unknown(f, thread, "c2;");
	fixture_reopen(f);
	assert_unknown(f, thread, "c2;");
	/* What became of it may be said, but then it is said. */
	struct message human = new_message(MESSAGE_HUMAN, next, "two");
	SUCCEEDS(f,
	    store_turn_start(f->store, thread, next, "m", &human, &f->st));
	message_finish(&human);
	assert_unknown(f, thread, "");
	add_reply(f, thread, next, "", "c1");
	SUCCEEDS(f,
	    store_turn_end(f->store, thread, next, TURN_CANCELED, NULL, NULL,
		&f->st));
	assert_unknown(f, thread, "c1;");
}

static void
test_result_of_interrupted(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");

	int64_t turn = begin_turn(f, thread, "one");
	add_reply(f, thread, turn, "", "c1");
	fixture_reopen(f);
	assert_unknown(f, thread, "c1;");
	add_result(f, thread, turn, "c1", "unknown outcome");
	assert_unknown(f, thread, "");
	assert_contents(f, thread, "one||unknown outcome");
}

/* --- kill -9 at every commit of a turn ------------------------------------ */

/* What the child does. Its n-th commit is the n-th of COMMITS. */
static int
run_script(const char *dir)
{
	struct fixture fixture = { 0 }, *f = &fixture;
	int64_t turn = 0;

	snprintf(f->dir, sizeof f->dir, "%s", dir);
	SUCCEEDS(f, store_open(f->dir, &f->store, &f->st));
	int64_t thread = make_thread(f, "t");
	turn = begin_turn(f, thread, "one"); /* two commits */
	add_reply(f, thread, turn, "looking", "c1");
	add_result(f, thread, turn, "c1", "found");
	add_reply(f, thread, turn, "done", NULL);
	end_turn(f, thread, turn);
	SUCCEEDS(f, store_turn_accept(f->store, thread, "two", &turn, &f->st));
	return 0;
}

#define COMMITS 8

/* After the n-th commit. */
static void
assert_state_after(struct fixture *f, int n)
{
	static const char *const contents_after[COMMITS + 1] = { "", "", "",
		"one", "one|looking", "one|looking|found",
		"one|looking|found|done", "one|looking|found|done",
		"one|looking|found|done" };
	auto_buf queued = BUF_INIT(4096);

	if (n == 0)
		return;
	assert_contents(f, 1, contents_after[n]);
	SUCCEEDS(f, store_turns_queued(f->store, list_queued, &queued, &f->st));
	assert_string_equal(queued.bytes,
	    n == 2       ? "1.1 one;"
		: n == 8 ? "1.2 two;"
			 : "");
	if (n >= 3)
		assert_phase(f, 1, 1, n >= 7 ? TURN_DONE : TURN_INTERRUPTED);
	assert_unknown(f, 1, n == 4 ? "c1;" : "");
}

static void
test_killed_at(const char *point, int nth, int commits)
{
	void *state = NULL;

	fixture_setup(&state);
	struct fixture *f = state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		auto_free char *fault = xasprintf("%s:%d", point, nth);
		setenv("FAULT", fault, 1);
		execl("/proc/self/exe", "turns_test", f->dir, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	fixture_open(f);
	assert_state_after(f, commits);
	fixture_teardown(&state);
}

static void
test_killed(void **state)
{
	(void)state;
	for (int n = 1; n <= COMMITS; n++) {
		test_killed_at("store.commit", n, n - 1);
		test_killed_at("store.committed", n, n);
	}
}

int
main(int argc, char **argv)
{
	if (argc == 2)
		return run_script(argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole_turn,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_usage,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_order, fixture_setup_open,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_recovery,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_unknown_calls,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_result_of_interrupted,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
