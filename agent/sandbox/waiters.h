/*
 * Workers that wait until another one has finished what they need too, and
 * whose wait a cancel token can end. Within agent/sandbox only.
 */
#ifndef AGENT_SANDBOX_WAITERS_H
#define AGENT_SANDBOX_WAITERS_H

#include "agent/base/cancel.h"
#include "agent/base/lock.h"
#include "agent/base/status.h"

struct waiter;

struct waiters { /* under the owner's lock */
	struct waiter *first;
};

/* [waits] Called with `lock` held and only that; holds it again afterwards.
 * 0: woken, look again. -1: CANCELED or TIMEOUT (deadline of the mono clock). */
int waiters_wait(struct waiters *w, struct lock *lock, int64_t deadline_ms,
    struct cancel *c, struct status *st);
/* With the lock held. */
void waiters_wake(struct waiters *w);

#endif
