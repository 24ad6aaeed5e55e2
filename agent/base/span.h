/*
 * Parts of a JSON text, found without a tree: numbers and spelling stay as
 * they were written. For text that json_parse() took before; on other text the
 * answer is some span within it or none. Borrows the text. Pure.
 */
#ifndef AGENT_BASE_SPAN_H
#define AGENT_BASE_SPAN_H

#include "agent/base/base.h"

struct span {
	const char *bytes; /* NULL: none */
	size_t len;
};

/* The value of the first member with that name (one that needs no escapes). */
struct span span_member(struct span object, const char *name);
/* Walks an array: *element is { 0 } at first, then the element before. */
bool span_next(struct span array, struct span *element);

#endif
