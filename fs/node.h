/*
 * What each kind of inode can do: one table a kind, as the tree is drawn in
 * inode.h. session.c finds the inode and calls; what a kind leaves out is
 * refused with EPERM (never ENOSYS, which would switch the operation off for
 * the whole mount). Names arrive checked: not empty, no '/', at most 255 bytes.
 */
#ifndef FS_NODE_H
#define FS_NODE_H

#include "fs/handle.h"
#include "fs/inode.h"

struct node_ops {
	/* of any */
	void (*getattr)(fuse_req_t req, const struct inode *ino,
	    struct handle *h);
	void (*setattr)(fuse_req_t req, const struct inode *ino,
	    const struct stat *attr, int to_set, struct handle *h);
	void (*readlink)(fuse_req_t req, const struct inode *ino);
	void (*open)(fuse_req_t req, const struct inode *ino, int flags);
	void (*link)(fuse_req_t req, const struct inode *ino,
	    const struct inode *dir, const char *name);
	void (*statfs)(fuse_req_t req, const struct inode *ino);
	/* of a directory */
	void (
	    *lookup)(fuse_req_t req, const struct inode *dir, const char *name);
	void (*opendir)(fuse_req_t req, const struct inode *dir);
	void (*create)(fuse_req_t req, const struct inode *dir,
	    const char *name, mode_t mode, int flags);
	void (*mknod)(fuse_req_t req, const struct inode *dir, const char *name,
	    mode_t mode);
	void (*mkdir)(fuse_req_t req, const struct inode *dir, const char *name,
	    mode_t mode);
	void (*symlink)(fuse_req_t req, const struct inode *dir,
	    const char *name, const char *target);
	void (
	    *unlink)(fuse_req_t req, const struct inode *dir, const char *name);
	void (
	    *rmdir)(fuse_req_t req, const struct inode *dir, const char *name);
	void (*rename)(fuse_req_t req, const struct inode *dir,
	    const char *name, const struct inode *dir2, const char *name2,
	    unsigned flags);
};

extern const struct node_ops root_ops, thread_ops, control_ops, checkpoints_ops,
    checkpoint_ops, workspace_ops, diagdir_ops, diagfile_ops;

/* SETATTR of what has no attributes of its own: everything succeeds and does
 * nothing, but for an owner that is not ours. 0 or errno. */
int node_setattr_nothing(fuse_req_t req, const struct stat *attr, int to_set);

#endif
