/*
 * Open files. All handles of a node share its content, as on a local disk; a
 * node with handles keeps its content open. Cached reads and all writes are
 * local and at once. A large file that is not whole here is read directly: its
 * reads wait for the ranges they need.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

#define CHANGES_MAX 8 /* times that a file may change while it is fetched */
#define AHEAD       ((int64_t)4 << 20)

static bool
writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY;
}

struct mirror_file *
file_make_locked(struct mirror *m, struct node *n, int flags, struct status *st)
{
	if (n->opens == 0 && n->content && content_open_locked(n->content, st))
		return NULL;
	struct mirror_file *file = xcalloc(1, sizeof *file);
	n->opens++;
	file->m = m;
	file->node = n;
	file->flags = flags;
	return file;
}

bool
file_path_locked(struct mirror *m, struct node *n, struct mirror_call *call,
    char path[PATH_BYTES_MAX + 1], enum look *look)
{
	char buf[PATH_BYTES_MAX + 1];
	const char *now = node_path(n, buf);

	*look = LOOK_FAILED;
	if (!now) {
		status_set(&call->st, STATUS_NOT_FOUND, "it was removed");
		return false;
	}
	snprintf(path, PATH_BYTES_MAX + 1, "%s", now);
	if (path_remote_locked(m, path))
		return true;
	/* Something moves there: where it is, is known after. */
	*look = wait_for_push_locked(call);
	return false;
}

static bool
empty_content_locked(struct mirror *m, struct node *n, struct status *st)
{
	struct content *c = content_make_locked(m, n->number, false, st);

	if (!c)
		return false;
	c->whole = true;
	c->version = n->remote;
	c->have_version = true;
	node_set_content_locked(m, n, c);
	node_show_locked(n);
	return true;
}

enum look
file_have_locked(struct mirror *m, struct node *n, struct mirror_call *call)
{
	char path[PATH_BYTES_MAX + 1];
	enum look look;

	lock_assert_held(&m->lock);
	if (n->content && n->content->whole && !n->behind)
		return LOOK_NOW;
	if (!n->known) {
		status_set(&call->st, STATUS_NOT_FOUND, "it is not there");
		return LOOK_FAILED;
	}
	if (call->tries >= CHANGES_MAX) {
		status_set(&call->st, STATUS_IO,
		    "it changes faster than it can be fetched");
		return LOOK_FAILED;
	}
	if (n->remote.size == 0)
		return empty_content_locked(m, n, &call->st) ? LOOK_NOW
							     : LOOK_FAILED;
	if (!file_path_locked(m, n, call, path, &look))
		return look;
	(void)!call_wait_locked(call,
	    &fetch_content_locked(m, n, path)->waiters);
	return LOOK_WAIT;
}

/* A sparse copy for direct reads. */
static bool
partial_locked(struct mirror *m, struct node *n, struct status *st)
{
	if (n->content)
		return true;
	struct content *c = content_make_locked(m, n->number, false, st);
	if (!c)
		return false;
	c->size = n->remote.size;
	c->version = n->remote;
	c->have_version = true;
	node_set_content_locked(m, n, c);
	node_show_locked(n);
	return true;
}

static bool
answer_open_locked(struct mirror_call *call, struct node *n, bool direct)
{
	struct mirror *m = call->mirror;

	call->file = file_make_locked(m, n, call->flags, &call->st);
	if (!call->file)
		return true;
	call->file->direct = direct;
	call->direct_io = direct;
	call->keep_cache =
	    !direct && n->opened && n->opened_serial == n->serial;
	if (!direct) {
		n->opened = true;
		n->opened_serial = n->serial;
	}
	node_attr(m, n, true, &call->attr);
	node_check(n);
	return true;
}

static bool
openable(struct mirror_call *call, const struct node *n)
{
	if (!n)
		return !call_fail(call, STATUS_NOT_FOUND, "no such file");
	if (S_ISDIR(n->mode))
		return !call_fail(call, STATUS_IS_DIR, "a directory");
	if (S_ISLNK(n->mode))
		return !call_fail(call, STATUS_INVALID, "a symbolic link");
	if (!S_ISREG(n->mode))
		return !call_fail(call, STATUS_NOT_SUPPORTED,
		    "neither a file nor a directory");
	return true;
}

bool
step_open(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call_node(call);
	enum look look = LOOK_NOW;

	if (!openable(call, n))
		return true;
	if (n->names && n->pending == 0 && !n->changed)
		look = refresh_locked(m, n->names->dir, call);
	n = call_node(call);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!openable(call, n))
		return true;
	if (writes(call->flags) && (call->flags & O_TRUNC)) {
		if (file_truncate_locked(m, n, 0, &call->st))
			return true;
		return answer_open_locked(call, n, false);
	}
	bool whole = n->content && n->content->whole;
	if (n->remote.size > WHOLE_MAX && !whole && !writes(call->flags)) {
		if (!partial_locked(m, n, &call->st))
			return true;
		return answer_open_locked(call, n, true);
	}
	look = file_have_locked(m, n, call);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	return answer_open_locked(call, n, false);
}

void
mirror_open(struct mirror *m, uint32_t node, int flags,
    struct mirror_call *call)
{
	call_reset(m, call);
	call->node = node;
	call->flags = flags;
	call_start(call, CALL_WAIT_MS, step_open);
}

/* --- Reading -------------------------------------------------------------- */

static void
finish_read(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct content *c = call->content;

	if (!c)
		return;
	size_t len = MIN(call->len, call->bytes.max);
	char *room = len > 0 ? buf_reserve(&call->bytes, len) : NULL;
	ssize_t n = 0;
	if (room)
		n = pread(c->fd, room, len, call->off);
	if (n < 0 || (len > 0 && !room))
		status_errno(&call->st, room ? errno : ENOMEM, "read");
	else
		buf_commit(&call->bytes, (size_t)n);
	call->content = NULL;
	mirror_lock(m);
	content_close_locked(c);
	content_put_locked(c);
	mirror_unlock(m);
}

static bool
answer_read_locked(struct mirror_call *call, struct content *c)
{
	int64_t left = c->size - call->off;

	if (left <= 0 || call->len == 0)
		return true;
	call->len = (size_t)MIN((int64_t)call->len, left);
	if (content_open_locked(c, &call->st))
		return true;
	call->content = content_get(c);
	call->finish = finish_read;
	return true;
}

/* Keeps up to two ranges under way in front of a sequential reader. */
static void
read_ahead_locked(struct mirror *m, struct node *n, const char *path,
    int64_t end)
{
	struct content *c = n->content;
	int64_t at = end;

	for (int i = 0; i < 2; i++) {
		at = extents_missing(&c->extents, at);
		if (at >= c->size || at > end + AHEAD)
			return;
		struct fetch *f = fetch_range_locked(m, n, path, at, 0);
		if (!f)
			return;
		at = f->to;
	}
}

static bool
step_read(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call->handle->node;
	char path[PATH_BYTES_MAX + 1];
	enum look look;

	if (n->content && n->content->whole)
		return answer_read_locked(call, n->content);
	if (call->off >= n->size)
		return true;
	if (!partial_locked(m, n, &call->st) ||
	    !file_path_locked(m, n, call, path, &look))
		return n->content ? look == LOOK_FAILED : true;
	struct content *c = n->content;
	int64_t end = MIN(call->off + (int64_t)call->len, c->size);
	bool sequential = call->off == c->read_to;
	int64_t at = extents_missing(&c->extents, call->off);
	struct fetch *f = NULL;
	if (at < end) {
		f = fetch_range_locked(m, n, path, at, end - at);
		if (!f)
			return call_fail(call, STATUS_IO, "no local copy");
	}
	if (sequential)
		read_ahead_locked(m, n, path, f ? f->to : end);
	if (f)
		return call_wait_locked(call, &f->waiters);
	c->read_to = end;
	return answer_read_locked(call, c);
}

void
mirror_read(struct mirror_file *file, int64_t off, size_t len,
    struct mirror_call *call)
{
	call_reset(file->m, call);
	call->handle = file;
	call->off = off;
	call->len = len;
	call_start(call, CALL_WAIT_MS, step_read);
}

void
mirror_release(struct mirror_file *file)
{
	struct mirror *m = file->m;
	struct node *n = file->node;

	mirror_lock(m);
	if (writes(file->flags))
		queue_put_locked(m, n);
	if (--n->opens == 0 && n->content)
		content_close_locked(n->content);
	if (n->opens == 0 && n->behind) {
		n->behind = false;
		node_outdated_locked(m, n);
	}
	cache_trim_locked(m);
	node_check_alive_locked(m, n);
	mirror_unlock(m);
	free(file);
}
