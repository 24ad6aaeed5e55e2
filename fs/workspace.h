/*
 * NAME/workspace and everything below: names, attributes and directories, each
 * a call of the mirror. Open files are file.c's.
 */
#ifndef FS_WORKSPACE_H
#define FS_WORKSPACE_H

#include "fs/inode.h"
#include "fs/op.h"

/* Answers LOOKUP of `workspace` itself, from memory; borrows the thread. */
void workspace_reply_root(fuse_req_t req, struct thread *t);

/* For workspace.c and file.c. */

/* An op about that inode's thread; NULL: answered ENOENT. Its mirror is
 * workspace_mirror(op). */
struct op *workspace_op(fuse_req_t req, const struct inode *ino,
    const char *word, void (*finish)(struct op *op));
struct mirror *workspace_mirror(const struct op *op);
/* How long the kernel may keep what such attributes say, in seconds. */
double workspace_keep(const struct session *s, const struct mirror_attr *attr);
/* finish and drop of what answers attr and adds a reference to its node. */
void workspace_finish_entry(struct op *op);
void workspace_drop_entry(struct op *op);
/* Somebody makes something here: marks of removal end (marks.h). */
void workspace_used(const struct op *op);

/* file.c */
void file_open(fuse_req_t req, const struct inode *ino, int flags);
void file_create(fuse_req_t req, const struct inode *dir, const char *name,
    mode_t mode, int flags);
void file_mknod(fuse_req_t req, const struct inode *dir, const char *name,
    mode_t mode);
/* The mirror's handle, NULL if h is none of an open file. */
struct mirror_file *file_of(struct handle *h);
/* dir.c */
void dir_open(fuse_req_t req, const struct inode *dir);

#endif
