/*
 * The conversation at a checkpoint. Ours is in `message`. A foreign row holds
 * it whole, or (Python's delta channels) not at all: then it is the nearest
 * ancestor's that does, with the writes to `messages` since then applied.
 */
#include "agent/store/foreign.h"
#include "agent/store/internal.h"

static int
read_line_locked(struct store *s, int64_t line, int64_t upto,
    struct records *out, struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT json FROM message WHERE line = ? AND seq <= ? ORDER BY seq",
	    DB_INT(line), DB_INT(upto));
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1) {
		const char *json = db_text(query, 0);
		records_add_copy(out, json,
		    (size_t)sqlite3_column_bytes(query, 0));
	}
	return row;
}

/* The messages that the row itself holds. */
static int
read_row_locked(struct store *s, const char *name, const char *id, bool *found,
    struct records *out, struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT type, raw FROM step WHERE thread_id = ?"
	    " AND checkpoint_ns = '' AND checkpoint_id = ?",
	    DB_TEXT(name), DB_TEXT(id));
	int row = query ? db_next(query, st) : -1;

	if (row < 0)
		return -1;
	struct foreign_value value = { .type = db_text(query, 0) };
	const char *bytes = sqlite3_column_blob(query, 1);
	value.bytes = bytes ? bytes : "";
	value.len = (size_t)sqlite3_column_bytes(query, 1);
	if (foreign_checkpoint(&value, found, out, st) < 0)
		return status_wrap(st, "checkpoint %s of thread %s", id, name);
	return 0;
}

static int
apply_write(sqlite3_stmt *query, bool tools_only, struct records *list,
    struct status *st)
{
	auto_records update = { 0 };
	bool overwrite = false;
	const char *bytes = sqlite3_column_blob(query, 1);
	struct foreign_value value = {
		.type = db_text(query, 0),
		.bytes = bytes ? bytes : "",
		.len = (size_t)sqlite3_column_bytes(query, 1),
	};

	if (foreign_write(&value, &overwrite, &update, st) < 0)
		return -1;
	if (tools_only && (overwrite || !records_are_tools(&update)))
		return 0;
	if (overwrite)
		records_finish(list);
	records_apply(list, &update);
	return 0;
}

/* Applies the writes that belong to a row. */
static int
apply_writes_locked(struct store *s, const char *name, const char *id,
    bool tools_only, struct records *list, struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT type, value FROM writes WHERE thread_id = ?"
	    " AND checkpoint_ns = '' AND checkpoint_id = ?"
	    " AND channel = 'messages' ORDER BY task_path, task_id, idx",
	    DB_TEXT(name), DB_TEXT(id));
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1)
		if (apply_write(query, tools_only, list, st) < 0)
			return status_wrap(st, "checkpoint %s of thread %s", id,
			    name);
	return row;
}

/* The rows between a foreign row and the one that holds the messages: ids,
 * newest first. */
struct ancestry {
	char (*ids)[40];
	size_t count;
};

static bool
was_visited(const struct ancestry *a, const char *id)
{
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->ids[i], id) == 0)
			return true;
	return false;
}

/* Walks up to the seed and reads that. */
static int
walk_locked(struct store *s, const char *name, const struct step_row *from,
    struct ancestry *a, struct records *out, struct status *st)
{
	bool found = false;
	char parent[40];

	if (read_row_locked(s, name, from->id, &found, out, st) < 0)
		return -1;
	snprintf(parent, sizeof parent, "%s", from->parent);
	while (!found && parent[0] != '\0' && !was_visited(a, parent)) {
		auto_step_row row = { 0 };
		int there = step_find_locked(s, name, parent, &row, st);
		if (there <= 0)
			return there;
		a->ids = xrealloc(a->ids, a->count + 1, sizeof *a->ids);
		memcpy(a->ids[a->count++], row.id, sizeof row.id);
		if (row.ours)
			return read_line_locked(s, row.line, row.upto, out, st);
		if (read_row_locked(s, name, row.id, &found, out, st) < 0)
			return -1;
		memcpy(parent, row.parent, sizeof parent);
	}
	return 0;
}

int
conversation_locked(struct store *s, const char *name,
    const struct step_row *row, bool pending, struct records *out,
    struct status *st)
{
	struct ancestry a = { 0 };

	if (row->ours)
		return read_line_locked(s, row->line, row->upto, out, st);
	int r = walk_locked(s, name, row, &a, out, st);
	for (size_t i = a.count; r == 0 && i > 0; i--)
		r = apply_writes_locked(s, name, a.ids[i - 1], false, out, st);
	free(a.ids);
	if (r == 0 && pending)
		r = apply_writes_locked(s, name, row->id, true, out, st);
	return r;
}
