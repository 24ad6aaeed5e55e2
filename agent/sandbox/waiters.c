/* Waiting workers; see waiters.h. Each sleeps on a token of its own, child of
 * the caller's, which waking fires. */
#include "agent/sandbox/waiters.h"

#include "agent/base/clock.h"

struct waiter {
	struct waiter *next;
	struct cancel *token;
};

int
waiters_wait(struct waiters *w, struct lock *lock, int64_t deadline_ms,
    struct cancel *c, struct status *st)
{
	struct waiter self = { .next = w->first, .token = cancel_create(c) };

	lock_assert_held(lock);
	w->first = &self;
	lock_release(lock);
	int64_t left = deadline_ms - clock_mono_ms();
	bool fired = left > 0 && cancel_sleep(self.token, left);
	lock_acquire(lock);
	struct waiter **p = &w->first;
	while (*p && *p != &self)
		p = &(*p)->next;
	if (*p)
		*p = self.next;
	cancel_put(self.token);
	if (cancel_fired(c))
		return status_set(st, STATUS_CANCELED, "canceled");
	return fired ? 0 : status_set(st, STATUS_TIMEOUT, "waited too long");
}

void
waiters_wake(struct waiters *w)
{
	for (struct waiter *k = w->first; k; k = k->next)
		cancel_fire(k->token);
	w->first = NULL;
}
