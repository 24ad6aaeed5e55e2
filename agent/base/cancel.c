/*
 * Cancel tokens; see cancel.h. One lock for all tokens: firing walks down a
 * tree whose edges others add and remove, and nothing is done under the lock
 * but setting flags and calling wake functions that must not wait.
 */
#include "agent/base/cancel.h"

#include <stdatomic.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"

struct cancel {
	atomic_bool fired;
	/* under tree_lock */
	unsigned refs;
	struct cancel *parent;
	struct cancel *first_child;
	struct cancel *next, **back; /* among the parent's children */
	void (*wake)(void *arg);
	void *wake_arg;
};

static struct lock tree_lock = { PTHREAD_MUTEX_INITIALIZER, RANK_CANCEL };

struct cancel *
cancel_create(struct cancel *parent)
{
	struct cancel *c = xcalloc(1, sizeof *c);

	c->refs = 1;
	if (!parent)
		return c;
	lock_acquire(&tree_lock);
	parent->refs++;
	c->parent = parent;
	c->next = parent->first_child;
	c->back = &parent->first_child;
	if (c->next)
		c->next->back = &c->next;
	parent->first_child = c;
	atomic_store(&c->fired, atomic_load(&parent->fired));
	lock_release(&tree_lock);
	return c;
}

struct cancel *
cancel_get(struct cancel *c)
{
	lock_acquire(&tree_lock);
	c->refs++;
	lock_release(&tree_lock);
	return c;
}

struct cancel *
cancel_put(struct cancel *c)
{
	lock_acquire(&tree_lock);
	while (c && --c->refs == 0) {
		struct cancel *parent = c->parent;
		if (parent) {
			*c->back = c->next;
			if (c->next)
				c->next->back = c->back;
		}
		free(c);
		c = parent;
	}
	lock_release(&tree_lock);
	return NULL;
}

/* Depth is that of mount, thread, turn, exchange: a handful. */
// NOLINTNEXTLINE(misc-no-recursion)
static void
fire_locked(struct cancel *c)
{
	if (atomic_exchange(&c->fired, true))
		return;
	if (c->wake)
		c->wake(c->wake_arg);
	for (struct cancel *k = c->first_child; k; k = k->next)
		fire_locked(k);
}

void
cancel_fire(struct cancel *c)
{
	if (!c)
		return;
	lock_acquire(&tree_lock);
	fire_locked(c);
	lock_release(&tree_lock);
}

bool
cancel_fired(const struct cancel *c)
{
	return c && atomic_load(&c->fired);
}

bool
cancel_set_wake(struct cancel *c, void (*wake)(void *arg), void *arg)
{
	if (!c)
		return true;
	lock_acquire(&tree_lock);
	c->wake = wake;
	c->wake_arg = arg;
	bool fired = atomic_load(&c->fired);
	if (fired)
		wake(arg);
	lock_release(&tree_lock);
	return !fired;
}

void
cancel_clear_wake(struct cancel *c)
{
	if (!c)
		return;
	lock_acquire(&tree_lock);
	c->wake = NULL;
	lock_release(&tree_lock);
}

/* The sleeper's condition is not part of any struct lock: the wake function
 * runs under the token's lock, which has a leaf rank. */
struct sleeper {
	pthread_mutex_t mutex;
	struct cond cond;
	bool woken;
};

static void
wake_sleeper(void *arg)
{
	struct sleeper *s = arg;

	pthread_mutex_lock(&s->mutex);
	s->woken = true;
	cond_signal(&s->cond);
	pthread_mutex_unlock(&s->mutex);
}

bool
cancel_sleep(struct cancel *c, int64_t ms)
{
	struct sleeper s = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	int64_t deadline = clock_mono_ms() + ms;
	struct timespec ts = { .tv_sec = deadline / 1000,
		.tv_nsec = deadline % 1000 * 1000000 };

	wait_point();
	cond_init(&s.cond);
	cancel_set_wake(c, wake_sleeper, &s);
	pthread_mutex_lock(&s.mutex);
	while (!s.woken &&
	    pthread_cond_timedwait(&s.cond.cond, &s.mutex, &ts) == 0)
		;
	pthread_mutex_unlock(&s.mutex);
	cancel_clear_wake(c);
	cond_finish(&s.cond);
	return cancel_fired(c);
}
