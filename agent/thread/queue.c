/*
 * Whose turn runs. A thread runs one turn at a time; over the mount max_turns
 * run, on the workers of the turn lane. A thread that has something waiting has
 * one job on that lane, queued behind those of the other threads each time, so
 * that none waits for another thread's whole queue.
 */
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

struct turn *
turn_create(struct thread *t, int64_t number)
{
	struct turn *turn = xcalloc(1, sizeof *turn);

	turn->number = number;
	turn->cancel = cancel_create(t->cancel);
	turn->answer = answer_create(number);
	return turn;
}

static void
turn_free_locked(struct turn *turn)
{
	answer_put_locked(turn->answer);
	cancel_put(turn->cancel);
	free(turn);
}

void
queue_add_locked(struct thread *t, struct turn *turn)
{
	lock_assert_held(&t->lock);
	*t->last = turn;
	t->last = &turn->next;
	t->waiting++;
	/* `reply` belongs to the newest prompt. */
	if (t->answer)
		answer_put_locked(t->answer);
	t->answer = turn->answer;
	t->answer->refs++;
}

static struct turn *
pop_locked(struct thread *t)
{
	struct turn *turn = t->first;

	lock_assert_held(&t->lock);
	t->first = turn->next;
	if (!t->first)
		t->last = &t->first;
	turn->next = NULL;
	t->waiting--;
	return turn;
}

static void
begin_locked(struct thread *t)
{
	lock_assert_held(&t->lock);
	t->running = pop_locked(t);
	t->turn = t->running->number;
	t->turn_usage =
	    (struct usage){ .input_tokens = -1, .output_tokens = -1 };
	thread_trouble_locked(t, STATUS_OK, "");
	thread_rephase_locked(t);
}

static void
end_locked(struct thread *t, enum turn_phase outcome,
    const struct trouble *trouble)
{
	struct turn *turn = take(t->running);

	lock_assert_held(&t->lock);
	t->outcome = outcome;
	if (trouble->code != STATUS_OK)
		thread_trouble_locked(t, trouble->code, trouble->text);
	t->activity_ms = 0;
	answer_end_locked(t, turn->answer, outcome);
	turn_free_locked(turn);
	if (!atomic_load(&t->ended))
		thread_rephase_locked(t);
	cond_broadcast(&t->idle);
}

/* On the turn lane. */
static void
run_next(void *arg)
{
	struct thread *t = arg;
	struct threads *ts = t->threads;
	struct trouble trouble = { .code = STATUS_OK };

	lock_acquire(&t->lock);
	/* What waits at the end of the mount waits for the next one. */
	bool go =
	    t->first && !atomic_load(&t->ended) && !atomic_load(&ts->stopping);
	if (go)
		begin_locked(t);
	else
		t->scheduled = false;
	struct turn *turn = t->running;
	lock_release(&t->lock);
	if (!go) {
		thread_put(t);
		return;
	}
	thread_notify(t);
	atomic_fetch_add(&ts->turns, 1);
	atomic_fetch_add(&ts->turns_running, 1);
	enum turn_phase outcome = turn_run(t, turn, &trouble);
	atomic_fetch_sub(&ts->turns_running, 1);
	lock_acquire(&t->lock);
	end_locked(t, outcome, &trouble);
	bool more = t->first != NULL;
	t->scheduled = more;
	lock_release(&t->lock);
	thread_notify(t);
	thread_use(t);
	if (more)
		lane_submit(ts->turn_lane, run_next, t);
	else
		thread_put(t);
}

void
queue_run(struct thread *t)
{
	lock_acquire(&t->lock);
	bool submit = t->first && !t->scheduled;
	t->scheduled = t->scheduled || submit;
	lock_release(&t->lock);
	if (submit)
		lane_submit(t->threads->turn_lane, run_next, thread_get(t));
}

/* --- cancel --------------------------------------------------------------- */

struct cancelled {
	struct thread *thread;
	int64_t number;
};

/* On the disk lane: it was never begun, and now never will be. */
static void
store_cancelled(void *arg)
{
	struct cancelled *c = arg;
	struct thread *t = c->thread;
	struct status st;

	if (store_turn_end(t->threads->settings.store, t->number, c->number,
		TURN_CANCELED, "", "", &st) < 0)
		diag_err("thread %lld: cancel turn %lld: %s",
		    (long long)t->number, (long long)c->number, st.text);
	thread_put(t);
	free(c);
}

/* The one that would run next, when none runs: all workers are busy with
 * other threads. */
static int64_t
cancel_first_locked(struct thread *t)
{
	struct turn *turn = pop_locked(t);
	int64_t number = turn->number;

	t->turn = number;
	t->outcome = TURN_CANCELED;
	answer_end_locked(t, turn->answer, TURN_CANCELED);
	turn_free_locked(turn);
	thread_rephase_locked(t);
	return number;
}

void
queue_cancel(struct thread *t)
{
	int64_t number = 0;

	lock_acquire(&t->lock);
	if (t->running)
		cancel_fire(t->running->cancel);
	else if (t->first)
		number = cancel_first_locked(t);
	lock_release(&t->lock);
	if (number == 0)
		return;
	struct cancelled *c = xcalloc(1, sizeof *c);
	c->thread = thread_get(t);
	c->number = number;
	lane_submit(t->threads->disk_lane, store_cancelled, c);
	thread_logf(t, "turn", "cancelled turn %lld before it began",
	    (long long)number);
	thread_notify(t);
}
