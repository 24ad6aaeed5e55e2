/*
 * What a crash leaves: a child runs threads until a fault point kills it, the
 * test opens what is left.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/agent/thread/fixture.h"

#define TWO_CALLS                                                 \
	"{\"content\":\"Look.\",\"tool_calls\":[{\"name\":\"a\"," \
	"\"args\":{}},{\"name\":\"b\",\"args\":{}}]}\n"
#define REPLIES TWO_CALLS "{\"content\":\"Done\"}\n"

/* The child's part: a program of its own, for FAULT is read once. */
static int
run_child(const char *dir, char **prompts)
{
	void *state = NULL;

	fixture_setup_closed(&state);
	struct fixture *f = state;
	snprintf(f->dir, sizeof f->dir, "%s", dir);
	snprintf(f->model, sizeof f->model, "script:%s/script", dir);
	fixture_open(f);
	struct thread *t = make(f, "t");
	for (; *prompts; prompts++)
		prompt(f, t, *prompts);
	wait_idle(f, t);
	return 3;
}

/* Prompts in a child that dies at the fault point. */
static void
crash_at(struct fixture *f, const char *point, const char *one, const char *two)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		setenv("FAULT", point, 1);
		execl("/proc/self/exe", "recover_test", f->dir, one, two,
		    (char *)NULL);
		_exit(4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("%s: status %#x", point, (unsigned)status);
}

static size_t
times(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* What holds wherever it was killed. */
static void
check_after(struct fixture *f, const char *point)
{
	auto_buf messages = BUF_INIT(1 << 20);

	fixture_open(f);
	struct thread *t = thread_find(f->threads, "t");
	if (!t)
		fail_msg("%s: no thread", point);
	wait_idle(f, t);
	phase_is(t, strstr(point, "start:2") ? "interrupted" : "idle");
	messages_are(f, t, &messages);
	auto_free char *log = log_of(t);
	const char *all = messages.bytes;
	/* Both prompts, once; each call has one result. */
	if (times(all, "\"content\":\"first\"") != 1 ||
	    times(all, "\"content\":\"second\"") != 1)
		fail_msg("%s: prompts in\n%s", point, all);
	size_t calls = times(all, "\"tool_calls\":[{") * 2;
	if (times(all, "\"type\":\"tool\"") != calls)
		fail_msg("%s: results in\n%s", point, all);
	/* The log tells of both turns, and how each ended. */
	if (times(log, "=== turn 1 ·") != 1 ||
	    times(log, "=== turn 2 ·") != 1 || times(log, "\n[turn] ") != 2 ||
	    times(log, "[user] first\n") != 1)
		fail_msg("%s: log\n%s", point, log);
	thread_put(t);
	fixture_close(f);
}

static void
test_fault_points(void **state)
{
	static const char *const points[] = { "turn.start:1", "turn.reply:1",
		"turn.call:1", "turn.call:2", "turn.called:1", "turn.called:2",
		"turn.results:1", "turn.end:1", "turn.ended:1", "turn.start:2",
		"turn.ended:2" };

	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		void *own = NULL;
		fixture_setup_closed(&own);
		script(own, REPLIES);
		crash_at(own, points[i], "first", "second");
		check_after(own, points[i]);
		fixture_teardown(&own);
	}
	(void)state;
}

/* Killed while calls ran: the model hears that their outcome is unknown, and
 * nothing runs again. */
static void
test_unknown_calls(void **state)
{
	struct fixture *f = *state;
	auto_buf messages = BUF_INIT(1 << 20);

	script(f, REPLIES);
	crash_at(f, "turn.called:1", "first", "second");
	fixture_open(f);
	struct thread *t = thread_find(f->threads, "t");
	wait_idle(f, t);
	messages_are(f, t, &messages);
	assert_int_equal(times(messages.bytes, "may or may not"), 2);
	/* Before the next prompt, or no model would take the history. */
	assert_true(strstr(messages.bytes, "may or may not") <
	    strstr(messages.bytes, "\"content\":\"second\""));
	log_has(t, "[turn] interrupted: sandagentfs ended in the middle");
	thread_put(t);
}

static void
test_phase_after_a_crash(void **state)
{
	struct fixture *f = *state;
	struct reply *r;
	char text[100];
	bool more;

	script(f, REPLIES);
	crash_at(f, "turn.reply:1", "only", NULL);
	fixture_open(f);
	struct thread *t = thread_find(f->threads, "t");
	phase_is(t, "interrupted");
	auto_json *tree = NULL;
	assert_int_equal(state_of(t, "turn", &tree)->valueint, 1);
	/* What it said is there, then the error. */
	SUCCEEDS(f, reply_open(t, &r, &f->st));
	ssize_t n = reply_read(r, 0, text, sizeof text - 1, &more, &f->st);
	assert_int_equal(n, 6);
	assert_memory_equal(text, "Look.\n", 6);
	assert_int_equal(reply_read(r, n, text, 10, &more, &f->st), -1);
	reply_close(r);
	/* Again opened: the log does not gain another line. */
	auto_free char *log = log_of(t);
	thread_put(t);
	fixture_close(f);
	fixture_open(f);
	t = thread_find(f->threads, "t");
	auto_free char *again = log_of(t);
	assert_string_equal(log, again);
	thread_put(t);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return run_child(argv[1], argv + 2);

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault_points),
		cmocka_unit_test_setup_teardown(test_unknown_calls,
		    fixture_setup_closed, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_phase_after_a_crash,
		    fixture_setup_closed, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
