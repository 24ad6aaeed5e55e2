/*
 * `log`: the transcript file as far as its size is published; never blocks, or
 * `cat log` would not end.
 */
#include <errno.h>

#include "fs/control.h"

/* Kernel requests are at most this (measured). */
#define READ_MAX (1U << 20)

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	size = MIN(size, READ_MAX);
	char *out = malloc(size);

	(void)flags;
	if (!out) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	int64_t end = thread_log_size(h->thread);
	size = off >= end ? 0 : MIN(size, (size_t)(end - off));
	ssize_t n = size ? thread_log_read(h->thread, out, size, off) : 0;
	if (n < 0)
		fuse_reply_err(req, EIO);
	else
		fuse_reply_buf(req, out, (size_t)n);
	free(out);
}

static const struct handle_ops log_ops = {
	.read = on_read,
};

void
control_log_open(fuse_req_t req, struct thread *t, int flags)
{
	handle_reply_open(req,
	    handle_create(sizeof(struct handle), &log_ops, session_of(req), t,
		flags),
	    true, false);
}
