/*
 * The local sandbox server as our child: sandagentfs-box on a unix socket in
 * its data directory, started at first use, started again when it died, ended
 * by the end of a pipe (so also when we are killed). Any worker.
 */
#ifndef AGENT_SANDBOX_LOCAL_H
#define AGENT_SANDBOX_LOCAL_H

#include "agent/base/cancel.h"
#include "agent/base/status.h"

struct box;

/* No child yet. Copies both. */
struct box *box_create(const char *program, const char *dir);
/* [waits] Ends the child and everything in it; accepts NULL. */
void box_destroy(struct box *box);
/* [waits] Runs when it returns 0. */
int box_ensure(struct box *box, struct cancel *c, struct status *st);
/* Without waiting or starting. */
bool box_running(struct box *box);
/* Where it listens, short enough for a socket address; borrowed. */
const char *box_socket(struct box *box);

#endif
