/*
 * The tools that a model may call: a table, one file a tool. Names, schemas and
 * result forms follow Deep Agents. A tool never fails the turn: whatever
 * happens becomes a result text, `failed` or not; -1 is for a cancelled turn.
 */
#ifndef AGENT_TOOLS_TOOL_H
#define AGENT_TOOLS_TOOL_H

#include "agent/base/buf.h"
#include "agent/base/cancel.h"
#include "agent/base/json.h"
#include "agent/mirror/mirror.h"

/* The largest result that goes into a conversation, in bytes. */
#define TOOL_RESULT_MAX 262144

struct tool_context { /* borrowed for the call */
	struct mirror *mirror;
	struct sandbox *sandbox; /* for paths outside the workspace */
	struct cancel *cancel;
	const char *call_id; /* safe for a file name, unique in the store */
	/* Newest output of a running command, for the log. */
	void (*live)(void *arg, const char *bytes, size_t len);
	void *live_arg;
};

struct tool_result {
	struct buf text; /* valid UTF-8; initialised by tool_run */
	bool failed;
	int exit_code; /* of execute, else -1 */
	char *blocks;  /* content blocks other than text, JSON, or NULL */
	bool canceled; /* the turn's token fired; text is what there was */
	bool unknown;  /* may or may not have happened */
};

void tool_result_finish(struct tool_result *r);

struct tool {
	const char *name;
	const char *description;
	const char *parameters; /* JSON schema, an object */
	bool reads_only;        /* may run beside others of the same message */
	int (*run)(const struct tool_context *ctx, const cJSON *args,
	    struct tool_result *result);
};

/* The table, ended by a NULL name. */
extern const struct tool *const tools[];
const struct tool *tool_find(const char *name);
/* JSON array of the tools for a request, byte-identical from call to call;
 * allowed: comma-separated names or NULL for all. Gives. */
char *tools_schema(const char *allowed);
/* Checks arguments (raw text) against the tool and runs it. Unknown name,
 * arguments that are no JSON object or do not fit: an error result. Always
 * fills result. */
void tool_run(const char *name, const char *arguments, const char *allowed,
    const struct tool_context *ctx, struct tool_result *result);

#endif
