/*
 * The running processes of one sandbox: a bubblewrap whose pid 1 is this
 * program's other role. It ends with this process, whatever ends that: pid 1
 * reads a pipe that only we hold open.
 */
#ifndef AGENT_BOX_CAGE_H
#define AGENT_BOX_CAGE_H

#include "agent/box/hostenv.h"

struct cage;

/* How sandboxes are made here; immutable after cage_probe(). */
struct cage_settings {
	const struct options *options;
	const struct place *place;
	const struct hostenv *hostenv;
	bool modern; /* bubblewrap knows --size and --disable-userns */
};

/* Tries a trivial one. -1 with a line that says what to install or which
 * setting to change. [waits] */
int cage_probe(struct cage_settings *s, struct status *st);

struct cage_request {
	const char *id;
	char *const *env; /* "NAME=value", …, NULL */
	bool network;
	/* Called once when it ended, by a worker of its own. */
	void (*ended)(void *arg);
	void *arg;
};

/* Its folder DIR/sandboxes/ID is there. Returns when it answers. [waits] */
struct cage *cage_start(const struct cage_settings *s,
    const struct cage_request *request, struct status *st);
/* Ends all its processes and frees it; accepts NULL. gentle: TERM first, and a
 * second to obey. [waits] */
void cage_stop(struct cage *c, bool gentle);
/* True when it ended by itself; *why is a word for people or "". */
bool cage_has_ended(struct cage *c, const char **why);
/* The path to connect to, for peer_connect(). */
const char *cage_socket(const struct cage *c);

#endif
