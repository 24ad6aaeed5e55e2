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
	mirror_destroy(t->mirror, 0);
	sandbox_destroy(t->sandbox);
	while (t->old) {
		struct workspace *w = t->old;
		t->old = w->next;
		mirror_destroy(w->mirror, 0);
		sandbox_destroy(w->sandbox);
		free(w);
	}
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

struct mirror *
thread_mirror(struct thread *t)
{
	lock_acquire(&t->lock);
	struct mirror *m = t->mirror;
	lock_release(&t->lock);
	return m;
}

struct sandbox *
thread_sandbox(struct thread *t)
{
	lock_acquire(&t->lock);
	struct sandbox *sb = t->sandbox;
	lock_release(&t->lock);
	return sb;
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

/* --- Workspace ------------------------------------------------------------ */

struct sandbox_fact {
	struct thread *thread;
	struct sandbox_view view;
};

/* On the disk lane: what the store keeps of the sandbox. */
static void
store_sandbox(void *arg)
{
	struct sandbox_fact *f = arg;
	struct thread *t = f->thread;
	struct status st = { 0 };
	bool absent = strcmp(f->view.state, "absent") == 0;
	const char *id = absent ? "" : f->view.id;

	if (!atomic_load(&t->ended) &&
	    store_thread_set_sandbox(t->threads->settings.store, t->number, id,
		f->view.ours, &st) < 0 &&
	    st.code != STATUS_NOT_FOUND)
		diag_err("thread %lld: %s", (long long)t->number, st.text);
	thread_put(t);
	free(f);
}

static void
on_sandbox_event(void *arg, const char *line)
{
	struct thread *t = arg;

	if (atomic_load(&t->ended))
		return;
	struct sandbox_fact *f = xcalloc(1, sizeof *f);
	f->thread = thread_get(t);
	sandbox_view(thread_sandbox(t), &f->view);
	lock_acquire(&t->lock);
	t->had_sandbox =
	    f->view.id[0] != '\0' && strcmp(f->view.state, "absent") != 0;
	t->was_started = t->was_started || f->view.started;
	lock_release(&t->lock);
	lane_submit(t->threads->disk_lane, store_sandbox, f);
	thread_log(t, "sandbox", line);
	thread_use(t);
}

static void
on_mirror_note(void *arg, const char *line)
{
	thread_log(arg, "file", line);
}

/* [disk] */
static void
open_workspace(struct thread *t, const char *sandbox_id, bool ours)
{
	struct threads *ts = t->threads;
	struct sandbox_options none = { 0 };
	auto_free char *name = xasprintf("thread-%s", t->name);
	struct mirror_settings ms = { .thread = t->number,
		.staging_dir = ts->staging_dir,
		.queue_dir = ts->queue_dir,
		.links_raw = ts->settings.links_raw,
		.sandbox_known = *sandbox_id != '\0',
		.note = on_mirror_note,
		.note_arg = t };
	struct sandbox *sb = sandbox_create(ts->settings.provider, name, &none);

	sandbox_on_event(sb, on_sandbox_event, t);
	if (*sandbox_id)
		sandbox_hint(sb, sandbox_id, ours);
	struct mirror *m = mirror_create(sb, ts->settings.store, &ms);
	lock_acquire(&t->lock);
	t->sandbox = sb;
	t->mirror = m;
	lock_release(&t->lock);
	thread_apply_options(t);
}

void
thread_reopen_workspace(struct thread *t)
{
	struct workspace *w = xcalloc(1, sizeof *w);

	lock_acquire(&t->lock);
	w->next = t->old;
	w->sandbox = t->sandbox;
	w->mirror = t->mirror;
	t->old = w;
	lock_release(&t->lock);
	open_workspace(t, "", false);
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
	t->had_sandbox = s->sandbox_id[0] != '\0';
	t->answer_size = s->turns ? -1 : 0;
	t->turn_usage = t->usage =
	    (struct usage){ .input_tokens = -1, .output_tokens = -1 };
	buf_init(&t->messages.text, MESSAGES_MAX);
	t->messages.size = -1;
	t->messages.foreign = atomic_load(&ts->foreign);
	lock_acquire(&ts->lock);
	ts->alive++;
	lock_release(&ts->lock);
	open_workspace(t, s->sandbox_id, s->sandbox_ours);
	return t;
}

void
thread_close(struct thread *t, int64_t drain_ms)
{
	lock_acquire(&t->lock);
	struct mirror *m = take(t->mirror);
	lock_release(&t->lock);
	mirror_destroy(m, drain_ms);
}
