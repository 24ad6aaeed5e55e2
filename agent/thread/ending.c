/*
 * Ending a thread. The rows and the name go at once, on the disk lane; what
 * waits (a turn that is being cancelled, the remote sandbox) follows on the
 * background lane. Whatever still runs finds the thread ended: the store
 * refuses its writes, the transcript takes no more lines.
 */
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* Contract §1: without marks only what is empty goes. */
static bool
is_empty(struct thread *t)
{
	struct sandbox_view sandbox;
	struct mirror_view files;

	lock_acquire(&t->lock);
	bool empty =
	    t->turns == 0 && !t->running && !t->first && !t->sandbox_id[0];
	lock_release(&t->lock);
	(void)workspace_view(t, &sandbox, &files);
	return empty && files.queued == 0;
}

/* On the background lane. */
static void
delete_sandbox(void *arg)
{
	struct thread *t = arg;
	struct status st = { 0 };

	lock_acquire(&t->lock);
	while (t->running)
		cond_wait(&t->idle, &t->lock, 0);
	struct lane *commands = t->lane;
	lock_release(&t->lock);
	if (commands)
		lane_drain(commands);
	lock_acquire(&t->lock);
	bool had = t->sandbox_id[0] || t->was_started;
	lock_release(&t->lock);
	if (had &&
	    sandbox_delete(thread_sandbox(t), t->threads->give_up, &st) < 0 &&
	    st.code != STATUS_DENIED)
		diag_warn("thread %lld: %s", (long long)t->number, st.text);
	sandbox_free_name(thread_sandbox(t));
	thread_put(t);
}

/* Those who read `reply` or wait in poll are told that nothing comes. */
static void
drop_queue(struct thread *t)
{
	lock_acquire(&t->lock);
	while (t->first) {
		struct turn *turn = t->first;
		t->first = turn->next;
		answer_end_locked(t, turn->answer, TURN_CANCELED);
		answer_put_locked(turn->answer);
		cancel_put(turn->cancel);
		free(turn);
	}
	t->last = &t->first;
	t->waiting = 0;
	t->generation++;
	lock_release(&t->lock);
}

int
thread_end(struct threads *ts, struct thread *t, bool forced, struct status *st)
{
	wait_point();
	if (!forced && !is_empty(t))
		return status_set(st, STATUS_NOT_EMPTY,
		    "%s has a conversation or a sandbox: rm -r ends it",
		    t->name);
	if (atomic_exchange(&t->ended, true))
		return status_set(st, STATUS_NOT_FOUND, "it was removed");
	if (store_thread_delete(ts->settings.store, t->number, st) < 0 &&
	    st->code != STATUS_NOT_FOUND) {
		atomic_store(&t->ended, false);
		return -1;
	}
	cancel_fire(t->cancel);
	sandbox_doom(thread_sandbox(t));
	mirror_discard(thread_mirror(t));
	transcript_remove(t->transcript);
	drop_queue(t);
	if (registry_remove(ts, t))
		thread_put(t);
	lane_submit(ts->background, delete_sandbox, thread_get(t));
	thread_notify(t);
	return 0;
}
