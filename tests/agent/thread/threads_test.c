/* The directory of threads: make, rename, end; config, state, ctl. */
#include "tests/agent/thread/fixture.h"

static void
collect(void *arg, const char *name, int64_t number)
{
	assert_true(number > 0);
	buf_printf(arg, "%s ", name);
}

static void
listed(struct fixture *f, const char *expected)
{
	auto_buf names = BUF_INIT(10000);

	threads_list(f->threads, collect, &names);
	assert_string_equal(names.bytes, expected);
}

static void
test_make(void **state)
{
	struct fixture *f = *state;
	int64_t number;

	listed(f, "");
	assert_null(thread_find(f->threads, "x"));
	assert_null(thread_by_number(f->threads, 1));
	thread_put(make(f, "논문-실험"));
	thread_put(make(f, "a"));
	listed(f, "논문-실험 a ");
	REFUSED(f, STATUS_EXISTS,
	    thread_make(f->threads, "a", &number, &f->st));
	REFUSED(f, STATUS_INVALID,
	    thread_make(f->threads, ".a", &number, &f->st));
	fixture_close(f);
	fixture_open(f);
	listed(f, "논문-실험 a ");
	assert_null(thread_put(NULL));
}

static void
test_many(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "t%d", i);
		thread_put(make(f, name));
	}
	for (int i = 0; i < 300; i += 2) {
		snprintf(name, sizeof name, "t%d", i);
		struct thread *t = thread_find(f->threads, name);
		struct thread *same =
		    thread_by_number(f->threads, thread_number(t));
		assert_ptr_equal(t, same);
		SUCCEEDS(f, thread_end(f->threads, t, false, &f->st));
		thread_put(t);
		thread_put(same);
	}
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "t%d", i);
		struct thread *t = thread_find(f->threads, name);
		assert_int_equal(t != NULL, i % 2);
		thread_put(t);
	}
}

static void
test_rename(void **state)
{
	struct fixture *f = *state;
	auto_json *tree = NULL;

	struct thread *t = make(f, "New Folder"), *other = make(f, "other");
	struct mirror *before = thread_mirror(t);
	REFUSED(f, STATUS_EXISTS,
	    thread_rename(f->threads, t, "other", &f->st));
	SUCCEEDS(f, thread_rename(f->threads, t, "paper", &f->st));
	listed(f, "paper other ");
	assert_null(thread_find(f->threads, "New Folder"));
	struct thread *found = thread_find(f->threads, "paper");
	assert_ptr_equal(found, t);
	assert_ptr_not_equal(thread_mirror(t), before);
	const cJSON *sandbox = state_of(t, "sandbox", &tree);
	assert_string_equal(json_string_or(sandbox, "name", ""),
	    "thread-paper");
	SUCCEEDS(f, thread_rename(f->threads, t, "paper 2", &f->st));
	script(f, "{\"content\":\"ok\"}\n");
	prompt(f, t, "go");
	wait_idle(f, t);
	REFUSED(f, STATUS_DENIED, thread_rename(f->threads, t, "x", &f->st));
	thread_put(found);
	thread_put(t);
	thread_put(other);
}

static bool
has_log(void *arg)
{
	return thread_log_size(arg) > 0;
}

static void
test_end(void **state)
{
	struct fixture *f = *state;
	struct reply *r;
	bool more;
	char byte;

	script(f, "{\"content\":\"ok\",\"delay_ms\":20000}\n");
	struct thread *t = make(f, "t");
	prompt(f, t, "go");
	prompt(f, t, "and on");
	wait_until(f, has_log, t);
	SUCCEEDS(f, reply_open(t, &r, &f->st));
	REFUSED(f, STATUS_NOT_EMPTY, thread_end(f->threads, t, false, &f->st));
	auto_free char *path =
	    xasprintf("%s/log/%lld", f->dir, (long long)thread_number(t));
	assert_int_equal(access(path, F_OK), 0);
	SUCCEEDS(f, thread_end(f->threads, t, true, &f->st));
	assert_int_equal(access(path, F_OK), -1);
	listed(f, "");
	/* Who holds it still gets answers. */
	assert_false(thread_busy(t));
	REFUSED(f, STATUS_IO, reply_read(r, 0, &byte, 1, &more, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, thread_prompt_reserve(t, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, thread_prompt_check(t, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, thread_ctl(t, "stop", 4, NULL, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, thread_config_set(t, "# x\n", 4, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, thread_end(f->threads, t, true, &f->st));
	/* The name is free at once, and nothing of the old one is there. */
	struct thread *again = make(f, "t");
	auto_buf text = BUF_INIT(10000);
	messages_are(f, again, &text);
	assert_string_equal(text.bytes, "");
	assert_int_equal(thread_log_size(again), 0);
	reply_close(r);
	thread_put(t);
	thread_put(again);
	fixture_close(f);
	assert_int_equal(access(path, F_OK), -1);
	fixture_open(f);
	listed(f, "t ");
}

static void
config_is(struct thread *t, const char *expected)
{
	auto_buf text = BUF_INIT(10000);

	thread_config_text(t, &text);
	assert_string_equal(text.bytes, expected);
}

static void
test_config(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "# mine\nmodel = shell:\ntools = ls, grep\n";
	static const char *const bad[] = { "model = nosuch:x", "nosuch = 1",
		"tools = ls,fly", "approve = fly", "temperature = hot" };
	auto_json *tree = NULL;

	struct thread *t = make(f, "t");
	config_is(t, "");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		REFUSED(f, STATUS_INVALID,
		    thread_config_check(t, bad[i], strlen(bad[i]), &f->st));
		assert_true(strlen(f->st.text) > 10);
		REFUSED(f, STATUS_INVALID,
		    thread_config_set(t, bad[i], strlen(bad[i]), &f->st));
	}
	config_is(t, "");
	SUCCEEDS(f, thread_config_check(t, "model = shell:", 14, &f->st));
	SUCCEEDS(f, thread_config_set(t, text, strlen(text), &f->st));
	config_is(t, text);
	assert_string_equal(state_of(t, "model", &tree)->valuestring, "shell:");
	SUCCEEDS(f, thread_prompt_check(t, &f->st));
	thread_put(t);
	fixture_close(f);
	fixture_open(f);
	t = thread_find(f->threads, "t");
	config_is(t, text);
	thread_put(t);
}

/* Only a model whose key is here can be asked. */
static void
test_keys(void **state)
{
	struct fixture *f = *state;

	struct thread *t = make(f, "t");
	SUCCEEDS(f, thread_config_set(t, "model = openai:x\n", 17, &f->st));
	assert_int_equal(thread_prompt_check(t, &f->st), -1);
	assert_int_equal(f->st.code, STATUS_DENIED);
	assert_non_null(strstr(f->st.text, "OPENAI_API_KEY"));
	thread_refused(t, &f->st);
	auto_json *tree = NULL;
	const cJSON *error = state_of(t, "error", &tree);
	assert_string_equal(json_string_or(error, "code", ""), "denied");
	log_has(t, "[turn] refused: no key for openai");
	phase_is(t, "idle");
	thread_put(t);
}

static void
test_state_has_every_key(void **state)
{
	struct fixture *f = *state;
	static const char *const keys[] = { "thread_id", "phase", "turn",
		"queue", "model", "activity", "todos", "pending", "error",
		"usage", "sandbox", "checkpoint" };
	static const char *const sandbox_keys[] = { "provider", "name", "id",
		"state", "expires_at", "workspace" };
	auto_json *tree = NULL;

	struct thread *t = make(f, "t\"\\");
	const cJSON *sandbox = state_of(t, "sandbox", &tree);
	assert_int_equal(cJSON_GetArraySize(tree), ARRAY_SIZE(keys));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_non_null(
		    cJSON_GetObjectItemCaseSensitive(tree, keys[i]));
	for (size_t i = 0; i < ARRAY_SIZE(sandbox_keys); i++)
		assert_non_null(
		    cJSON_GetObjectItemCaseSensitive(sandbox, sandbox_keys[i]));
	assert_string_equal(json_string_or(tree, "thread_id", ""), "t\"\\");
	thread_put(t);
}

static void
test_ctl(void **state)
{
	struct fixture *f = *state;

	static const struct {
		const char *line;
		bool good, waits;
	} lines[] = {
		{ "cancel", true, false },
		{ "  refresh \t\r", true, false },
		{ "start", true, true },
		{ "stop", true, true },
		{ "delete-sandbox", true, true },
		{ "", false, false },
		{ "Cancel", false, false },
		{ "cancel now", false, false },
		{ "cance", false, false },
		{ "cancelled", false, false },
		{ "approve", false, false },
		{ "resume", false, false },
		{ "\033[2J", false, false },
	};

	auto_buf help = BUF_INIT(10000);

	thread_ctl_help(&help);
	struct thread *t = make(f, "t");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *line = lines[i].line;
		bool waits = !lines[i].waits;
		int rc = thread_ctl_check(line, strlen(line), &waits, &f->st);
		assert_int_equal(rc, lines[i].good ? 0 : -1);
		if (lines[i].good) {
			assert_int_equal(waits, lines[i].waits);
			continue;
		}
		assert_int_equal(f->st.code, STATUS_INVALID);
		assert_null(strchr(f->st.text, '\033'));
		REFUSED(f, STATUS_INVALID,
		    thread_ctl(t, line, strlen(line), NULL, &f->st));
	}
	assert_non_null(strstr(help.bytes, "\ndelete-sandbox "));
	/* A NUL is no blank. */
	REFUSED(f, STATUS_INVALID,
	    thread_ctl_check("cancel\0", 7, &(bool){ false }, &f->st));
	/* Nothing was made: there is nothing to stop. */
	SUCCEEDS(f, thread_ctl(t, "stop", 4, NULL, &f->st));
	assert_int_equal(thread_ctl(t, "start", 5, NULL, &f->st), -1);
	thread_put(t);
}

static void
test_stats(void **state)
{
	struct fixture *f = *state;
	auto_buf text = BUF_INIT(10000);

	script(f, "{\"content\":\"ok\"}\n");
	struct thread *t = make(f, "t");
	prompt(f, t, "go");
	wait_idle(f, t);
	threads_stats(f->threads, &text);
	assert_non_null(strstr(text.bytes, "threads 1\n"));
	assert_non_null(strstr(text.bytes, "turns 1\n"));
	assert_non_null(strstr(text.bytes, "turns_running 0\n"));
	assert_non_null(strstr(text.bytes, "model_calls 1\n"));
	assert_non_null(strstr(text.bytes, "toolbox_requests 0\n"));
	thread_put(t);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_make),
		TEST(test_many),
		TEST(test_rename),
		TEST(test_end),
		TEST(test_config),
		TEST(test_keys),
		TEST(test_state_has_every_key),
		TEST(test_ctl),
		TEST(test_stats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
