/*
 * Starting, stopping and removing a sandbox, one change at a time: who comes
 * meanwhile waits for its end (BUSY after half a minute). Every call [waits].
 */
#ifndef AGENT_BOX_LIFECYCLE_H
#define AGENT_BOX_LIFECYCLE_H

#include "agent/box/registry.h"

/* Started already is success. */
int lifecycle_start(struct registry *r, struct guest *g, struct status *st);
/* Not running: INVALID. One with an autoDeleteInterval of 0 is removed. */
int lifecycle_stop(struct registry *r, struct guest *g, bool gentle,
    struct status *st);
/* Stopped ones only; they stay as they are, under another word. */
int lifecycle_archive(struct registry *r, struct guest *g, struct status *st);
int lifecycle_remove(struct registry *r, struct guest *g, struct status *st);

/* A request to the sandbox: *socket (64 bytes) to connect to while it runs.
 * counts: it is an activity, until lifecycle_leave(). UNAVAILABLE if it does
 * not run. */
int lifecycle_enter(struct registry *r, struct guest *g, bool counts,
    char socket[64], struct status *st);
void lifecycle_leave(struct registry *r, struct guest *g, bool counts);
/* The same as a request that has ended. */
void lifecycle_touch(struct registry *r, struct guest *g);

/* Does one thing whose time has come; false: nothing is due, and *next_ms of
 * the wall clock is when something will be (0 = never). */
bool lifecycle_step(struct registry *r, int64_t *next_ms);

#endif
