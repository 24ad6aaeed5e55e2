/*
 * An open directory whose entries are a list of names made at OPENDIR: the
 * root, a thread, checkpoints, .sandagentfs. READDIRPLUS gives them without
 * attributes; the kernel looks up what it wants.
 */
#ifndef FS_NAMES_H
#define FS_NAMES_H

#include "fs/handle.h"
#include "fs/inode.h"

struct names;

/* Takes the share of the thread (or NULL). `.` and `..` are in it. */
struct names *names_create(struct session *s, const struct inode *dir,
    struct thread *thread);
void names_add(struct names *n, const char *name, const struct inode *key,
    mode_t mode);
/* Answers OPENDIR; takes it. */
void names_reply(fuse_req_t req, struct names *n);
/* Instead: it was not asked for any more. */
void names_drop(struct names *n);

#endif
