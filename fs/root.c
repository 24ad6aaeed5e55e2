/*
 * The mount's root: threads as directories. mkdir makes one, rmdir and rm -r
 * end one, mv renames one that was never used; nothing else can be here. A
 * name is never made by looking.
 */
#include <errno.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "fs/marks.h"
#include "fs/names.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/reply.h"
#include "fs/threaddir.h"

#define DIAGDIR_NAME ".sandagentfs"

struct root_op {
	struct op op;
	int64_t number;
	bool forced;
	char name[256];
};

static void
on_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct session *s = session_of(req);
	struct stat attr;

	(void)h;
	reply_fill(s, ino, S_IFDIR | 0700, -1, atomic_load(&s->root_changed_ms),
	    &attr);
	fuse_reply_attr(req, &attr, 0.0);
}

static void
on_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	on_getattr(req, ino, h);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	(void)ino;
	reply_statfs(req);
}

static void
on_lookup(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct session *s = session_of(req);
	struct stat attr;

	(void)dir;
	if (strcmp(name, DIAGDIR_NAME) == 0) {
		struct inode key = { .kind = INODE_DIAGDIR };
		reply_fill(s, &key, S_IFDIR | 0700, -1, s->started_ms, &attr);
		reply_entry(req, &key, &attr, 1.0, 1.0);
		return;
	}
	struct thread *t = thread_find(s->threads, name);
	if (t)
		threaddir_reply_entry(req, t);
	else
		reply_no_entry(req, 0.0);
	thread_put(t);
}

static void
add_thread(void *arg, const char *name, int64_t number)
{
	struct inode key = { .kind = INODE_THREAD, .thread = number };

	names_add(arg, name, &key, S_IFDIR);
}

static void
on_opendir(fuse_req_t req, const struct inode *dir)
{
	struct session *s = session_of(req);
	struct names *n = names_create(s, dir, NULL);
	struct inode key = { .kind = INODE_DIAGDIR };

	names_add(n, DIAGDIR_NAME, &key, S_IFDIR);
	threads_list(s->threads, add_thread, n);
	names_reply(req, n);
}

static void
changed(struct session *s)
{
	atomic_store(&s->root_changed_ms, clock_wall_ms());
}

/* One local transaction each; the root is locked meanwhile, so no remote. */
static void
start(fuse_req_t req, const char *word, struct thread *t, const char *name,
    bool forced, int (*work)(struct op *), void (*finish)(struct op *))
{
	struct root_op *o =
	    (struct root_op *)op_create_deaf(sizeof *o, req, word, t, NULL);

	snprintf(o->name, sizeof o->name, "%s", name);
	o->forced = forced;
	o->op.work = work;
	o->op.finish = finish;
	op_submit(&o->op, threads_disk_lane(o->op.session->threads));
	op_park(&o->op);
}

static int
mkdir_work(struct op *op)
{
	struct root_op *o = (struct root_op *)op;
	struct status st = { 0 };

	if (thread_make(op->session->threads, o->name, &o->number, &st) < 0)
		return -reply_errno(st.code);
	return 0;
}

static void
mkdir_finish(struct op *op)
{
	struct root_op *o = (struct root_op *)op;
	struct thread *t = op->error
	    ? NULL
	    : thread_by_number(op->session->threads, o->number);

	changed(op->session);
	if (t)
		threaddir_reply_entry(op->req, t);
	else
		fuse_reply_err(op->req, op->error ? -op->error : ENOENT);
	thread_put(t);
}

static void
on_mkdir(fuse_req_t req, const struct inode *dir, const char *name, mode_t mode)
{
	(void)dir;
	(void)mode;
	if (strcmp(name, DIAGDIR_NAME) == 0)
		fuse_reply_err(req, EEXIST);
	else
		start(req, "mkdir", NULL, name, false, mkdir_work,
		    mkdir_finish);
}

static int
rmdir_work(struct op *op)
{
	struct root_op *o = (struct root_op *)op;
	struct status st = { 0 };

	if (thread_end(op->session->threads, op->thread, o->forced, &st) < 0)
		return -reply_errno(st.code);
	marks_forget(op->session, thread_number(op->thread));
	return 0;
}

static void
plain_finish(struct op *op)
{
	changed(op->session);
	fuse_reply_err(op->req, -op->error);
}

static void
on_rmdir(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct session *s = session_of(req);
	struct thread *t = thread_find(s->threads, name);

	(void)dir;
	if (t)
		start(req, "rmdir", t, name, marks_whole(s, thread_number(t)),
		    rmdir_work, plain_finish);
	else
		fuse_reply_err(req,
		    strcmp(name, DIAGDIR_NAME) == 0 ? EPERM : ENOENT);
}

static int
rename_work(struct op *op)
{
	struct root_op *o = (struct root_op *)op;
	struct status st = { 0 };

	if (thread_rename(op->session->threads, op->thread, o->name, &st) == 0)
		return 0;
	/* The id of a thread that was used is its identity. */
	return st.code == STATUS_DENIED ? -EPERM : -reply_errno(st.code);
}

static void
on_rename(fuse_req_t req, const struct inode *dir, const char *name,
    const struct inode *dir2, const char *name2, unsigned flags)
{
	struct session *s = session_of(req);
	struct thread *t = thread_find(s->threads, name);

	(void)dir;
	if (!t || dir2->kind != INODE_ROOT ||
	    strcmp(name2, DIAGDIR_NAME) == 0 || (flags & RENAME_EXCHANGE)) {
		fuse_reply_err(req, EPERM);
		thread_put(t);
		return;
	}
	start(req, "rename", t, name2, false, rename_work, plain_finish);
}

const struct node_ops root_ops = {
	.getattr = on_getattr,
	.setattr = on_setattr,
	.statfs = on_statfs,
	.lookup = on_lookup,
	.opendir = on_opendir,
	.mkdir = on_mkdir,
	.rmdir = on_rmdir,
	.rename = on_rename,
};
