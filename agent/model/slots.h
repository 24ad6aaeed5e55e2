/*
 * The tool calls of one answer while their pieces arrive. Servers disagree on
 * how a piece names its call: by index, by id, by name, by nothing; the rules
 * (P1-P6 in slots.c) find the call from all three together. Pure.
 */
#ifndef AGENT_MODEL_SLOTS_H
#define AGENT_MODEL_SLOTS_H

#include "agent/base/buf.h"

#define SLOTS_MAX 128

struct slot {
	bool has_index;
	int64_t index;
	char *id;             /* "" until known; owned */
	char *name;           /* "" until known; owned */
	struct buf arguments; /* raw text so far */
	bool from_text;       /* found in the content, not sent as a call */
};

struct slots { /* zero-initialised */
	struct slot *slot;
	size_t count;
	bool overflow; /* a piece did not fit: too many calls or too long */
};

struct slot_piece {
	bool has_index;
	int64_t index;
	const char *id;   /* "" or NULL: none */
	const char *name; /* "" or NULL: none */
	const char *arguments;
	size_t len;
	bool replaces; /* the arguments were sent as an object: whole */
};

void slots_finish(struct slots *s);
void slots_add(struct slots *s, const struct slot_piece *given);
/* A new slot, whatever there is; NULL when there are too many. */
struct slot *slots_open(struct slots *s);
/* Drops all but the first `count`. */
void slots_truncate(struct slots *s, size_t count);
/* Final order: by index where all have distinct ones, else as they came. */
void slots_sort(struct slots *s);

#endif
