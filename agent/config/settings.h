/*
 * All that the user can set, read once at start: command line, environment,
 * .env (contract §6, §8). Precedence: thread's config > mount option >
 * environment > .env > built in. Pure data for others; config/ knows only base.
 */
#ifndef AGENT_CONFIG_SETTINGS_H
#define AGENT_CONFIG_SETTINGS_H

#include "agent/base/buf.h"
#include "agent/base/diag.h"
#include "agent/base/status.h"

enum on_exit_action { ON_EXIT_STOP, ON_EXIT_KEEP, ON_EXIT_DELETE };

struct settings {         /* owns its strings */
	char *source;     /* fstab's first field or NULL */
	char *mountpoint; /* absolute; NULL with -h, -V or a command word */
	bool help, version, foreground, debug, single; /* -h -V -f -d -s */

	char *model;    /* "provider:name" */
	bool local;     /* which sandbox provider */
	char *base_url; /* of the model or NULL */
	char *api_url;  /* of Daytona */
	char *target;   /* or NULL */
	int ttl_minutes, stop_minutes;
	enum on_exit_action on_exit;
	char *state_dir, *cache_dir; /* absolute */
	int64_t cache_size;          /* bytes */
	int max_turns;
	bool snapshots, links_raw;
	enum diag_level log_level;

	char *fuse_options; /* what passes to libfuse, comma-separated; nosuid
			     * and nodev last */
	char **env_names,
	    **env_values;    /* keys and base URLs found, see below */
	bool *env_from_file; /* came from a .env */
	size_t env_count;
	char *env_file; /* the one that was read, or NULL */
};

/* Reads argv, environment and .env. On -1 `st` is the one line to print; the
 * program exits with 1 and has changed nothing. */
int settings_load(struct settings *s, int argc, char **argv, struct status *st);
void settings_finish(struct settings *s);
/* Value of a variable as the program sees it (environment, then .env); an
 * empty one counts as none: NULL. Borrowed. */
const char *settings_env(const struct settings *s, const char *name);
/* Every secret value held (*_API_KEY, *_TOKEN …): fn for each. The transcript
 * and the state must never show them. */
void settings_secrets(const struct settings *s,
    void (*fn)(void *arg, const char *value), void *arg);
/* The text of -h. */
const char *settings_usage(void);

#endif
