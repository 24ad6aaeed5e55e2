/*
 * `state`: one object, made at OPEN, and made again by a READ from the start,
 * so that a program that was woken by poll rewinds and sees what happened.
 */
#include <errno.h>

#include "fs/control.h"

#define STATE_MAX ((size_t)16 << 20)

struct state_file {
	struct handle handle;
	struct lock lock;
	/* under lock */
	struct buf text;
};

int64_t
control_state_size(struct thread *t)
{
	auto_buf text = BUF_INIT(STATE_MAX);

	thread_state_text(t, &text);
	return (int64_t)text.len;
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	struct state_file *f = (struct state_file *)h;
	struct buf text = BUF_INIT(STATE_MAX);

	(void)flags;
	if (off == 0)
		thread_state_text(h->thread, &text);
	lock_acquire(&f->lock);
	if (off == 0) {
		struct buf old = f->text;
		f->text = text;
		text = old;
	}
	size_t from = MIN((size_t)off, f->text.len);
	size = MIN(size, f->text.len - from);
	char *out = malloc(size + 1);
	if (out)
		memcpy(out, f->text.bytes + from, size);
	lock_release(&f->lock);
	buf_finish(&text);
	if (out)
		fuse_reply_buf(req, out, size);
	else
		fuse_reply_err(req, ENOMEM);
	free(out);
}

static bool
on_ready(struct handle *h)
{
	return !thread_busy(h->thread);
}

static void
on_destroy(struct handle *h)
{
	struct state_file *f = (struct state_file *)h;

	buf_finish(&f->text);
	lock_finish(&f->lock);
}

static const struct handle_ops state_ops = {
	.read = on_read,
	.ready = on_ready,
	.destroy = on_destroy,
};

void
control_state_open(fuse_req_t req, struct thread *t, int flags)
{
	struct state_file *f = (struct state_file *)handle_create(sizeof *f,
	    &state_ops, session_of(req), t, flags);

	lock_init(&f->lock, RANK_INODES);
	f->text = BUF_INIT(STATE_MAX);
	thread_state_text(t, &f->text);
	handle_reply_open(req, &f->handle, true, false);
}
