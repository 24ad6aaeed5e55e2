/*
 * A gate before /dev/fuse for what is sent unasked (notifications): libfuse
 * closes the descriptor at unmount, and whoever wrote to its number after that
 * would write into somebody else's file. Any worker.
 */
#ifndef FS_GATE_H
#define FS_GATE_H

#include "agent/base/lock.h"

struct gate {
	struct lock lock;
	struct cond left;
	/* under lock */
	unsigned inside;
	bool closed;
};

void gate_init(struct gate *g);
void gate_finish(struct gate *g);
/* False: closed, stay out. */
bool gate_enter(struct gate *g);
void gate_leave(struct gate *g);
/* Returns when nobody is inside; nobody enters after. */
void gate_close(struct gate *g);

#endif
