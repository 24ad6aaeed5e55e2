/*
 * Parked calls. A call is stepped under the lock: its step answers it, or
 * parks it on the list of what it needs (a fetch, a commit, a push). When that
 * ends, everybody on the list is stepped again and looks again. A call is on
 * one list or on none; who unlinks it, under the lock, answers it, so it is
 * answered once. `done` runs with no lock held.
 *
 * Deadlines: a timekeeper worker lives while calls are parked.
 */
#include "agent/mirror/internal.h"

void
mirror_lock(struct mirror *m)
{
	lock_acquire(&m->lock);
}

void
mirror_unlock(struct mirror *m)
{
	struct mirror_call *call = m->ready;

	m->ready = NULL;
	m->ready_last = &m->ready;
	lock_release(&m->lock);
	while (call) {
		struct mirror_call *next = call->next;
		if (call->finish)
			call->finish(call);
		call->done(call);
		call = next;
	}
}

static void
answer_locked(struct mirror *m, struct mirror_call *call)
{
	call->next = NULL;
	call->back = NULL;
	*m->ready_last = call;
	m->ready_last = &call->next;
}

void
call_reset(struct mirror *m, struct mirror_call *call)
{
	void (*done)(struct mirror_call *) = call->done;
	int64_t deadline = call->deadline;

	*call = (struct mirror_call){ .done = done, .deadline = deadline };
	call->mirror = m;
	call->began = clock_mono_ms();
	buf_init(&call->bytes, (size_t)1 << 20);
}

void
call_start(struct mirror_call *call, int64_t wait_ms,
    bool (*step)(struct mirror_call *call))
{
	struct mirror *m = call->mirror;

	call->step = step;
	if (call->deadline == 0)
		call->deadline = call->began + wait_ms;
	mirror_lock(m);
	if (m->stopping) {
		status_set(&call->st, STATUS_CANCELED, "being unmounted");
		answer_locked(m, call);
	} else if (step(call)) {
		answer_locked(m, call);
	}
	mirror_unlock(m);
}

bool
call_fail(struct mirror_call *call, enum status_code code, const char *what)
{
	status_set(&call->st, code, "%s", what);
	return true;
}

struct node *
call_node(struct mirror_call *call)
{
	return node_find(call->mirror, call->node);
}

void
waiters_init(struct waiters *w, struct fetch *fetch)
{
	w->first = NULL;
	w->last = &w->first;
	w->fetch = fetch;
}

static void
unlink_locked(struct mirror_call *call)
{
	struct waiters *w = call->on;

	*call->back = call->next;
	if (call->next)
		call->next->back = call->back;
	else
		w->last = call->back;
	call->next = NULL;
	call->back = NULL;
	call->on = NULL;
}

static int64_t
sooner_locked(const struct waiters *w, int64_t next)
{
	for (const struct mirror_call *c = w->first; c; c = c->next)
		next = clock_sooner(next, c->deadline);
	return next;
}

static void
expire_locked(struct mirror *m, struct waiters *w, int64_t now)
{
	for (struct mirror_call *c = w->first, *next; c; c = next) {
		next = c->next;
		if (c->deadline > now)
			continue;
		unlink_locked(c);
		status_set(&c->st, STATUS_TIMEOUT,
		    "no answer from the sandbox after %lld s",
		    (long long)(now - c->began) / 1000);
		answer_locked(m, c);
	}
	if (w->fetch && !w->first && w->fetch->waited)
		fetch_abandon_locked(w->fetch);
}

static void
expire_all_locked(struct mirror *m, int64_t now)
{
	expire_locked(m, &m->push_waiters, now);
	expire_locked(m, &m->commit_waiters, now);
	for (struct fetch *f = m->fetches; f; f = f->next)
		expire_locked(m, &f->waiters, now);
}

static int64_t
next_deadline_locked(const struct mirror *m)
{
	int64_t next = 0;

	next = sooner_locked(&m->push_waiters, next);
	next = sooner_locked(&m->commit_waiters, next);
	for (const struct fetch *f = m->fetches; f; f = f->next)
		next = sooner_locked(&f->waiters, next);
	return next;
}

static void
keep_time(void *arg)
{
	struct mirror *m = arg;

	mirror_lock(m);
	for (;;) {
		int64_t next = next_deadline_locked(m);
		if (next == 0 || m->stopping)
			break;
		m->timer_at = next;
		if (!cond_wait(&m->timer_cond, &m->lock, next)) {
			expire_all_locked(m, clock_mono_ms());
			mirror_unlock(m);
			mirror_lock(m);
		}
	}
	m->timer_running = false;
	mirror_unlock(m);
}

bool
call_wait_locked(struct mirror_call *call, struct waiters *on)
{
	struct mirror *m = call->mirror;

	lock_assert_held(&m->lock);
	call->on = on;
	call->next = NULL;
	call->back = on->last;
	*on->last = call;
	on->last = &call->next;
	if (on->fetch)
		on->fetch->waited = true;
	if (!m->timer_running) {
		m->timer_running = true;
		m->timer_at = INT64_MAX;
		lane_submit(m->timer_lane, keep_time, m);
	} else if (call->deadline < m->timer_at) {
		cond_signal(&m->timer_cond);
	}
	return false;
}

/* Takes the whole list: a step may park its call on the same one again. */
static struct mirror_call *
take_all_locked(struct waiters *w)
{
	struct mirror_call *first = w->first;

	w->first = NULL;
	w->last = &w->first;
	return first;
}

void
waiters_step_locked(struct mirror *m, struct waiters *w)
{
	struct mirror_call *c = take_all_locked(w);

	while (c) {
		struct mirror_call *next = c->next;
		c->on = NULL;
		c->back = NULL;
		c->tries++;
		if (c->step(c))
			answer_locked(m, c);
		c = next;
	}
}

void
waiters_fail_locked(struct mirror *m, struct waiters *w,
    const struct status *st)
{
	struct mirror_call *c = take_all_locked(w);

	while (c) {
		struct mirror_call *next = c->next;
		c->on = NULL;
		c->st = *st;
		answer_locked(m, c);
		c = next;
	}
}

void
waiters_extend_locked(struct waiters *w, int64_t deadline)
{
	for (struct mirror_call *c = w->first; c; c = c->next)
		c->deadline = MAX(c->deadline, deadline);
}

void
calls_cancel_all_locked(struct mirror *m)
{
	struct status st = { 0 };

	status_set(&st, STATUS_CANCELED, "being unmounted");
	waiters_fail_locked(m, &m->push_waiters, &st);
	waiters_fail_locked(m, &m->commit_waiters, &st);
	for (struct fetch *f = m->fetches; f; f = f->next)
		waiters_fail_locked(m, &f->waiters, &st);
	cond_signal(&m->timer_cond);
}

void
mirror_call_cancel(struct mirror *m, struct mirror_call *call)
{
	mirror_lock(m);
	if (call->back) {
		struct fetch *f = call->on->fetch;
		unlink_locked(call);
		status_set(&call->st, STATUS_CANCELED, "interrupted");
		answer_locked(m, call);
		if (f && !f->waiters.first)
			fetch_abandon_locked(f);
	}
	mirror_unlock(m);
}
