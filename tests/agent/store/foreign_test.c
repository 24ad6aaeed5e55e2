/*
 * Databases that LangGraph's own programs made (tests/cases/langgraph): taken
 * over byte for byte, read as their agents read them, gone on from.
 */
#include "agent/store/foreign.h"

#include <fcntl.h>

#include <sqlite3.h>

#include "tests/agent/store/fixture.h"

#define CASES "tests/cases/langgraph"

static void
read_file(const char *path, struct buf *out)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	if (fd < 0)
		fail_msg("%s: run the tests from the top directory", path);
	while (n > 0) {
		char *p = buf_reserve(out, 65536);
		assert_non_null(p);
		n = read(fd, p, 65536);
		assert_true(n >= 0);
		buf_commit(out, (size_t)n);
	}
}

static cJSON *
read_case(const char *name)
{
	auto_buf text = BUF_INIT(16 << 20);
	struct status st;
	auto_free char *path = xasprintf(CASES "/%s.json", name);

	read_file(path, &text);
	cJSON *json = json_parse(text.bytes, text.len, &st);
	assert_non_null(json);
	return json;
}

static void
copy_database(struct fixture *f, const char *name)
{
	auto_buf bytes = BUF_INIT(16 << 20);
	auto_free char *from = xasprintf(CASES "/%s.db", name);
	auto_free char *to = xasprintf("%s/threads.db", f->dir);

	read_file(from, &bytes);
	auto_fd int fd =
	    open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, bytes.bytes, bytes.len), 0);
}

struct wanted_thread {
	const char *name;
	int64_t number;
};

static void
match_name(void *arg, const struct stored_thread *t)
{
	struct wanted_thread *w = arg;

	if (strcmp(t->name, w->name) == 0)
		w->number = t->number;
}

static int64_t
number_of(struct fixture *f, const char *name)
{
	struct wanted_thread w = { .name = name };

	SUCCEEDS(f, store_threads(f->store, match_name, &w, &f->st));
	if (w.number == 0)
		fail_msg("thread %s is not listed", name);
	return w.number;
}

static void
assert_call(const cJSON *wanted, const struct tool_call *call)
{
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(wanted, "args");

	assert_string_equal(json_string_or(wanted, "id", ""), call->id);
	assert_string_equal(json_string_or(wanted, "name", ""), call->name);
	if (cJSON_IsString(args)) {
		assert_string_equal(args->valuestring, call->arguments);
		return;
	}
	auto_json *have = cJSON_Parse(call->arguments);
	assert_true(cJSON_Compare(args, have, true));
}

static void
assert_calls(const cJSON *wanted, const struct message *m)
{
	const cJSON *lists[2] = {
		cJSON_GetObjectItemCaseSensitive(wanted, "tool_calls"),
		cJSON_GetObjectItemCaseSensitive(wanted, "invalid_tool_calls"),
	};
	size_t n = 0;

	for (int i = 0; i < 2; i++) {
		const cJSON *call;
		cJSON_ArrayForEach(call, lists[i]) {
			assert_true(n < m->call_count);
			assert_int_equal(m->calls[n].invalid != NULL, i == 1);
			assert_call(call, &m->calls[n++]);
		}
	}
	assert_int_equal(n, m->call_count);
}

static void
assert_message(const cJSON *wanted, const struct message *m)
{
	static const char *const types[] = { "human", "ai", "tool", "system" };
	const char *id = json_string_or(wanted, "id", NULL);
	const cJSON *usage = cJSON_GetObjectItemCaseSensitive(wanted, "usage");

	assert_string_equal(json_string_or(wanted, "type", ""), types[m->type]);
	if (id)
		assert_string_equal(id, m->id);
	assert_string_equal(json_string_or(wanted, "content", "(none)"),
	    m->content);
	assert_calls(wanted, m);
	if (usage)
		assert_int_equal(json_int_or(usage, "input_tokens", -1),
		    m->usage.input_tokens);
	if (m->type != MESSAGE_TOOL)
		return;
	assert_string_equal(json_string_or(wanted, "tool_call_id", ""),
	    m->tool_call_id);
	assert_string_equal(json_string_or(wanted, "name", ""), m->name);
	assert_int_equal(strcmp(json_string_or(wanted, "status", "success"),
			     "error") == 0,
	    m->failed);
}

static void
assert_conversation(struct fixture *f, const cJSON *thread, int64_t number,
    size_t more)
{
	const cJSON *wanted =
	    cJSON_GetObjectItemCaseSensitive(thread, "messages");
	struct message *messages = NULL;
	size_t count = 0, n = 0;

	SUCCEEDS(f,
	    store_messages(f->store, number, &messages, &count, &f->st));
	assert_int_equal(count, (size_t)cJSON_GetArraySize(wanted) + more);
	const cJSON *m;
	cJSON_ArrayForEach(m, wanted)
		assert_message(m, &messages[n++]);
	free_messages(messages, count);
}

/* The number of rows that differ between the table as it was and the view. */
static int
count_differences(struct fixture *f, const char *name)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *query = NULL;
	auto_free char *path = xasprintf("%s/threads.db", f->dir);
	auto_free char *old =
	    xasprintf("ATTACH 'file:" CASES "/%s.db?immutable=1' AS old", name);

	assert_int_equal(sqlite3_open_v2(path, &db,
			     SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, old, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
	    sqlite3_prepare_v2(db,
		"SELECT (SELECT count(*) FROM (SELECT * FROM old.checkpoints"
		"  EXCEPT SELECT * FROM main.checkpoints))"
		" + (SELECT count(*) FROM (SELECT thread_id, checkpoint_id,"
		"  task_id, idx, channel, type, value FROM old.writes"
		"  EXCEPT SELECT thread_id, checkpoint_id,"
		"  task_id, idx, channel, type, value FROM main.writes))"
		" + abs((SELECT count(*) FROM old.writes)"
		"  - (SELECT count(*) FROM main.writes))",
		-1, &query, NULL),
	    SQLITE_OK);
	assert_int_equal(sqlite3_step(query), SQLITE_ROW);
	int n = sqlite3_column_int(query, 0);
	sqlite3_finalize(query);
	sqlite3_close(db);
	return n;
}

static void
go_on(struct fixture *f, const cJSON *thread, int64_t number)
{
	struct checkpoint before, after;

	SUCCEEDS(f, store_checkpoint_newest(f->store, number, &before, &f->st));
	assert_string_equal(before.id, json_string_or(thread, "newest", ""));
	assert_string_equal(before.parent,
	    json_string_or(thread, "parent", ""));
	assert_int_equal(before.step, json_int_or(thread, "step", -9));
	int64_t turn = begin_turn(f, number, "and now?");
	add_reply(f, number, turn, "nothing more", NULL);
	end_turn(f, number, turn);
	SUCCEEDS(f, store_checkpoint_newest(f->store, number, &after, &f->st));
	assert_true(strcmp(after.id, before.id) > 0);
	assert_int_equal(after.step, before.step + 2);
	assert_conversation(f, thread, number, 2);
}

static void
check_case(struct fixture *f, const char *name)
{
	auto_json *wanted = read_case(name);
	const cJSON *threads =
	    cJSON_GetObjectItemCaseSensitive(wanted, "threads");
	const cJSON *thread;

	copy_database(f, name);
	fixture_open(f);
	cJSON_ArrayForEach(thread, threads) {
		int64_t number =
		    number_of(f, json_string_or(thread, "thread_id", ""));
		assert_conversation(f, thread, number, 0);
	}
	assert_int_equal(count_differences(f, name), 0);
	cJSON_ArrayForEach(thread, threads)
		go_on(f, thread,
		    number_of(f, json_string_or(thread, "thread_id", "")));
	fixture_reopen(f);
	assert_int_equal(count_differences(f, name), 0);
	cJSON_ArrayForEach(thread, threads) {
		int64_t number =
		    number_of(f, json_string_or(thread, "thread_id", ""));
		assert_conversation(f, thread, number, 2);
	}
}

static void
test_python(void **state)
{
	check_case(*state, "python");
}

static void
test_python_snapshot(void **state)
{
	check_case(*state, "python-snapshot");
}

static void
test_js(void **state)
{
	check_case(*state, "js");
}

static void
test_mixed(void **state)
{
	check_case(*state, "mixed");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_python, fixture_setup,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_python_snapshot,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_js, fixture_setup,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_mixed, fixture_setup,
		    fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
