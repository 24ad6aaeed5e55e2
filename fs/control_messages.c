/* `messages`: the conversation as text, made at OPEN on the disk lane. */
#include "fs/control.h"
#include "fs/op.h"
#include "fs/reply.h"
#include "fs/text.h"

/* A conversation is bounded by its turns; this bounds the memory of one open. */
#define MESSAGES_MAX ((size_t)1 << 30)

struct messages_op {
	struct op op;
	int flags;
	struct buf text;
};

int64_t
control_messages_size(struct thread *t, struct status *st)
{
	auto_buf text = BUF_INIT(MESSAGES_MAX);

	return thread_messages_text(t, &text, st) < 0 ? -1 : (int64_t)text.len;
}

static int
open_work(struct op *op)
{
	struct messages_op *o = (struct messages_op *)op;
	struct status st = { 0 };

	return thread_messages_text(op->thread, &o->text, &st) < 0
	    ? -reply_errno(st.code)
	    : 0;
}

static void
open_finish(struct op *op)
{
	struct messages_op *o = (struct messages_op *)op;

	if (op->error) {
		buf_finish(&o->text);
		fuse_reply_err(op->req, -op->error);
		return;
	}
	struct thread *t = take(op->thread);
	handle_reply_open(op->req,
	    text_create(op->session, t, o->flags, &o->text), true, false);
}

static void
open_drop(struct op *op)
{
	buf_finish(&((struct messages_op *)op)->text);
}

void
control_messages_open(fuse_req_t req, struct thread *t, int flags)
{
	struct messages_op *o = (struct messages_op *)op_create(sizeof *o, req,
	    "messages", t, NULL);

	o->flags = flags;
	o->text = BUF_INIT(MESSAGES_MAX);
	o->op.work = open_work;
	o->op.finish = open_finish;
	o->op.drop = open_drop;
	op_submit(&o->op, threads_disk_lane(o->op.session->threads));
	op_park(&o->op);
}
