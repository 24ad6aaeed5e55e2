/* Checkpoints: ids, the rows that LangGraph sees, foreign rows on top,
 * branches, size and speed. */
#include <sqlite3.h>

#include "agent/base/clock.h"
#include "agent/store/uuid.h"
#include "tests/agent/store/fixture.h"

static void
run_sql(struct fixture *f, const char *sql)
{
	sqlite3 *db = NULL;
	auto_free char *path = xasprintf("%s/threads.db", f->dir);
	char *error = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s", error);
	sqlite3_close(db);
}

/* The first column of the first row as text. Gives. */
static char *
ask_sql(struct fixture *f, const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *query = NULL;
	auto_free char *path = xasprintf("%s/threads.db", f->dir);

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(query), SQLITE_ROW);
	const char *text = (const char *)sqlite3_column_text(query, 0);
	char *copy = xstrdup(text ? text : "(null)");
	sqlite3_finalize(query);
	sqlite3_close(db);
	return copy;
}

static void
assert_sql(struct fixture *f, const char *sql, const char *wanted)
{
	auto_free char *have = ask_sql(f, sql);

	assert_string_equal(have, wanted);
}

static void
test_uuid(void **state)
{
	char id[UUID_TEXT], next[UUID_TEXT];
	/* 2026-11-30T19:51:50.041Z: a row that LangGraph JS wrote then. */
	struct timespec now = { 1796068310, 41000000 };

	(void)state;
	assert_true(uuid_time_ordered(id, now, 3, ""));
	assert_memory_equal(id, "1f1ecf77-ba0d-6090-8003-", 24);
	assert_int_equal(uuid_time_ms(id), 1796068310041);
	now.tv_sec -= 86400;
	for (int i = 0; i < 5000; i++) {
		assert_true(uuid_time_ordered(next, now, i, id));
		assert_true(strcmp(next, id) > 0);
		assert_int_equal(next[14], '6');
		memcpy(id, next, sizeof id);
	}
	assert_int_equal(uuid_time_ms("0001"), 0);
	uuid_random(id);
	assert_int_equal(id[14], '4');
}

static void
test_uuid_above_strangers(void **state)
{
	static const struct {
		const char *above;
		bool possible;
	} cases[] = {
		{ "1f1ecf77-b9e1-6fff-ffff-824dbbdd4492", true },
		{ "ab1ecf77-b9e1-7170-bfff-824dbbdd4492", true },
		{ "ab1ecf77-ffff-f170-bfff-824dbbdd4492", true },
		{ "1F1ECF77-B9E1-6170-FFFF-824DBBDD4492", true },
		{ "0001", true },
		{ "ffffffff-ffff-7fff-bfff-824dbbdd4492", false },
		{ "zzz", false },
	};

	char id[UUID_TEXT];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(uuid_time_ordered(id, clock_wall(), 0,
				     cases[i].above),
		    cases[i].possible);
		if (cases[i].possible)
			assert_true(strcmp(id, cases[i].above) > 0);
	}
}

static void
test_rows(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct checkpoint newest, *list = NULL;
	size_t count = 0;

	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &newest, &f->st));
	assert_string_equal(newest.id, "");
	int64_t turn = begin_turn(f, thread, "say \"hi\"");
	add_reply(f, thread, turn, "hi", NULL);
	end_turn(f, thread, turn);
	SUCCEEDS(f, store_checkpoints(f->store, thread, &list, &count, &f->st));
	assert_int_equal(count, 2);
	assert_string_equal(list[0].parent, "");
	assert_string_equal(list[1].parent, list[0].id);
	assert_int_equal(list[0].step, 0);
	assert_int_equal(list[1].step, 1);
	assert_true(list[0].ts_ms > clock_wall_ms() - 60000 &&
	    list[1].ts_ms <= clock_wall_ms());
	assert_true(strcmp(list[1].id, list[0].id) > 0);
	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &newest, &f->st));
	assert_memory_equal(&newest, &list[1], sizeof newest);

	/* As a saver sees them. */
	assert_sql(f,
	    "SELECT json_extract(CAST(checkpoint AS TEXT), '$.v') || ' ' ||"
	    " (json_extract(CAST(checkpoint AS TEXT), '$.id') ="
	    "  checkpoint_id) || ' ' ||"
	    " json_array_length(CAST(checkpoint AS TEXT),"
	    "  '$.channel_values.messages') || ' ' ||"
	    " json_extract(CAST(checkpoint AS TEXT),"
	    "  '$.channel_values.messages[0].kwargs.content') || ' ' ||"
	    " CAST(metadata AS TEXT) || ' ' || typeof(checkpoint) || ' ' ||"
	    " type FROM checkpoints ORDER BY checkpoint_id DESC LIMIT 1",
	    "4 1 2 say \"hi\" {\"source\":\"loop\",\"step\":1,\"parents\":{}}"
	    " blob json");
	free(list);
}

static void
test_text(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	auto_buf text = BUF_INIT(1 << 20);
	struct checkpoint *list = NULL;
	size_t count = 0;
	struct status st;

	int64_t turn = begin_turn(f, thread, "one");
	add_reply(f, thread, turn, "two", NULL);
	SUCCEEDS(f, store_checkpoints(f->store, thread, &list, &count, &f->st));
	SUCCEEDS(f,
	    store_checkpoint_text(f->store, thread, list[0].id, &text, &f->st));
	assert_int_equal(text.bytes[text.len - 1], '\n');
	assert_null(memchr(text.bytes, '\n', text.len - 1));
	auto_json *json = json_parse(text.bytes, text.len, &st);
	assert_non_null(json);
	assert_string_equal(json_string_or(json, "id", ""), list[0].id);
	assert_string_equal(json_string_or(json, "thread_id", ""), "t");
	assert_int_equal(json_int_or(json, "step", -1), 0);
	const cJSON *messages =
	    cJSON_GetObjectItemCaseSensitive(json, "messages");
	assert_int_equal(cJSON_GetArraySize(messages), 1);
	assert_string_equal(json_string_or(messages->child, "content", ""),
	    "one");
	REFUSED(f, STATUS_NOT_FOUND,
	    store_checkpoint_text(f->store, thread, "nope", &text, &f->st));
	free(list);
}

/* --- Another program on top ----------------------------------------------- */

/* A row as LangGraph JS would put on top of the newest: its messages (from
 * which `from` are cut) and one more. */
static void
foreign_row(struct fixture *f, const char *id, const char *upto)
{
	auto_free char *sql = xasprintf(
	    "INSERT OR REPLACE INTO checkpoints (thread_id, checkpoint_ns,"
	    " checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)"
	    " SELECT thread_id, '', '%s', checkpoint_id, 'json',"
	    " CAST(json_insert(CAST(checkpoint AS TEXT),"
	    "  '$.channel_values.messages[#]', json('{\"lc\":1,\"type\":"
	    "\"constructor\",\"id\":[\"langchain_core\",\"messages\","
	    "\"AIMessage\"],\"kwargs\":{\"content\":\"foreign\","
	    "\"id\":\"f-%s\",\"artifact\":[1.50]}}')) AS BLOB),"
	    " CAST('{\"source\":\"loop\",\"step\":41,\"parents\":{}}' AS BLOB)"
	    " FROM checkpoints WHERE %s ORDER BY checkpoint_id DESC LIMIT 1",
	    id, id, upto);

	run_sql(f, sql);
}

static void
test_foreign_row_on_top(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct checkpoint newest;

	int64_t turn = begin_turn(f, thread, "one");
	add_reply(f, thread, turn, "two", NULL);
	end_turn(f, thread, turn);
	assert_false(store_foreign_changes(f->store));
	/* An id from a clock that is far ahead. */
	foreign_row(f, "ff1ecf77-b9e1-6170-ffff-824dbbdd4492", "1");
	assert_true(store_foreign_changes(f->store));
	assert_false(store_foreign_changes(f->store));
	assert_contents(f, thread, "one|two|foreign");
	turn = begin_turn(f, thread, "three");
	assert_contents(f, thread, "one|two|foreign|three");
	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &newest, &f->st));
	assert_int_equal(newest.step, 42);
	assert_string_equal(newest.parent,
	    "ff1ecf77-b9e1-6170-ffff-824dbbdd4492");
	assert_true(strcmp(newest.id, newest.parent) > 0);
	/* It goes on in the same line; the foreign record is kept as it was. */
	assert_sql(f, "SELECT count(*) || ' ' || max(line) FROM message",
	    "4 1");
	assert_sql(f,
	    "SELECT json LIKE '%\"artifact\":[1.50]%' FROM message"
	    " WHERE seq = 3",
	    "1");
	assert_false(store_foreign_changes(f->store));
}

/* During our turn: the turn goes on in its own branch. */
static void
test_foreign_row_within_turn(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct checkpoint ours, newest;

	int64_t turn = begin_turn(f, thread, "one");
	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &ours, &f->st));
	foreign_row(f, "ff1ecf77-b9e1-6170-ffff-824dbbdd4492", "1");
	add_reply(f, thread, turn, "two", NULL);
	assert_contents(f, thread, "one|two");
	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &newest, &f->st));
	assert_string_equal(newest.parent, ours.id);
	assert_true(
	    strcmp(newest.id, "ff1ecf77-b9e1-6170-ffff-824dbbdd4492") > 0);
}

/* A foreign row that goes back before our last message: another line. */
static void
test_foreign_branch(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");

	int64_t turn = begin_turn(f, thread, "one");
	add_reply(f, thread, turn, "two", NULL);
	end_turn(f, thread, turn);
	foreign_row(f, "ff1ecf77-b9e1-6170-ffff-824dbbdd4492",
	    "json_array_length(CAST(checkpoint AS TEXT),"
	    " '$.channel_values.messages') = 1");
	assert_contents(f, thread, "one|foreign");
	turn = begin_turn(f, thread, "three");
	assert_contents(f, thread, "one|foreign|three");
	assert_sql(f, "SELECT count(DISTINCT line) FROM message", "2");
	/* The old rows still say what they said. */
	assert_sql(f,
	    "SELECT group_concat(json_array_length(CAST(checkpoint AS TEXT),"
	    " '$.channel_values.messages')) FROM (SELECT * FROM checkpoints"
	    " ORDER BY checkpoint_id)",
	    "1,2,2,3");
}

/* Results that finished under a foreign row but are in none yet. */
static void
test_pending_results(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");

	int64_t turn = begin_turn(f, thread, "one");
	add_reply(f, thread, turn, "two", "c1");
	SUCCEEDS(f,
	    store_turn_end(f->store, thread, turn, TURN_CANCELED, NULL, NULL,
		&f->st));
	foreign_row(f, "ff1ecf77-b9e1-6170-ffff-824dbbdd4492", "1");
	run_sql(f,
	    "INSERT INTO writes (thread_id, checkpoint_ns, checkpoint_id,"
	    " task_id, idx, channel, type, value) VALUES"
	    " ('t', '', 'ff1ecf77-b9e1-6170-ffff-824dbbdd4492', 'b', 0,"
	    "  'messages', 'json', '[{\"lc\":1,\"type\":\"constructor\","
	    "\"id\":[\"langchain_core\",\"messages\",\"ToolMessage\"],"
	    "\"kwargs\":{\"content\":\"pending\",\"id\":\"p\","
	    "\"tool_call_id\":\"c1\"}}]'),"
	    " ('t', '', 'ff1ecf77-b9e1-6170-ffff-824dbbdd4492', 'a', 0,"
	    "  'messages', 'json', '[{\"role\":\"user\",\"content\":"
	    "\"not this\"}]'),"
	    " ('t', '', 'ff1ecf77-b9e1-6170-ffff-824dbbdd4492', 'c', 0,"
	    "  'other', 'json', '7')");
	assert_contents(f, thread, "one|two|foreign|pending");
	turn = begin_turn(f, thread, "three");
	assert_contents(f, thread, "one|two|foreign|pending|three");
}

static void
test_replaced_and_deleted(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");

	int64_t turn = begin_turn(f, thread, "one");
	end_turn(f, thread, turn);
	/* The caller's OR REPLACE must replace that row alone. */
	run_sql(f,
	    "INSERT OR REPLACE INTO checkpoints SELECT thread_id,"
	    " checkpoint_ns, checkpoint_id, parent_checkpoint_id, 'json',"
	    " CAST('{\"channel_values\":{}}' AS BLOB), metadata"
	    " FROM checkpoints");
	assert_contents(f, thread, "");
	assert_sql(f, "SELECT count(*) FROM checkpoints", "1");
	turn = begin_turn(f, thread, "two");
	end_turn(f, thread, turn);
	assert_contents(f, thread, "two");
	run_sql(f, "DELETE FROM checkpoints WHERE thread_id = 't'");
	assert_true(store_foreign_changes(f->store));
	assert_sql(f,
	    "SELECT (SELECT count(*) FROM step) + (SELECT count(*) FROM line)"
	    " + (SELECT count(*) FROM message)",
	    "0");
	turn = begin_turn(f, thread, "three");
	assert_contents(f, thread, "three");
}

static void
count_threads(void *arg, const struct stored_thread *t)
{
	buf_printf(arg, "%s;", t->name);
}

static void
test_foreign_threads(void **state)
{
	struct fixture *f = *state;
	auto_buf names = BUF_INIT(4096);
	int64_t thread = make_thread(f, "t");

	int64_t turn = begin_turn(f, thread, "one");
	end_turn(f, thread, turn);
	run_sql(f,
	    "INSERT INTO checkpoints SELECT n.column1, '', checkpoint_id, NULL,"
	    " type, checkpoint, metadata FROM checkpoints, (VALUES ('new'),"
	    " ('../x'), ('.hidden'), ('')) n");
	assert_true(store_foreign_changes(f->store));
	SUCCEEDS(f, store_threads(f->store, count_threads, &names, &f->st));
	assert_string_equal(names.bytes, "t;new;");
}

/* What another program writes may be anything. */
static void
test_broken_foreign_rows(void **state)
{
	static const char *const rows[] = {
		"'json', CAST('{\"channel_values\":' AS BLOB)",
		"'json', NULL",
		"'msgpack', X'81a8'",
		"'msgpack', X'c1'",
		"'msgpack', X'dfffffffff'",
		"'pickle', X'00'",
	};
	struct fixture *f = *state;
	struct message *messages = NULL, human;
	size_t count = 0;

	int64_t thread = make_thread(f, "t"), turn = 0;
	SUCCEEDS(f, store_turn_accept(f->store, thread, "x", &turn, &f->st));
	human = new_message(MESSAGE_HUMAN, turn, "x");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *sql = xasprintf(
		    "INSERT OR REPLACE INTO checkpoints VALUES ('t', '',"
		    " '1f1ecf77-b9e1-6170-ffff-824dbbdd4492', NULL, %s, NULL)",
		    rows[i]);
		run_sql(f, sql);
		REFUSED(f, STATUS_INVALID,
		    store_messages(f->store, thread, &messages, &count,
			&f->st));
		REFUSED(f, STATUS_INVALID,
		    store_turn_start(f->store, thread, turn, "m", &human,
			&f->st));
	}
	message_finish(&human);
	/* A circle of parents ends. */
	run_sql(f,
	    "DELETE FROM checkpoints;"
	    "INSERT INTO checkpoints VALUES"
	    " ('t', '', 'a', 'b', 'json', '{}', '{}'),"
	    " ('t', '', 'b', 'a', 'json', '{}', '{}')");
	assert_contents(f, thread, "");
}

/* --- Size and speed ------------------------------------------------------- */

static void
test_size(void **state)
{
	struct fixture *f = *state;
	int64_t thread = make_thread(f, "t");
	struct checkpoint newest;
	char result[400];

	memset(result, 'r', sizeof result);
	result[sizeof result - 1] = '\0';
	int64_t turn = begin_turn(f, thread, "go");
	for (int i = 0; i < 500; i++) {
		char id[16];
		snprintf(id, sizeof id, "c%d", i);
		add_reply(f, thread, turn, "a step further, and then another",
		    id);
		add_result(f, thread, turn, id, result);
	}
	end_turn(f, thread, turn);
	SUCCEEDS(f, store_checkpoint_newest(f->store, thread, &newest, &f->st));
	int64_t before = clock_mono_ms();
	auto_free char *length = ask_sql(f,
	    "SELECT length(checkpoint) FROM checkpoints WHERE thread_id = 't'"
	    " AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1");
	int64_t took = clock_mono_ms() - before;
	assert_true(strtol(length, NULL, 10) > 250000);
	print_message("newest of 1001 rows: %lld ms\n", (long long)took);
	assert_true(took < 500);
	store_close(f->store);
	f->store = NULL;
	auto_free char *path = xasprintf("%s/threads.db", f->dir);
	struct stat sb;
	assert_int_equal(stat(path, &sb), 0);
	print_message("size: %lld\n", (long long)sb.st_size);
	assert_true(sb.st_size <= 2000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uuid),
		cmocka_unit_test(test_uuid_above_strangers),
		cmocka_unit_test_setup_teardown(test_rows, fixture_setup_open,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_text, fixture_setup_open,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_row_on_top,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_row_within_turn,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_branch,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_pending_results,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_replaced_and_deleted,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_foreign_threads,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_broken_foreign_rows,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_size, fixture_setup_open,
		    fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
