/* Identifiers. Checkpoint ids are UUIDs of version 6: their text sorts by
 * time, and LangGraph takes the greatest as the newest. */
#ifndef AGENT_STORE_UUID_H
#define AGENT_STORE_UUID_H

#include <time.h>

#include "agent/base/base.h"

#define UUID_TEXT 37

/* Random, version 4. */
void uuid_random(char out[UUID_TEXT]);
/* Of that wall time, but in any case above the text `above` ("" for none):
 * clocks go back, and foreign ids may come from ones that are ahead. False if
 * nothing of this form is above it. */
bool uuid_time_ordered(char out[UUID_TEXT], struct timespec now, int64_t step,
    const char *above);
/* Wall time in ms of a version 6 id, 0 for another text. */
int64_t uuid_time_ms(const char *text);

#endif
