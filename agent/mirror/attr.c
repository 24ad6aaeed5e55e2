/* Attributes: getattr, setattr, statfs. */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

#define SPACE_MS 5000

bool
step_getattr(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call_node(call);
	enum look look = LOOK_NOW;

	if (!n)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	/* The workspace itself, and what is ours, from memory. */
	if (n->names && n->pending == 0 && !n->changed)
		look = refresh_locked(m, n->names->dir, call);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	n = call_node(call);
	if (!n || (node_gone(n) && n->opens == 0 && n->refs == 0))
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	/* Open here and grown there: its bytes first, then its size. */
	if (n->behind && n->names && call->tries < 4) {
		look = file_have_locked(m, n, call);
		if (look != LOOK_NOW)
			return look == LOOK_FAILED;
	}
	node_attr(m, n, !n->behind, &call->attr);
	return true;
}

void
mirror_getattr(struct mirror *m, uint32_t node, struct mirror_file *file,
    struct mirror_call *call)
{
	call_reset(m, call);
	call->node = node;
	call->handle = file;
	call_start(call, CALL_WAIT_MS, step_getattr);
}

static struct timespec
chosen_time(struct timespec wanted, struct timespec old)
{
	if (wanted.tv_nsec == UTIME_OMIT)
		return old;
	if (wanted.tv_nsec == UTIME_NOW)
		return clock_wall();
	return wanted;
}

static void
set_times_locked(struct mirror_call *call, struct node *n)
{
	n->atime = chosen_time(call->times[0], n->atime);
	n->mtime = chosen_time(call->times[1], n->mtime);
	node_touch(n, false);
	content_stamp(n);
	queue_utimens_locked(call->mirror, n);
}

static bool
step_setattr(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call_node(call);

	if (!n)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	if (call->what & MIRROR_SET_SIZE) {
		if (node_is_dir(n))
			return call_fail(call, STATUS_IS_DIR, "a directory");
		if (!S_ISREG(n->mode))
			return call_fail(call, STATUS_INVALID, "not a file");
		if (call->off > 0) {
			enum look look = file_have_locked(m, n, call);
			if (look != LOOK_NOW)
				return look == LOOK_FAILED;
		}
		if (file_truncate_locked(m, n, call->off, &call->st))
			return true;
	}
	if ((call->what & MIRROR_SET_MODE) && !S_ISLNK(n->mode)) {
		n->mode = (n->mode & S_IFMT) | (call->mode & 07777);
		node_touch(n, false);
		queue_chmod_locked(m, n);
	}
	if (call->what & MIRROR_SET_TIMES)
		set_times_locked(call, n);
	/* Without a handle nobody will flush it. */
	if ((call->what & MIRROR_SET_SIZE) && n->opens == 0)
		queue_put_locked(m, n);
	node_attr(m, n, true, &call->attr);
	node_check(n);
	return true;
}

void
mirror_setattr(struct mirror *m, uint32_t node, struct mirror_file *file,
    int what, mode_t mode, int64_t size, const struct timespec times[2],
    struct mirror_call *call)
{
	call_reset(m, call);
	call->node = node;
	call->handle = file;
	call->what = what;
	call->mode = mode;
	call->off = size;
	if (times) {
		call->times[0] = times[0];
		call->times[1] = times[1];
	}
	call_start(call, CALL_WAIT_MS, step_setattr);
}

static void
answer_space(const struct sandbox_space *s, struct statvfs *out)
{
	uint64_t block = s->block_size ? s->block_size : 4096;

	*out = (struct statvfs){
		.f_bsize = block,
		.f_frsize = block,
		.f_blocks = s->blocks,
		.f_bfree = s->free,
		.f_bavail = s->available,
		.f_files = s->files,
		.f_ffree = s->files_free,
		.f_favail = s->files_free,
		.f_namemax = PATH_NAME_MAX,
	};
}

static bool
step_statfs(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	/* Tools that check for room before they write see plenty while there
	 * is no sandbox to ask. */
	static const struct sandbox_space unknown = { .block_size = 4096,
		.blocks = 1 << 20,
		.free = 1 << 20,
		.available = 1 << 20,
		.files = 1 << 20,
		.files_free = 1 << 20 };
	bool asked =
	    call->tries > 0 || clock_mono_ms() - m->space_at < SPACE_MS;

	if (!asked && m->sandbox_known && !m->marked && m->space_at >= 0)
		return call_wait_locked(call, &fetch_space_locked(m)->waiters);
	answer_space(m->space.blocks ? &m->space : &unknown, &call->space);
	return true;
}

void
mirror_statfs(struct mirror *m, struct mirror_call *call)
{
	call_reset(m, call);
	call_start(call, LOOKUP_WAIT_MS, step_statfs);
}
