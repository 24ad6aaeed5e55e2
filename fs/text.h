/*
 * An open file whose text was made at OPEN: what most control files are when
 * read. The whole open sees one text; direct_io, since it changes underneath.
 */
#ifndef FS_TEXT_H
#define FS_TEXT_H

#include "agent/base/buf.h"
#include "fs/handle.h"

/* Takes the share of the thread (or NULL) and the buffer. */
struct handle *text_create(struct session *s, struct thread *thread, int flags,
    struct buf *text);
/* READ of a text by handles that have one among other things. */
void text_read(fuse_req_t req, const struct buf *text, size_t size, off_t off);

#endif
