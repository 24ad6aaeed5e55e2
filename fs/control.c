/* Control files as inodes; see control.h. */
#include "fs/control.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/marks.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/reply.h"

const struct control controls[CONTROL_FILES] = {
	[CONTROL_PROMPT] = { "prompt", true, control_prompt_open,
	    control_prompt_size, NULL },
	[CONTROL_LOG] = { "log", false, control_log_open, thread_log_size,
	    NULL },
	[CONTROL_MESSAGES] = { "messages", false, control_messages_open,
	    thread_messages_size, control_messages_size },
	[CONTROL_STATE] = { "state", false, control_state_open,
	    control_state_size, NULL },
	[CONTROL_CTL] = { "ctl", true, control_ctl_open, control_ctl_size,
	    NULL },
	[CONTROL_CONFIG] = { "config", true, control_config_open,
	    control_config_size, NULL },
	[CONTROL_REPLY] = { "reply", false, control_reply_open,
	    thread_reply_size, thread_reply_size_load },
};

int
control_find(const char *name)
{
	for (int i = 0; i < CONTROL_FILES; i++)
		if (strcmp(controls[i].name, name) == 0)
			return i;
	return -1;
}

static void
fill(const struct session *s, const struct inode *ino, struct thread *t,
    int64_t size, struct stat *out)
{
	reply_fill(s, ino, S_IFREG | 0600, size, thread_changed_ms(t), out);
}

void
control_reply_entry(fuse_req_t req, struct thread *t, enum control_file file)
{
	struct inode key = { .kind = INODE_CONTROL,
		.thread = thread_number(t),
		.node = file };
	struct stat attr;

	int64_t size = controls[file].size(t);
	fill(session_of(req), &key, t, size, &attr);
	if (size < 0)
		attr.st_size = -1; /* what was shown last; GETATTR follows */
	reply_entry(req, &key, &attr, file == CONTROL_CTL ? 0.0 : 1.0, 0.0);
}

struct size_op {
	struct op op;
	struct inode ino;
	int64_t size;
};

static int
size_work(struct op *op)
{
	struct size_op *o = (struct size_op *)op;
	struct status st = { 0 };

	o->size = controls[o->ino.node].disk_size(op->thread, &st);
	return o->size < 0 ? -reply_errno(st.code) : 0;
}

static void
reply_attr(fuse_req_t req, const struct inode *ino, struct thread *t,
    int64_t size)
{
	struct session *s = session_of(req);
	struct stat attr;

	fill(s, ino, t, size, &attr);
	inode_set_size(s->inodes, ino->id, size);
	fuse_reply_attr(req, &attr, 0.0);
}

static void
size_finish(struct op *op)
{
	struct size_op *o = (struct size_op *)op;

	if (op->error)
		fuse_reply_err(op->req, -op->error);
	else
		reply_attr(op->req, &o->ino, op->thread, o->size);
}

static void
on_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct session *s = session_of(req);
	struct thread *t = thread_by_number(s->threads, ino->thread);

	if (!t) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	int64_t size = h && h->ops->size ? h->ops->size(h) : -1;
	if (size < 0)
		size = controls[ino->node].size(t);
	if (size >= 0) {
		reply_attr(req, ino, t, size);
		thread_put(t);
		return;
	}
	struct size_op *o =
	    (struct size_op *)op_create(sizeof *o, req, "size", t, NULL);
	o->ino = *ino;
	o->op.work = size_work;
	o->op.finish = size_finish;
	op_submit(&o->op, threads_disk_lane(s->threads));
	op_park(&o->op);
}

/* All of it succeeds; a size given through an open file cuts its text. */
static void
on_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	if ((to_set & FUSE_SET_ATTR_SIZE) && h && h->ops->truncate)
		h->ops->truncate(h, attr->st_size);
	on_getattr(req, ino, h);
}

static void
on_open(fuse_req_t req, const struct inode *ino, int flags)
{
	struct session *s = session_of(req);
	const struct control *c = &controls[ino->node];
	bool writing = (flags & O_ACCMODE) != O_RDONLY;
	struct thread *t = thread_by_number(s->threads, ino->thread);

	if (!t) {
		fuse_reply_err(req, ENOENT);
		return;
	}
	marks_clear(s, t);
	if (writing && !c->writable) {
		fuse_reply_err(req, EACCES);
		thread_put(t);
		return;
	}
	c->open(req, t, flags);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	(void)ino;
	reply_statfs(req);
}

const struct node_ops control_ops = {
	.getattr = on_getattr,
	.setattr = on_setattr,
	.open = on_open,
	.statfs = on_statfs,
};
