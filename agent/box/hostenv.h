/*
 * What of the host's environment a sandbox may see: proxies, certificate
 * bundles, pip's settings; never a key or a token. Read once at the start,
 * before root is given up; files are copied below the data directory, because
 * the sandboxes' user may not be able to read the originals.
 */
#ifndef AGENT_BOX_HOSTENV_H
#define AGENT_BOX_HOSTENV_H

#include "agent/box/place.h"

#define HOSTENV_FILES_MAX 32
#define HOSTENV_VARS_MAX  128
/* Where the copies are seen in a sandbox. */
#define HOSTENV_INSIDE "/run/sandagentfs/host"

struct hostenv {
	char *vars[HOSTENV_VARS_MAX]; /* "NAME=value" */
	size_t var_count;
	bool pip_user, pip_global; /* copies of pip's files were made */
};

/* True for names that may go in. */
bool hostenv_wanted(const char *name);
/* Copies go to DIR/host. */
int hostenv_read(struct hostenv *h, const struct place *p,
    const struct options *o, char *const *environment, struct status *st);

void hostenv_finish(struct hostenv *h);

#endif
