/* Starting a program with exactly the descriptors and variables given. */
#ifndef AGENT_BOX_SPAWN_H
#define AGENT_BOX_SPAWN_H

#include "agent/base/base.h"

#define SPAWN_FDS_MAX 8

/* fds[i] becomes descriptor i, all others are closed; its own session, default
 * signals. argv[0] is looked up in the PATH. -1 with errno, also of exec. */
pid_t spawn(char *const *argv, char *const *envp, const int *fds, size_t count);

#endif
