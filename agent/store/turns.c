/*
 * Turns and their tool calls; see store.h. A turn moves
 * queued -> running -> done, failed, canceled or interrupted, and a queued one
 * may be canceled; every move names the phase that it leaves in its WHERE, so
 * no turn starts twice. A call moves started -> done, or -> unknown when its
 * turn ended without its result, -> settled when the next turn starts.
 */
#include "agent/base/clock.h"
#include "agent/store/internal.h"

/* Stored; the index call_open covers the first two. */
enum call_state { CALL_STARTED, CALL_UNKNOWN, CALL_DONE, CALL_SETTLED };

void
stored_turn_finish(struct stored_turn *t)
{
	free(t->prompt);
	free(t->model);
	free(t->error_code);
	free(t->error_text);
	*t = (struct stored_turn){ 0 };
}

/* --- Accepting ------------------------------------------------------------ */

static int
accept_locked(struct store *s, int64_t thread, const char *prompt,
    int64_t *turn, struct status *st)
{
	char name[129];
	int64_t last = 0;

	if (thread_name_locked(s, thread, name, st) < 0 ||
	    db_number(&s->db, st, 0, &last,
		"SELECT max(turn) FROM turn WHERE thread = ?",
		DB_INT(thread)) < 0)
		return -1;
	*turn = last + 1;
	return db_run(&s->db, st,
	    "INSERT INTO turn (thread, turn, phase, prompt, queued_ms)"
	    " VALUES (?, ?, ?, ?, ?)",
	    DB_INT(thread), DB_INT(*turn), DB_INT(TURN_QUEUED), DB_TEXT(prompt),
	    DB_INT(clock_wall_ms()));
}

int
store_turn_accept(struct store *s, int64_t thread, const char *prompt,
    int64_t *turn, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = accept_locked(s, thread, prompt, turn, st);
	return store_end(s, r, st);
}

/* --- Moving --------------------------------------------------------------- */

static int
must_have_moved(struct store *s, int64_t thread, int64_t turn,
    const char *where, struct status *st)
{
	if (db_changed(&s->db) == 1)
		return 0;
	return status_set(st, STATUS_INVALID,
	    "turn %lld of thread %lld is not %s", (long long)turn,
	    (long long)thread, where);
}

static int
start_locked(struct store *s, int64_t thread, int64_t turn, const char *model,
    const struct message *human, struct status *st)
{
	char name[129];

	if (db_run(&s->db, st,
		"UPDATE turn SET phase = ?, model = ?, started_ms = ?"
		" WHERE thread = ? AND turn = ? AND phase = ?",
		DB_INT(TURN_RUNNING), DB_TEXT(model), DB_INT(clock_wall_ms()),
		DB_INT(thread), DB_INT(turn), DB_INT(TURN_QUEUED)) < 0 ||
	    must_have_moved(s, thread, turn, "queued", st) < 0)
		return -1;
	if (db_run(&s->db, st,
		"UPDATE call SET state = ? WHERE thread = ? AND state <= 1",
		DB_INT(CALL_SETTLED), DB_INT(thread)) < 0)
		return -1;
	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	return step_append_locked(s, name, NULL, turn, human, 1, st);
}

int
store_turn_start(struct store *s, int64_t thread, int64_t turn,
    const char *model, const struct message *human, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = start_locked(s, thread, turn, model, human, st);
	return store_end(s, r, st);
}

/* Within a turn its own rows are gone on from, whatever others put on top. */
static int
append_ours_locked(struct store *s, int64_t thread, int64_t turn,
    const struct message *messages, size_t count, struct status *st)
{
	char name[129];
	auto_step_row base = { 0 };

	if (thread_name_locked(s, thread, name, st) < 0)
		return -1;
	int found = step_find_ours_locked(s, name, &base, st);
	if (found < 0)
		return -1;
	return step_append_locked(s, name, found == 1 ? &base : NULL, turn,
	    messages, count, st);
}

static int
insert_calls_locked(struct store *s, int64_t thread, int64_t turn,
    const struct message *ai, struct status *st)
{
	for (size_t i = 0; i < ai->call_count; i++) {
		if (ai->calls[i].invalid)
			continue;
		if (db_run(&s->db, st,
			"INSERT INTO call (thread, turn, reply, position, id,"
			" name, state) SELECT thread, turn, model_calls, ?, ?,"
			" ?, ? FROM turn WHERE thread = ? AND turn = ?",
			DB_INT(i), DB_TEXT(ai->calls[i].id),
			DB_TEXT(ai->calls[i].name), DB_INT(CALL_STARTED),
			DB_INT(thread), DB_INT(turn)) < 0)
			return -1;
	}
	return 0;
}

static int
reply_locked(struct store *s, int64_t thread, int64_t turn,
    const struct message *ai, int64_t script_position, struct status *st)
{
	int64_t runnable = 0;

	for (size_t i = 0; i < ai->call_count; i++)
		runnable += !ai->calls[i].invalid;
	if (db_run(&s->db, st,
		"UPDATE turn SET model_calls = model_calls + 1,"
		" tool_calls = tool_calls + ?1,"
		" input_tokens = CASE WHEN ?2 < 0 THEN input_tokens"
		"  ELSE max(input_tokens, 0) + ?2 END,"
		" output_tokens = CASE WHEN ?3 < 0 THEN output_tokens"
		"  ELSE max(output_tokens, 0) + ?3 END"
		" WHERE thread = ?4 AND turn = ?5 AND phase = ?6",
		DB_INT(runnable), DB_INT(ai->usage.input_tokens),
		DB_INT(ai->usage.output_tokens), DB_INT(thread), DB_INT(turn),
		DB_INT(TURN_RUNNING)) < 0 ||
	    must_have_moved(s, thread, turn, "running", st) < 0)
		return -1;
	if (insert_calls_locked(s, thread, turn, ai, st) < 0)
		return -1;
	if (script_position >= 0 &&
	    db_run(&s->db, st,
		"UPDATE thread SET script_position = ? WHERE number = ?",
		DB_INT(script_position), DB_INT(thread)) < 0)
		return -1;
	return append_ours_locked(s, thread, turn, ai, 1, st);
}

int
store_turn_reply(struct store *s, int64_t thread, int64_t turn,
    const struct message *ai, int64_t script_position, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = reply_locked(s, thread, turn, ai, script_position, st);
	return store_end(s, r, st);
}

/* Results belong to the newest reply: ids may repeat over a conversation. */
static int
end_calls_locked(struct store *s, int64_t thread, int64_t turn,
    const struct message *tools, size_t count, struct status *st)
{
	for (size_t i = 0; i < count; i++) {
		if (db_run(&s->db, st,
			"UPDATE call SET state = ?1 WHERE thread = ?2"
			" AND turn = ?3 AND id = ?4 AND reply ="
			" (SELECT max(reply) FROM call"
			"  WHERE thread = ?2 AND turn = ?3)",
			DB_INT(CALL_DONE), DB_INT(thread), DB_INT(turn),
			DB_TEXT(tools[i].tool_call_id ? tools[i].tool_call_id
						      : "")) < 0)
			return -1;
	}
	return 0;
}

static int
results_locked(struct store *s, int64_t thread, int64_t turn,
    const struct message *tools, size_t count, struct status *st)
{
	int64_t open = 0;

	/* Interrupted: what became of its calls may be told later. */
	if (db_number(&s->db, st, 0, &open,
		"SELECT count(*) FROM turn WHERE thread = ? AND turn = ?"
		" AND phase IN (?, ?)",
		DB_INT(thread), DB_INT(turn), DB_INT(TURN_RUNNING),
		DB_INT(TURN_INTERRUPTED)) < 0)
		return -1;
	if (open == 0)
		return status_set(st, STATUS_INVALID,
		    "turn %lld of thread %lld is not running", (long long)turn,
		    (long long)thread);
	if (count == 0)
		return 0;
	if (end_calls_locked(s, thread, turn, tools, count, st) < 0)
		return -1;
	return append_ours_locked(s, thread, turn, tools, count, st);
}

int
store_turn_results(struct store *s, int64_t thread, int64_t turn,
    const struct message *tools, size_t count, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = results_locked(s, thread, turn, tools, count, st);
	return store_end(s, r, st);
}

static int
end_locked(struct store *s, int64_t thread, int64_t turn, enum turn_phase phase,
    const char *error_code, const char *error_text, struct status *st)
{
	if (phase == TURN_QUEUED || phase == TURN_RUNNING)
		return status_set(st, STATUS_BUG, "a turn cannot end so");
	if (db_run(&s->db, st,
		"UPDATE turn SET phase = ?, error_code = ?, error_text = ?,"
		" ended_ms = ? WHERE thread = ? AND turn = ? AND phase <= 1",
		DB_INT(phase), DB_TEXT(error_code ? error_code : ""),
		DB_TEXT(error_text ? error_text : ""), DB_INT(clock_wall_ms()),
		DB_INT(thread), DB_INT(turn)) < 0 ||
	    must_have_moved(s, thread, turn, "queued or running", st) < 0)
		return -1;
	return db_run(&s->db, st,
	    "UPDATE call SET state = ? WHERE thread = ? AND turn = ?"
	    " AND state = ?",
	    DB_INT(CALL_UNKNOWN), DB_INT(thread), DB_INT(turn),
	    DB_INT(CALL_STARTED));
}

int
store_turn_end(struct store *s, int64_t thread, int64_t turn,
    enum turn_phase phase, const char *error_code, const char *error_text,
    struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = end_locked(s, thread, turn, phase, error_code, error_text,
		    st);
	return store_end(s, r, st);
}

static int
recover_locked(struct store *s, struct status *st)
{
	if (db_run(&s->db, st, "UPDATE call SET state = ? WHERE state = ?",
		DB_INT(CALL_UNKNOWN), DB_INT(CALL_STARTED)) < 0)
		return -1;
	return db_run(&s->db, st,
	    "UPDATE turn SET phase = ?, ended_ms = ? WHERE phase = ?",
	    DB_INT(TURN_INTERRUPTED), DB_INT(clock_wall_ms()),
	    DB_INT(TURN_RUNNING));
}

int
store_recover(struct store *s, struct status *st)
{
	int r = store_begin(s, STORE_WRITE, st);

	if (r == 0)
		r = recover_locked(s, st);
	return store_end(s, r, st);
}

/* --- Reading -------------------------------------------------------------- */

#define TURN_COLUMNS                                                  \
	"thread, turn, phase, prompt, model, error_code, error_text," \
	" queued_ms, started_ms, ended_ms, model_calls, tool_calls,"  \
	" input_tokens, output_tokens"

static void
turn_read(sqlite3_stmt *query, struct stored_turn *t)
{
	*t = (struct stored_turn){
		.thread = sqlite3_column_int64(query, 0),
		.turn = sqlite3_column_int64(query, 1),
		.phase = (enum turn_phase)sqlite3_column_int(query, 2),
		.prompt = xstrdup(db_text(query, 3)),
		.model = xstrdup(db_text(query, 4)),
		.error_code = xstrdup(db_text(query, 5)),
		.error_text = xstrdup(db_text(query, 6)),
		.queued_ms = sqlite3_column_int64(query, 7),
		.started_ms = sqlite3_column_int64(query, 8),
		.ended_ms = sqlite3_column_int64(query, 9),
		.model_calls = sqlite3_column_int64(query, 10),
		.tool_calls = sqlite3_column_int64(query, 11),
		.usage = { .input_tokens = sqlite3_column_int64(query, 12),
		    .output_tokens = sqlite3_column_int64(query, 13) },
	};
}

static int
queued_locked(struct store *s,
    void (*each)(void *arg, const struct stored_turn *t), void *arg,
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT " TURN_COLUMNS " FROM turn"
	    " WHERE phase = ? AND phase <= 1 ORDER BY accepted",
	    DB_INT(TURN_QUEUED));
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1) {
		struct stored_turn t;
		turn_read(query, &t);
		each(arg, &t);
		stored_turn_finish(&t);
	}
	return row;
}

int
store_turns_queued(struct store *s,
    void (*each)(void *arg, const struct stored_turn *t), void *arg,
    struct status *st)
{
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = queued_locked(s, each, arg, st);
	return store_end(s, r, st);
}

static int
load_locked(struct store *s, int64_t thread, int64_t turn,
    struct stored_turn *out, struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT " TURN_COLUMNS " FROM turn WHERE thread = ?1"
	    " AND (?2 = 0 OR turn = ?2) ORDER BY turn DESC LIMIT 1",
	    DB_INT(thread), DB_INT(turn));
	int row = query ? db_next(query, st) : -1;

	if (row < 0)
		return -1;
	if (row == 0)
		return status_set(st, STATUS_NOT_FOUND,
		    "no turn %lld in thread %lld", (long long)turn,
		    (long long)thread);
	turn_read(query, out);
	return 0;
}

int
store_turn_load(struct store *s, int64_t thread, int64_t turn,
    struct stored_turn *out, struct status *st)
{
	int r = store_begin(s, STORE_READ, st);

	*out = (struct stored_turn){ 0 };
	if (r == 0)
		r = load_locked(s, thread, turn, out, st);
	r = store_end(s, r, st);
	if (r < 0)
		stored_turn_finish(out);
	return r;
}

static int
usage_locked(struct store *s, int64_t thread, struct usage *out,
    struct status *st)
{
	if (db_number(&s->db, st, -1, &out->input_tokens,
		"SELECT sum(input_tokens) FROM turn"
		" WHERE thread = ? AND input_tokens >= 0",
		DB_INT(thread)) < 0)
		return -1;
	return db_number(&s->db, st, -1, &out->output_tokens,
	    "SELECT sum(output_tokens) FROM turn"
	    " WHERE thread = ? AND output_tokens >= 0",
	    DB_INT(thread));
}

int
store_thread_usage(struct store *s, int64_t thread, struct usage *out,
    struct status *st)
{
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = usage_locked(s, thread, out, st);
	return store_end(s, r, st);
}

static int
unknown_locked(struct store *s, int64_t thread, char ***ids, size_t *count,
    struct status *st)
{
	auto_query *query = db_ask(&s->db, st,
	    "SELECT id FROM call WHERE thread = ? AND state = ? AND state <= 1"
	    " ORDER BY turn, reply, position",
	    DB_INT(thread), DB_INT(CALL_UNKNOWN));
	int row = query ? 1 : -1;

	while (row == 1 && (row = db_next(query, st)) == 1) {
		*ids = xrealloc(*ids, *count + 2, sizeof **ids);
		(*ids)[(*count)++] = xstrdup(db_text(query, 0));
		(*ids)[*count] = NULL;
	}
	return row;
}

int
store_calls_unknown(struct store *s, int64_t thread, char ***ids,
    struct status *st)
{
	char **found = xcalloc(1, sizeof *found);
	size_t count = 0;
	int r = store_begin(s, STORE_READ, st);

	if (r == 0)
		r = unknown_locked(s, thread, &found, &count, st);
	r = store_end(s, r, st);
	if (r == 0) {
		*ids = found;
		return 0;
	}
	for (size_t i = 0; i < count; i++)
		free(found[i]);
	free(found);
	return -1;
}
