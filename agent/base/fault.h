/*
 * Places where a test ends the process as a power cut would: with the
 * environment FAULT=store.commit:3 the third fault_point("store.commit") kills
 * the process. Without the variable they cost one load. Any worker.
 */
#ifndef AGENT_BASE_FAULT_H
#define AGENT_BASE_FAULT_H

void fault_point(const char *name);

#endif
