/*
 * Open files of a workspace. A WRITE, and a READ of what is cached, is local
 * and answered at once; OPEN, FLUSH, FSYNC and a direct_io READ may park.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/reply.h"
#include "fs/workspace.h"

struct open_file {
	struct handle handle;
	struct mirror_file *file; /* owns */
};

struct file_op {
	struct op op;
	int flags;
};

static void
finish_read(struct op *op)
{
	struct mirror_call *call = &op->call;

	if (call->st.code)
		reply_status(op->req, &call->st);
	else
		fuse_reply_buf(op->req, call->bytes.bytes, call->bytes.len);
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	struct op *op = op_create(sizeof *op, req, "read", NULL, h);

	(void)flags;
	op->finish = finish_read;
	mirror_read(file_of(h), off, size, &op->call);
	op_park(op);
}

static void
on_write(fuse_req_t req, struct handle *h, const char *bytes, size_t size,
    off_t off, const struct fuse_file_info *fi)
{
	ssize_t n = mirror_write(file_of(h), bytes, size, off,
	    (fi->flags & O_APPEND) != 0);

	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void
finish_status(struct op *op)
{
	reply_status(op->req, &op->call.st);
}

static void
on_flush(fuse_req_t req, struct handle *h, uint64_t owner)
{
	(void)owner;
	if ((h->flags & O_ACCMODE) == O_RDONLY) {
		fuse_reply_err(req, 0);
		return;
	}
	struct op *op = op_create(sizeof *op, req, "flush", NULL, h);
	op->finish = finish_status;
	mirror_flush(file_of(h), &op->call);
	op_park(op);
}

static void
on_fsync(fuse_req_t req, struct handle *h)
{
	struct op *op = op_create(sizeof *op, req, "fsync", NULL, h);

	/* As long as the push takes; the mirror gives up by itself. */
	op->deadline = 0;
	op->finish = finish_status;
	mirror_fsync(file_of(h), &op->call);
	op_park(op);
}

static void
on_destroy(struct handle *h)
{
	mirror_release(((struct open_file *)h)->file);
}

static const struct handle_ops file_ops = {
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.fsync = on_fsync,
	.destroy = on_destroy,
};

struct mirror_file *
file_of(struct handle *h)
{
	return h && h->ops == &file_ops ? ((struct open_file *)h)->file : NULL;
}

/* Takes the op's share of the thread. */
static struct open_file *
make_handle(struct op *op)
{
	struct thread *t = take(op->thread);
	struct open_file *f = (struct open_file *)handle_create(sizeof *f,
	    &file_ops, op->session, t, ((struct file_op *)op)->flags);

	f->file = op->call.file;
	return f;
}

static void
finish_open(struct op *op)
{
	struct mirror_call *call = &op->call;

	if (call->st.code)
		reply_status(op->req, &call->st);
	else
		handle_reply_open(op->req, &make_handle(op)->handle,
		    call->direct_io, call->keep_cache);
}

static void
drop_open(struct op *op)
{
	if (op->call.st.code == STATUS_OK)
		mirror_release(op->call.file);
}

static struct file_op *
start(fuse_req_t req, const struct inode *ino, const char *word, int flags)
{
	struct thread *t =
	    thread_by_number(session_of(req)->threads, ino->thread);

	if (!t) {
		fuse_reply_err(req, ENOENT);
		return NULL;
	}
	struct file_op *o =
	    (struct file_op *)op_create(sizeof *o, req, word, t, NULL);
	o->flags = flags;
	if ((flags & O_ACCMODE) != O_RDONLY)
		workspace_used(&o->op);
	return o;
}

void
file_open(fuse_req_t req, const struct inode *ino, int flags)
{
	struct file_op *o = start(req, ino, "open", flags);

	if (!o)
		return;
	o->op.finish = finish_open;
	o->op.drop = drop_open;
	mirror_open(workspace_mirror(&o->op), ino->node, flags, &o->op.call);
	op_park(&o->op);
}

static void
drop_create(struct op *op)
{
	drop_open(op);
	workspace_drop_entry(op);
}

static void
finish_create(struct op *op)
{
	struct mirror_call *call = &op->call;
	struct session *s = op->session;
	struct mirror *m = workspace_mirror(op);
	struct inode key = { .kind = INODE_WORKSPACE,
		.thread = thread_number(op_thread(op)),
		.node = call->attr.node };
	struct inode was;

	if (call->st.code) {
		reply_status(op->req, &call->st);
		return;
	}
	double keep = workspace_keep(s, &call->attr);
	struct open_file *f = make_handle(op);
	struct fuse_file_info fi = { .flags = f->handle.flags,
		.fh = (uintptr_t)f };
	struct fuse_entry_param e = { .ino = inode_get(s->inodes, &key, false),
		.attr_timeout = keep,
		.entry_timeout = keep };
	fi.direct_io = call->direct_io;
	fi.keep_cache = call->keep_cache;
	reply_fill_mirror(s, key.thread, &call->attr, &e.attr);
	if (fuse_reply_create(op->req, &e, &fi) == -ENOENT) {
		inode_forget(s->inodes, e.ino, 1, &was);
		mirror_forget(m, key.node, 1);
		handle_release(&f->handle);
	}
}

void
file_create(fuse_req_t req, const struct inode *dir, const char *name,
    mode_t mode, int flags)
{
	struct file_op *o = start(req, dir, "create", flags);

	if (!o)
		return;
	workspace_used(&o->op);
	o->op.finish = finish_create;
	o->op.drop = drop_create;
	mirror_file_create(workspace_mirror(&o->op), dir->node, name,
	    mode & 07777, flags, &o->op.call);
	op_park(&o->op);
}

static void
finish_mknod(struct op *op)
{
	if (op->call.st.code == STATUS_OK)
		mirror_release(op->call.file);
	workspace_finish_entry(op);
}

void
file_mknod(fuse_req_t req, const struct inode *dir, const char *name,
    mode_t mode)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL;
	struct file_op *o = start(req, dir, "mknod", flags);

	if (!o)
		return;
	o->op.finish = finish_mknod;
	o->op.drop = drop_create;
	mirror_file_create(workspace_mirror(&o->op), dir->node, name,
	    mode & 07777, flags, &o->op.call);
	op_park(&o->op);
}
