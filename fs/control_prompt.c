/*
 * `prompt`: writing it runs a turn. What is sent when is prompt_draft.h's; here
 * are the place in the queue, the commit, and the check for killed writers.
 * The handle's lock guards the draft; nothing of agent/ is called under it
 * that may report a change.
 */
#include <errno.h>
#include <fcntl.h>

#include "fs/control.h"
#include "fs/marks.h"
#include "fs/op.h"
#include "fs/prompt_draft.h"
#include "fs/reply.h"
#include "fs/text.h"

/* Masked secrets may make an accepted text longer than what was written. */
#define SHOWN_MAX ((size_t)2 * THREAD_PROMPT_MAX + 1)

struct prompt_file {
	struct handle handle;
	struct buf shown; /* immutable: for readers */
	struct lock lock;
	/* under lock */
	struct prompt_draft draft;
};

struct commit_op {
	struct op op;
	struct buf text;
};

/* EACCES would say the wrong thing: a key is missing. */
static int
refusal_errno(enum status_code code)
{
	return code == STATUS_DENIED ? ENOKEY : reply_errno(code);
}

int64_t
control_prompt_size(struct thread *t)
{
	auto_buf text = BUF_INIT(SHOWN_MAX);

	thread_prompt_text(t, &text);
	return (int64_t)text.len;
}

static void
on_read(fuse_req_t req, struct handle *h, size_t size, off_t off, int flags)
{
	(void)flags;
	text_read(req, &((struct prompt_file *)h)->shown, size, off);
}

/* Takes the place in the queue at the first WRITE. */
static int
reserve(struct prompt_file *f, struct status *st)
{
	lock_acquire(&f->lock);
	bool reserved = f->draft.reserved;
	lock_release(&f->lock);
	if (reserved)
		return 0;
	if (thread_prompt_reserve(f->handle.thread, st) < 0)
		return -1;
	lock_acquire(&f->lock);
	bool twice = f->draft.reserved; /* two writers at the same time */
	f->draft.reserved = true;
	lock_release(&f->lock);
	if (twice)
		thread_prompt_release(f->handle.thread, NULL);
	return 0;
}

/* Gives the place back if the draft has no text any more. */
static void
release_if_empty(struct prompt_file *f, const char *why)
{
	lock_acquire(&f->lock);
	bool empty = f->draft.reserved && f->draft.text.len == 0;
	if (empty)
		f->draft.reserved = false;
	lock_release(&f->lock);
	if (empty)
		thread_prompt_release(f->handle.thread, why);
}

static void
on_write(fuse_req_t req, struct handle *h, const char *bytes, size_t size,
    off_t off, const struct fuse_file_info *fi)
{
	struct prompt_file *f = (struct prompt_file *)h;
	struct status st = { 0 };

	marks_clear(h->session, h->thread);
	if (size > 0 && reserve(f, &st) < 0) {
		thread_refused(h->thread, &st);
		fuse_reply_err(req, refusal_errno(st.code));
		return;
	}
	lock_acquire(&f->lock);
	int rc = prompt_draft_write(&f->draft, fi->lock_owner, bytes, size, off,
	    &st);
	lock_release(&f->lock);
	if (rc == 0) {
		fuse_reply_write(req, size);
		return;
	}
	release_if_empty(f, NULL);
	if (st.code)
		thread_refused(h->thread, &st);
	fuse_reply_err(req, -rc);
}

static bool
was_killed(fuse_req_t req)
{
	pid_t pid = fuse_req_ctx(req)->pid;
	char path[32], text[512];

	/* A task of another pid namespace: counts as having closed. */
	if (pid <= 0)
		return false;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return prompt_killed(text);
}

static int
commit_work(struct op *op)
{
	struct commit_op *o = (struct commit_op *)op;
	struct thread *t = op_thread(op);
	struct status st = { 0 };

	int rc = thread_prompt_accept(t, o->text.bytes, o->text.len, &st);
	buf_finish(&o->text);
	if (rc < 0)
		thread_refused(t, &st);
	return rc < 0 ? -refusal_errno(st.code) : 0;
}

static void
commit_finish(struct op *op)
{
	fuse_reply_err(op->req, -op->error);
}

/* The text is accepted: from here nothing interrupts, or a tool that tries
 * again after EINTR would run the prompt twice. */
static void
commit(fuse_req_t req, struct prompt_file *f, struct buf *text)
{
	struct commit_op *o = (struct commit_op *)op_create_deaf(sizeof *o, req,
	    "prompt", NULL, &f->handle);

	o->text = *text;
	o->op.work = commit_work;
	o->op.finish = commit_finish;
	op_submit(&o->op, threads_disk_lane(f->handle.session->threads));
	op_park(&o->op);
}

/* What FLUSH and RELEASE share: *text is the prompt to commit, if that is the
 * outcome; the place in the queue goes with it. */
static enum prompt_flush
flush(struct prompt_file *f, bool all, uint64_t owner, struct buf *text,
    int *err)
{
	struct status st = { 0 };

	lock_acquire(&f->lock);
	enum prompt_flush what = all
	    ? prompt_draft_release(&f->draft, err, &st)
	    : prompt_draft_flush(&f->draft, owner, err, &st);
	if (what == PROMPT_FLUSH_COMMIT) {
		prompt_draft_take(&f->draft, text);
		f->draft.reserved = false;
	}
	lock_release(&f->lock);
	if (what == PROMPT_FLUSH_REFUSED) {
		release_if_empty(f, NULL);
		if (st.code)
			thread_refused(f->handle.thread, &st);
	}
	return what;
}

static void
on_flush(fuse_req_t req, struct handle *h, uint64_t owner)
{
	struct prompt_file *f = (struct prompt_file *)h;
	struct buf text;
	int err = 0;

	if (flush(f, false, owner, &text, &err) != PROMPT_FLUSH_COMMIT) {
		fuse_reply_err(req, -err);
	} else if (was_killed(req)) {
		buf_finish(&text);
		thread_prompt_release(h->thread,
		    "prompt dropped: its writer was killed by a signal");
		fuse_reply_err(req, 0);
	} else {
		commit(req, f, &text);
	}
}

static void
on_truncate(struct handle *h, off_t size)
{
	struct prompt_file *f = (struct prompt_file *)h;

	lock_acquire(&f->lock);
	prompt_draft_truncate(&f->draft, size);
	lock_release(&f->lock);
	release_if_empty(f, NULL);
}

struct late_commit {
	struct handle *handle;
	struct buf text;
};

static void
late_commit(void *arg)
{
	struct late_commit *c = arg;
	struct status st = { 0 };

	if (thread_prompt_accept(c->handle->thread, c->text.bytes, c->text.len,
		&st) < 0)
		thread_refused(c->handle->thread, &st);
	buf_finish(&c->text);
	handle_put(c->handle);
	free(c);
}

/* Nobody can be told any more: what is left is swept up. At the end of the
 * mount the writer has not closed, so its text is not whole. */
static void
on_close(struct handle *h)
{
	struct prompt_file *f = (struct prompt_file *)h;
	struct late_commit *c;
	struct buf text;
	int err = 0;

	if (flush(f, true, 0, &text, &err) != PROMPT_FLUSH_COMMIT) {
		release_if_empty(f, NULL);
	} else if (fuse_session_exited(h->session->fuse)) {
		buf_finish(&text);
		thread_prompt_release(h->thread,
		    "prompt dropped: the mount ended before it was closed");
	} else {
		c = xcalloc(1, sizeof *c);
		c->handle = handle_get(h);
		c->text = text;
		lane_submit(threads_disk_lane(h->session->threads), late_commit,
		    c);
	}
}

static void
on_destroy(struct handle *h)
{
	struct prompt_file *f = (struct prompt_file *)h;

	prompt_draft_finish(&f->draft);
	buf_finish(&f->shown);
	lock_finish(&f->lock);
}

static const struct handle_ops prompt_ops = {
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.truncate = on_truncate,
	.close = on_close,
	.destroy = on_destroy,
};

void
control_prompt_open(fuse_req_t req, struct thread *t, int flags)
{
	bool writing = (flags & O_ACCMODE) != O_RDONLY;
	struct status st = { 0 };

	/* A full queue is the first WRITE's to refuse: it takes the place. */
	if (writing && thread_prompt_check(t, &st) < 0 &&
	    st.code != STATUS_BUSY) {
		thread_refused(t, &st);
		fuse_reply_err(req, refusal_errno(st.code));
		thread_put(t);
		return;
	}
	struct prompt_file *f = (struct prompt_file *)handle_create(sizeof *f,
	    &prompt_ops, session_of(req), t, flags);
	lock_init(&f->lock, RANK_INODES);
	prompt_draft_init(&f->draft, flags & O_APPEND);
	f->shown = BUF_INIT(SHOWN_MAX);
	if ((flags & O_ACCMODE) != O_WRONLY)
		thread_prompt_text(t, &f->shown);
	handle_reply_open(req, &f->handle, true, false);
}
