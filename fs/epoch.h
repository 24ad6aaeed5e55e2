/*
 * What a tool call did must be visible at once, while the kernel keeps names
 * and attributes of a workspace for a second. From FUSE 7.44 on one message
 * without locks or pages, INC_EPOCH, makes it look up every name again at its
 * next use; kernels before that get time-outs of 0 instead. The
 * invalidations that older kernels have may hang on locked pages: none is sent.
 */
#ifndef FS_EPOCH_H
#define FS_EPOCH_H

#include "fs/session.h"

struct epoch_seen;

struct epoch_seen *epoch_seen_create(void);
void epoch_seen_destroy(struct epoch_seen *seen);
bool epoch_supported(const struct fuse_conn_info *conn);
/* Names that were looked up before are looked up again. Never waits. */
void epoch_bump(struct session *s);
/* Something of a thread changed: bumps if its log or its phase did. */
void epoch_changed(struct session *s, int64_t thread);

#endif
