/*
 * Those who wait for a thread to change: READs of `reply` that are parked, and
 * programs that sleep in poll, select or epoll. One poll handle is kept for
 * each open file, the newest, and every one of them is told (measured: with
 * one for the inode two of three waiters slept to their time-out).
 */
#ifndef FS_WAKEUP_H
#define FS_WAKEUP_H

#include "fs/op.h"

struct wakeups;

/* A parked op that is tried again at each change of its thread. */
struct waiter {
	struct op op; /* first */
	/* True: it has its result, op_end() it. Memory only, no lock held. */
	bool (*attempt)(struct waiter *w);
	int64_t thread;
	/* under the wake-ups' lock */
	bool waiting, abandoned;
	struct waiter *next, **back;
};

struct wakeups *wakeups_create(void);
void wakeups_destroy(struct wakeups *w);
/* Tries it now and at each change until it succeeds or is abandoned; then the
 * caller parks the op. Its abandon is set by this. */
void wakeup_wait(struct wakeups *ws, struct waiter *w);
/* Something of the thread changed. Any worker, no lock held; never waits. */
void wakeup_changed(struct wakeups *ws, int64_t thread);

/* Answers POLL; takes ph (may be NULL). */
void wakeup_poll(fuse_req_t req, struct handle *h, struct fuse_pollhandle *ph);
/* At RELEASE. */
void wakeup_poll_end(struct wakeups *ws, struct handle *h);

#endif
