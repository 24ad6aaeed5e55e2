/* What /proc/self/mountinfo says. Pure: never a stat of a mount, which may
 * hang when its server does. */
#ifndef FS_MOUNTINFO_H
#define FS_MOUNTINFO_H

#include "agent/base/base.h"

enum mountinfo_kind {
	MOUNTINFO_NONE,  /* nothing is mounted there */
	MOUNTINFO_OTHER, /* another file system */
	MOUNTINFO_OURS,  /* a sandagentfs, alive or dead */
};

/* What lies on top at that absolute path, in the text of mountinfo. */
enum mountinfo_kind mountinfo_at(const char *text, const char *path);
/* Is any sandagentfs mounted anywhere? */
bool mountinfo_any_ours(const char *text);

#endif
