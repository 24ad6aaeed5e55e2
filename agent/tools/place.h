/*
 * A path as a model gave it: absolute and clean, and where it lies. A relative
 * path means one below the workspace. Pure.
 */
#ifndef AGENT_TOOLS_PLACE_H
#define AGENT_TOOLS_PLACE_H

#include "agent/base/status.h"

struct place {
	char *path;         /* absolute, no ".", "..", "//"; owned */
	const char *inside; /* below the workspace ("" = itself), or NULL */
};

/* ".." anywhere, a leading "~" and a drive letter are refused: INVALID. */
int place_read(struct place *p, const char *given, struct status *st);
void place_finish(struct place *p);
#define auto_place __attribute__((cleanup(place_finish))) struct place

/* Is this absolute path the daemon's own folder or below it? */
bool place_is_daemons(const char *path);

#endif
