/*
 * The reaper; see reaper.h. Its lock has the rank of ops: taken last, by the
 * interrupt callback too, and nothing is called under it.
 */
#include "fs/reaper.h"

#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "fs/marks.h"

struct reaper {
	/* immutable */
	struct session *session;
	pthread_t worker;
	/* under lock */
	struct lock lock;
	struct cond changed; /* for the worker */
	struct cond paid;    /* for reaper_stop() */
	struct op *first;    /* parked; each entry holds a reference */
	bool poked, stopping, ending;
	unsigned owed;   /* ops made and not yet answered */
	int64_t wake_at; /* when the worker looks by itself; 0 = never */
	struct reaper_counters counters;
};

static void
unlink_locked(struct reaper *r, struct op *op)
{
	lock_assert_held(&r->lock);
	*op->back = op->next;
	if (op->next)
		op->next->back = op->back;
	op->parked = false;
	r->counters.now--;
}

/* Takes one op that must be answered now off the list; its reference is the
 * caller's. *deadline becomes the nearest of those left. */
static struct op *
take_due_locked(struct reaper *r, int64_t now, int64_t *deadline, int *err)
{
	lock_assert_held(&r->lock);
	for (struct op *op = r->first; op; op = op->next) {
		if (op->deaf)
			continue;
		if (r->stopping)
			*err = ENOTCONN;
		else if (op->interrupted)
			*err = EINTR;
		else if (op->deadline && op->deadline <= now)
			*err = ETIMEDOUT;
		else {
			*deadline = clock_sooner(*deadline, op->deadline);
			continue;
		}
		unlink_locked(r, op);
		op->claimed = true;
		r->counters.interrupted++;
		return op;
	}
	return NULL;
}

static void
reap(struct op *op, int err)
{
	fuse_req_interrupt_func(op->req, NULL, NULL);
	diag_debug("op %s: given up (%s) after %lld ms", op->word,
	    strerrorname_np(err), (long long)(clock_mono_ms() - op->begun));
	fuse_reply_err(op->req, err);
	reaper_paid(op->session->reaper);
	if (op->abandon)
		op->abandon(op);
	op_put(op);
}

static void *
work(void *arg)
{
	struct reaper *r = arg;

	lock_acquire(&r->lock);
	while (!r->ending) {
		int64_t now = clock_mono_ms(), deadline = 0;
		int err = 0;
		struct op *op = take_due_locked(r, now, &deadline, &err);
		if (op) {
			lock_release(&r->lock);
			reap(op, err);
			lock_acquire(&r->lock);
			continue;
		}
		r->poked = false;
		lock_release(&r->lock);
		deadline =
		    clock_sooner(deadline, marks_expire(r->session, now));
		lock_acquire(&r->lock);
		r->wake_at = deadline;
		if (!r->poked && !r->ending)
			cond_wait(&r->changed, &r->lock, deadline);
	}
	lock_release(&r->lock);
	return NULL;
}

struct reaper *
reaper_create(struct session *s)
{
	struct reaper *r = xcalloc(1, sizeof *r);

	r->session = s;
	lock_init(&r->lock, RANK_OP);
	cond_init(&r->changed);
	cond_init(&r->paid);
	r->worker = worker_start(work, r, "reaper");
	return r;
}

static void
poke_locked(struct reaper *r)
{
	r->poked = true;
	cond_signal(&r->changed);
}

void
reaper_stop(struct reaper *r)
{
	wait_point();
	lock_acquire(&r->lock);
	r->stopping = true;
	poke_locked(r);
	while (r->owed > 0)
		cond_wait(&r->paid, &r->lock, 0);
	lock_release(&r->lock);
}

void
reaper_destroy(struct reaper *r)
{
	if (!r)
		return;
	lock_acquire(&r->lock);
	r->ending = true;
	poke_locked(r);
	lock_release(&r->lock);
	worker_join(r->worker);
	cond_finish(&r->changed);
	cond_finish(&r->paid);
	lock_finish(&r->lock);
	free(r);
}

void
reaper_poke(struct reaper *r)
{
	lock_acquire(&r->lock);
	poke_locked(r);
	lock_release(&r->lock);
}

void
reaper_counters(struct reaper *r, struct reaper_counters *out)
{
	lock_acquire(&r->lock);
	*out = r->counters;
	lock_release(&r->lock);
}

void
reaper_interrupt(fuse_req_t req, void *arg)
{
	struct op *op = arg;
	struct reaper *r = op->session->reaper;

	(void)req;
	lock_acquire(&r->lock);
	op->interrupted = true;
	if (op->parked)
		poke_locked(r);
	lock_release(&r->lock);
}

bool
reaper_park(struct reaper *r, struct op *op)
{
	lock_acquire(&r->lock);
	r->counters.parked++;
	bool park = !op->claimed;
	if (park) {
		op->next = r->first;
		op->back = &r->first;
		if (op->next)
			op->next->back = &op->next;
		r->first = op;
		op->parked = true;
		r->counters.now++;
		if (op->interrupted || r->stopping || !r->wake_at ||
		    (op->deadline && op->deadline < r->wake_at))
			poke_locked(r);
	}
	lock_release(&r->lock);
	return park;
}

bool
reaper_claim(struct reaper *r, struct op *op, bool *parked)
{
	lock_acquire(&r->lock);
	bool first = !op->claimed;
	*parked = first && op->parked;
	op->claimed = true;
	if (*parked)
		unlink_locked(r, op);
	r->counters.answered += first;
	lock_release(&r->lock);
	return first;
}

void
reaper_late(struct reaper *r)
{
	lock_acquire(&r->lock);
	r->counters.late++;
	lock_release(&r->lock);
}

void
reaper_owe(struct reaper *r)
{
	lock_acquire(&r->lock);
	r->owed++;
	lock_release(&r->lock);
}

void
reaper_paid(struct reaper *r)
{
	lock_acquire(&r->lock);
	if (--r->owed == 0 && r->stopping)
		cond_broadcast(&r->paid);
	lock_release(&r->lock);
}
