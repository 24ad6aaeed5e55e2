/* Answers to the kernel; see reply.h. */
#include "fs/reply.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* No default: a new code must be given its errno here. */
int
reply_errno(enum status_code code)
{
	switch (code) {
	case STATUS_OK:
		return 0;
	case STATUS_CANCELED:
		return ECANCELED;
	case STATUS_NOT_FOUND:
		return ENOENT;
	case STATUS_EXISTS:
		return EEXIST;
	case STATUS_DENIED:
		return EACCES;
	case STATUS_BUSY:
		return EBUSY;
	case STATUS_TIMEOUT:
		return ETIMEDOUT;
	case STATUS_UNAVAILABLE:
		return EHOSTDOWN;
	case STATUS_INVALID:
		return EINVAL;
	case STATUS_NOT_DIR:
		return ENOTDIR;
	case STATUS_IS_DIR:
		return EISDIR;
	case STATUS_NOT_EMPTY:
		return ENOTEMPTY;
	case STATUS_NOT_SUPPORTED:
		return ENOTSUP;
	case STATUS_TOO_BIG:
		return EFBIG;
	case STATUS_NO_MEMORY:
		return ENOMEM;
	case STATUS_NO_SPACE:
		return ENOSPC;
	case STATUS_IO:
	case STATUS_BUG:
		return EIO;
	}
	return EIO;
}

void
reply_status(fuse_req_t req, const struct status *st)
{
	fuse_reply_err(req, reply_errno(st->code));
}

void
reply_fill(const struct session *s, const struct inode *key, mode_t mode,
    int64_t size, int64_t changed_ms, struct stat *out)
{
	struct timespec t = { .tv_sec = changed_ms / 1000,
		.tv_nsec = changed_ms % 1000 * 1000000 };

	*out = (struct stat){ .st_ino = inode_number(key),
		.st_mode = mode,
		.st_nlink = 1,
		.st_uid = s->uid,
		.st_gid = s->gid,
		.st_blksize = 4096,
		.st_atim = t,
		.st_mtim = t,
		.st_ctim = t };
	if (size > 0) {
		out->st_size = size;
		out->st_blocks = (size + 511) / 512;
	}
}

void
reply_fill_mirror(const struct session *s, int64_t thread,
    const struct mirror_attr *attr, struct stat *out)
{
	*out = (struct stat){ .st_ino = inode_number_of(thread, attr->ino),
		.st_mode = attr->mode,
		.st_nlink = attr->nlink ? attr->nlink : 1,
		.st_uid = s->uid,
		.st_gid = s->gid,
		.st_size = attr->size,
		.st_blocks = (blkcnt_t)attr->blocks,
		.st_blksize = 4096,
		.st_atim = attr->atime,
		.st_mtim = attr->mtime,
		.st_ctim = attr->ctime };
	if (attr->node == MIRROR_ROOT) {
		/* Known before the sandbox is: it must not change then. */
		struct inode key = { .kind = INODE_WORKSPACE,
			.thread = thread,
			.node = MIRROR_ROOT };
		out->st_ino = inode_number(&key);
	}
}

/* Takes back a lookup that never reached the kernel. */
static void
undo_lookup(struct session *s, uint64_t id)
{
	struct inode ino;

	if (!inode_forget(s->inodes, id, 1, &ino) ||
	    ino.kind != INODE_WORKSPACE)
		return;
	struct thread *t = thread_by_number(s->threads, ino.thread);
	if (t)
		mirror_forget(thread_mirror(t), ino.node, 1);
	thread_put(t);
}

void
reply_entry(fuse_req_t req, const struct inode *key, const struct stat *attr,
    double entry_s, double attr_s)
{
	struct session *s = session_of(req);
	/* A second shell must not wait behind the first one's command: the
	 * kernel serialises writers of an inode, not of a name. */
	bool fresh = key->kind == INODE_CONTROL && entry_s == 0;
	struct fuse_entry_param e = { .attr = *attr,
		.ino = inode_get(s->inodes, key, fresh),
		.attr_timeout = attr_s,
		.entry_timeout = entry_s };

	if (attr->st_size < 0)
		e.attr.st_size = inode_size(s->inodes, e.ino);
	if (fuse_reply_entry(req, &e) == -ENOENT)
		undo_lookup(s, e.ino);
}

void
reply_no_entry(fuse_req_t req, double seconds)
{
	struct fuse_entry_param e = { .entry_timeout = seconds };

	if (seconds > 0)
		fuse_reply_entry(req, &e);
	else
		fuse_reply_err(req, ENOENT);
}

void
reply_statfs(fuse_req_t req)
{
	struct statvfs space;

	if (statvfs(session_of(req)->settings->state_dir, &space) < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	space.f_namemax = 255;
	fuse_reply_statfs(req, &space);
}
