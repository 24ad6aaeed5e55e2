/*
 * Which listing a look needs. Freshness is paid in OPENDIR, OPEN and GETATTR;
 * one listing is under way for a subtree and everybody waits for that one.
 * A refresh never starts a sandbox; the first look at a directory does.
 */
#include "agent/mirror/internal.h"

#define ABSENT_MS 30000 /* how long a look-up believes that there is none */
#define TRIES_MAX 4

bool
path_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/' || len == 0);
}

/* Replaces the prefix `top` of path by `by`; false if it gets too long. */
static bool
replace_top(char path[PATH_BYTES_MAX + 1], const char *top, const char *by)
{
	char out[PATH_BYTES_MAX + 1];
	int n = snprintf(out, sizeof out, "%s%s", by, path + strlen(top));

	if (n < 0 || (size_t)n >= sizeof out)
		return false;
	memcpy(path, out, (size_t)n + 1);
	return true;
}

static bool
maps(enum push_kind kind)
{
	return kind != PUSH_PUT && kind != PUSH_MKDIR && kind != PUSH_SYMLINK &&
	    kind != PUSH_CHMOD && kind != PUSH_UTIMENS;
}

/* What the path was before the operation; false: it was not, or it is being
 * moved at this moment. */
static bool
map_back(const struct qop *op, char path[PATH_BYTES_MAX + 1])
{
	bool sent = op->state == OP_SENT;

	switch (op->kind) {
	case PUSH_LINK:
		if (strcmp(path, op->path2) != 0)
			return true;
		return !sent && replace_top(path, op->path2, op->path);
	case PUSH_EXCHANGE:
		if (path_below(path, op->path2))
			return !sent && replace_top(path, op->path2, op->path);
		if (path_below(path, op->path))
			return !sent && replace_top(path, op->path, op->path2);
		return true;
	case PUSH_RENAME:
	case PUSH_RENAME_NOREPLACE:
		if (path_below(path, op->path2))
			return !sent && replace_top(path, op->path2, op->path);
		return !path_below(path, op->path);
	case PUSH_RMDIR:
	case PUSH_UNLINK:
		return !path_below(path, op->path);
	case PUSH_PUT:
	case PUSH_MKDIR:
	case PUSH_SYMLINK:
	case PUSH_CHMOD:
	case PUSH_UTIMENS:
		return true;
	}
	return true;
}

/* Undoes what is queued, newest first. */
bool
path_remote_locked(const struct mirror *m, char path[PATH_BYTES_MAX + 1])
{
	const struct qop **list = NULL;
	size_t count = 0, cap = 0;
	bool sure = true;

	for (const struct qop *op = m->queue; op; op = op->next) {
		if (!maps(op->kind))
			continue;
		if (count == cap) {
			cap = MAX(cap * 2, (size_t)16);
			list = xrealloc(list, cap, sizeof(struct qop *));
		}
		list[count++] = op;
	}
	while (count > 0 && sure)
		sure = map_back(list[--count], path);
	free(list);
	return sure;
}

void
dir_stale(struct node *dir)
{
	dir->dir->listed_at = INT64_MIN / 2;
}

/* Made here and not pushed: all that is in it is known. (One of an earlier run
 * may have been pushed: it is not listed yet.) */
static bool
never_there(const struct node *dir)
{
	return !dir->known && dir->pending > 0 && dir->dir->listed &&
	    dir->number != MIRROR_ROOT;
}

bool
dir_fresh(struct mirror *m, const struct node *dir,
    const struct mirror_call *call)
{
	const struct dir *d = dir->dir;
	int64_t now = clock_mono_ms();

	if (never_there(dir) || m->marked)
		return true;
	if (!d->listed || d->listed_seq < m->forget_seq)
		return false;
	if (now < m->still_until)
		return true;
	if (m->absent && !m->sandbox_known && call &&
	    call->step != step_opendir)
		return d->listed_at + ABSENT_MS >= now;
	return d->listed_at + FRESH_MS >= (call ? call->began : now);
}

/* The directory whose listing brings `dir`: the top of the subtree it came
 * with, unless that did not help or has become large. */
static struct node *
choose(struct mirror *m, struct node *dir, const struct mirror_call *call)
{
	if (call->tries > 0)
		return dir;
	if (!dir->dir->listed)
		return m->root->dir->listed ? dir : m->root;
	struct node *top = node_find(m, dir->dir->list_root);
	if (!top || !node_is_dir(top) || node_gone(top) ||
	    top->dir->list_size > LIST_DEEP_MAX)
		return dir;
	return top;
}

enum look
wait_for_push_locked(struct mirror_call *call)
{
	push_kick_locked(call->mirror);
	(void)!call_wait_locked(call, &call->mirror->push_waiters);
	return LOOK_WAIT;
}

enum look
refresh_locked(struct mirror *m, struct node *dir, struct mirror_call *call)
{
	char buf[PATH_BYTES_MAX + 1], now[PATH_BYTES_MAX + 1];

	lock_assert_held(&m->lock);
	if (dir->dir->unsure > 0)
		return wait_for_push_locked(call);
	if (dir_fresh(m, dir, call) || node_gone(dir))
		return LOOK_NOW;
	if (call->tries >= TRIES_MAX) {
		if (dir->dir->listed)
			return LOOK_NOW;
		status_set(&call->st, STATUS_IO, "cannot be listed");
		return LOOK_FAILED;
	}
	struct node *top = choose(m, dir, call);
	const char *path = node_path(top, buf);
	if (!path) {
		status_set(&call->st, STATUS_INVALID, "the path is too long");
		return LOOK_FAILED;
	}
	snprintf(now, sizeof now, "%s", path);
	/* A directory that is being moved is listed when it has arrived. */
	if (!path_remote_locked(m, now) || strcmp(now, path) != 0) {
		if (dir->dir->listed)
			return LOOK_NOW;
		return wait_for_push_locked(call);
	}
	struct fetch *f = fetch_list_locked(m, top, path,
	    top->dir->listed ? SANDBOX_LOOK : SANDBOX_START,
	    top->dir->list_size <= LIST_DEEP_MAX);
	(void)!call_wait_locked(call, &f->waiters);
	return LOOK_WAIT;
}
