/*
 * The operations that libfuse calls. Each finds its inode and goes to the
 * table of its kind (node.h) or to the handle (handle.h).
 */
#include "fs/session.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/path.h"
#include "fs/epoch.h"
#include "fs/marks.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/reaper.h"
#include "fs/reply.h"
#include "fs/wakeup.h"

static const struct node_ops *const kinds[INODE_KINDS] = {
	[INODE_ROOT] = &root_ops,
	[INODE_THREAD] = &thread_ops,
	[INODE_CONTROL] = &control_ops,
	[INODE_CHECKPOINTS] = &checkpoints_ops,
	[INODE_CHECKPOINT] = &checkpoint_ops,
	[INODE_WORKSPACE] = &workspace_ops,
	[INODE_DIAGDIR] = &diagdir_ops,
	[INODE_DIAGFILE] = &diagfile_ops,
};

int
node_setattr_nothing(fuse_req_t req, const struct stat *attr, int to_set)
{
	struct session *s = session_of(req);

	if ((to_set & FUSE_SET_ATTR_UID) && attr->st_uid != s->uid)
		return EPERM;
	if ((to_set & FUSE_SET_ATTR_GID) && attr->st_gid != s->gid)
		return EPERM;
	return 0;
}

/* Finds the inode and calls the operation of its kind, or refuses. */
#define DISPATCH(req, id, member, refusal, ...)                                \
	do {                                                                   \
		struct inode ino_;                                             \
		if (!inode_find(session_of(req)->inodes, (id), &ino_))         \
			fuse_reply_err((req), ESTALE);                         \
		else if (!kinds[ino_.kind]->member)                            \
			fuse_reply_err((req), (refusal));                      \
		else                                                           \
			kinds[ino_.kind]->member((req), &ino_, ##__VA_ARGS__); \
	} while (0)

static bool
good_name(fuse_req_t req, const char *name)
{
	size_t len = strlen(name);

	if (len > PATH_NAME_MAX)
		fuse_reply_err(req, ENAMETOOLONG);
	else if (!name_valid(name, len))
		fuse_reply_err(req, EINVAL);
	else
		return true;
	return false;
}

static void
on_init(void *arg, struct fuse_conn_info *conn)
{
	struct session *s = arg;

	conn->want &=
	    ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_HANDLE_KILLPRIV |
		FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS);
	if (conn->capable & FUSE_CAP_ATOMIC_O_TRUNC)
		conn->want |= FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_write = MIN(conn->max_write, 1U << 20);
	conn->max_background = 64;
	s->epochs = epoch_supported(conn);
	s->keep = s->epochs ? 1.0 : 0.0;
	diag_info("mounted: FUSE %u.%u, libfuse %s, names kept %.0f s",
	    conn->proto_major, conn->proto_minor, fuse_pkgversion(), s->keep);
	atomic_store(&s->joined, true);
	eventfd_write(s->ready_fd, 1);
}

static void
on_lookup(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	if (good_name(req, name))
		DISPATCH(req, dir, lookup, ENOTDIR, name);
}

static void
forget(struct session *s, fuse_ino_t id, uint64_t count)
{
	struct inode ino;

	if (!inode_forget(s->inodes, id, count, &ino) ||
	    ino.kind != INODE_WORKSPACE)
		return;
	struct thread *t = thread_by_number(s->threads, ino.thread);
	if (t)
		mirror_forget(thread_mirror(t), ino.node, count);
	thread_put(t);
}

static void
on_forget(fuse_req_t req, fuse_ino_t id, uint64_t count)
{
	forget(session_of(req), id, count);
	fuse_reply_none(req);
}

static void
on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *list)
{
	for (size_t i = 0; i < count; i++)
		forget(session_of(req), list[i].ino, list[i].nlookup);
	fuse_reply_none(req);
}

static void
on_getattr(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	DISPATCH(req, id, getattr, EPERM, fi ? handle_of(fi) : NULL);
}

static void
on_setattr(fuse_req_t req, fuse_ino_t id, struct stat *attr, int to_set,
    struct fuse_file_info *fi)
{
	int err = node_setattr_nothing(req, attr, to_set);

	if (err)
		fuse_reply_err(req, err);
	else
		DISPATCH(req, id, setattr, EPERM, attr, to_set,
		    fi ? handle_of(fi) : NULL);
}

static void
on_readlink(fuse_req_t req, fuse_ino_t id)
{
	DISPATCH(req, id, readlink, EINVAL);
}

static void
on_mknod(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode,
    dev_t rdev)
{
	(void)rdev;
	if (!S_ISREG(mode))
		fuse_reply_err(req, EPERM);
	else if (good_name(req, name))
		DISPATCH(req, dir, mknod, EPERM, name, mode);
}

static void
on_mkdir(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode)
{
	if (good_name(req, name))
		DISPATCH(req, dir, mkdir, EPERM, name, mode);
}

static void
on_unlink(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	if (good_name(req, name))
		DISPATCH(req, dir, unlink, EPERM, name);
}

static void
on_rmdir(fuse_req_t req, fuse_ino_t dir, const char *name)
{
	if (good_name(req, name))
		DISPATCH(req, dir, rmdir, EPERM, name);
}

static void
on_symlink(fuse_req_t req, const char *target, fuse_ino_t dir, const char *name)
{
	if (good_name(req, name))
		DISPATCH(req, dir, symlink, EPERM, name, target);
}

static void
on_rename(fuse_req_t req, fuse_ino_t dir, const char *name, fuse_ino_t dir2,
    const char *name2, unsigned flags)
{
	struct inode to;

	if (!good_name(req, name) || !good_name(req, name2))
		return;
	if (!inode_find(session_of(req)->inodes, dir2, &to))
		fuse_reply_err(req, ESTALE);
	else
		DISPATCH(req, dir, rename, EPERM, name, &to, name2, flags);
}

static void
on_link(fuse_req_t req, fuse_ino_t id, fuse_ino_t dir, const char *name)
{
	struct inode to;

	if (!good_name(req, name))
		return;
	if (!inode_find(session_of(req)->inodes, dir, &to))
		fuse_reply_err(req, ESTALE);
	else
		DISPATCH(req, id, link, EPERM, &to, name);
}

static void
on_open(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	DISPATCH(req, id, open, EPERM, fi->flags);
}

static void
on_create(fuse_req_t req, fuse_ino_t dir, const char *name, mode_t mode,
    struct fuse_file_info *fi)
{
	if (good_name(req, name))
		DISPATCH(req, dir, create, EPERM, name, mode, fi->flags);
}

static void
on_opendir(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)fi;
	DISPATCH(req, id, opendir, ENOTDIR);
}

/* A share is held over each: the answer lets another worker run RELEASE while
 * this one is still in here. */
static void
on_read(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
    struct fuse_file_info *fi)
{
	struct handle *h = handle_get(handle_of(fi));

	(void)id;
	if (h->ops->read)
		h->ops->read(req, h, size, off, fi->flags);
	else
		fuse_reply_err(req, EINVAL);
	handle_put(h);
}

static void
on_write(fuse_req_t req, fuse_ino_t id, const char *bytes, size_t size,
    off_t off, struct fuse_file_info *fi)
{
	struct handle *h = handle_get(handle_of(fi));

	(void)id;
	if (h->ops->write)
		h->ops->write(req, h, bytes, size, off, fi);
	else
		fuse_reply_err(req, EBADF);
	handle_put(h);
}

static void
on_flush(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	struct handle *h = handle_get(handle_of(fi));

	(void)id;
	if (h->ops->flush)
		h->ops->flush(req, h, fi->lock_owner);
	else
		fuse_reply_err(req, 0);
	handle_put(h);
}

static void
on_fsync(fuse_req_t req, fuse_ino_t id, int datasync, struct fuse_file_info *fi)
{
	struct handle *h = handle_get(handle_of(fi));

	(void)id;
	(void)datasync;
	if (h->ops->fsync)
		h->ops->fsync(req, h);
	else
		fuse_reply_err(req, 0);
	handle_put(h);
}

/* Of files and of directories. */
static void
on_release(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi)
{
	(void)id;
	handle_release(handle_of(fi));
	fuse_reply_err(req, 0);
}

static void
list_directory(fuse_req_t req, size_t size, off_t off,
    struct fuse_file_info *fi, bool plus)
{
	struct handle *h = handle_get(handle_of(fi));

	if (h->ops->readdir)
		h->ops->readdir(req, h, size, off, plus);
	else
		fuse_reply_err(req, ENOTDIR);
	handle_put(h);
}

static void
on_readdir(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
    struct fuse_file_info *fi)
{
	(void)id;
	list_directory(req, size, off, fi, false);
}

static void
on_readdirplus(fuse_req_t req, fuse_ino_t id, size_t size, off_t off,
    struct fuse_file_info *fi)
{
	(void)id;
	list_directory(req, size, off, fi, true);
}

static void
on_statfs(fuse_req_t req, fuse_ino_t id)
{
	DISPATCH(req, id, statfs, EPERM);
}

static void
on_poll(fuse_req_t req, fuse_ino_t id, struct fuse_file_info *fi,
    struct fuse_pollhandle *ph)
{
	(void)id;
	wakeup_poll(req, handle_of(fi), ph);
}

/* The kernel keeps asking for a file system that answers this, where ENOSYS
 * would be kept in mind for all: but programs see the same. */
static void
on_fallocate(fuse_req_t req, fuse_ino_t id, int mode, off_t off, off_t len,
    struct fuse_file_info *fi)
{
	(void)id;
	(void)mode;
	(void)off;
	(void)len;
	(void)fi;
	fuse_reply_err(req, EOPNOTSUPP);
}

/* No xattr, ioctl, lseek, copy_file_range: libfuse answers ENOSYS once and the
 * kernel does what is right from then on (ENOTSUP, ENOTTY, its own way). */
static const struct fuse_lowlevel_ops operations = {
	.init = on_init,
	.lookup = on_lookup,
	.forget = on_forget,
	.forget_multi = on_forget_multi,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.open = on_open,
	.create = on_create,
	.read = on_read,
	.write = on_write,
	.flush = on_flush,
	.release = on_release,
	.fsync = on_fsync,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.releasedir = on_release,
	.fsyncdir = on_fsync,
	.statfs = on_statfs,
	.poll = on_poll,
	.fallocate = on_fallocate,
};

static struct fuse_session *
fuse_session_make(struct session *s, const struct settings *settings)
{
	const char *extra = settings->fuse_options;
	auto_free char *options =
	    xasprintf("fsname=sandagentfs,subtype=sandagentfs,"
		      "default_permissions%s%s%s",
		settings->debug ? ",debug" : "", extra && *extra ? "," : "",
		extra ? extra : "");
	char name[] = "sandagentfs", flag[] = "-o";
	char *argv[] = { name, flag, options, NULL };
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);

	struct fuse_session *fuse =
	    fuse_session_new(&args, &operations, sizeof operations, s);
	fuse_opt_free_args(&args);
	return fuse;
}

int
session_create(const struct settings *settings, struct session **out,
    struct status *st)
{
	struct session *s = xcalloc(1, sizeof *s);

	s->settings = settings;
	s->uid = getuid();
	s->gid = getgid();
	s->started_ms = clock_wall_ms();
	atomic_init(&s->root_changed_ms, s->started_ms);
	s->ready_fd = eventfd(0, EFD_CLOEXEC);
	s->end_fd = eventfd(0, EFD_CLOEXEC);
	s->inodes = inode_table_create();
	s->handles = handles_create();
	gate_init(&s->gate);
	s->wakeups = wakeups_create();
	s->marks = marks_create();
	s->seen = epoch_seen_create();
	s->fuse = fuse_session_make(s, settings);
	if (!s->fuse) {
		session_destroy(s);
		return status_set(st, STATUS_INVALID,
		    "cannot start: libfuse refuses the mount options");
	}
	*out = s;
	return 0;
}

void
session_close(struct session *s)
{
	reaper_stop(s->reaper);
	handles_close_all(s->handles);
	gate_close(&s->gate);
	fuse_session_unmount(s->fuse);
}

void
session_destroy(struct session *s)
{
	if (!s)
		return;
	reaper_destroy(s->reaper);
	if (s->fuse)
		fuse_session_destroy(s->fuse);
	handles_destroy(s->handles);
	wakeups_destroy(s->wakeups);
	marks_destroy(s->marks);
	epoch_seen_destroy(s->seen);
	inode_table_destroy(s->inodes);
	gate_finish(&s->gate);
	close(s->ready_fd);
	close(s->end_fd);
	free(s);
}

void
session_changed(void *session, int64_t thread)
{
	struct session *s = session;

	epoch_changed(s, thread);
	wakeup_changed(s->wakeups, thread);
}
