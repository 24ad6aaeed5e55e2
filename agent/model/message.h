/*
 * A message of a conversation, and its two written forms: the LangChain record
 * that the store keeps ({"lc":1,"type":"constructor",…}, agent-runtime facts:
 * both savers revive it) and the line of the `messages` file (contract §4).
 * Owns its strings. Pure; one worker at a time.
 */
#ifndef AGENT_MODEL_MESSAGE_H
#define AGENT_MODEL_MESSAGE_H

#include "agent/base/buf.h"
#include "agent/base/json.h"
#include "agent/base/status.h"

enum message_type { MESSAGE_HUMAN, MESSAGE_AI, MESSAGE_TOOL, MESSAGE_SYSTEM };

struct tool_call {
	char *id;
	char *name;
	/* Raw argument text as the model gave it: numbers beyond 2^53 survive.
	 * Not necessarily JSON; see `invalid`. */
	char *arguments;
	char *invalid; /* why it must not run, for the model; or NULL */
};

struct usage {
	int64_t input_tokens, output_tokens; /* -1 unknown */
};

struct message {
	enum message_type type;
	char *id;      /* ours, unique; never NULL once stored */
	char *content; /* UTF-8 text, never NULL */
	/* Content blocks other than text (images of read_file, thinking …): JSON
	 * array text, or NULL. Blocks that repeat content or calls are not kept
	 * in the record. */
	char *blocks;
	char *reasoning;         /* apart from the answer, or NULL */
	struct tool_call *calls; /* of an AI message */
	size_t call_count;
	char *tool_call_id; /* of a tool message */
	char *name;         /* of a tool message: the tool's */
	bool failed;        /* tool message: status error */
	int exit_code;      /* tool message of execute, else -1 */
	struct usage usage; /* AI */
	int64_t turn;       /* number within the thread, from 1 */
	int64_t ts_ms;      /* wall clock */
};

void message_init(struct message *m, enum message_type type);
void message_finish(struct message *m);
/* Takes the three strings (name and arguments may not be NULL). */
struct tool_call *message_add_call(struct message *m, char *id, char *name,
    char *arguments);
/* A new random id, "run-…" like: [a-z0-9-], unique. Gives. */
char *message_new_id(void);
/* Appends the LangChain record. Objects in arguments with a key "lc" are
 * guarded as LangChain JS does; invalid arguments go to invalid_tool_calls. */
void message_to_record(const struct message *m, struct buf *out);
/* Reads a record of ours, a plain LangChain one or a {role, content} object;
 * id may be NULL then. INVALID: `m` needs no message_finish. */
int message_from_record(struct message *m, const char *json, size_t len,
    struct status *st);
/* Appends the line of the `messages` file, with its LF. */
void message_to_line(const struct message *m, struct buf *out);

#endif
