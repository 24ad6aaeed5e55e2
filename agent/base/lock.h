/*
 * Locks with ranks. In debug builds (SAF_DEBUG) lock_acquire() asserts that
 * ranks only rise within a worker, and wait_point() that a worker about to
 * wait for a remote, a disk transaction or a join holds no lock.
 */
#ifndef AGENT_BASE_LOCK_H
#define AGENT_BASE_LOCK_H

#include <pthread.h>

#include "agent/base/base.h"

/* Outermost first. Two locks of one rank are never held together. */
enum lock_rank {
	RANK_STORE = 1, /* alone: nothing else held */
	RANK_INODES,
	RANK_THREADS, /* the registry of threads */
	RANK_THREAD,
	RANK_TRANSCRIPT,
	RANK_MIRROR,
	RANK_SANDBOX,
	RANK_HTTP,
	RANK_LANE,
	RANK_OP,
	RANK_CANCEL,
	RANK_DIAG, /* anybody may write a diagnostic */
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

struct cond {
	pthread_cond_t cond; /* on the monotonic clock */
};

void lock_init(struct lock *l, enum lock_rank rank);
void lock_finish(struct lock *l);
void lock_acquire(struct lock *l);
void lock_release(struct lock *l);
/* First line of every function that ends in _locked. */
void lock_assert_held(const struct lock *l);

void cond_init(struct cond *c);
void cond_finish(struct cond *c);
void cond_signal(struct cond *c);
void cond_broadcast(struct cond *c);
/* Waits with the lock released; deadline_ms of clock_mono_ms(), 0 = none.
 * False when the deadline has passed. Call in a loop. */
bool cond_wait(struct cond *c, struct lock *l, int64_t deadline_ms);

/* First line of whatever waits for the network, SQLite or another worker. */
void wait_point(void);
/* Marks this worker as one that may never wait (a loop worker of libfuse). */
void wait_forbid(bool forbidden);

/* Starts a worker with all signals blocked; aborts if that fails. */
pthread_t worker_start(void *(*run)(void *), void *arg, const char *name);
void worker_join(pthread_t worker);

#endif
