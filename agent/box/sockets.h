/* The sockets on which the server listens. */
#ifndef AGENT_BOX_SOCKETS_H
#define AGENT_BOX_SOCKETS_H

#include "agent/base/status.h"

/* Replaces a socket that is there; for its owner alone. -1 with `st`. */
int sockets_listen_unix(const char *path, struct status *st);
/* where: "HOST:PORT", port 0 = any. -1 with `st`. */
int sockets_listen_tcp(const char *where, struct status *st);
/* Prints the line that says where, with the port that was chosen. */
void sockets_announce(int fd, const char *where);

#endif
