/* Names and attributes of a workspace; see workspace.h. */
#include "fs/workspace.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "fs/marks.h"
#include "fs/node.h"
#include "fs/reply.h"

struct op *
workspace_op(fuse_req_t req, const struct inode *ino, const char *word,
    void (*finish)(struct op *op))
{
	struct thread *t =
	    thread_by_number(session_of(req)->threads, ino->thread);

	if (!t) {
		fuse_reply_err(req, ENOENT);
		return NULL;
	}
	struct op *op = op_create(sizeof *op, req, word, t, NULL);
	op->finish = finish;
	return op;
}

struct mirror *
workspace_mirror(const struct op *op)
{
	return thread_mirror(op_thread(op));
}

double
workspace_keep(const struct session *s, const struct mirror_attr *attr)
{
	return attr->fresh ? s->keep : 0.0;
}

void
workspace_used(const struct op *op)
{
	marks_clear(op->session, op_thread(op));
}

static struct inode
key_of(const struct op *op, uint32_t node)
{
	return (struct inode){ .kind = INODE_WORKSPACE,
		.thread = thread_number(op_thread(op)),
		.node = node };
}

void
workspace_finish_entry(struct op *op)
{
	struct mirror_call *call = &op->call;
	struct inode key = key_of(op, call->attr.node);
	struct stat attr;

	if (call->st.code) {
		reply_status(op->req, &call->st);
		return;
	}
	double keep = workspace_keep(op->session, &call->attr);
	reply_fill_mirror(op->session, key.thread, &call->attr, &attr);
	reply_entry(op->req, &key, &attr, keep, keep);
}

void
workspace_drop_entry(struct op *op)
{
	if (op->call.st.code == STATUS_OK)
		mirror_forget(workspace_mirror(op), op->call.attr.node, 1);
}

static void
finish_lookup(struct op *op)
{
	if (op->call.st.code == STATUS_NOT_FOUND)
		reply_no_entry(op->req, op->session->keep);
	else
		workspace_finish_entry(op);
}

static void
finish_status(struct op *op)
{
	reply_status(op->req, &op->call.st);
}

static void
finish_attr(struct op *op)
{
	struct mirror_call *call = &op->call;
	struct stat attr;

	if (call->st.code) {
		reply_status(op->req, &call->st);
		return;
	}
	reply_fill_mirror(op->session, thread_number(op_thread(op)),
	    &call->attr, &attr);
	fuse_reply_attr(op->req, &attr,
	    workspace_keep(op->session, &call->attr));
}

/* From memory: a look at the node that is always there. */
static bool
root_attr(struct thread *t, struct mirror_attr *attr)
{
	struct mirror *m = thread_mirror(t);

	if (!mirror_reference(m, MIRROR_ROOT, attr))
		return false;
	attr->mode = S_IFDIR | 0700;
	return true;
}

void
workspace_reply_root(fuse_req_t req, struct thread *t)
{
	struct session *s = session_of(req);
	struct inode key = { .kind = INODE_WORKSPACE,
		.thread = thread_number(t),
		.node = MIRROR_ROOT };
	struct mirror_attr known;
	struct stat attr;

	if (!root_attr(t, &known)) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	reply_fill_mirror(s, key.thread, &known, &attr);
	/* The reference is the lookup's. */
	reply_entry(req, &key, &attr, 1.0, 0.0);
}

static void
getattr_root(fuse_req_t req, const struct inode *ino)
{
	struct session *s = session_of(req);
	struct thread *t = thread_by_number(s->threads, ino->thread);
	struct mirror_attr known;
	struct stat attr;

	if (t && root_attr(t, &known)) {
		mirror_forget(thread_mirror(t), MIRROR_ROOT, 1);
		reply_fill_mirror(s, ino->thread, &known, &attr);
		fuse_reply_attr(req, &attr, 0.0);
	} else {
		fuse_reply_err(req, ENOENT);
	}
	thread_put(t);
}

static void
on_lookup(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct op *op = workspace_op(req, dir, "lookup", finish_lookup);

	if (!op)
		return;
	op->drop = workspace_drop_entry;
	mirror_lookup(workspace_mirror(op), dir->node, name, &op->call);
	op_park(op);
}

static void
on_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	if (ino->node == MIRROR_ROOT) {
		getattr_root(req, ino);
		return;
	}
	struct op *op = workspace_op(req, ino, "getattr", finish_attr);
	if (!op)
		return;
	op->handle = h ? handle_get(h) : NULL;
	mirror_getattr(workspace_mirror(op), ino->node, file_of(h), &op->call);
	op_park(op);
}

static void
set_times(const struct stat *attr, int to_set, struct timespec times[2])
{
	struct timespec now = clock_wall(), omit = { .tv_nsec = UTIME_OMIT };

	times[0] = times[1] = omit;
	if (to_set & FUSE_SET_ATTR_ATIME)
		times[0] = attr->st_atim;
	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		times[0] = now;
	if (to_set & FUSE_SET_ATTR_MTIME)
		times[1] = attr->st_mtim;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		times[1] = now;
}

static void
on_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	struct timespec times[2];
	int what = 0;

	if (to_set & FUSE_SET_ATTR_MODE)
		what |= MIRROR_SET_MODE;
	if (to_set & FUSE_SET_ATTR_SIZE)
		what |= MIRROR_SET_SIZE;
	set_times(attr, to_set, times);
	if (times[0].tv_nsec != UTIME_OMIT || times[1].tv_nsec != UTIME_OMIT)
		what |= MIRROR_SET_TIMES;
	if (!what) {
		on_getattr(req, ino, h);
		return;
	}
	struct op *op = workspace_op(req, ino, "setattr", finish_attr);
	if (!op)
		return;
	op->handle = h ? handle_get(h) : NULL;
	mirror_setattr(workspace_mirror(op), ino->node, file_of(h), what,
	    attr->st_mode & 07777, attr->st_size, times, &op->call);
	op_park(op);
}

static void
finish_readlink(struct op *op)
{
	if (op->call.st.code)
		reply_status(op->req, &op->call.st);
	else
		fuse_reply_readlink(op->req, op->call.bytes.bytes);
}

static void
on_readlink(fuse_req_t req, const struct inode *ino)
{
	struct op *op = workspace_op(req, ino, "readlink", finish_readlink);

	if (!op)
		return;
	mirror_readlink(workspace_mirror(op), ino->node, &op->call);
	op_park(op);
}

/* An op that makes a name: answers an entry. */
static struct op *
making(fuse_req_t req, const struct inode *dir, const char *word)
{
	struct op *op = workspace_op(req, dir, word, workspace_finish_entry);

	if (!op)
		return NULL;
	op->drop = workspace_drop_entry;
	workspace_used(op);
	return op;
}

static void
on_mkdir(fuse_req_t req, const struct inode *dir, const char *name, mode_t mode)
{
	struct op *op = making(req, dir, "mkdir");

	if (!op)
		return;
	mirror_mkdir(workspace_mirror(op), dir->node, name, mode & 07777,
	    &op->call);
	op_park(op);
}

static void
on_symlink(fuse_req_t req, const struct inode *dir, const char *name,
    const char *target)
{
	struct op *op = making(req, dir, "symlink");

	if (!op)
		return;
	mirror_symlink(workspace_mirror(op), dir->node, name, target,
	    &op->call);
	op_park(op);
}

static void
on_link(fuse_req_t req, const struct inode *ino, const struct inode *dir,
    const char *name)
{
	if (dir->kind != INODE_WORKSPACE || dir->thread != ino->thread) {
		fuse_reply_err(req,
		    dir->kind == INODE_WORKSPACE ? EXDEV : EPERM);
		return;
	}
	struct op *op = making(req, dir, "link");
	if (!op)
		return;
	mirror_link(workspace_mirror(op), ino->node, dir->node, name,
	    &op->call);
	op_park(op);
}

static void
on_unlink(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct op *op = workspace_op(req, dir, "unlink", finish_status);

	if (!op)
		return;
	marks_touch(op->session, dir->thread);
	mirror_unlink(workspace_mirror(op), dir->node, name, &op->call);
	op_park(op);
}

static void
on_rmdir(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct op *op = workspace_op(req, dir, "rmdir", finish_status);

	if (!op)
		return;
	marks_touch(op->session, dir->thread);
	mirror_rmdir(workspace_mirror(op), dir->node, name, &op->call);
	op_park(op);
}

static void
on_rename(fuse_req_t req, const struct inode *dir, const char *name,
    const struct inode *dir2, const char *name2, unsigned flags)
{
	if (dir2->kind != INODE_WORKSPACE || dir2->thread != dir->thread) {
		fuse_reply_err(req,
		    dir2->kind == INODE_WORKSPACE ? EXDEV : EPERM);
		return;
	}
	struct op *op = workspace_op(req, dir, "rename", finish_status);
	if (!op)
		return;
	workspace_used(op);
	mirror_rename(workspace_mirror(op), dir->node, name, dir2->node, name2,
	    flags, &op->call);
	op_park(op);
}

/* A stopped sandbox cannot say: the local figures are no lie for a copy. */
static void
finish_statfs(struct op *op)
{
	if (op->call.st.code)
		reply_statfs(op->req);
	else
		fuse_reply_statfs(op->req, &op->call.space);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	struct op *op = workspace_op(req, ino, "statfs", finish_statfs);

	if (!op)
		return;
	mirror_statfs(workspace_mirror(op), &op->call);
	op_park(op);
}

const struct node_ops workspace_ops = {
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.open = file_open,
	.link = on_link,
	.statfs = on_statfs,
	.lookup = on_lookup,
	.opendir = dir_open,
	.create = file_create,
	.mknod = file_mknod,
	.mkdir = on_mkdir,
	.symlink = on_symlink,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.rename = on_rename,
};
