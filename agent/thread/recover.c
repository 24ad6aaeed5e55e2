/*
 * What happened before this process. A turn that a crash ended is interrupted;
 * its log may lack lines, which are written now, and its calls may lack
 * results: the model is told that their outcome is unknown, they are never run
 * again by us.
 */
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* Entries of all turns. */
#define LOG_MAX ((size_t)256 << 20)

static const char unknown_text[] =
    "Error: sandagentfs ended while this call was running. It may or may not "
    "have taken effect, and it was not run again. Look before you repeat it.";

static enum status_code
code_from_word(const char *word)
{
	for (int code = STATUS_OK; code <= STATUS_BUG; code++)
		if (strcmp(status_word((enum status_code)code), word) == 0)
			return (enum status_code)code;
	return STATUS_IO;
}

static void
free_messages(struct message *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		message_finish(&list[i]);
	free(list);
}

/* The newest turn that began. NOT_FOUND: none did. */
static int
load_newest(struct thread *t, struct stored_turn *out, struct status *st)
{
	struct store *store = t->threads->settings.store;

	for (int64_t n = t->turns; n > 0; n--) {
		if (store_turn_load(store, t->number, n, out, st) < 0)
			return -1;
		if (out->phase != TURN_QUEUED)
			return 0;
		stored_turn_finish(out);
	}
	return status_set(st, STATUS_NOT_FOUND, "no turn");
}

static int
render_all(struct thread *t, struct buf *out, struct status *st)
{
	struct store *store = t->threads->settings.store;
	struct message *list;
	size_t count;

	if (store_messages(store, t->number, &list, &count, st) < 0)
		return -1;
	int rc = 0;
	for (int64_t n = 1; rc == 0 && n <= t->turns; n++) {
		struct stored_turn turn;
		rc = store_turn_load(store, t->number, n, &turn, st);
		if (rc == 0) {
			rebuild_turn(out, &turn, list, count);
			stored_turn_finish(&turn);
		}
	}
	free_messages(list, count);
	return rc;
}

static int
render_one(struct thread *t, const struct stored_turn *turn, struct buf *out,
    struct status *st)
{
	struct message *list;
	size_t count;

	if (store_messages(t->threads->settings.store, t->number, &list, &count,
		st) < 0)
		return -1;
	rebuild_turn(out, turn, list, count);
	free_messages(list, count);
	return 0;
}

/* Is the newest header or end line about this turn? *ended: it is an end line.
 * A header that is too far back to be found is that of a long turn. */
static bool
is_logged(struct thread *t, int64_t turn, bool *ended)
{
	static const char *const ends[] = { "[turn] done in ",
		"[turn] failed after ", "[turn] cancelled after ",
		"[turn] interrupted", "=== turn " };
	char line[256] = "";

	transcript_find_last(t->transcript, ends, ARRAY_SIZE(ends), line,
	    sizeof line);
	*ended = line[0] == '[';
	if (*ended)
		transcript_find_last(t->transcript, &ends[ARRAY_SIZE(ends) - 1],
		    1, line, sizeof line);
	if (strncmp(line, "=== turn ", 9) == 0)
		return strtoll(line + 9, NULL, 10) == turn;
	return transcript_size(t->transcript) > TRANSCRIPT_TAIL;
}

/* Writes what the log lacks. */
static int
complete_log(struct thread *t, const struct stored_turn *turn, bool missing,
    struct status *st)
{
	auto_buf out = BUF_INIT(LOG_MAX);
	bool ended;
	int rc = 0;

	if (missing)
		rc = render_all(t, &out, st);
	else if (turn->started_ms == 0)
		return 0; /* cancelled before it began */
	else if (!is_logged(t, turn->turn, &ended))
		rc = render_one(t, turn, &out, st);
	else if (!ended)
		rebuild_end(&out, turn);
	if (rc == 0)
		thread_log_entries(t, &out);
	return rc;
}

static void
take_turn(struct thread *t, const struct stored_turn *turn)
{
	lock_acquire(&t->lock);
	t->turn = turn->turn;
	t->outcome = turn->phase;
	t->turn_usage = turn->usage;
	if (turn->phase == TURN_FAILED)
		thread_trouble_locked(t, code_from_word(turn->error_code),
		    turn->error_text);
	t->phase = PHASE_RUNNING; /* as far as we knew */
	thread_rephase_locked(t);
	lock_release(&t->lock);
}

void
thread_recall(struct thread *t, bool log_missing)
{
	struct store *store = t->threads->settings.store;
	struct stored_turn turn = { 0 };
	struct usage usage;
	struct status st = { 0 };

	thread_learn_checkpoint(t);
	if (t->turns == 0)
		return;
	if (store_thread_usage(store, t->number, &usage, &st) == 0) {
		lock_acquire(&t->lock);
		t->usage = usage;
		lock_release(&t->lock);
	}
	if (load_newest(t, &turn, &st) < 0) {
		if (st.code != STATUS_NOT_FOUND)
			diag_err("thread %lld: %s", (long long)t->number,
			    st.text);
		return;
	}
	take_turn(t, &turn);
	if (complete_log(t, &turn, log_missing, &st) < 0)
		diag_err("thread %lld: log: %s", (long long)t->number, st.text);
	stored_turn_finish(&turn);
}

/* --- Calls without a result ----------------------------------------------- */

static bool
is_among(char *const *ids, const char *id)
{
	for (; *ids; ids++)
		if (strcmp(*ids, id) == 0)
			return true;
	return false;
}

/* Results for the calls of the newest message that has one of them. */
static size_t
unknown_results(char *const *ids, const struct message *list, size_t count,
    struct message **out)
{
	size_t n = 0;

	for (size_t i = count; i > 0 && n == 0; i--) {
		const struct message *ai = &list[i - 1];
		if (ai->type != MESSAGE_AI || ai->call_count == 0)
			continue;
		*out = xcalloc(ai->call_count, sizeof **out);
		struct run r = { .turn = NULL };
		for (size_t k = 0; k < ai->call_count; k++)
			if (is_among(ids, ai->calls[k].id)) {
				call_result(&r, &(*out)[n], &ai->calls[k],
				    unknown_text);
				(*out)[n++].turn = ai->turn;
			}
		if (n == 0)
			free(take(*out));
	}
	return n;
}

static int
answer_ids(struct thread *t, char *const *ids, struct status *st)
{
	struct store *store = t->threads->settings.store;
	struct message *list, *results = NULL;
	size_t count;

	if (store_messages(store, t->number, &list, &count, st) < 0)
		return -1;
	size_t n = unknown_results(ids, list, count, &results);
	int rc = 0;
	if (n > 0) {
		messages_begin(t);
		rc = store_turn_results(store, t->number, results[0].turn,
		    results, n, st);
		messages_end(t, results, n, rc == 0);
		auto_buf out = BUF_INIT(ENTRY_MAX);
		for (size_t i = 0; rc == 0 && i < n; i++)
			rebuild_message(&out, &results[i], -1);
		thread_log_entries(t, &out);
	}
	free_messages(results, n);
	free_messages(list, count);
	return rc;
}

int
thread_answer_unknown(struct thread *t, struct status *st)
{
	char **ids;

	if (store_calls_unknown(t->threads->settings.store, t->number, &ids,
		st) < 0)
		return -1;
	int rc = ids[0] ? answer_ids(t, ids, st) : 0;
	for (char **id = ids; *id; id++)
		free(*id);
	free(ids);
	return rc;
}
