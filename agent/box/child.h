/*
 * The children of pid 1 of a sandbox. One worker reaps everything: commands
 * that are waited for, and whatever was orphaned by them. pid 1 must not call
 * waitpid() anywhere else.
 */
#ifndef AGENT_BOX_CHILD_H
#define AGENT_BOX_CHILD_H

#include "agent/base/base.h"

struct child_spec {
	char *const *argv; /* argv[0] is the file, absolute */
	char *const *envp;
	const char *cwd; /* NULL = as it is */
	int in, out;     /* become descriptors 0, and 1 and 2 */
};

struct child;

/* Starts the reaper; once, before any child. */
void child_init(void);
/* Own process group, default signals, the sandbox's limits. NULL with errno of
 * whatever failed, execve included. The caller must child_wait() it. */
struct child *child_start(const struct child_spec *spec);
/* Kills its process group. Only before child_wait() returned true. */
void child_kill(struct child *c);
/* True when it ended, *status as waitpid()'s; frees it then. deadline_ms of
 * clock_mono_ms(), 0 = none. [waits] */
bool child_wait(struct child *c, int64_t deadline_ms, int *status);
/* Sends TERM to all processes but pid 1 and gives them until the deadline to
 * end. [waits] */
void child_end_all(int64_t deadline_ms);

/* What each command may use; 0 = no limit of ours. Set once before. */
struct child_limits {
	uint64_t processes, data_bytes, file_bytes, files;
};

void child_set_limits(const struct child_limits *limits);

#endif
