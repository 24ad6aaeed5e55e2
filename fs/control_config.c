/*
 * `config`: this thread's settings. Complete lines are checked at WRITE, where
 * a shell shows the error; the whole is applied at the home owner's FLUSH.
 */
#include <errno.h>
#include <fcntl.h>

#include "fs/config_draft.h"
#include "fs/control.h"
#include "fs/marks.h"
#include "fs/op.h"
#include "fs/reply.h"

struct config_file {
	struct handle handle;
	struct lock lock;
	/* under lock */
	struct config_draft draft;
};

struct apply_op {
	struct op op;
	struct buf text;
};

int64_t
control_config_size(struct thread *t)
{
	auto_buf text = BUF_INIT(CONFIG_MAX);

	thread_config_text(t, &text);
	return (int64_t)text.len;
}

static void
copy_locked(struct config_file *f, struct buf *out)
{
	lock_assert_held(&f->lock);
	buf_init(out, CONFIG_MAX);
	buf_add(out, f->draft.text.bytes, f->draft.text.len);
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	struct config_file *f = (struct config_file *)h;
	struct buf text;

	(void)flags;
	lock_acquire(&f->lock);
	copy_locked(f, &text);
	lock_release(&f->lock);
	size_t from = MIN((size_t)off, text.len);
	fuse_reply_buf(req, text.bytes + from, MIN(size, text.len - from));
	buf_finish(&text);
}

static int
check_lines(struct thread *t, const struct buf *text, struct status *st)
{
	const char *p = text->bytes, *end = p + text->len, *lf;

	while (p < end && (lf = memchr(p, '\n', (size_t)(end - p)))) {
		if (thread_config_check(t, p, (size_t)(lf - p), st) < 0)
			return -reply_errno(st->code);
		p = lf + 1;
	}
	return 0;
}

static void
on_write(fuse_req_t req, struct handle *h, const char *bytes, size_t size,
    off_t off, const struct fuse_file_info *fi)
{
	struct config_file *f = (struct config_file *)h;
	auto_buf text = BUF_INIT(CONFIG_MAX);
	struct status st = { 0 };

	marks_clear(h->session, h->thread);
	lock_acquire(&f->lock);
	int rc =
	    config_draft_write(&f->draft, fi->lock_owner, bytes, size, off);
	if (rc == 0)
		copy_locked(f, &text);
	lock_release(&f->lock);
	if (rc == 0 && (rc = check_lines(h->thread, &text, &st)) < 0) {
		lock_acquire(&f->lock);
		config_draft_refuse(&f->draft);
		lock_release(&f->lock);
		thread_refused(h->thread, &st);
	}
	if (rc < 0)
		fuse_reply_err(req, -rc);
	else
		fuse_reply_write(req, size);
}

static int
apply_work(struct op *op)
{
	struct apply_op *o = (struct apply_op *)op;
	struct status st = { 0 };
	struct thread *t = op_thread(op);

	int rc = thread_config_set(t, o->text.bytes, o->text.len, &st);
	buf_finish(&o->text);
	if (rc < 0)
		thread_refused(t, &st);
	return rc < 0 ? -reply_errno(st.code) : 0;
}

static void
apply_finish(struct op *op)
{
	fuse_reply_err(op->req, -op->error);
}

static bool
take_text(struct config_file *f, uint64_t owner, bool last, struct buf *text)
{
	lock_acquire(&f->lock);
	bool apply = config_draft_flush(&f->draft, owner, last);
	if (apply)
		copy_locked(f, text);
	lock_release(&f->lock);
	return apply;
}

static void
on_flush(fuse_req_t req, struct handle *h, uint64_t owner)
{
	struct buf text;

	if (!take_text((struct config_file *)h, owner, false, &text)) {
		fuse_reply_err(req, 0);
		return;
	}
	struct apply_op *o = (struct apply_op *)op_create_deaf(sizeof *o, req,
	    "config", NULL, h);
	o->text = text;
	o->op.work = apply_work;
	o->op.finish = apply_finish;
	op_submit(&o->op, threads_disk_lane(h->session->threads));
	op_park(&o->op);
}

static void
on_truncate(struct handle *h, off_t size)
{
	struct config_file *f = (struct config_file *)h;

	lock_acquire(&f->lock);
	config_draft_truncate(&f->draft, size);
	lock_release(&f->lock);
}

struct late_apply {
	struct handle *handle;
	struct buf text;
};

static void
late_apply(void *arg)
{
	struct late_apply *a = arg;
	struct status st = { 0 };

	if (thread_config_set(a->handle->thread, a->text.bytes, a->text.len,
		&st) < 0)
		thread_refused(a->handle->thread, &st);
	buf_finish(&a->text);
	handle_put(a->handle);
	free(a);
}

static void
on_close(struct handle *h)
{
	struct buf text;

	if (fuse_session_exited(h->session->fuse) ||
	    !take_text((struct config_file *)h, 0, true, &text))
		return;
	struct late_apply *a = xcalloc(1, sizeof *a);
	a->handle = handle_get(h);
	a->text = text;
	lane_submit(threads_disk_lane(h->session->threads), late_apply, a);
}

static void
on_destroy(struct handle *h)
{
	struct config_file *f = (struct config_file *)h;

	config_draft_finish(&f->draft);
	lock_finish(&f->lock);
}

static const struct handle_ops config_ops = {
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.truncate = on_truncate,
	.close = on_close,
	.destroy = on_destroy,
};

void
control_config_open(fuse_req_t req, struct thread *t, int flags)
{
	bool writing = (flags & O_ACCMODE) != O_RDONLY;
	bool truncated = writing && (flags & O_TRUNC);
	struct config_file *f = (struct config_file *)handle_create(sizeof *f,
	    &config_ops, session_of(req), t, flags);

	lock_init(&f->lock, RANK_INODES);
	config_draft_init(&f->draft, flags & O_APPEND, truncated);
	if (!truncated)
		thread_config_text(t, &f->draft.text);
	/* What is added begins a line of its own. */
	if ((flags & O_APPEND) && f->draft.text.len > 0 &&
	    f->draft.text.bytes[f->draft.text.len - 1] != '\n')
		buf_putc(&f->draft.text, '\n');
	handle_reply_open(req, &f->handle, true, false);
}
