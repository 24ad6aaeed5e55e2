/* Threads: their rows; see store.h. */
#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "agent/store/internal.h"

void
stored_thread_finish(struct stored_thread *t)
{
	free(t->config);
	free(t->line);
	free(t->last_prompt);
	*t = (struct stored_thread){ 0 };
}

int
thread_name_locked(struct store *s, int64_t thread, char name[129],
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT name FROM thread WHERE number = ?", DB_INT(thread));
	int row = query ? db_next(query, st) : -1;

	if (row < 0)
		return -1;
	if (row == 0)
		return status_set(st, STATUS_NOT_FOUND, "no thread %lld",
		    (long long)thread);
	snprintf(name, 129, "%s", db_text(query, 0));
	return 0;
}

static int
insert_locked(struct store *s, const char *name, int64_t *number,
    struct status *st)
{
	if (db_run(&s->db, st,
		"INSERT INTO thread (name, created_ms) VALUES (?, ?)",
		DB_TEXT(name), DB_INT(clock_wall_ms())) < 0)
		return -1;
	*number = sqlite3_last_insert_rowid(s->db.handle);
	return 0;
}

/* Threads known only from LangGraph's rows, one seek each. */
static int
collect_names_locked(struct store *s, struct records *names, struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "WITH RECURSIVE id(name) AS ("
	    " SELECT min(thread_id) FROM step"
	    " UNION ALL"
	    " SELECT (SELECT min(thread_id) FROM step"
	    "  WHERE thread_id > id.name) FROM id WHERE id.name IS NOT NULL)"
	    " SELECT name FROM id WHERE name IS NOT NULL"
	    " AND name NOT IN (SELECT name FROM thread)");
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1) {
		const char *name = db_text(query, 0);
		size_t len = (size_t)sqlite3_column_bytes(query, 0);
		if (strlen(name) == len && thread_name_valid(name))
			records_add(names, xstrdup(name), len);
	}
	return row;
}

static int
adopt_names_locked(struct store *s, struct status *st)
{
	auto_records names = { 0 };
	int64_t number;

	if (!s->look_for_names)
		return 0;
	if (collect_names_locked(s, &names, st) < 0)
		return -1;
	for (size_t i = 0; i < names.count; i++)
		if (insert_locked(s, names.items[i].json, &number, st) < 0)
			return -1;
	s->look_for_names = false;
	return 0;
}

static int
list_locked(struct store *s,
    void (*each)(void *arg, const struct stored_thread *t), void *arg,
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT number, name, created_ms, config, sandbox_id, sandbox_ours,"
	    " script_position,"
	    " (SELECT max(turn) FROM turn WHERE thread = number),"
	    " (SELECT line FROM step WHERE thread_id = name"
	    "  AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1),"
	    " (SELECT prompt FROM turn WHERE thread = number"
	    "  ORDER BY turn DESC LIMIT 1)"
	    " FROM thread ORDER BY number");
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1) {
		struct stored_thread t = {
			.number = sqlite3_column_int64(query, 0),
			.created_ms = sqlite3_column_int64(query, 2),
			.config = xstrdup(db_text(query, 3)),
			.sandbox_ours = sqlite3_column_int(query, 5) != 0,
			.script_position = sqlite3_column_int64(query, 6),
			.turns = sqlite3_column_int64(query, 7),
			.line = xstrdup(db_text(query, 8)),
			.last_prompt = xstrdup(db_text(query, 9)),
		};
		snprintf(t.name, sizeof t.name, "%s", db_text(query, 1));
		snprintf(t.sandbox_id, sizeof t.sandbox_id, "%s",
		    db_text(query, 4));
		each(arg, &t);
		stored_thread_finish(&t);
	}
	return row;
}

int
store_threads(struct store *s,
    void (*each)(void *arg, const struct stored_thread *t), void *arg,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = adopt_names_locked(s, st);
	if (r == 0)
		r = list_locked(s, each, arg, st);
	return store_end(s, r, st);
}

/* 0 when the name is free. */
static int
must_be_free_locked(struct store *s, const char *name, struct status *st)
{
	int64_t taken = 0;

	if (!thread_name_valid(name))
		return status_set(st, STATUS_INVALID, "not a thread name: %s",
		    name);
	if (db_number(&s->db, st, 0, &taken,
		"SELECT EXISTS (SELECT 1 FROM thread WHERE name = ?1)"
		" OR EXISTS (SELECT 1 FROM step WHERE thread_id = ?1)",
		DB_TEXT(name)) < 0)
		return -1;
	if (taken)
		return status_set(st, STATUS_EXISTS,
		    "there is a thread named %s", name);
	return 0;
}

int
store_thread_make(struct store *s, const char *name, int64_t *number,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = must_be_free_locked(s, name, st);
	if (r == 0)
		r = insert_locked(s, name, number, st);
	return store_end(s, r, st);
}

static int
rename_locked(struct store *s, int64_t thread, const char *name,
    struct status *st)
{
	char old[129];
	int64_t rows = 0;

	if (thread_name_locked(s, thread, old, st) < 0 ||
	    must_be_free_locked(s, name, st) < 0 ||
	    db_number(&s->db, st, 0, &rows,
		"SELECT EXISTS (SELECT 1 FROM step WHERE thread_id = ?1)"
		" OR EXISTS (SELECT 1 FROM turn WHERE thread = ?2)",
		DB_TEXT(old), DB_INT(thread)) < 0)
		return -1;
	if (rows)
		return status_set(st, STATUS_DENIED,
		    "thread %s has a conversation: its name is its identity",
		    old);
	return db_run(&s->db, st, "UPDATE thread SET name = ? WHERE number = ?",
	    DB_TEXT(name), DB_INT(thread));
}

int
store_thread_rename(struct store *s, int64_t thread, const char *name,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = rename_locked(s, thread, name, st);
	return store_end(s, r, st);
}

static int
delete_locked(struct store *s, int64_t thread, struct status *st)
{
	char name[129];
	struct db *db = &s->db;

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	if (db_run(db, st,
		"DELETE FROM message WHERE line IN"
		" (SELECT line FROM line WHERE thread_id = ?)",
		DB_TEXT(name)) < 0 ||
	    db_run(db, st, "DELETE FROM line WHERE thread_id = ?",
		DB_TEXT(name)) < 0 ||
	    db_run(db, st, "DELETE FROM step WHERE thread_id = ?",
		DB_TEXT(name)) < 0 ||
	    db_run(db, st, "DELETE FROM writes WHERE thread_id = ?",
		DB_TEXT(name)) < 0)
		return -1;
	/* Turns, calls and queue rows go with it. */
	return db_run(db, st, "DELETE FROM thread WHERE number = ?",
	    DB_INT(thread));
}

int
store_thread_delete(struct store *s, int64_t thread, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = delete_locked(s, thread, st);
	return store_end(s, r, st);
}

static int
must_have_changed(struct store *s, int64_t thread, struct status *st)
{
	if (db_changed(&s->db) == 1)
		return 0;
	return status_set(st, STATUS_NOT_FOUND, "no thread %lld",
	    (long long)thread);
}

int
store_thread_set_config(struct store *s, int64_t thread, const char *text,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = db_run(&s->db, st,
		    "UPDATE thread SET config = ? WHERE number = ?",
		    DB_TEXT(text), DB_INT(thread));
	if (r == 0)
		r = must_have_changed(s, thread, st);
	return store_end(s, r, st);
}

int
store_thread_set_sandbox(struct store *s, int64_t thread, const char *id,
    bool ours, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = db_run(&s->db, st,
		    "UPDATE thread SET sandbox_id = ?, sandbox_ours = ?"
		    " WHERE number = ?",
		    DB_TEXT(id), DB_INT(ours), DB_INT(thread));
	if (r == 0)
		r = must_have_changed(s, thread, st);
	return store_end(s, r, st);
}
