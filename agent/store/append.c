/*
 * Appending to a conversation: messages in a line and their row in `step`. It
 * goes on in the line of the row below while that row is the line's end;
 * otherwise (another branch has gone on, or a foreign row whose messages are
 * not ours plus more) the messages so far are copied into a new line.
 */
#include "agent/base/clock.h"
#include "agent/store/internal.h"

#define TEXT_MAX (512U << 20)

static int
insert_record_locked(struct store *s, int64_t line, int64_t seq,
    const char *json, struct status *st)
{
	return db_run(&s->db, st,
	    "INSERT INTO message (line, seq, json) VALUES (?, ?, ?)",
	    DB_INT(line), DB_INT(seq), DB_TEXT(json));
}

static int
insert_message_locked(struct store *s, int64_t line, int64_t seq,
    const struct message *m, struct status *st)
{
	auto_buf json = BUF_INIT(TEXT_MAX);
	auto_free char *id = m->id ? NULL : message_new_id();
	struct message whole = *m;

	if (id)
		whole.id = id;
	message_to_record(&whole, &json);
	if (json.failed)
		return status_set(st, STATUS_TOO_BIG,
		    "a message is too big for the store");
	return insert_record_locked(s, line, seq, json.bytes, st);
}

static int
line_make_locked(struct store *s, const char *name, int64_t *line,
    struct status *st)
{
	if (db_run(&s->db, st, "INSERT INTO line (thread_id) VALUES (?)",
		DB_TEXT(name)) < 0)
		return -1;
	*line = sqlite3_last_insert_rowid(s->db.handle);
	return 0;
}

static int
line_end_locked(struct store *s, int64_t line, int64_t *seq, struct status *st)
{
	return db_number(&s->db, st, 0, seq,
	    "SELECT max(seq) FROM message WHERE line = ?", DB_INT(line));
}

/* A line whose end is the row's conversation. */
static int
line_of_ours_locked(struct store *s, const char *name,
    const struct step_row *row, int64_t *line, struct status *st)
{
	int64_t end = 0;

	if (line_end_locked(s, row->line, &end, st) < 0)
		return -1;
	*line = row->line;
	if (end == row->upto)
		return 0;
	if (line_make_locked(s, name, line, st) < 0)
		return -1;
	return db_run(&s->db, st,
	    "INSERT INTO message (line, seq, json)"
	    " SELECT ?, seq, json FROM message WHERE line = ? AND seq <= ?",
	    DB_INT(*line), DB_INT(row->line), DB_INT(row->upto));
}

/* As it may be stored: plain, or written anew; NULL if it is no message. */
static char *
storable(struct record *r)
{
	auto_buf json = BUF_INIT(TEXT_MAX);
	struct message m;
	struct status st;

	if (record_is_plain(r))
		return xstrdup(r->json);
	if (message_from_record(&m, r->json, r->len, &st) < 0)
		return NULL;
	if (!m.id)
		m.id = message_new_id();
	message_to_record(&m, &json);
	message_finish(&m);
	return json.failed ? NULL : buf_take(&json);
}

/* The record of the record, as a tree; NULL if it is no message. */
static cJSON *
normal_form(const char *json, size_t len)
{
	auto_buf text = BUF_INIT(TEXT_MAX);
	struct message m;
	struct status st;

	if (message_from_record(&m, json, len, &st) < 0)
		return NULL;
	message_to_record(&m, &text);
	message_finish(&m);
	return cJSON_ParseWithLength(text.bytes, text.len);
}

/* Do both say the same message, however it is spelled? */
static bool
is_same(const struct record *a, const struct record *b)
{
	if (strcmp(a->json, b->json) == 0)
		return true;
	auto_json *ja = normal_form(a->json, a->len);
	auto_json *jb = normal_form(b->json, b->len);
	return ja && jb && cJSON_Compare(ja, jb, true);
}

/* Our newest row, if the foreign messages begin with all of its line: then
 * *line is that one and *kept its length, else both 0. */
static int
line_below_locked(struct store *s, const char *name,
    const struct records *foreign, int64_t *line, size_t *kept,
    struct status *st)
{
	auto_step_row ours = { 0 };
	auto_records mine = { 0 };
	int64_t end = 0;
	int found = step_find_ours_locked(s, name, &ours, st);

	*line = 0;
	*kept = 0;
	if (found <= 0)
		return found;
	if (line_end_locked(s, ours.line, &end, st) < 0 ||
	    conversation_locked(s, name, &ours, false, &mine, st) < 0)
		return -1;
	if (end != ours.upto || mine.count > foreign->count)
		return 0;
	for (size_t i = 0; i < mine.count; i++)
		if (!is_same(&foreign->items[i], &mine.items[i]))
			return 0;
	*line = ours.line;
	*kept = mine.count;
	return 0;
}

/* The same for a foreign row: its messages become ours. */
static int
line_of_foreign_locked(struct store *s, const char *name,
    const struct step_row *row, int64_t *line, int64_t *upto, struct status *st)
{
	auto_records all = { 0 };
	size_t kept = 0;

	if (conversation_locked(s, name, row, true, &all, st) < 0 ||
	    line_below_locked(s, name, &all, line, &kept, st) < 0)
		return -1;
	if (*line == 0 && line_make_locked(s, name, line, st) < 0)
		return -1;
	*upto = (int64_t)kept;
	for (size_t i = kept; i < all.count; i++) {
		auto_free char *json = storable(&all.items[i]);
		if (json &&
		    insert_record_locked(s, *line, ++*upto, json, st) < 0)
			return -1;
	}
	return 0;
}

static int
insert_step_locked(struct store *s, const char *name,
    const struct step_row *base, int64_t turn, int64_t line, int64_t upto,
    struct status *st)
{
	auto_step_row newest = { 0 };
	char id[UUID_TEXT], ts[32];
	int64_t step = base->id[0] ? MAX(base->step, (int64_t)-1) + 1 : 0;

	if (step_find_locked(s, name, NULL, &newest, st) < 0)
		return -1;
	if (!uuid_time_ordered(id, clock_wall(), step, newest.id))
		return status_set(st, STATUS_INVALID,
		    "thread %s has a checkpoint id that nothing can follow: "
		    "%s",
		    name, newest.id);
	clock_rfc3339(ts, clock_wall_ms(), true);
	return db_run(&s->db, st,
	    "INSERT INTO step (thread_id, checkpoint_id, parent_checkpoint_id,"
	    " type, ts, step, turn, line, upto)"
	    " VALUES (?, ?, ?, 'json', ?, ?, ?, ?, ?)",
	    DB_TEXT(name), DB_TEXT(id), DB_TEXT(base->id[0] ? base->id : NULL),
	    DB_TEXT(ts), DB_INT(step), DB_INT(turn), DB_INT(line),
	    DB_INT(upto));
}

int
step_append_locked(struct store *s, const char *name,
    const struct step_row *base, int64_t turn, const struct message *messages,
    size_t count, struct status *st)
{
	auto_step_row newest = { 0 };
	int64_t line = 0, upto = 0;
	int r = 0;

	if (!base) {
		if (step_find_locked(s, name, NULL, &newest, st) < 0)
			return -1;
		base = &newest;
	}
	if (base->id[0] == '\0') {
		r = line_make_locked(s, name, &line, st);
	} else if (base->ours) {
		upto = base->upto;
		r = line_of_ours_locked(s, name, base, &line, st);
	} else {
		r = line_of_foreign_locked(s, name, base, &line, &upto, st);
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = insert_message_locked(s, line, ++upto, &messages[i], st);
	return r < 0 ? -1
		     : insert_step_locked(s, name, base, turn, line, upto, st);
}
