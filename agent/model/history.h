/*
 * A conversation as a provider accepts it: a repaired copy of the stored one,
 * made anew for every request. What is stored is never changed; an unchanged
 * prefix gives the same bytes every time, so that prompt caches hit. Pure.
 */
#ifndef AGENT_MODEL_HISTORY_H
#define AGENT_MODEL_HISTORY_H

#include "agent/model/message.h"

enum wire_role { WIRE_SYSTEM, WIRE_USER, WIRE_ASSISTANT, WIRE_TOOL };

struct wire_call {
	char id[24];     /* ours: short, letters and digits, unique */
	char *name;      /* [A-Za-z0-9_-]{1,64} */
	char *arguments; /* text of a JSON object */
};

struct wire_message {
	enum wire_role role;
	char *content;      /* valid UTF-8 without NUL; NULL: none */
	char *reasoning;    /* assistant, or NULL */
	const char *blocks; /* as in struct message; borrowed */
	struct wire_call *calls;
	size_t call_count;
	char call_id[24]; /* tool: the call that it answers */
	bool failed;      /* tool */
};

struct history {
	struct wire_message *messages;
	size_t count, cap;
};

struct history_rules {
	/* Mistral's: an assistant message between tool and user. */
	bool assistant_after_tool;
	/* Neighbours of one role are merged (strict chat templates). */
	bool alternate;
};

/* Borrows `messages` until history_finish. */
void history_build(struct history *h, const char *system_prompt,
    const struct message *messages, size_t count,
    const struct history_rules *rules);
void history_finish(struct history *h);

#endif
