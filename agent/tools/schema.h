/*
 * Checks a call's arguments against the tool's JSON schema, as laxly as
 * pydantic does: "5" and 5.0 are 5, unknown keys are dropped, null stands for
 * an optional value only. The part of JSON schema that the tools use: an
 * object of string, integer and boolean, `required`, `enum`, `minimum`,
 * `default`, and ["type", "null"]. Pure.
 */
#ifndef AGENT_TOOLS_SCHEMA_H
#define AGENT_TOOLS_SCHEMA_H

#include "agent/base/json.h"

/* Gives a new object with the known arguments, each of its type and never
 * null, defaults filled in. NULL: one line for each field at fault was put
 * into `errors`. */
cJSON *schema_check(const cJSON *schema, const cJSON *args, struct buf *errors);

#endif
