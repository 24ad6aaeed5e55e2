/*
 * The directory of a thread: fixed names, in the order of contract §1, `reply`
 * last, so that a walk reads the rest first, and `workspace` after the control
 * files, so that `rm -r` has left its marks when it comes there. Answered from
 * memory.
 */
#include "fs/threaddir.h"

#include <errno.h>
#include <sys/stat.h>

#include "fs/control.h"
#include "fs/marks.h"
#include "fs/names.h"
#include "fs/node.h"
#include "fs/reply.h"
#include "fs/workspace.h"

#define CHECKPOINTS_NAME "checkpoints"
#define WORKSPACE_NAME   "workspace"

static struct inode
subdir_key(enum inode_kind kind, int64_t thread)
{
	return (struct inode){ .kind = kind,
		.thread = thread,
		.node = kind == INODE_WORKSPACE ? MIRROR_ROOT : 0 };
}

static void
fill(const struct session *s, const struct inode *key, struct thread *t,
    struct stat *out)
{
	reply_fill(s, key, S_IFDIR | 0700, -1, thread_changed_ms(t), out);
}

unsigned
threaddir_marks(void)
{
	return ((1U << CONTROL_FILES) - 1) | 1U << MARK_CHECKPOINTS |
	    1U << MARK_WORKSPACE;
}

void
threaddir_reply_entry(fuse_req_t req, struct thread *t)
{
	struct inode key = { .kind = INODE_THREAD, .thread = thread_number(t) };
	struct stat attr;

	fill(session_of(req), &key, t, &attr);
	reply_entry(req, &key, &attr, 1.0, 0.0);
}

static struct thread *
thread_of(fuse_req_t req, const struct inode *ino)
{
	struct thread *t =
	    thread_by_number(session_of(req)->threads, ino->thread);

	if (!t)
		fuse_reply_err(req, ENOENT);
	return t;
}

static void
on_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct thread *t = thread_of(req, ino);
	struct stat attr;

	(void)h;
	if (!t)
		return;
	fill(session_of(req), ino, t, &attr);
	fuse_reply_attr(req, &attr, 0.0);
	thread_put(t);
}

static void
on_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	on_getattr(req, ino, h);
}

static void
on_lookup(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct thread *t = thread_of(req, dir);
	int file = control_find(name);

	if (!t)
		return;
	if (file >= 0) {
		control_reply_entry(req, t, (enum control_file)file);
	} else if (strcmp(name, WORKSPACE_NAME) == 0) {
		workspace_reply_root(req, t);
	} else if (strcmp(name, CHECKPOINTS_NAME) == 0) {
		struct inode key = subdir_key(INODE_CHECKPOINTS, dir->thread);
		struct stat attr;
		fill(session_of(req), &key, t, &attr);
		reply_entry(req, &key, &attr, 1.0, 0.0);
	} else {
		reply_no_entry(req, 1.0);
	}
	thread_put(t);
}

static void
add_control(struct names *n, int64_t thread, enum control_file file)
{
	struct inode key = { .kind = INODE_CONTROL,
		.thread = thread,
		.node = file };

	names_add(n, controls[file].name, &key, S_IFREG);
}

static void
on_opendir(fuse_req_t req, const struct inode *dir)
{
	struct thread *t = thread_of(req, dir);
	struct inode key;

	if (!t)
		return;
	struct names *n = names_create(session_of(req), dir, t);
	for (int i = 0; i < CONTROL_REPLY; i++)
		add_control(n, dir->thread, (enum control_file)i);
	key = subdir_key(INODE_CHECKPOINTS, dir->thread);
	names_add(n, CHECKPOINTS_NAME, &key, S_IFDIR);
	key = subdir_key(INODE_WORKSPACE, dir->thread);
	names_add(n, WORKSPACE_NAME, &key, S_IFDIR);
	add_control(n, dir->thread, CONTROL_REPLY);
	names_reply(req, n);
}

/* Changes nothing and leaves a mark (marks.h). */
static void
on_unlink(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct thread *t = thread_of(req, dir);
	int file = control_find(name);

	if (!t)
		return;
	if (file >= 0)
		marks_add(session_of(req), t, (unsigned)file);
	fuse_reply_err(req, file >= 0 ? 0 : ENOENT);
	thread_put(t);
}

/* The kernel holds the directory for dead: whoever looks it up again must get
 * another inode. */
static void
on_rmdir(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct session *s = session_of(req);
	struct thread *t = thread_of(req, dir);
	bool workspace = strcmp(name, WORKSPACE_NAME) == 0;

	if (!t)
		return;
	if (workspace || strcmp(name, CHECKPOINTS_NAME) == 0) {
		struct inode key =
		    subdir_key(workspace ? INODE_WORKSPACE : INODE_CHECKPOINTS,
			dir->thread);
		inode_renew(s->inodes, &key);
		marks_add(s, t, workspace ? MARK_WORKSPACE : MARK_CHECKPOINTS);
		fuse_reply_err(req, 0);
	} else {
		fuse_reply_err(req, ENOENT);
	}
	thread_put(t);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	(void)ino;
	reply_statfs(req);
}

const struct node_ops thread_ops = {
	.getattr = on_getattr,
	.setattr = on_setattr,
	.statfs = on_statfs,
	.lookup = on_lookup,
	.opendir = on_opendir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
};
