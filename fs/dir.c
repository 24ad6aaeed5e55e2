/*
 * Open directories of a workspace: a snapshot of the mirror, held from OPENDIR
 * to RELEASEDIR, so a walk sees one moment. Offset = index: 0 and 1 are `.` and
 * `..`.
 */
#include <errno.h>
#include <sys/stat.h>

#include "fs/reply.h"
#include "fs/workspace.h"

#define DOTS 2

struct open_dir {
	struct handle handle;
	struct inode ino;
	struct mirror_dir *dir; /* owns */
};

struct opendir_op {
	struct op op;
	struct inode ino;
};

/* The kernel's answer under way. */
struct listing_reply {
	fuse_req_t req;
	char *out;
	size_t len, size;
};

static bool
add_plain(struct listing_reply *r, const char *name, const struct stat *attr,
    bool plus, off_t next)
{
	/* Without a node id: nothing was looked up, no count. */
	struct fuse_entry_param p = { .attr = *attr };
	size_t room = r->size - r->len;
	size_t used = plus ? fuse_add_direntry_plus(r->req, r->out + r->len,
				 room, name, &p, next)
			   : fuse_add_direntry(r->req, r->out + r->len, room,
				 name, attr, next);

	if (used > room)
		return false;
	r->len += used;
	return true;
}

/* With a lookup, which is given back if the entry does not fit. */
static bool
add_looked_up(struct listing_reply *r, struct open_dir *d, const char *name,
    const struct mirror_attr *attr, off_t next)
{
	struct session *s = d->handle.session;
	struct inode key = { .kind = INODE_WORKSPACE,
		.thread = d->ino.thread,
		.node = attr->node };
	struct inode was;
	double keep = workspace_keep(s, attr);
	struct fuse_entry_param p = { .ino = inode_get(s->inodes, &key, false),
		.attr_timeout = keep,
		.entry_timeout = keep };
	size_t room = r->size - r->len;

	reply_fill_mirror(s, key.thread, attr, &p.attr);
	size_t used = fuse_add_direntry_plus(r->req, r->out + r->len, room,
	    name, &p, next);
	if (used > room) {
		inode_forget(s->inodes, p.ino, 1, &was);
		mirror_forget(thread_mirror(d->handle.thread), attr->node, 1);
		return false;
	}
	r->len += used;
	return true;
}

/* False: it did not fit. */
static bool
add_entry(struct listing_reply *r, struct open_dir *d, size_t i, bool plus,
    bool *end)
{
	struct mirror *m = thread_mirror(d->handle.thread);
	off_t next = (off_t)(i + 1);
	struct mirror_attr attr;
	struct stat shown;
	const char *name;

	if (i < DOTS) {
		shown = (struct stat){ .st_mode = S_IFDIR,
			.st_ino = inode_number(&d->ino) };
		return add_plain(r, i ? ".." : ".", &shown, plus, next);
	}
	*end = !mirror_dir_entry(d->dir, i - DOTS, &name, &attr);
	if (*end)
		return true;
	if (plus && mirror_reference(m, attr.node, &attr))
		return add_looked_up(r, d, name, &attr, next);
	reply_fill_mirror(d->handle.session, d->ino.thread, &attr, &shown);
	return add_plain(r, name, &shown, plus, next);
}

static void
on_readdir(fuse_req_t req, struct handle *h, size_t size, off_t off, bool plus)
{
	struct open_dir *d = (struct open_dir *)h;
	struct listing_reply r = { .req = req, .size = size };
	bool end = false;

	r.out = malloc(size);
	if (!r.out || off < 0) {
		fuse_reply_err(req, r.out ? EINVAL : ENOMEM);
		free(r.out);
		return;
	}
	for (size_t i = (size_t)off; !end; i++)
		if (!add_entry(&r, d, i, plus, &end))
			break;
	fuse_reply_buf(req, r.out, r.len);
	free(r.out);
}

static void
finish_status(struct op *op)
{
	reply_status(op->req, &op->call.st);
}

/* FSYNCDIR: everything made here is in the sandbox. */
static void
on_fsync(fuse_req_t req, struct handle *h)
{
	struct op *op = op_create(sizeof *op, req, "fsyncdir", NULL, h);

	op->deadline = 0;
	op->finish = finish_status;
	mirror_sync(thread_mirror(h->thread), &op->call);
	op_park(op);
}

static void
on_destroy(struct handle *h)
{
	mirror_closedir(((struct open_dir *)h)->dir);
}

static const struct handle_ops dir_ops = {
	.readdir = on_readdir,
	.fsync = on_fsync,
	.destroy = on_destroy,
};

static void
finish_opendir(struct op *op)
{
	struct opendir_op *o = (struct opendir_op *)op;

	if (op->call.st.code) {
		reply_status(op->req, &op->call.st);
		return;
	}
	struct thread *t = take(op->thread);
	struct open_dir *d = (struct open_dir *)handle_create(sizeof *d,
	    &dir_ops, op->session, t, 0);
	d->ino = o->ino;
	d->dir = op->call.dir;
	handle_reply_open(op->req, &d->handle, false, false);
}

static void
drop_opendir(struct op *op)
{
	if (op->call.st.code == STATUS_OK)
		mirror_closedir(op->call.dir);
}

void
dir_open(fuse_req_t req, const struct inode *dir)
{
	struct thread *t =
	    thread_by_number(session_of(req)->threads, dir->thread);

	if (!t) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	struct opendir_op *o =
	    (struct opendir_op *)op_create(sizeof *o, req, "opendir", t, NULL);
	o->ino = *dir;
	o->op.finish = finish_opendir;
	o->op.drop = drop_opendir;
	mirror_opendir(thread_mirror(t), dir->node, &o->op.call);
	op_park(&o->op);
}
