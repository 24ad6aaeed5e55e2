/*
 * The loop of a turn, on one worker: ask the model, run the calls that it
 * makes, until it makes none. Every fact is durable before what depends on it:
 * the prompt before the turn, a reply with its calls before they run, their
 * results before the model is asked again. The conversation is read from the
 * store once and then kept, or a long turn would cost its square.
 */
#include "agent/base/clock.h"
#include "agent/base/fault.h"
#include "agent/model/model.h"
#include "agent/thread/internal.h"
#include "agent/tools/tool.h"

/* How long the end of a turn waits for a sandbox that nobody has used. */
#define SETTLE_MS 10000

void
run_add(struct run *r, struct message *m)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->messages = xrealloc(r->messages, r->cap, sizeof *m);
	}
	r->messages[r->count++] = *m;
	*m = (struct message){ .type = m->type };
}

void
run_message(const struct run *r, struct message *m, enum message_type type)
{
	message_init(m, type);
	m->id = message_new_id();
	m->ts_ms = clock_wall_ms();
	m->turn = r->turn ? r->turn->number : 0;
}

static void
run_finish(struct run *r)
{
	for (size_t i = 0; i < r->count; i++)
		message_finish(&r->messages[i]);
	free(r->messages);
	turn_settings_finish(&r->settings);
	model_close(r->model);
	mask_stream_finish(&r->mask);
}

/* --- The beginning -------------------------------------------------------- */

struct ready {
	struct thread *thread;
	struct cancel *cancel;
};

/* On the thread's lane, beside the first request to the model: a turn wants a
 * running sandbox, and the first tool call finds it so. */
static void
ready_sandbox(void *arg)
{
	struct ready *r = arg;
	struct thread *t = r->thread;
	struct status st = { 0 };

	if (!atomic_load(&t->ended) &&
	    sandbox_ready(thread_sandbox(t), SANDBOX_CREATE, r->cancel, &st) <
		0 &&
	    !cancel_fired(r->cancel))
		thread_log(t, "sandbox", st.text);
	lock_acquire(&t->lock);
	t->readying--;
	cond_broadcast(&t->idle);
	lock_release(&t->lock);
	cancel_put(r->cancel);
	thread_put(t);
	free(r);
}

static void
want_sandbox(const struct run *r)
{
	struct thread *t = r->thread;
	struct ready *ready = xcalloc(1, sizeof *ready);

	ready->thread = thread_get(t);
	ready->cancel = cancel_get(r->turn->cancel);
	lock_acquire(&t->lock);
	t->readying++;
	lock_release(&t->lock);
	lane_submit(thread_lane(t), ready_sandbox, ready);
}

/* The turn's lines in the log are whole when it ends: a short answer waits for
 * the line about the sandbox, but not for a remote that hangs. */
static void
settle_sandbox(struct thread *t)
{
	int64_t deadline = clock_mono_ms() + SETTLE_MS;

	lock_acquire(&t->lock);
	while (t->readying > 0)
		if (!cond_wait(&t->idle, &t->lock, deadline))
			break;
	lock_release(&t->lock);
}

static int
start_turn(struct run *r, struct status *st)
{
	struct thread *t = r->thread;
	struct store *store = t->threads->settings.store;
	struct stored_turn stored;
	struct message human;

	if (store_turn_load(store, t->number, r->turn->number, &stored, st) < 0)
		return -1;
	run_message(r, &human, MESSAGE_HUMAN);
	free(human.content);
	human.content = take(stored.prompt);
	stored_turn_finish(&stored);
	messages_begin(t);
	int rc = store_turn_start(store, t->number, r->turn->number,
	    r->settings.model, &human, st);
	messages_end(t, &human, 1, rc == 0);
	if (rc == 0) {
		auto_buf out = BUF_INIT(ENTRY_MAX);
		entry_header(&out, r->turn->number, human.ts_ms,
		    r->settings.model);
		rebuild_message(&out, &human, -1);
		thread_log_entries(t, &out);
	}
	message_finish(&human);
	return rc;
}

static int
open_model(struct run *r, struct status *st)
{
	const struct threads_settings *s = &r->thread->threads->settings;
	struct model_settings ms = { .spec = r->settings.model,
		.base_url = r->settings.base_url,
		.env = s->env,
		.env_arg = s->env_arg };

	if (thread_model_check(r->thread, st) < 0)
		return -1;
	r->model = model_open(&ms, st);
	return r->model ? 0 : -1;
}

static int
begin(struct run *r, struct status *st)
{
	struct thread *t = r->thread;
	struct store *store = t->threads->settings.store;

	threads_look(t->threads);
	if (thread_answer_unknown(t, st) < 0 || start_turn(r, st) < 0)
		return -1;
	branch_begin(t, &r->branch);
	fault_point("turn.start");
	if (open_model(r, st) < 0)
		return -1;
	want_sandbox(r);
	if (store_messages(store, t->number, &r->messages, &r->count, st) < 0)
		return -1;
	r->cap = r->count;
	return 0;
}

/* --- The loop --------------------------------------------------------------- */

static int
check_canceled(const struct run *r, struct status *st)
{
	return cancel_fired(r->turn->cancel)
	    ? status_set(st, STATUS_CANCELED, "cancelled")
	    : 0;
}

static int
loop(struct run *r, struct status *st)
{
	for (;;) {
		if (check_canceled(r, st) < 0)
			return -1;
		if (r->tally.model_calls >= r->settings.steps)
			return status_set(st, STATUS_TOO_BIG,
			    "stopped after %lld model calls, the limit of a "
			    "turn: write a prompt to go on, or set "
			    "recursion_limit in config",
			    (long long)r->tally.model_calls);
		if (run_ask(r, st) < 0)
			return -1;
		if (r->messages[r->count - 1].call_count == 0)
			return 0;
		fault_point("turn.reply");
		if (calls_run(r, st) < 0)
			return -1;
	}
}

/* --- The end -------------------------------------------------------------- */

static enum turn_phase
outcome_of(const struct run *r, int rc)
{
	if (rc == 0)
		return TURN_DONE;
	if (!cancel_fired(r->turn->cancel))
		return TURN_FAILED;
	return atomic_load(&r->thread->threads->stopping) ? TURN_INTERRUPTED
							  : TURN_CANCELED;
}

static void
log_end(const struct run *r, enum turn_phase outcome, const char *why)
{
	static const char *const words[] = {
		[TURN_DONE] = "done in",
		[TURN_FAILED] = "failed after",
		[TURN_CANCELED] = "cancelled after",
		[TURN_INTERRUPTED] = "interrupted after",
	};
	auto_buf out = BUF_INIT(ENTRY_MAX);

	entry_end(&out, words[outcome], &r->tally, why);
	thread_log_entries(r->thread, &out);
}

static enum turn_phase
end(struct run *r, int rc, const struct status *why, struct trouble *trouble)
{
	struct thread *t = r->thread;
	enum turn_phase outcome = outcome_of(r, rc);
	bool failed = outcome == TURN_FAILED;
	auto_free char *text = xstrdup(failed ? why->text : "");
	struct status st;

	secrets_mask_string(&t->threads->secrets, &text);
	r->tally.ms = clock_mono_ms() - r->began_ms;
	fault_point("turn.end");
	if (store_turn_end(t->threads->settings.store, t->number,
		r->turn->number, outcome, failed ? status_word(why->code) : "",
		text, &st) < 0 &&
	    !atomic_load(&t->ended)) {
		thread_logf(t, "turn", "its end could not be stored: %s",
		    st.text);
		outcome = outcome == TURN_DONE ? TURN_FAILED : outcome;
		trouble->code = st.code;
		snprintf(trouble->text, sizeof trouble->text, "%s", st.text);
	}
	fault_point("turn.ended");
	if (failed) {
		trouble->code = why->code;
		snprintf(trouble->text, sizeof trouble->text, "%s", text);
	}
	thread_learn_checkpoint(t);
	branch_end(t, &r->branch);
	log_end(r, outcome, failed ? text : NULL);
	return outcome;
}

enum turn_phase
turn_run(struct thread *t, struct turn *turn, struct trouble *trouble)
{
	struct status st = { 0 };
	struct run r = { .thread = t,
		.turn = turn,
		.began_ms = clock_mono_ms(),
		.tally.usage = { .input_tokens = -1, .output_tokens = -1 } };

	wait_point();
	turn_settings_load(t, &r.settings);
	mask_stream_init(&r.mask, &t->threads->secrets);
	r.tools = tools_schema(r.settings.tools);
	int rc = begin(&r, &st);
	if (rc == 0)
		rc = loop(&r, &st);
	settle_sandbox(t);
	enum turn_phase outcome = end(&r, rc, &st, trouble);
	free(r.tools);
	run_finish(&r);
	return outcome;
}
