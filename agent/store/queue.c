/* The push queue: rows of work that the sandbox has not seen; see store.h. */
#include "agent/store/internal.h"

static int
add_locked(struct store *s, struct queued_push *row, struct status *st)
{
	int64_t known = 0;

	if (db_number(&s->db, st, 0, &known,
		"SELECT EXISTS (SELECT 1 FROM thread WHERE number = ?)",
		DB_INT(row->thread)) < 0)
		return -1;
	if (!known)
		return status_set(st, STATUS_NOT_FOUND, "no thread %lld",
		    (long long)row->thread);
	/* A rewritten row keeps its place; were it gone, it would come back. */
	if (db_run(&s->db, st,
		"INSERT INTO push (id, thread, kind, path, path2, file, detail)"
		" VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?)"
		" ON CONFLICT (id) DO UPDATE SET kind = excluded.kind,"
		" path = excluded.path, path2 = excluded.path2,"
		" file = excluded.file, detail = excluded.detail",
		DB_INT(row->id), DB_INT(row->thread), DB_INT(row->kind),
		DB_BLOB(row->path, strlen(row->path)),
		DB_BLOB(row->path2, strlen(row->path2)), DB_TEXT(row->file),
		DB_TEXT(row->detail)) < 0)
		return -1;
	if (row->id == 0)
		row->id = sqlite3_last_insert_rowid(s->db.handle);
	return 0;
}

static int
remove_locked(struct store *s, const int64_t *ids, size_t count,
    struct status *st)
{
	for (size_t i = 0; i < count; i++)
		if (db_run(&s->db, st, "DELETE FROM push WHERE id = ?",
			DB_INT(ids[i])) < 0)
			return -1;
	return 0;
}

int
store_queue_add(struct store *s, struct queued_push *rows, size_t count,
    const int64_t *removed, size_t removed_count, struct status *st)
{
	bool *is_new = xcalloc(count, sizeof *is_new);
	int r = store_begin(s, STORE_WRITE, st);

	for (size_t i = 0; r == 0 && i < count; i++) {
		is_new[i] = rows[i].id == 0;
		r = add_locked(s, &rows[i], st);
	}
	if (r == 0)
		r = remove_locked(s, removed, removed_count, st);
	r = store_end(s, r, st);
	for (size_t i = 0; r < 0 && i < count; i++)
		if (is_new[i])
			rows[i].id = 0;
	free(is_new);
	return r;
}

int
store_queue_done(struct store *s, const int64_t *ids, size_t count,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = remove_locked(s, ids, count, st);
	return store_end(s, r, st);
}

static int
load_locked(struct store *s, int64_t thread,
    void (*each)(void *arg, const struct queued_push *row), void *arg,
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT id, kind, path, path2, file, detail FROM push"
	    " WHERE thread = ? ORDER BY id",
	    DB_INT(thread));
	int more = query ? 1 : -1;

	while (more == 1 && (more = db_next(query, st)) == 1) {
		struct queued_push row = {
			.id = sqlite3_column_int64(query, 0),
			.thread = thread,
			.kind = sqlite3_column_int(query, 1),
			.path = db_text(query, 2),
			.path2 = db_text(query, 3),
			.file = db_text(query, 4),
			.detail = db_text(query, 5),
		};
		each(arg, &row);
	}
	return more;
}

int
store_queue_load(struct store *s, int64_t thread,
    void (*each)(void *arg, const struct queued_push *row), void *arg,
    struct status *st)
{
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = load_locked(s, thread, each, arg, st);
	return store_end(s, r, st);
}
