/* Live output: one line a second, the newest, also when nothing follows. */
#include "agent/thread/internal.h"
#include "tests/agent/thread/fixture.h"

static void
feed(struct live *l, const char *text)
{
	live_bytes(l, text, strlen(text));
}

static void
log_is(struct thread *t, const char *expected)
{
	auto_free char *text = log_of(t);

	assert_string_equal(text, expected);
}

static void
test_lines(void **state)
{
	struct fixture *f = *state;
	struct live l;

	struct thread *t = make(f, "t");
	live_init(&l, t, "execute");
	feed(&l, "\n  \n");
	log_is(t, "");
	feed(&l, "first");
	log_is(t, "[tools] .. execute: first\n");
	feed(&l, " and more\nsecond\nthird\nfo");
	log_is(t, "[tools] .. execute: first\n");
	live_finish(&l);
	/* Nothing comes after the call. */
	live_tick(t, clock_mono_ms() + 5000);
	log_is(t, "[tools] .. execute: first\n");
	thread_put(t);
}

static bool
log_has_third(void *arg)
{
	auto_free char *text = log_of(arg);

	return strstr(text, "third") != NULL;
}

/* The newest line comes in its turn though the program is silent by then. */
static void
test_silence(void **state)
{
	struct fixture *f = *state;
	struct live l;

	struct thread *t = make(f, "t");
	live_init(&l, t, "execute");
	int64_t began = clock_mono_ms();
	feed(&l, "first\n");
	feed(&l, "second\nthird\n");
	wait_until(f, log_has_third, t);
	assert_in_range(clock_mono_ms() - began, 900, 3000);
	log_is(t, "[tools] .. execute: first\n[tools] .. execute: third\n");
	live_finish(&l);
	thread_put(t);
}

static void
test_what_is_shown(void **state)
{
	struct fixture *f = *state;
	struct live l;
	auto_buf longest = BUF_INIT(100000);

	struct thread *t = make(f, "t");
	live_init(&l, t, "execute");
	feed(&l, " 10%\r 20%\r 30%");
	log_is(t, "[tools] .. execute:  20%\n");
	live_finish(&l);
	live_init(&l, t, "execute");
	feed(&l, "key " SECRET "\033[0m\n");
	log_has(t, "[tools] .. execute: key ***\\x1b[0m\n");
	live_finish(&l);
	live_init(&l, t, "execute");
	for (int i = 0; i < 10000; i++)
		buf_putc(&longest, 'x');
	feed(&l, longest.bytes);
	live_finish(&l);
	assert_in_range(thread_log_size(t), 200, 400);
	thread_put(t);
}

static void
test_bounded(void **state)
{
	struct fixture *f = *state;
	struct live l;
	char line[32];

	struct thread *t = make(f, "t");
	live_init(&l, t, "execute");
	for (int i = 0; i < 700; i++) {
		snprintf(line, sizeof line, "line %d\n", i);
		feed(&l, line);
		l.shown_ms -= 2000;
	}
	live_finish(&l);
	auto_free char *text = log_of(t);
	assert_non_null(strstr(text, " line 599\n"));
	assert_null(strstr(text, " line 600\n"));
	thread_put(t);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_lines),
		TEST(test_silence),
		TEST(test_what_is_shown),
		TEST(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
