/*
 * The clock of the threads. When nobody uses one, its sandbox is stopped after
 * stop_minutes if we started it, and texts kept in memory are dropped. While it
 * is used, its time to live is renewed. A line of output that came too soon
 * after another is shown in its turn (live.c). One worker for all threads
 * sleeps until the first of them is due; what waits for the remote runs on the
 * thread's own lane.
 */
#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* How long a text is kept after its last reader. */
#define TEXT_MS 60000
/* How often the remote is told that the sandbox is in use. */
#define TOUCH_MS 60000
/* Something was in the way of a stop: files on their way. */
#define AGAIN_MS 5000

static void
touch_sandbox(void *arg)
{
	struct thread *t = arg;
	struct status st = { 0 };

	if (!atomic_load(&t->ended) &&
	    sandbox_touch(thread_sandbox(t), t->cancel, &st) < 0)
		diag_info("thread %lld: %s", (long long)t->number, st.text);
	thread_put(t);
}

/* On the thread's lane. It may have been taken up again meanwhile. */
static void
stop_sandbox(void *arg)
{
	struct thread *t = arg;
	struct status st = { 0 };

	lock_acquire(&t->lock);
	bool busy = phase_is_busy(t->phase);
	lock_release(&t->lock);
	if (!busy && !atomic_load(&t->ended) &&
	    sandbox_stop(thread_sandbox(t), t->cancel, &st) < 0)
		diag_info("thread %lld: %s", (long long)t->number, st.text);
	lock_acquire(&t->lock);
	t->stopping = false;
	lock_release(&t->lock);
	thread_put(t);
}

/* Drops what was not read for a while; when to look again, or 0. */
static int64_t
drop_texts_locked(struct thread *t, int64_t now)
{
	int64_t next = 0;

	lock_assert_held(&t->lock);
	if (t->messages.valid && now - t->messages.used_ms >= TEXT_MS)
		messages_forget_locked(t);
	if (t->messages.valid)
		next = t->messages.used_ms + TEXT_MS;
	if (!t->answer || phase_is_busy(t->phase))
		return next;
	if (now - t->answer_used_ms >= TEXT_MS)
		answer_forget_locked(t);
	else
		next = clock_sooner(next, t->answer_used_ms + TEXT_MS);
	return next;
}

struct due {
	bool stop, touch;
	int64_t next; /* clock_mono_ms(), 0 = never */
};

static struct due
look_locked(struct thread *t, int64_t now, const struct sandbox_view *view,
    bool files_wait)
{
	struct due due = { .next = clock_sooner(live_next_locked(t),
			       drop_texts_locked(t, now)) };
	int minutes = t->config.stop_minutes >= 0
	    ? t->config.stop_minutes
	    : t->threads->settings.stop_minutes;
	bool busy = phase_is_busy(t->phase);

	lock_assert_held(&t->lock);
	t->used_ms = MAX(t->used_ms, view->used_ms);
	if (strcmp(view->state, "started") != 0)
		return due;
	if (now - t->touched_ms >= TOUCH_MS) {
		due.touch =
		    busy || now - t->used_ms < TOUCH_MS || view->expires_at[0];
		t->touched_ms = now;
	}
	due.next = clock_sooner(due.next, t->touched_ms + TOUCH_MS);
	if (minutes <= 0 || !view->started || t->stopping)
		return due;
	if (busy || files_wait)
		t->used_ms =
		    MAX(t->used_ms, now - (int64_t)minutes * 60000 + AGAIN_MS);
	int64_t at = t->used_ms + (int64_t)minutes * 60000;
	due.stop = at <= now;
	t->stopping = due.stop;
	if (!due.stop)
		due.next = clock_sooner(due.next, at);
	return due;
}

/* When to look again, or 0. */
static int64_t
look(struct thread *t, int64_t now)
{
	struct sandbox_view view;
	struct mirror_view files;

	live_tick(t, now);
	(void)workspace_view(t, &view, &files);
	lock_acquire(&t->lock);
	struct due due = look_locked(t, now, &view, files.queued > 0);
	t->check_ms = due.next;
	lock_release(&t->lock);
	if (due.touch)
		lane_submit(thread_lane(t), touch_sandbox, thread_get(t));
	if (due.stop)
		lane_submit(thread_lane(t), stop_sandbox, thread_get(t));
	return due.next;
}

static int64_t
look_at_all(struct threads *ts)
{
	size_t count;
	struct thread **list = registry_snapshot(ts, &count);
	int64_t now = clock_mono_ms(), next = 0;

	for (size_t i = 0; i < count; i++) {
		struct thread *t = list[i];
		lock_acquire(&t->lock);
		int64_t at = t->check_ms;
		lock_release(&t->lock);
		if (at > 0 && at <= now)
			at = look(t, now);
		next = clock_sooner(next, at);
		thread_put(t);
	}
	free(list);
	return next;
}

static void *
work(void *arg)
{
	struct threads *ts = arg;

	lock_acquire(&ts->lock);
	while (!ts->idle_stop) {
		ts->idle_kick = false;
		lock_release(&ts->lock);
		int64_t next = look_at_all(ts);
		lock_acquire(&ts->lock);
		while (!ts->idle_stop && !ts->idle_kick &&
		    cond_wait(&ts->idle_cond, &ts->lock, next))
			;
	}
	lock_release(&ts->lock);
	return NULL;
}

void
idle_start(struct threads *ts)
{
	ts->idle_worker = worker_start(work, ts, "idle");
}

void
idle_stop(struct threads *ts)
{
	lock_acquire(&ts->lock);
	ts->idle_stop = true;
	cond_signal(&ts->idle_cond);
	lock_release(&ts->lock);
	worker_join(ts->idle_worker);
}

/* The worker sleeps until what it knew was due. */
void
thread_look_at(struct thread *t, int64_t at)
{
	struct threads *ts = t->threads;

	lock_acquire(&t->lock);
	bool sooner = t->check_ms == 0 || at < t->check_ms;
	if (sooner)
		t->check_ms = at;
	lock_release(&t->lock);
	if (!sooner)
		return;
	lock_acquire(&ts->lock);
	ts->idle_kick = true;
	cond_signal(&ts->idle_cond);
	lock_release(&ts->lock);
}

void
thread_use(struct thread *t)
{
	int64_t now = clock_mono_ms();

	lock_acquire(&t->lock);
	t->used_ms = now;
	bool watched = t->check_ms > 0;
	lock_release(&t->lock);
	if (!watched)
		thread_look_at(t, now + AGAIN_MS);
}

void
thread_use_memory(struct thread *t)
{
	thread_look_at(t, clock_mono_ms() + TEXT_MS);
}
