/* Time. Durations and deadlines are monotonic; times shown are UTC. */
#ifndef AGENT_BASE_CLOCK_H
#define AGENT_BASE_CLOCK_H

#include <time.h>

#include "agent/base/base.h"

/* Monotonic time. A deadline is a value of this clock; 0 means none. */
int64_t clock_mono_ms(void);
/* Wall clock, milliseconds since 1970. */
int64_t clock_wall_ms(void);
struct timespec clock_wall(void);
/* RFC 3339 in UTC with Z; with milliseconds if asked. out: at least 32. */
void clock_rfc3339(char out[32], int64_t wall_ms, bool with_ms);
/* The least of two deadlines, where 0 is none. */
int64_t clock_sooner(int64_t a, int64_t b);

#endif
