/*
 * NAME/checkpoints: one JSON file a checkpoint, named STEP-ID.json. A
 * checkpoint never changes and goes only with its thread, so a name that was
 * seen stays good and its size is asked for once. Lists and texts are made on
 * the disk lane; removal leaves a mark and changes nothing (marks.h).
 */
#include "fs/checkpoints.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/marks.h"
#include "fs/names.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/reply.h"
#include "fs/text.h"

#define TEXT_MAX ((size_t)1 << 30)

struct checkpoint_op {
	struct op op;
	struct inode ino; /* the file, or the directory */
	int flags;
	struct buf text;
	struct checkpoint *list;
	size_t count;
};

static void
file_name(const struct checkpoint *c, char out[INODE_NAME_MAX])
{
	snprintf(out, INODE_NAME_MAX, "%lld-%s.json", (long long)c->step,
	    c->id);
}

bool
checkpoint_id(const char *name, char out[40])
{
	/* A step of LangGraph may be -1: the sign is no separator. */
	const char *dash = strchr(*name ? name + 1 : name, '-');
	size_t len = dash ? strlen(dash + 1) : 0;

	if (len < 6 || len - 5 >= 40 ||
	    strcmp(dash + 1 + len - 5, ".json") != 0)
		return false;
	snprintf(out, 40, "%.*s", (int)(len - 5), dash + 1);
	return true;
}

static struct thread *
thread_of(fuse_req_t req, const struct inode *ino)
{
	struct thread *t =
	    thread_by_number(session_of(req)->threads, ino->thread);

	if (!t)
		fuse_reply_err(req, ENOENT);
	return t;
}

static struct checkpoint_op *
start(fuse_req_t req, const struct inode *ino, const char *word,
    int (*work)(struct op *), void (*finish)(struct op *))
{
	struct thread *t = thread_of(req, ino);

	if (!t)
		return NULL;
	struct checkpoint_op *o =
	    (struct checkpoint_op *)op_create(sizeof *o, req, word, t, NULL);
	o->ino = *ino;
	o->text = BUF_INIT(TEXT_MAX);
	o->op.work = work;
	o->op.finish = finish;
	return o;
}

static void
drop(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;

	buf_finish(&o->text);
	free(o->list);
	o->list = NULL;
}

static void
submit(struct checkpoint_op *o)
{
	o->op.drop = drop;
	op_submit(&o->op, threads_disk_lane(o->op.session->threads));
	op_park(&o->op);
}

static int
list_work(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;
	struct status st = { 0 };

	return thread_checkpoints(op->thread, &o->list, &o->count, &st) < 0
	    ? -reply_errno(st.code)
	    : 0;
}

static int
text_work(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;
	struct status st = { 0 };
	char id[40];

	if (!checkpoint_id(o->ino.name, id))
		return -ENOENT;
	return thread_checkpoint_text(op->thread, id, &o->text, &st) < 0
	    ? -reply_errno(st.code)
	    : 0;
}

/* --- The directory --------------------------------------------------------- */

static void
dir_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct thread *t = thread_of(req, ino);
	struct stat attr;

	(void)h;
	if (!t)
		return;
	reply_fill(session_of(req), ino, S_IFDIR | 0700, -1,
	    thread_changed_ms(t), &attr);
	fuse_reply_attr(req, &attr, 0.0);
	thread_put(t);
}

static void
dir_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	dir_getattr(req, ino, h);
}

static void
list_finish(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;

	if (op->error) {
		fuse_reply_err(op->req, -op->error);
		return;
	}
	struct names *n = names_create(op->session, &o->ino, NULL);
	struct inode key = { .kind = INODE_CHECKPOINT,
		.thread = o->ino.thread };
	for (size_t i = 0; i < o->count; i++) {
		file_name(&o->list[i], key.name);
		names_add(n, key.name, &key, S_IFREG);
	}
	names_reply(op->req, n);
	drop(op);
}

static void
dir_opendir(fuse_req_t req, const struct inode *ino)
{
	struct checkpoint_op *o =
	    start(req, ino, "checkpoints", list_work, list_finish);

	if (o)
		submit(o);
}

/* The time in the name's checkpoint; -1: there is none of that name. */
static int64_t
find_ts(const struct checkpoint_op *o)
{
	char name[INODE_NAME_MAX];

	for (size_t i = 0; i < o->count; i++) {
		file_name(&o->list[i], name);
		if (strcmp(name, o->ino.name) == 0)
			return o->list[i].ts_ms;
	}
	return -1;
}

static void
reply_file(fuse_req_t req, struct thread *t, const struct inode *key)
{
	struct stat attr;

	reply_fill(session_of(req), key, S_IFREG | 0600, 0,
	    thread_changed_ms(t), &attr);
	attr.st_size = -1; /* GETATTR follows */
	reply_entry(req, key, &attr, 1.0, 0.0);
}

static void
lookup_finish(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;

	if (op->error)
		fuse_reply_err(op->req, -op->error);
	else if (find_ts(o) < 0)
		reply_no_entry(op->req, 0.0);
	else
		reply_file(op->req, op->thread, &o->ino);
	drop(op);
}

static void
dir_lookup(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct inode key = { .kind = INODE_CHECKPOINT, .thread = dir->thread };
	char id[40];

	if (strlen(name) >= INODE_NAME_MAX || !checkpoint_id(name, id)) {
		reply_no_entry(req, 1.0);
		return;
	}
	snprintf(key.name, sizeof key.name, "%s", name);
	struct checkpoint_op *o =
	    start(req, &key, "checkpoint lookup", list_work, lookup_finish);
	if (o)
		submit(o);
}

static void
dir_unlink(fuse_req_t req, const struct inode *dir, const char *name)
{
	(void)name;
	/* It keeps the marks young; the RMDIR leaves the mark. */
	marks_touch(session_of(req), dir->thread);
	fuse_reply_err(req, 0);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	(void)ino;
	reply_statfs(req);
}

const struct node_ops checkpoints_ops = {
	.getattr = dir_getattr,
	.setattr = dir_setattr,
	.lookup = dir_lookup,
	.opendir = dir_opendir,
	.unlink = dir_unlink,
	.statfs = on_statfs,
};

/* --- A file ---------------------------------------------------------------- */

static void
reply_attr(fuse_req_t req, struct thread *t, const struct inode *ino,
    int64_t size)
{
	struct stat attr;

	reply_fill(session_of(req), ino, S_IFREG | 0600, size,
	    thread_created_ms(t), &attr);
	fuse_reply_attr(req, &attr, 1.0);
}

static void
size_finish(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;

	if (op->error) {
		fuse_reply_err(op->req, -op->error);
	} else {
		inode_set_size(op->session->inodes, o->ino.id,
		    (int64_t)o->text.len);
		reply_attr(op->req, op->thread, &o->ino, (int64_t)o->text.len);
	}
	drop(op);
}

static void
file_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	int64_t size = inode_size(session_of(req)->inodes, ino->id);

	(void)h;
	if (size > 0) {
		struct thread *t = thread_of(req, ino);
		if (t)
			reply_attr(req, t, ino, size);
		thread_put(t);
		return;
	}
	struct checkpoint_op *o =
	    start(req, ino, "checkpoint size", text_work, size_finish);
	if (o)
		submit(o);
}

static void
file_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	file_getattr(req, ino, h);
}

static void
open_finish(struct op *op)
{
	struct checkpoint_op *o = (struct checkpoint_op *)op;

	if (op->error)
		fuse_reply_err(op->req, -op->error);
	else
		handle_reply_open(op->req,
		    text_create(op->session, NULL, o->flags, &o->text), true,
		    false);
	drop(op);
}

static void
file_open(fuse_req_t req, const struct inode *ino, int flags)
{
	if ((flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EACCES);
		return;
	}
	struct checkpoint_op *o =
	    start(req, ino, "checkpoint", text_work, open_finish);
	if (!o)
		return;
	marks_clear(o->op.session, o->op.thread);
	o->flags = flags;
	submit(o);
}

const struct node_ops checkpoint_ops = {
	.getattr = file_getattr,
	.setattr = file_setattr,
	.open = file_open,
	.statfs = on_statfs,
};
