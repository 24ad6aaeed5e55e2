/*
 * `reply`: the answer of one turn, piece by piece as it arrives. A READ waits
 * parked while the turn goes on and has nothing new; a turn that failed ends
 * with EIO after its text.
 */
#include <errno.h>
#include <fcntl.h>

#include "fs/control.h"
#include "fs/epoch.h"
#include "fs/op.h"
#include "fs/reply.h"
#include "fs/wakeup.h"

/* Kernel requests are at most this (measured). */
#define READ_MAX (1U << 20)

struct reply_file {
	struct handle handle;
	struct reply *reply; /* owns */
};

struct open_op {
	struct op op;
	int flags;
	struct reply *reply;
};

struct read_op {
	struct waiter waiter;
	int64_t off;
	size_t size;
	ssize_t got;
	char bytes[];
};

static bool
read_attempt(struct waiter *w)
{
	struct read_op *o = (struct read_op *)w;
	struct reply_file *f = (struct reply_file *)w->op.handle;
	struct status st = { 0 };
	bool more = false;

	o->got = reply_read(f->reply, o->off, o->bytes, o->size, &more, &st);
	return !(o->got == 0 && more);
}

static void
answer(fuse_req_t req, struct session *s, const char *bytes, ssize_t got)
{
	/* The turn is over for this reader: what it did must be seen now. */
	if (got <= 0)
		epoch_bump(s);
	if (got < 0)
		fuse_reply_err(req, EIO);
	else
		fuse_reply_buf(req, bytes, (size_t)got);
}

static void
read_finish(struct op *op)
{
	struct read_op *o = (struct read_op *)op;

	answer(op->req, op->session, o->bytes, o->got);
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	struct reply_file *f = (struct reply_file *)h;
	struct status st = { 0 };

	size = MIN(size, READ_MAX);
	if (flags & O_NONBLOCK) {
		bool more = false;
		char *bytes = malloc(size);
		ssize_t got = bytes
		    ? reply_read(f->reply, off, bytes, size, &more, &st)
		    : -1;
		if (got == 0 && more)
			fuse_reply_err(req, EAGAIN);
		else
			answer(req, h->session, bytes, got);
		free(bytes);
		return;
	}
	struct read_op *o = (struct read_op *)op_create(sizeof *o + size, req,
	    "reply", NULL, h);
	o->off = off;
	o->size = size;
	o->waiter.attempt = read_attempt;
	o->waiter.thread = thread_number(h->thread);
	/* As long as the turn takes; Ctrl-C ends it. */
	o->waiter.op.deadline = 0;
	o->waiter.op.finish = read_finish;
	wakeup_wait(h->session->wakeups, &o->waiter);
	op_park(&o->waiter.op);
}

static bool
on_ready(struct handle *h)
{
	return !thread_busy(h->thread);
}

static void
on_destroy(struct handle *h)
{
	reply_close(((struct reply_file *)h)->reply);
}

static const struct handle_ops reply_ops = {
	.read = on_read,
	.ready = on_ready,
	.destroy = on_destroy,
};

static int
open_work(struct op *op)
{
	struct open_op *o = (struct open_op *)op;
	struct status st = { 0 };

	return reply_open(op->thread, &o->reply, &st) < 0
	    ? -reply_errno(st.code)
	    : 0;
}

static void
open_finish(struct op *op)
{
	struct open_op *o = (struct open_op *)op;

	if (op->error) {
		fuse_reply_err(op->req, -op->error);
		return;
	}
	struct thread *t = take(op->thread);
	struct reply_file *f = (struct reply_file *)handle_create(sizeof *f,
	    &reply_ops, op->session, t, o->flags);
	f->reply = o->reply;
	handle_reply_open(op->req, &f->handle, true, false);
}

static void
open_drop(struct op *op)
{
	struct open_op *o = (struct open_op *)op;

	if (!op->error && o->reply)
		reply_close(o->reply);
}

void
control_reply_open(fuse_req_t req, struct thread *t, int flags)
{
	struct open_op *o =
	    (struct open_op *)op_create(sizeof *o, req, "reply open", t, NULL);

	o->flags = flags;
	o->op.work = open_work;
	o->op.finish = open_finish;
	o->op.drop = open_drop;
	op_submit(&o->op, threads_disk_lane(o->op.session->threads));
	op_park(&o->op);
}
