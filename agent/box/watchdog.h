/*
 * Twice a second: the memory of all processes in the sandbox, and the free
 * space of the data disk. What a limit per process cannot catch ends here, by
 * ending pid 1.
 */
#ifndef AGENT_BOX_WATCHDOG_H
#define AGENT_BOX_WATCHDOG_H

#include "agent/base/base.h"

/* 0 = no limit. Ends the process with INSIDE_MEMORY or INSIDE_DISK. */
void watchdog_start(uint64_t memory_bytes, uint64_t reserve_bytes);
/* Resident bytes of all processes below `proc` but pid 1, shared pages counted
 * once for each unless exact. */
uint64_t watchdog_resident(const char *proc, bool exact);

#endif
