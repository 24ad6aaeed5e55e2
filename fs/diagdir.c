/*
 * .sandagentfs: what scripts and people ask the program itself. `version`,
 * `stats` (counters, one `name value` a line) and `diag` (recent diagnostics).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "fs/names.h"
#include "fs/node.h"
#include "fs/op.h"
#include "fs/reaper.h"
#include "fs/reply.h"
#include "fs/text.h"
#include "fs/version.h"

#define TEXT_MAX ((size_t)4 << 20)

static void
make_stats(struct session *s, struct buf *out)
{
	struct reaper_counters c;

	reaper_counters(s->reaper, &c);
	buf_printf(out, "uptime_s %lld\n",
	    (long long)((clock_wall_ms() - s->started_ms) / 1000));
	buf_printf(out, "fs_inodes %zu\n", inode_count(s->inodes));
	buf_printf(out, "fs_ops_parked %llu\n", (unsigned long long)c.parked);
	buf_printf(out, "fs_ops_parked_now %llu\n", (unsigned long long)c.now);
	buf_printf(out, "fs_ops_answered %llu\n",
	    (unsigned long long)c.answered);
	buf_printf(out, "fs_ops_given_up %llu\n",
	    (unsigned long long)c.interrupted);
	buf_printf(out, "fs_ops_late %llu\n", (unsigned long long)c.late);
	threads_stats(s->threads, out);
}

/* A local file of at most 1 MiB. */
static void
make_diag(struct session *s, struct buf *out)
{
	auto_free char *path = xasprintf("%s/diag", s->settings->state_dir);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	do {
		char *room = buf_reserve(out, 65536);
		n = room ? read(fd, room, 65536) : -1;
		if (n > 0)
			buf_commit(out, (size_t)n);
	} while (n > 0);
}

static void
make_version(struct session *s, struct buf *out)
{
	(void)s;
	version_text(out);
}

static const struct {
	const char *name;
	void (*make)(struct session *s, struct buf *out);
} files[] = {
	{ "version", make_version },
	{ "stats", make_stats },
	{ "diag", make_diag },
};

static struct inode
file_key(uint32_t i)
{
	return (struct inode){ .kind = INODE_DIAGFILE, .node = i };
}

static void
dir_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct session *s = session_of(req);
	struct stat attr;

	(void)h;
	reply_fill(s, ino, S_IFDIR | 0700, -1, s->started_ms, &attr);
	fuse_reply_attr(req, &attr, 1.0);
}

static void
dir_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	dir_getattr(req, ino, h);
}

static void
dir_lookup(fuse_req_t req, const struct inode *dir, const char *name)
{
	struct session *s = session_of(req);
	struct stat attr;

	(void)dir;
	for (uint32_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (strcmp(files[i].name, name) != 0)
			continue;
		struct inode key = file_key(i);
		reply_fill(s, &key, S_IFREG | 0600, 0, clock_wall_ms(), &attr);
		attr.st_size = -1;
		reply_entry(req, &key, &attr, 1.0, 0.0);
		return;
	}
	reply_no_entry(req, 1.0);
}

static void
dir_opendir(fuse_req_t req, const struct inode *dir)
{
	struct names *n = names_create(session_of(req), dir, NULL);

	for (uint32_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct inode key = file_key(i);
		names_add(n, files[i].name, &key, S_IFREG);
	}
	names_reply(req, n);
}

static void
on_statfs(fuse_req_t req, const struct inode *ino)
{
	(void)ino;
	reply_statfs(req);
}

static void
file_getattr(fuse_req_t req, const struct inode *ino, struct handle *h)
{
	struct session *s = session_of(req);
	auto_buf text = BUF_INIT(TEXT_MAX);
	struct stat attr;

	(void)h;
	files[ino->node].make(s, &text);
	reply_fill(s, ino, S_IFREG | 0600, (int64_t)text.len, clock_wall_ms(),
	    &attr);
	inode_set_size(s->inodes, ino->id, (int64_t)text.len);
	fuse_reply_attr(req, &attr, 0.0);
}

static void
file_setattr(fuse_req_t req, const struct inode *ino, const struct stat *attr,
    int to_set, struct handle *h)
{
	(void)attr;
	(void)to_set;
	file_getattr(req, ino, h);
}

static void
file_open(fuse_req_t req, const struct inode *ino, int flags)
{
	struct session *s = session_of(req);
	struct buf text = BUF_INIT(TEXT_MAX);

	if ((flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EACCES);
		return;
	}
	files[ino->node].make(s, &text);
	handle_reply_open(req, text_create(s, NULL, flags, &text), true, false);
}

const struct node_ops diagdir_ops = {
	.getattr = dir_getattr,
	.setattr = dir_setattr,
	.lookup = dir_lookup,
	.opendir = dir_opendir,
	.statfs = on_statfs,
};

const struct node_ops diagfile_ops = {
	.getattr = file_getattr,
	.setattr = file_setattr,
	.open = file_open,
	.statfs = on_statfs,
};
