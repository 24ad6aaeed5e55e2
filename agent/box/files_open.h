/* What several file handlers share: folders as Go's MkdirAll makes them, and
 * files opened for an upload. */
#ifndef AGENT_BOX_FILES_OPEN_H
#define AGENT_BOX_FILES_OPEN_H

#include "agent/base/buf.h"

/* Makes `path` and what is missing above it; an existing directory, also
 * through a link, is success. -1 with errno; `failed` (may be NULL) gains the
 * path that could not be made. */
int files_make_dirs(const char *path, mode_t mode, struct buf *failed);
/* The same for the directory that holds `path`. */
int files_make_parents(const char *path, mode_t mode, struct buf *failed);
/* Opens for writing from nothing: truncates in place, follows links, never
 * waits for the reader of a FIFO. -1 with errno. */
int files_create(const char *path);
/* Gives the directory of a path: "." or "/" or what is before the slash. */
char *files_parent(const char *path);

#endif
