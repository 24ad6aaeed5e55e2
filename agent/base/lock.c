/* Locks with ranks; see lock.h. */
#include "agent/base/lock.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#ifdef SAF_DEBUG
/* Ranks are below 32: one bit for each rank that this worker holds. */
static _Thread_local uint32_t held;
static _Thread_local bool may_not_wait;
#endif

static void
must(int err, const char *what)
{
	if (err) {
		char words[64];
		fprintf(stderr, "sandagentfs: %s: %s\n", what,
		    strerror_r(err, words, sizeof words));
		abort();
	}
}

static void
note_acquired(const struct lock *l)
{
#ifdef SAF_DEBUG
	if (held >> l->rank) {
		fprintf(stderr,
		    "sandagentfs: lock of rank %d taken, held %#x\n",
		    (int)l->rank, held);
		abort();
	}
	held |= 1U << l->rank;
#else
	(void)l;
#endif
}

static void
note_released(const struct lock *l)
{
#ifdef SAF_DEBUG
	held &= ~(1U << l->rank);
#else
	(void)l;
#endif
}

void
lock_init(struct lock *l, enum lock_rank rank)
{
	must(pthread_mutex_init(&l->mutex, NULL), "mutex");
	l->rank = rank;
}

void
lock_finish(struct lock *l)
{
	must(pthread_mutex_destroy(&l->mutex), "mutex destroy");
}

void
lock_acquire(struct lock *l)
{
	note_acquired(l);
	must(pthread_mutex_lock(&l->mutex), "lock");
}

void
lock_release(struct lock *l)
{
	note_released(l);
	must(pthread_mutex_unlock(&l->mutex), "unlock");
}

void
lock_assert_held(const struct lock *l)
{
#ifdef SAF_DEBUG
	assert(held & 1U << l->rank);
#else
	(void)l;
#endif
}

void
cond_init(struct cond *c)
{
	pthread_condattr_t attr;

	must(pthread_condattr_init(&attr), "condattr");
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "condattr");
	must(pthread_cond_init(&c->cond, &attr), "cond");
	pthread_condattr_destroy(&attr);
}

void
cond_finish(struct cond *c)
{
	must(pthread_cond_destroy(&c->cond), "cond destroy");
}

void
cond_signal(struct cond *c)
{
	must(pthread_cond_signal(&c->cond), "cond");
}

void
cond_broadcast(struct cond *c)
{
	must(pthread_cond_broadcast(&c->cond), "cond");
}

bool
cond_wait(struct cond *c, struct lock *l, int64_t deadline_ms)
{
	int err;

	note_released(l);
	if (deadline_ms == 0) {
		err = pthread_cond_wait(&c->cond, &l->mutex);
	} else {
		struct timespec ts = { .tv_sec = deadline_ms / 1000,
			.tv_nsec = deadline_ms % 1000 * 1000000 };
		err = pthread_cond_timedwait(&c->cond, &l->mutex, &ts);
	}
	note_acquired(l);
	if (err == ETIMEDOUT)
		return false;
	must(err, "cond wait");
	return true;
}

void
wait_point(void)
{
#ifdef SAF_DEBUG
	assert(held == 0);
	assert(!may_not_wait);
#endif
}

void
wait_forbid(bool forbidden)
{
#ifdef SAF_DEBUG
	may_not_wait = forbidden;
#else
	(void)forbidden;
#endif
}

pthread_t
worker_start(void *(*run)(void *), void *arg, const char *name)
{
	pthread_t worker;
	sigset_t all, old;

	sigfillset(&all);
	must(pthread_sigmask(SIG_SETMASK, &all, &old), "sigmask");
	must(pthread_create(&worker, NULL, run, arg), "pthread_create");
	must(pthread_sigmask(SIG_SETMASK, &old, NULL), "sigmask");
	char short_name[16];
	snprintf(short_name, sizeof short_name, "%s", name);
	pthread_setname_np(worker, short_name);
	return worker;
}

void
worker_join(pthread_t worker)
{
	wait_point();
	must(pthread_join(worker, NULL), "join");
}
