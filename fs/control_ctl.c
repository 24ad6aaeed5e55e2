/*
 * `ctl`: commands, one a line. A WRITE is checked whole before any of its
 * lines runs; lines run in order and stop at the first failure, whose errno
 * the WRITE gives. What may take long runs on the thread's lane; Ctrl-C leaves
 * the waiting and the command goes on.
 */
#include <errno.h>
#include <fcntl.h>

#include "fs/control.h"
#include "fs/marks.h"
#include "fs/op.h"
#include "fs/reply.h"
#include "fs/text.h"

#define HELP_MAX       65536
#define LINE_MAX_BYTES ((size_t)1 << 20)
/* A write of less ends a command even without a line end; more may be a piece
 * of a long one, which stdio cuts at this size. */
#define PIECE_MIN 4096

struct ctl_file {
	struct handle handle;
	struct buf help; /* immutable */
	struct lock lock;
	/* under lock */
	struct buf pending; /* the beginning of a long line */
};

struct ctl_op {
	struct op op;
	struct buf lines;
	size_t size; /* of the WRITE */
};

int64_t
control_ctl_size(struct thread *t)
{
	auto_buf text = BUF_INIT(HELP_MAX);

	(void)t;
	thread_ctl_help(&text);
	return (int64_t)text.len;
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	(void)flags;
	text_read(req, &((struct ctl_file *)h)->help, size, off);
}

/* Cuts the next line that is not blank off *rest; false at the end. */
static bool
next_line(const char **rest, const char *end, const char **line, size_t *len)
{
	while (*rest < end) {
		const char *lf = memchr(*rest, '\n', (size_t)(end - *rest));
		*line = *rest;
		*len = (size_t)((lf ? lf : end) - *rest);
		*rest = lf ? lf + 1 : end;
		if (*len > 0 && (*line)[*len - 1] == '\r')
			--*len;
		if (strspn(*line, " \t") < *len)
			return true;
	}
	return false;
}

/* All lines known and well formed? *waits: one of them may take long. */
static int
check(const struct buf *lines, bool *waits, struct status *st)
{
	const char *rest = lines->bytes, *end = rest + lines->len, *line;
	size_t len;

	*waits = false;
	while (next_line(&rest, end, &line, &len)) {
		bool w = false;
		if (thread_ctl_check(line, len, &w, st) < 0)
			return -reply_errno(st->code);
		*waits |= w;
	}
	return 0;
}

static int
run_lines(struct thread *t, const struct buf *lines, struct cancel *c)
{
	const char *rest = lines->bytes, *end = rest + lines->len, *line;
	struct status st = { 0 };
	size_t len;

	while (next_line(&rest, end, &line, &len))
		if (thread_ctl(t, line, len, c, &st) < 0)
			return -reply_errno(st.code);
	return 0;
}

static int
ctl_work(struct op *op)
{
	return run_lines(op_thread(op), &((struct ctl_op *)op)->lines,
	    op->cancel);
}

static void
ctl_finish(struct op *op)
{
	struct ctl_op *o = (struct ctl_op *)op;

	buf_finish(&o->lines);
	if (op->error)
		fuse_reply_err(op->req, -op->error);
	else
		fuse_reply_write(op->req, o->size);
}

static void
ctl_drop(struct op *op)
{
	buf_finish(&((struct ctl_op *)op)->lines);
}

static void
park(fuse_req_t req, struct handle *h, struct buf *lines, size_t size)
{
	struct ctl_op *o =
	    (struct ctl_op *)op_create(sizeof *o, req, "ctl", NULL, h);

	o->lines = *lines;
	*lines = BUF_INIT(LINE_MAX_BYTES);
	o->size = size;
	o->op.work = ctl_work;
	o->op.finish = ctl_finish;
	o->op.drop = ctl_drop;
	/* Commands have deadlines of their own. */
	o->op.deadline = 0;
	op_submit(&o->op, thread_lane(h->thread));
	op_park(&o->op);
}

/* Joins the pending piece and this one. False: wait for the rest, since a
 * long write without a line end makes no command yet. */
static bool
gather(struct ctl_file *f, const char *bytes, size_t size, struct buf *lines)
{
	struct status st = { 0 };
	bool waits;

	lock_acquire(&f->lock);
	buf_add(&f->pending, bytes, size);
	bool complete = f->pending.failed || size < PIECE_MIN ||
	    bytes[size - 1] == '\n' || check(&f->pending, &waits, &st) == 0;
	if (complete) {
		*lines = f->pending;
		f->pending = BUF_INIT(LINE_MAX_BYTES);
	}
	lock_release(&f->lock);
	return complete;
}

static void
on_write(fuse_req_t req, struct handle *h, const char *bytes, size_t size,
    off_t off, const struct fuse_file_info *fi)
{
	struct ctl_file *f = (struct ctl_file *)h;
	auto_buf lines = BUF_INIT(LINE_MAX_BYTES);
	struct status st = { 0 };
	bool waits;

	(void)off;
	(void)fi;
	marks_clear(h->session, h->thread);
	if (size == 0 || !gather(f, bytes, size, &lines)) {
		fuse_reply_write(req, size);
		return;
	}
	int rc = lines.failed ? -EFBIG : check(&lines, &waits, &st);
	if (rc == 0 && waits) {
		park(req, h, &lines, size);
		return;
	}
	if (rc == 0)
		rc = run_lines(h->thread, &lines, NULL);
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, size);
}

/* A long piece that got no line end: no command. */
static void
on_flush(fuse_req_t req, struct handle *h, uint64_t owner)
{
	struct ctl_file *f = (struct ctl_file *)h;

	(void)owner;
	lock_acquire(&f->lock);
	bool cut = f->pending.len > 0;
	buf_finish(&f->pending);
	lock_release(&f->lock);
	fuse_reply_err(req, cut ? EINVAL : 0);
}

static void
on_destroy(struct handle *h)
{
	struct ctl_file *f = (struct ctl_file *)h;

	buf_finish(&f->help);
	buf_finish(&f->pending);
	lock_finish(&f->lock);
}

static const struct handle_ops ctl_ops = {
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.destroy = on_destroy,
};

void
control_ctl_open(fuse_req_t req, struct thread *t, int flags)
{
	struct ctl_file *f = (struct ctl_file *)handle_create(sizeof *f,
	    &ctl_ops, session_of(req), t, flags);

	lock_init(&f->lock, RANK_INODES);
	f->help = BUF_INIT(HELP_MAX);
	f->pending = BUF_INIT(LINE_MAX_BYTES);
	thread_ctl_help(&f->help);
	handle_reply_open(req, &f->handle, true, false);
}
