/* Removing a tree whose names and shape were made by strangers. */
#ifndef AGENT_BOX_TREE_H
#define AGENT_BOX_TREE_H

#include "agent/base/base.h"

/*
 * Removes `name` in `parent` with all below; links are removed, never followed.
 * force: directories without permissions are opened up first. Absent is
 * success. -1 with the first errno; the rest is removed all the same. Any
 * depth: what is too deep is moved up into the tree's root. [waits]
 */
int tree_remove(int parent, const char *name, bool force);

#endif
