/*
 * One thread: its life, its log lines, its workspace. Counted: the registry has
 * a reference, and so has whoever found it there; the last one gone, it is
 * taken apart on the background lane, because that waits. Traps: what is called
 * back from sandbox and mirror may come while it is taken apart.
 */
#include <assert.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* Commands of one thread that may run beside each other. */
#define LANE_WORKERS 4

struct thread *
thread_get(struct thread *t)
{
	atomic_fetch_add(&t->refs, 1);
	return t;
}

static void
free_turns(struct thread *t)
{
	lock_acquire(&t->lock);
	while (t->first) {
		struct turn *turn = t->first;
		t->first = turn->next;
		cancel_put(turn->cancel);
		answer_put_locked(turn->answer);
		free(turn);
	}
	answer_forget_locked(t);
	lock_release(&t->lock);
}

/* On the background lane. */
static void
thread_free(void *arg)
{
	struct thread *t = arg;
	struct threads *ts = t->threads;

	atomic_store(&t->ended, true); /* no more events */
	lane_destroy(t->lane);
	workspace_destroy(t);
	free_turns(t);
	buf_finish(&t->messages.text);
	transcript_destroy(t->transcript);
	cancel_put(t->cancel);
	thread_config_finish(&t->config);
	free(t->config_text);
	free(t->prompt);
	cond_finish(&t->idle);
	lock_finish(&t->lock);
	free(t);
	lock_acquire(&ts->lock);
	ts->alive--;
	cond_broadcast(&ts->freed);
	lock_release(&ts->lock);
}

struct thread *
thread_put(struct thread *t)
{
	if (t && atomic_fetch_sub(&t->refs, 1) == 1)
		lane_submit(t->threads->background, thread_free, t);
	return NULL;
}

int64_t
thread_number(const struct thread *t)
{
	return t->number;
}

int64_t
thread_created_ms(const struct thread *t)
{
	return t->created_ms;
}

int64_t
thread_changed_ms(const struct thread *t)
{
	return atomic_load(&t->changed_ms);
}

struct lane *
thread_lane(struct thread *t)
{
	lock_acquire(&t->lock);
	if (!t->lane)
		t->lane = lane_create("thread", LANE_WORKERS);
	struct lane *lane = t->lane;
	lock_release(&t->lock);
	return lane;
}

/* --- What others are told ------------------------------------------------- */

static enum phase
outcome_phase(enum turn_phase outcome)
{
	switch (outcome) {
	case TURN_FAILED:
		return PHASE_FAILED;
	case TURN_CANCELED:
		return PHASE_CANCELLED;
	case TURN_INTERRUPTED:
		return PHASE_INTERRUPTED;
	case TURN_QUEUED:
	case TURN_RUNNING:
	case TURN_DONE:
		break;
	}
	return PHASE_IDLE;
}

void
thread_rephase_locked(struct thread *t)
{
	enum phase phase = outcome_phase(t->outcome);

	lock_assert_held(&t->lock);
	if (t->running)
		phase = PHASE_RUNNING;
	else if (t->reserved > 0)
		phase = PHASE_RECEIVING;
	else if (t->first)
		phase = PHASE_QUEUED;
	if (phase == t->phase)
		return;
	assert(phase_may_move(t->phase, phase));
	t->phase = phase;
	t->generation++;
}

void
thread_notify(struct thread *t)
{
	const struct threads_settings *s = &t->threads->settings;

	atomic_store(&t->changed_ms, clock_wall_ms());
	if (s->changed)
		s->changed(s->changed_arg, t->number);
}

void
thread_activity(struct thread *t, const char *what)
{
	auto_buf masked = BUF_INIT(ENTRY_MAX), cut = BUF_INIT(ENTRY_MAX);

	if (what)
		secrets_mask(&t->threads->secrets, &masked, what, strlen(what));
	/* 60 characters fit whatever they are. */
	entry_cut(&cut, masked.bytes, masked.len, (sizeof t->activity - 4) / 4);
	lock_acquire(&t->lock);
	snprintf(t->activity, sizeof t->activity, "%s", cut.bytes);
	t->activity_ms = what ? clock_wall_ms() : 0;
	lock_release(&t->lock);
	thread_notify(t);
}

/* --- Making --------------------------------------------------------------- */

struct thread *
thread_create(struct threads *ts, const struct stored_thread *s, bool *missing)
{
	struct thread *t = xcalloc(1, sizeof *t);
	auto_free char *log =
	    xasprintf("%s/%lld", ts->log_dir, (long long)s->number);
	struct status st;

	t->threads = ts;
	t->number = s->number;
	t->created_ms = s->created_ms;
	t->cancel = cancel_create(ts->cancel);
	t->transcript = transcript_create(log, missing);
	atomic_init(&t->refs, 1);
	atomic_init(&t->changed_ms,
	    MAX(t->created_ms, transcript_changed_ms(t->transcript)));
	atomic_init(&t->ended, false);
	lock_init(&t->lock, RANK_THREAD);
	cond_init(&t->idle);
	snprintf(t->name, sizeof t->name, "%s", s->name);
	t->last = &t->first;
	t->turns = s->turns;
	t->outcome = TURN_DONE;
	t->prompt = xstrdup(s->last_prompt ? s->last_prompt : "");
	t->config_text = xstrdup(s->config ? s->config : "");
	thread_config_init(&t->config);
	if (thread_config_parse(&t->config, t->config_text, &st) < 0)
		diag_warn("thread %lld: config: %s", (long long)t->number,
		    st.text);
	t->script_position = s->script_position;
	snprintf(t->sandbox_id, sizeof t->sandbox_id, "%s", s->sandbox_id);
	t->sandbox_ours = s->sandbox_ours;
	t->answer_size = s->turns ? -1 : 0;
	t->turn_usage = t->usage =
	    (struct usage){ .input_tokens = -1, .output_tokens = -1 };
	buf_init(&t->messages.text, MESSAGES_MAX);
	t->messages.size = -1;
	t->messages.foreign = atomic_load(&ts->foreign);
	lock_acquire(&ts->lock);
	ts->alive++;
	lock_release(&ts->lock);
	return t;
}
