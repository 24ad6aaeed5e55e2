/* Checkpoints: rows of `step`, and the conversation at each; see store.h. A row
 * of ours says "the messages 1..upto of a line". */
#include "agent/base/clock.h"
#include "agent/store/foreign.h"
#include "agent/store/internal.h"

#define TEXT_MAX (512U << 20)

void
step_row_finish(struct step_row *row)
{
	free(row->ts);
	*row = (struct step_row){ 0 };
}

#define STEP_COLUMNS                                                  \
	"checkpoint_id, parent_checkpoint_id, step, turn, line, upto" \
	", ts, raw_metadata"

static void
step_read(sqlite3_stmt *query, struct step_row *row)
{
	snprintf(row->id, sizeof row->id, "%s", db_text(query, 0));
	snprintf(row->parent, sizeof row->parent, "%s", db_text(query, 1));
	row->step = sqlite3_column_int64(query, 2);
	row->turn = sqlite3_column_int64(query, 3);
	row->ours = sqlite3_column_type(query, 4) != SQLITE_NULL;
	row->line = sqlite3_column_int64(query, 4);
	row->upto = sqlite3_column_int64(query, 5);
	row->ts = row->ours ? xstrdup(db_text(query, 6)) : NULL;
	if (!row->ours) {
		const char *metadata = sqlite3_column_blob(query, 7);
		row->step = foreign_step(metadata ? metadata : "",
		    (size_t)sqlite3_column_bytes(query, 7));
	}
}

static int
first_row(sqlite3_stmt *query, struct step_row *row, struct status *st)
{
	int found = query ? db_next(query, st) : -1;

	if (found == 1)
		step_read(query, row);
	return found;
}

int
step_find_locked(struct store *s, const char *name, const char *id,
    struct step_row *row, struct status *st)
{
	auto_query *query = id
	    ? db_ask(&s->db, st,
		  "SELECT " STEP_COLUMNS " FROM step WHERE thread_id = ?"
		  " AND checkpoint_ns = '' AND checkpoint_id = ?",
		  DB_TEXT(name), DB_TEXT(id))
	    : db_ask(&s->db, st,
		  "SELECT " STEP_COLUMNS " FROM step WHERE thread_id = ?"
		  " AND checkpoint_ns = '' ORDER BY checkpoint_id DESC LIMIT 1",
		  DB_TEXT(name));

	return first_row(query, row, st);
}

int
step_find_ours_locked(struct store *s, const char *name, struct step_row *row,
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT " STEP_COLUMNS " FROM step WHERE thread_id = ?"
	    " AND checkpoint_ns = '' AND line IS NOT NULL"
	    " ORDER BY checkpoint_id DESC LIMIT 1",
	    DB_TEXT(name));

	return first_row(query, row, st);
}

/* --- Reading -------------------------------------------------------------- */

static int
messages_locked(struct store *s, int64_t thread, struct records *out,
    struct status *st)
{
	auto_step_row row = { 0 };
	char name[129];

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	int found = step_find_locked(s, name, NULL, &row, st);
	return found == 1 ? conversation_locked(s, name, &row, true, out, st)
			  : found;
}

int
store_messages(struct store *s, int64_t thread, struct message **out,
    size_t *count, struct status *st)
{
	auto_records records = { 0 };
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = messages_locked(s, thread, &records, st);
	r = store_end(s, r, st);
	if (r == 0)
		records_parse(&records, out, count);
	return r;
}

/* Milliseconds of our own form, YYYY-MM-DDTHH:MM:SS.mmmZ; 0 for another. */
static int64_t
parse_ts(const char *ts)
{
	struct tm tm = { 0 };
	const char *rest = strptime(ts, "%Y-%m-%dT%H:%M:%S.", &tm);

	if (!rest)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + strtol(rest, NULL, 10);
}

static void
describe(const struct step_row *row, struct checkpoint *out)
{
	*out = (struct checkpoint){ .step = row->step };
	memcpy(out->id, row->id, sizeof out->id);
	memcpy(out->parent, row->parent, sizeof out->parent);
	out->ts_ms = row->ts ? parse_ts(row->ts) : uuid_time_ms(row->id);
}

static int
newest_locked(struct store *s, int64_t thread, struct checkpoint *out,
    struct status *st)
{
	auto_step_row row = { 0 };
	char name[129];

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	int found = step_find_locked(s, name, NULL, &row, st);
	if (found == 1)
		describe(&row, out);
	return MIN(found, 0);
}

int
store_checkpoint_newest(struct store *s, int64_t thread, struct checkpoint *out,
    struct status *st)
{
	int r = store_begin(s, STORE_READ, st);

	*out = (struct checkpoint){ 0 };
	if (r == 0)
		r = newest_locked(s, thread, out, st);
	return store_end(s, r, st);
}

static int
list_locked(struct store *s, int64_t thread, struct checkpoint **out,
    size_t *count, struct status *st)
{
	char name[129];
	size_t cap = 0;

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	auto_query *query = db_ask(&s->db, st,
	    "SELECT " STEP_COLUMNS " FROM step WHERE thread_id = ?"
	    " AND checkpoint_ns = '' ORDER BY checkpoint_id",
	    DB_TEXT(name));
	int more = query ? 1 : -1;
	while (more == 1 && (more = db_next(query, st)) == 1) {
		auto_step_row row = { 0 };
		step_read(query, &row);
		if (*count == cap) {
			cap = cap ? cap * 2 : 64;
			*out = xrealloc(*out, cap, sizeof **out);
		}
		describe(&row, &(*out)[(*count)++]);
	}
	return more;
}

int
store_checkpoints(struct store *s, int64_t thread, struct checkpoint **out,
    size_t *count, struct status *st)
{
	struct checkpoint *list = xcalloc(1, sizeof *list);
	size_t n = 0;
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = list_locked(s, thread, &list, &n, st);
	r = store_end(s, r, st);
	if (r < 0) {
		free(list);
		return -1;
	}
	*out = list;
	*count = n;
	return 0;
}

static int
state_locked(struct store *s, int64_t thread, const char *id, char name[129],
    struct checkpoint *checkpoint, struct records *records, struct status *st)
{
	auto_step_row row = { 0 };

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	int found = step_find_locked(s, name, id, &row, st);
	if (found < 0)
		return -1;
	if (found == 0)
		return status_set(st, STATUS_NOT_FOUND, "no checkpoint %s", id);
	describe(&row, checkpoint);
	return conversation_locked(s, name, &row, false, records, st);
}

static void
print_state(struct buf *out, const char *name, const struct checkpoint *c,
    const struct records *records)
{
	struct message *messages = NULL;
	size_t count = 0;
	char ts[32];

	records_parse(records, &messages, &count);
	buf_puts(out, "{\"id\":");
	json_print_string(out, c->id, strlen(c->id));
	buf_puts(out, ",\"parent\":");
	if (c->parent[0])
		json_print_string(out, c->parent, strlen(c->parent));
	else
		buf_puts(out, "null");
	clock_rfc3339(ts, c->ts_ms, true);
	buf_printf(out,
	    ",\"step\":%lld,\"ts\":\"%s\",\"thread_id\":", (long long)c->step,
	    ts);
	json_print_string(out, name, strlen(name));
	buf_puts(out, ",\"messages\":[");
	for (size_t i = 0; i < count; i++) {
		auto_buf line = BUF_INIT(TEXT_MAX);
		message_to_line(&messages[i], &line);
		buf_puts(out, i > 0 ? "," : "");
		buf_add(out, line.bytes, line.len > 0 ? line.len - 1 : 0);
		message_finish(&messages[i]);
	}
	buf_puts(out, "]}\n");
	free(messages);
}

int
store_checkpoint_text(struct store *s, int64_t thread, const char *id,
    struct buf *out, struct status *st)
{
	auto_records records = { 0 };
	struct checkpoint checkpoint = { 0 };
	char name[129];
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = state_locked(s, thread, id, name, &checkpoint, &records,
		    st);
	r = store_end(s, r, st);
	if (r < 0)
		return -1;
	print_state(out, name, &checkpoint, &records);
	return out->failed
	    ? status_set(st, STATUS_TOO_BIG, "checkpoint %s is too big", id)
	    : 0;
}
