/* Open texts; see text.h. */
#include "fs/text.h"

struct text {
	struct handle handle;
	struct buf bytes; /* immutable */
};

void
text_read(fuse_req_t req, const struct buf *text, size_t size, off_t off)
{
	if (off < 0 || (size_t)off >= text->len)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_buf(req, text->bytes + off,
		    MIN(size, text->len - (size_t)off));
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	(void)flags;
	text_read(req, &((struct text *)h)->bytes, size, off);
}

static void
on_destroy(struct handle *h)
{
	buf_finish(&((struct text *)h)->bytes);
}

static const struct handle_ops text_ops = {
	.read = on_read,
	.destroy = on_destroy,
};

struct handle *
text_create(struct session *s, struct thread *thread, int flags,
    struct buf *text)
{
	struct text *t = (struct text *)handle_create(sizeof *t, &text_ops, s,
	    thread, flags);

	t->bytes = *text;
	*text = BUF_INIT(text->max);
	return &t->handle;
}
