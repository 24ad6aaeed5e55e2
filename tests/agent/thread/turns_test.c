/* Turns of recorded models: what they leave in log, messages, reply, state. */
#include "tests/agent/thread/fixture.h"

#define CALL "{\"tool_calls\":[{\"name\":\"nosuch\",\"args\":{\"a\": 1}}]"

static ssize_t
read_reply(struct fixture *f, struct thread *t, char *out, size_t size)
{
	struct reply *r;
	bool more;
	int64_t off = 0;

	SUCCEEDS(f, reply_open(t, &r, &f->st));
	ssize_t n;
	while ((n = reply_read(r, off, out + off,
		    MIN(size - (size_t)off, (size_t)7), &more, &f->st)) > 0)
		off += n;
	assert_false(more);
	out[off] = '\0';
	reply_close(r);
	return n < 0 ? -1 : off;
}

static void
test_a_turn(void **state)
{
	struct fixture *f = *state;
	char reply[256];
	auto_buf messages = BUF_INIT(1 << 20);

	script(f, CALL ",\"content\":\"Look.\"}\n{\"content\":\"Done: é\"}\n");
	struct thread *t = make(f, "one");
	phase_is(t, "idle");
	assert_int_equal(thread_reply_size(t), 0);
	prompt(f, t,
	    "\xef\xbb\xbf"
	    "do\nit\r\n");
	assert_true(thread_busy(t));
	wait_idle(f, t);
	phase_is(t, "idle");
	log_has(t, "[user] do\n    it\n");
	log_has(t, "[agent] AI: Look.\n[agent] -> nosuch({\"a\": 1})\n");
	log_has(t, "[tools] <- nosuch: ");
	log_has(t, "[agent] AI: Done: é\n[turn] done in ");
	log_has(t, " · 2 model calls · 1 tool call · 0 tokens in, 0 out\n");
	assert_int_equal(read_reply(f, t, reply, sizeof reply), 16);
	assert_string_equal(reply, "Look.\n\nDone: é\n");
	assert_int_equal(thread_reply_size(t), 16);
	messages_are(f, t, &messages);
	assert_non_null(strstr(messages.bytes, "\"content\":\"do\\nit\""));
	auto_buf shown = BUF_INIT(100);
	thread_prompt_text(t, &shown);
	assert_string_equal(shown.bytes, "do\nit\n");
	thread_put(t);
}

/* Opened before, a reader gets it piece by piece and the end. */
static bool
reply_goes_on(void *arg)
{
	struct reply *r = ((void **)arg)[0];
	char *text = ((void **)arg)[1];
	struct status st;
	bool more;
	ssize_t n;

	while ((n = reply_read(r, (int64_t)strlen(text), text + strlen(text),
		    50, &more, &st)) > 0)
		;
	return n == 0 && !more;
}

static void
test_a_reader_beside(void **state)
{
	struct fixture *f = *state;
	struct reply *r;
	char text[200] = "";

	script(f, "{\"content\":\"0123456789 0123456789\",\"delay_ms\":60}\n");
	struct thread *t = make(f, "one");
	prompt(f, t, "go");
	SUCCEEDS(f, reply_open(t, &r, &f->st));
	wait_until(f, reply_goes_on, (void *[]){ r, text });
	assert_string_equal(text, "0123456789 0123456789\n");
	reply_close(r);
	thread_put(t);
}

/* `reply` opened while the only prompt is being written waits for it. */
static void
test_a_reader_before(void **state)
{
	struct fixture *f = *state;
	struct reply *r, *given_up;
	char text[200] = "", byte;
	bool more;

	script(f, "{\"content\":\"ok\"}\n");
	struct thread *t = make(f, "one");
	SUCCEEDS(f, thread_prompt_reserve(t, &f->st));
	phase_is(t, "receiving");
	SUCCEEDS(f, reply_open(t, &given_up, &f->st));
	assert_int_equal(reply_read(given_up, 0, &byte, 1, &more, &f->st), 0);
	assert_true(more);
	thread_prompt_release(t, NULL);
	phase_is(t, "idle");
	assert_int_equal(reply_read(given_up, 0, &byte, 1, &more, &f->st), 0);
	assert_false(more);
	reply_close(given_up);
	SUCCEEDS(f, thread_prompt_reserve(t, &f->st));
	SUCCEEDS(f, reply_open(t, &r, &f->st));
	SUCCEEDS(f, thread_prompt_accept(t, "hi", 2, &f->st));
	wait_until(f, reply_goes_on, (void *[]){ r, text });
	assert_string_equal(text, "ok\n");
	reply_close(r);
	thread_put(t);
}

static void
test_blank_is_no_turn(void **state)
{
	struct fixture *f = *state;
	auto_json *tree = NULL;

	struct thread *t = make(f, "one");
	prompt(f, t, " \t\r\n\n");
	phase_is(t, "idle");
	assert_int_equal(state_of(t, "turn", &tree)->valueint, 0);
	thread_put(t);
}

static void
test_a_failure(void **state)
{
	struct fixture *f = *state;
	char reply[256];
	auto_json *tree = NULL;

	script(f,
	    "{\"content\":\"Half\",\"error\":\"it broke\"}\n"
	    "{\"content\":\"fine\"}\n");
	struct thread *t = make(f, "one");
	prompt(f, t, "go");
	wait_idle(f, t);
	phase_is(t, "failed");
	assert_int_equal(read_reply(f, t, reply, sizeof reply), -1);
	assert_string_equal(reply, "Half\n");
	log_has(t, "[agent] AI: Half\n");
	log_has(t, "[turn] failed after ");
	log_has(t, " s: it broke · 1 model call · ");
	const cJSON *error = state_of(t, "error", &tree);
	assert_string_equal(json_string_or(error, "code", ""), "io");
	assert_string_equal(json_string_or(error, "message", ""), "it broke");
	assert_true(strlen(json_string_or(error, "do", "")) > 5);
	prompt(f, t, "again");
	wait_idle(f, t);
	phase_is(t, "idle");
	auto_json *after = NULL;
	assert_true(cJSON_IsNull(state_of(t, "error", &after)));
	assert_int_equal(read_reply(f, t, reply, sizeof reply), 5);
	thread_put(t);
}

static void
test_the_limit_of_steps(void **state)
{
	struct fixture *f = *state;
	auto_buf lines = BUF_INIT(10000);

	for (int i = 0; i < 10; i++)
		buf_puts(&lines, CALL "}\n");
	script(f, lines.bytes);
	struct thread *t = make(f, "one");
	SUCCEEDS(f, thread_config_set(t, "recursion_limit = 3\n", 20, &f->st));
	prompt(f, t, "go");
	wait_idle(f, t);
	phase_is(t, "failed");
	log_has(t, "stopped after 3 model calls");
	log_has(t, " · 3 model calls · 3 tool calls · ");
	thread_put(t);
}

/* Every call gets one result, in the order of the calls. */
static void
test_results_of_bad_calls(void **state)
{
	struct fixture *f = *state;
	auto_buf messages = BUF_INIT(1 << 20);

	script(f,
	    "{\"tool_calls\":[{\"name\":\"a\",\"args\":{}},"
	    "{\"name\":\"b\",\"args\":\"no object\"},"
	    "{\"name\":\"ls\",\"args\":{\"path\":5}}]}\n"
	    "{\"content\":\"ok\"}\n");
	struct thread *t = make(f, "one");
	prompt(f, t, "go");
	wait_idle(f, t);
	phase_is(t, "idle");
	messages_are(f, t, &messages);
	const char *at = messages.bytes;
	static const char *const names[] = { "\"name\":\"a\",\"status\":\"err",
		"\"name\":\"b\",\"status\":\"err",
		"\"name\":\"ls\",\"status\":\"err" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		at = strstr(at, names[i]);
		assert_non_null(at);
		at++;
		assert_null(strstr(at, names[i]));
	}
	thread_put(t);
}

static void
test_secrets_stay_here(void **state)
{
	struct fixture *f = *state;
	char reply[256];
	auto_buf text = BUF_INIT(1 << 20);

	script(f,
	    "{\"content\":\"key " SECRET "!\",\"tool_calls\":[{\"name\":"
	    "\"" SECRET "\",\"args\":{\"k\":\"" SECRET "\"}}]}\n"
	    "{\"error\":\"bad key " SECRET "\"}\n");
	struct thread *t = make(f, "one");
	prompt(f, t, "my key is " SECRET);
	wait_idle(f, t);
	assert_int_equal(read_reply(f, t, reply, sizeof reply), -1);
	assert_string_equal(reply, "key ***!\n");
	messages_are(f, t, &text);
	assert_non_null(strstr(text.bytes, "my key is ***"));
	thread_state_text(t, &text);
	thread_prompt_text(t, &text);
	auto_free char *log = log_of(t);
	buf_puts(&text, log);
	assert_null(strstr(text.bytes, SECRET));
	thread_put(t);
}

static void
test_two_readings_are_the_same(void **state)
{
	struct fixture *f = *state;
	auto_buf before = BUF_INIT(1 << 20), after = BUF_INIT(1 << 20);
	char reply[256], again[256];

	script(f, CALL ",\"content\":\"Look.\\n\"}\n{\"content\":\"Done\"}\n");
	struct thread *t = make(f, "one");
	messages_are(f, t, &before);
	prompt(f, t, "one");
	wait_idle(f, t);
	messages_are(f, t, &before);
	read_reply(f, t, reply, sizeof reply);
	assert_string_equal(reply, "Look.\n\nDone\n");
	auto_free char *log = log_of(t);
	thread_put(t);
	fixture_close(f);
	fixture_open(f);
	t = thread_find(f->threads, "one");
	assert_int_equal(thread_reply_size(t), -1);
	assert_int_equal(thread_reply_size_load(t, &f->st), strlen(reply));
	read_reply(f, t, again, sizeof again);
	assert_string_equal(reply, again);
	messages_are(f, t, &after);
	assert_string_equal(before.bytes, after.bytes);
	auto_free char *log_again = log_of(t);
	assert_string_equal(log, log_again);
	phase_is(t, "idle");
	thread_put(t);
}

/* A transcript that is lost comes back from the store. */
static void
test_a_lost_log(void **state)
{
	struct fixture *f = *state;

	script(f, CALL "}\n{\"content\":\"Done\"}\n");
	struct thread *t = make(f, "one");
	prompt(f, t, "first\nof two");
	prompt(f, t, "second");
	wait_idle(f, t);
	auto_free char *path =
	    xasprintf("%s/log/%lld", f->dir, (long long)thread_number(t));
	thread_put(t);
	fixture_close(f);
	assert_int_equal(unlink(path), 0);
	fixture_open(f);
	t = thread_find(f->threads, "one");
	log_has(t, "=== turn 1 · ");
	log_has(t,
	    "[user] first\n    of two\n[agent] -> nosuch({\"a\": 1})\n"
	    "[tools] <- nosuch: ");
	log_has(t, "[agent] AI: Done\n[turn] done in ");
	log_has(t, "=== turn 2 · ");
	thread_put(t);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_a_turn),
		TEST(test_a_reader_beside),
		TEST(test_a_reader_before),
		TEST(test_blank_is_no_turn),
		TEST(test_a_failure),
		TEST(test_the_limit_of_steps),
		TEST(test_results_of_bad_calls),
		TEST(test_secrets_stay_here),
		TEST(test_two_readings_are_the_same),
		TEST(test_a_lost_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
