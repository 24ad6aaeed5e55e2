/* The text of -V and of .sandagentfs/version. */
#ifndef FS_VERSION_H
#define FS_VERSION_H

#include "agent/base/buf.h"

/* This program, then every library with its version, one a line. */
void version_text(struct buf *out);

#endif
