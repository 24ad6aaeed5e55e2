/* What another program writes to the store is shown, also beside a turn. */
#include <sqlite3.h>

#include "tests/agent/thread/fixture.h"

/* As LangGraph's JS saver would: on top of the newest row, one message more. */
#define ADD                                                                    \
	"INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns,"        \
	" checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"    \
	" SELECT '%s', '', '%s', checkpoint_id, 'json',"                       \
	" CAST(json_insert(CAST(checkpoint AS TEXT),"                          \
	"  '$.channel_values.messages[#]', json('{\"lc\":1,\"type\":"          \
	"\"constructor\",\"id\":[\"langchain_core\",\"messages\","             \
	"\"AIMessage\"],\"kwargs\":{\"content\":\"foreign\",\"id\":\"f1\"}}')" \
	") AS BLOB),"                                                          \
	" CAST('{\"source\":\"loop\",\"step\":41,\"parents\":{}}' AS BLOB)"    \
	" FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 1"

/* Far ahead of any clock. */
#define LATE "ff1ecf77-b9e1-6170-ffff-824dbbdd4492"

static void
add_row(struct fixture *f, const char *thread)
{
	auto_free char *path = xasprintf("%s/threads.db", f->dir);
	auto_free char *sql = xasprintf(ADD, thread, LATE);
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s", why);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
test_more_messages(void **state)
{
	struct fixture *f = *state;
	auto_buf before = BUF_INIT(1 << 20), after = BUF_INIT(1 << 20);
	auto_json *tree = NULL;

	script(f, "{\"content\":\"ok\"}\n");
	struct thread *t = make(f, "t");
	prompt(f, t, "one");
	wait_idle(f, t);
	messages_are(f, t, &before);
	add_row(f, "t");
	messages_are(f, t, &after);
	assert_memory_equal(after.bytes, before.bytes, before.len);
	assert_non_null(strstr(after.bytes + before.len, "\"foreign\""));
	const cJSON *newest = state_of(t, "checkpoint", &tree);
	assert_string_equal(json_string_or(newest, "id", ""), LATE);
	prompt(f, t, "two");
	wait_idle(f, t);
	messages_are(f, t, &after);
	assert_true(strstr(after.bytes, "\"foreign\"") <
	    strstr(after.bytes, "\"two\""));
	auto_free char *log = log_of(t);
	assert_null(strstr(log, "another program"));
	thread_put(t);
}

/* A thread that only the other program knows becomes a directory. */
static void
test_another_thread(void **state)
{
	struct fixture *f = *state;
	auto_buf text = BUF_INIT(1 << 20);

	script(f, "{\"content\":\"ok\"}\n");
	struct thread *t = make(f, "t");
	prompt(f, t, "one");
	wait_idle(f, t);
	add_row(f, "theirs");
	messages_are(f, t, &text);
	struct thread *other = thread_find(f->threads, "theirs");
	assert_non_null(other);
	assert_int_equal(thread_messages_size(other), -1);
	messages_are(f, other, &text);
	assert_non_null(strstr(text.bytes, "\"foreign\""));
	phase_is(other, "idle");
	thread_put(other);
	thread_put(t);
}

static bool
has_begun(void *arg)
{
	auto_free char *log = log_of(arg);

	return strstr(log, "[user] one") != NULL;
}

/* Both go on from the same place: each keeps its branch, the log says so. */
static void
test_beside_a_turn(void **state)
{
	struct fixture *f = *state;

	script(f, "{\"content\":\"slow answer\",\"delay_ms\":600}\n");
	struct thread *t = make(f, "t");
	prompt(f, t, "one");
	wait_until(f, has_begun, t);
	add_row(f, "t");
	wait_idle(f, t);
	phase_is(t, "idle");
	log_has(t, "[turn] another program added to this conversation");
	log_has(t, "[turn] done in ");
	thread_put(t);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_more_messages),
		TEST(test_another_thread),
		TEST(test_beside_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
