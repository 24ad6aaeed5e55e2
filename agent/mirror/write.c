/*
 * Changing contents, flush and fsync. What is written goes to the content file
 * at once; flush queues it and makes it durable here, fsync waits for the
 * sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

void
content_stamp(const struct node *n)
{
	const struct timespec times[2] = { n->atime, n->mtime };
	char path[CONTENT_PATH_MAX];

	if (!n->content || !n->content->in_queue)
		return;
	content_path(n->content, path);
	utimensat(AT_FDCWD, path, times, 0);
}

/* What is being sent stays as it is, if a copy is cheap: a reader in the
 * sandbox must not meet half of the next version. */
static bool
copy_first(const struct content *c)
{
	return c->sent > 0 && c->size <= WHOLE_MAX;
}

int
file_writable_locked(struct mirror *m, struct node *n, struct status *st)
{
	struct content *c = n->content;

	lock_assert_held(&m->lock);
	if (!c || !c->whole)
		return status_set(st, STATUS_BUG, "written before it is here");
	/* Based on an older version than the newest one known there: so it
	 * must clash when it is pushed. */
	if (c->have_version && n->known)
		n->remote = c->version;
	n->behind = false;
	if (copy_first(c)) {
		c = content_copy_locked(c, st);
		if (!c)
			return -1;
		node_set_content_locked(m, n, c);
	}
	return content_to_queue_locked(c, st);
}

static void
wrote_locked(struct mirror *m, struct node *n)
{
	n->content->have_version = false;
	n->content->writes++;
	n->size = n->content->size;
	node_touch(n, true);
	if (n->names)
		node_set_changed_locked(m, n, true);
}

static int
start_anew_locked(struct mirror *m, struct node *n, struct status *st)
{
	struct content *c = content_make_locked(m, n->number, true, st);

	if (!c)
		return -1;
	c->whole = true;
	n->behind = false;
	node_set_content_locked(m, n, c);
	wrote_locked(m, n);
	return 0;
}

/* A truncation to nothing needs no bytes, and one of a file that is being sent
 * or is only partly here begins a new content. */
int
file_truncate_locked(struct mirror *m, struct node *n, int64_t size,
    struct status *st)
{
	struct content *c = n->content;

	lock_assert_held(&m->lock);
	if (size == 0 && (!c || !c->whole || c->sent > 0 || n->behind))
		return start_anew_locked(m, n, st);
	if (file_writable_locked(m, n, st))
		return -1;
	c = n->content;
	if (content_open_locked(c, st))
		return -1;
	int err = ftruncate(c->fd, size);
	if (err) {
		err = status_errno(st, errno, "truncate");
	} else {
		c->size = size;
		wrote_locked(m, n);
	}
	content_close_locked(c);
	return err;
}

ssize_t
mirror_write(struct mirror_file *file, const void *bytes, size_t len,
    int64_t off, bool append)
{
	struct mirror *m = file->m;
	struct node *n = file->node;
	struct status st = { 0 };
	ssize_t done = (ssize_t)len;

	mirror_lock(m);
	if (append)
		off = n->size;
	if (file_writable_locked(m, n, &st)) {
		done = st.code == STATUS_NO_SPACE ? -ENOSPC : -EIO;
	} else if (len > 0 && pwrite_all(n->content->fd, bytes, len, off)) {
		done = -errno;
	} else if (len > 0) {
		struct content *c = n->content;
		c->size = MAX(c->size, off + (int64_t)len);
		wrote_locked(m, n);
		node_check(n);
	}
	mirror_unlock(m);
	return done;
}

/* Reports an error of an earlier push, once. */
static bool
report_error(struct mirror_call *call, struct node *n)
{
	if (n->error.code == STATUS_OK)
		return false;
	call->st = n->error;
	n->error.code = STATUS_OK;
	return true;
}

static bool
durable(const struct node *n)
{
	const struct qop *op = n->last_op;

	return !(n->content &&
		   (n->content->want_sync || n->content->syncing)) &&
	    (!op || op->row != 0);
}

static bool
step_flush(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call->handle->node;

	if (call->seen == 0) {
		if ((call->handle->flags & O_ACCMODE) != O_RDONLY)
			queue_put_locked(m, n);
		if (report_error(call, n) || !n->names || durable(n))
			return true;
		call->seen = commit_kick_locked(m);
	}
	if (m->discarded)
		return true;
	if (m->commit_done < call->seen)
		return call_wait_locked(call, &m->commit_waiters);
	if (m->commit_error_ticket >= call->seen)
		call->st = m->commit_error;
	return true;
}

void
mirror_flush(struct mirror_file *file, struct mirror_call *call)
{
	call_reset(file->m, call);
	call->handle = file;
	call_start(call, CALL_WAIT_MS, step_flush);
}

static bool
step_sync(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call->handle ? call->handle->node : NULL;

	if (call->seen == 0) {
		if (n)
			queue_put_locked(m, n);
		if (n && n->pending == 0)
			return report_error(call, n) || true;
		call->seen = m->seq;
		m->push_sync = true;
		push_kick_locked(m);
	}
	if (queue_busy_locked(m, call->seen))
		return call_wait_locked(call, &m->push_waiters);
	/* While it is not there, no fsync of it succeeds. */
	if (n && !report_error(call, n) && n->last_op &&
	    n->last_op->seq <= call->seen)
		call->st = n->last_op->error;
	return true;
}

void
mirror_fsync(struct mirror_file *file, struct mirror_call *call)
{
	call_reset(file->m, call);
	call->handle = file;
	call_start(call, CALL_WAIT_MS, step_sync);
}

void
mirror_sync(struct mirror *m, struct mirror_call *call)
{
	call_reset(m, call);
	call_start(call, CALL_WAIT_MS, step_sync);
}

bool
step_barrier(struct mirror_call *call)
{
	struct mirror *m = call->mirror;

	if (call->seen == 0) {
		queue_dirty_locked(m);
		call->seen = m->seq;
		push_kick_locked(m);
	}
	if (queue_busy_locked(m, call->seen))
		return call_wait_locked(call, &m->push_waiters);
	return true;
}
