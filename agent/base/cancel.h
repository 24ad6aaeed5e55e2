/*
 * A cancel token: a flag that fires once, with one wake function and children
 * that fire with it. Mount -> thread -> turn -> exchange. Any worker may fire
 * it, also from a callback of libfuse: the wake function runs on the firing
 * worker, under the token's lock, and must not wait or take another lock.
 */
#ifndef AGENT_BASE_CANCEL_H
#define AGENT_BASE_CANCEL_H

#include "agent/base/base.h"

struct cancel;

/* Shares: the parent (may be NULL) is kept until the child is put. Starts with
 * one reference. */
struct cancel *cancel_create(struct cancel *parent);
struct cancel *cancel_get(struct cancel *c);
/* Accepts NULL; returns NULL. */
struct cancel *cancel_put(struct cancel *c);
/* Fires it and its children; idempotent; accepts NULL. */
void cancel_fire(struct cancel *c);
/* False for NULL: "cannot be cancelled". */
bool cancel_fired(const struct cancel *c);
/* Called once when it fires, at once if it has. One at a time; returns false
 * when it had fired already (wake was called). Clear before `arg` dies:
 * cancel_clear_wake() returns only when no wake runs any more. Both accept a
 * NULL token. */
bool cancel_set_wake(struct cancel *c, void (*wake)(void *arg), void *arg);
void cancel_clear_wake(struct cancel *c);
/* Sleeps up to `ms`; true if it fired. A NULL token sleeps the whole time. */
bool cancel_sleep(struct cancel *c, int64_t ms);

#endif
