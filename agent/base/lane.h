/*
 * A lane: a FIFO of jobs and at most n workers, started on demand, gone after
 * ten idle seconds. One sandbox has a read lane and a write lane of its own,
 * so a hung remote uses up nobody else's workers. With one worker the order of
 * submission is the order of execution.
 */
#ifndef AGENT_BASE_LANE_H
#define AGENT_BASE_LANE_H

#include "agent/base/base.h"

struct lane;

struct lane *lane_create(const char *name, unsigned max_workers);
/* Runs what is queued, joins the workers, frees; accepts NULL. The caller has
 * cancelled whatever should not be waited for. */
void lane_destroy(struct lane *lane);
/* Never waits. `run` owns arg. After lane_destroy() began it is still run. */
void lane_submit(struct lane *lane, void (*run)(void *arg), void *arg);
/* Jobs queued or running; a hint. */
unsigned lane_load(struct lane *lane);
/* Returns when none is queued or running; the caller has stopped submitting. */
void lane_drain(struct lane *lane);

#endif
