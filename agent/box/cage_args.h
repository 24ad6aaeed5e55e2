/* The command line of a sandbox's bubblewrap, with that of pid 1 behind it. */
#ifndef AGENT_BOX_CAGE_ARGS_H
#define AGENT_BOX_CAGE_ARGS_H

#include "agent/box/cage.h"
#include "agent/box/rootfs.h"

/* Descriptors that it expects; 0, 1 and 2 as usual. */
enum cage_fd {
	CAGE_FD_LISTEN = 3, /* of the toolbox */
	CAGE_FD_LIFE,       /* read end: its end ends pid 1 */
	CAGE_FD_INFO,       /* bubblewrap says the pid of pid 1 there */
	CAGE_FD_LOCK,       /* of the folder */
	CAGE_FD_COUNT,
};

/* dir: the sandbox's folder. */
void cage_args(struct args *a, const struct cage_settings *s,
    const struct cage_request *request, const char *dir);

#endif
