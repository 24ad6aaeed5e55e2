/*
 * The reaper: one worker that answers parked requests whose caller was
 * interrupted (EINTR) or whose time is over (ETIMEDOUT), so that Ctrl-C and
 * kill never wait for a remote. It does nothing slow: it fires a token or
 * unlinks a waiter, and replies. It also runs the clock of the marks.
 */
#ifndef FS_REAPER_H
#define FS_REAPER_H

#include "fs/op.h"

/* How long a request may stay parked when nothing else ends it: the mirror's
 * and the sandbox's own deadlines are shorter. */
#define REAPER_DEADLINE_MS 180000

struct reaper_counters {
	uint64_t parked, answered, interrupted, late, now;
};

/* Starts the worker. */
struct reaper *reaper_create(struct session *s);
/* No more ops are made. Answers everything that is parked with ENOTCONN and
 * waits for what is being answered, and for deaf ops, which the disk ends. */
void reaper_stop(struct reaper *r);
/* Joins the worker. Accepts NULL. */
void reaper_destroy(struct reaper *r);
/* Wakes it: a deadline elsewhere (marks) is now the nearest. */
void reaper_poke(struct reaper *r);
void reaper_counters(struct reaper *r, struct reaper_counters *out);

/* For op.c alone. The interrupt callback runs under libfuse's request lock: it
 * sets a flag and signals. */
void reaper_interrupt(fuse_req_t req, void *arg);
/* False if it was answered already: the creator keeps its reference. */
bool reaper_park(struct reaper *r, struct op *op);
/* True once; *parked: the list's reference is the caller's to put. */
bool reaper_claim(struct reaper *r, struct op *op, bool *parked);
/* An op was made; it was answered. */
void reaper_owe(struct reaper *r);
void reaper_paid(struct reaper *r);
void reaper_late(struct reaper *r);

#endif
