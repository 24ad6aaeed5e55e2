/*
 * The argument text of a tool call: models write almost-JSON. What can be
 * understood without inventing anything is repaired; the rest is invalid and
 * must not run. Pure.
 */
#ifndef AGENT_MODEL_ARGUMENTS_H
#define AGENT_MODEL_ARGUMENTS_H

#include "agent/base/buf.h"

enum arguments_status {
	ARGUMENTS_EMPTY,    /* nothing or null: {} */
	ARGUMENTS_OK,       /* strict JSON, an object */
	ARGUMENTS_REPAIRED, /* an object after lenient reading */
	ARGUMENTS_INVALID,
};

/* Arguments over this many bytes are invalid. */
#define ARGUMENTS_MAX (8U << 20)

/* complete: the stream ended whole and not for length; otherwise nothing is
 * repaired. `object` gets the JSON object to use (numbers as they were typed),
 * untouched when invalid. */
enum arguments_status arguments_read(const char *text, size_t len,
    bool complete, struct buf *object);

#endif
