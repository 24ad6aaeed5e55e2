/*
 * The second role: pid 1 of one sandbox. Serves the toolbox on a listening
 * socket that it inherited, reaps what is orphaned, keeps the limits, and ends
 * with everything else in there when the outside closes the life pipe.
 */
#ifndef AGENT_BOX_INSIDE_H
#define AGENT_BOX_INSIDE_H

#include "agent/box/options.h"

/* Exit codes that tell the outside why. */
enum inside_exit {
	INSIDE_OK = 0,
	INSIDE_FAILED = 70,
	INSIDE_MEMORY = 71, /* the sandbox's processes had too much */
	INSIDE_DISK = 72,   /* the data disk is nearly full */
};

/* Never returns. */
_Noreturn void inside_run(const struct options *o);

#endif
