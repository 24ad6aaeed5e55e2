/* Random (version 4) UUIDs. */
#ifndef AGENT_BOX_UUID_H
#define AGENT_BOX_UUID_H

#include "agent/base/base.h"

#define UUID_SIZE 37 /* with the NUL */

void uuid_make(char out[UUID_SIZE]);
bool uuid_valid(const char *s);

#endif
