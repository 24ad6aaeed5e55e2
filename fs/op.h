/*
 * One kernel request that cannot be answered at once: an op owns the
 * fuse_req_t from the moment the request is parked until it is answered,
 * exactly once, by whoever comes first:
 *
 *   the worker that has the result (a call of the mirror, a job on a lane, a
 *     waiter that was woken): op_end() -> finish(), which replies
 *   the reaper, when the caller was interrupted or the deadline passed: EINTR
 *     or ETIMEDOUT, then abandon(); what comes later goes to drop(), which
 *     repairs the accounts and replies nothing
 *
 * How to park: op_create(), fill it in, hand it over (mirror_…(&op->call),
 * op_submit(), …), then op_park() as the last touch. The hand-over may end the
 * op before it returns.
 *
 * An op is the first member of a struct of its kind. Two references: one of
 * the worker that will call op_end(), one of the creator, then of the reaper.
 */
#ifndef FS_OP_H
#define FS_OP_H

#include "agent/base/cancel.h"
#include "agent/mirror/mirror.h"
#include "fs/handle.h"
#include "fs/session.h"

struct op {
	/* immutable once handed over */
	struct mirror_call call; /* first: a call of the mirror is an op */
	struct session *session;
	fuse_req_t req;
	const char *word;      /* for diagnostics: "lookup" */
	struct thread *thread; /* owns a share, or NULL */
	struct handle *handle; /* owns a share, or NULL */
	struct cancel *cancel; /* of a job; fired by abandon */
	bool deaf;             /* neither interrupts nor deadlines end it */
	int64_t deadline;      /* clock_mono_ms(), 0 = none */
	int64_t begun;
	int (*work)(struct op *op); /* of a job: 0 or negative errno */
	void (*finish)(struct op *op);
	void (*drop)(struct op *op);    /* may be NULL */
	void (*abandon)(struct op *op); /* may be NULL */
	/* of the worker that has it */
	int error; /* result of `work` */
	/* under the reaper's lock */
	bool claimed, parked, interrupted;
	struct op *next, **back;
	atomic_uint refs;
};

/* `size` of the struct that begins with the op. Takes the share of the thread
 * (NULL: the handle's), shares the handle (or NULL). Its call answers into the
 * op; the deadline is REAPER_DEADLINE_MS from now. */
struct op *op_create(size_t size, fuse_req_t req, const char *word,
    struct thread *thread, struct handle *handle);
/* The same for what must not be interrupted once it was begun. */
struct op *op_create_deaf(size_t size, fuse_req_t req, const char *word,
    struct thread *thread, struct handle *handle);
/* Runs op->work on the lane, then op_end(). A result nobody waits for any more
 * is not made, unless the op is deaf. */
void op_submit(struct op *op, struct lane *lane);
/* The thread it is about, or NULL. */
struct thread *op_thread(const struct op *op);
/* Last touch of the creator. */
void op_park(struct op *op);
/* Last touch of the worker that has the result. */
void op_end(struct op *op);
void op_put(struct op *op);

#endif
