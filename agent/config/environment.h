/*
 * The variables that the program sees: those of the process, then those of the
 * .env files. Only names that can be ours are kept: keys, base URLs, proxies,
 * DAYTONA_*. Values are read once and never printed.
 */
#ifndef AGENT_CONFIG_ENVIRONMENT_H
#define AGENT_CONFIG_ENVIRONMENT_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

struct variable { /* owns its strings */
	char *name, *value;
	size_t file; /* 0 = the process, else files[file - 1] */
};

struct environment { /* zero-initialised; owns */
	struct variable *variables;
	size_t count;
	char **files; /* absolute paths of what was read, in order */
	size_t file_count;
};

void environment_finish(struct environment *env);
/* Takes over what is ours of `environ`; before any file. */
void environment_add_process(struct environment *env, char *const *environ_);
/* Reads one .env file; a syntax error refuses it: INVALID with file and line.
 */
int environment_add_file(struct environment *env, const char *path,
    struct status *st);
/* The .env of `cwd` (absolute) or the nearest directory above that has one,
 * then ~/.config/sandagentfs/env; neither need exist. */
int environment_find_files(struct environment *env, const char *cwd,
    struct status *st);
/*
 * A base URL or a proxy that a file brings is dropped unless the key that goes
 * there is that file's too: the .env of a cloned repository must not carry the
 * user's key away. note: one line for each that is dropped.
 */
void environment_guard(struct environment *env, void (*note)(const char *line));
/* The one in force, or NULL. The first in order wins, also if it is empty. */
const struct variable *environment_find(const struct environment *env,
    const char *name);
/* The same, as a value; an empty one counts as none: NULL. */
const char *environment_get(const struct environment *env, const char *name);
/* Is this a name whose value must never be shown? */
bool environment_is_secret(const char *name);

#endif
