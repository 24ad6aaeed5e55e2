/*
 * The command line, checked but not yet completed: what was given, and
 * sentinels for what was not. Habits of sshfs and libfuse: options before or
 * after the directories, -o lists with "\," for a comma, mount(8)'s words.
 */
#ifndef AGENT_CONFIG_OPTIONS_H
#define AGENT_CONFIG_OPTIONS_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

/* What passes to libfuse. The last of two opposite words wins. */
struct mount_words {
	bool read_only, no_exec, no_atime, allow_other;
};

struct options {              /* owns its strings; NULL or -1 = not given */
	char *first, *second; /* the arguments that are no options */
	bool help, version, foreground, debug, single;
	bool command; /* the first word is threads, export, gc or sandboxes */

	char *model, *base_url, *api_url, *target, *env_file, *state_dir,
	    *cache_dir, *fsname;
	int64_t ttl_minutes, stop_minutes, cache_size, max_turns;
	int64_t local;     /* 0 = daytona, 1 = local */
	int64_t on_exit;   /* enum on_exit_action */
	int64_t snapshots; /* bool */
	int64_t links_raw; /* bool */
	int64_t log_level; /* enum diag_level */
	struct mount_words mount;
};

/* -1: `st` is the one line to print. Finish it in either case. */
int options_parse(struct options *o, int argc, char **argv, struct status *st);
void options_finish(struct options *o);

/* One word of mount(8), such as "nodev" or "x-systemd.automount"; false: it is
 * none. */
bool mount_word(struct mount_words *words, const char *word);

#endif
