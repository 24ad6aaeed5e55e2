/*
 * The body of POST /process/execute, checked with the daemon's own words.
 */
#ifndef AGENT_BOX_COMMAND_H
#define AGENT_BOX_COMMAND_H

#include "agent/base/json.h"

#define COMMAND_MAX ((size_t)64 << 20)

struct command {
	cJSON *json;       /* owns */
	const char *text;  /* of json */
	const char *cwd;   /* of json, or NULL */
	int64_t timeout_s; /* 0 = none */
	char **envs;       /* "NAME=value"; owns strings and array */
	size_t env_count;
};

/* 0, or -1 with the message in `error`. Finish it in both cases. */
int command_parse(struct command *c, const struct buf *body, struct buf *error);
void command_finish(struct command *c);

#endif
