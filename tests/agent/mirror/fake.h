/*
 * Stand-ins for the layers below the mirror: a sandbox that is a directory of
 * this machine, and a queue kept in memory. Both fail on demand.
 */
#ifndef TESTS_AGENT_MIRROR_FAKE_H
#define TESTS_AGENT_MIRROR_FAKE_H

#include <stdatomic.h>

#include "agent/mirror/mirror.h"

enum fake_state { FAKE_RUNNING, FAKE_STOPPED, FAKE_ABSENT };

struct fake {
	char *home; /* the workspace */
	_Atomic enum fake_state state;
	atomic_uint delay_ms;    /* of each call */
	atomic_bool hang;        /* each call waits for its token */
	atomic_bool no_after;    /* pushes do not say what they made */
	atomic_uint fail_before; /* percent of calls that do nothing */
	atomic_uint fail_after;  /* percent of pushes whose answer is lost */
	unsigned seed;
	const char
	    *_Atomic refuse; /* pushes of paths with this text: NO_SPACE */
	/* its own: the batch whose answer was lost */
	struct push_op *lost_ops;
	size_t lost_count, lost_part;
	/* counted */
	atomic_uint lists, downloads, pushes, ops, execs, clashes;
};

struct sandbox *fake_sandbox(struct fake *f);
void fake_lock(void);
void fake_unlock(void);

/* The rows of the queue now; they outlive a mirror. */
size_t fake_store_rows(void);
void fake_store_print(void);
void fake_store_reset(void);
/* Commits fail from now on. */
void fake_store_break(bool broken);
/* Keeps the rows as they are now / goes back to them (a power cut). */
void fake_store_save(void);
void fake_store_restore(void);

#endif
