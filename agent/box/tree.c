/* See tree.h. */
#include "agent/box/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/lock.h"

/* Descriptors in use at once. */
#define DEPTH_MAX 64

struct removal {
	int root; /* where too deep directories are moved */
	unsigned moved;
	bool force, again;
	int err;
};

static void
note(struct removal *r)
{
	if (r->err == 0 && errno != ENOENT)
		r->err = errno;
}

static DIR *
open_dir(struct removal *r, int parent, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	if (fd < 0 && errno == EACCES && r->force) {
		/* Only a directory of ours lets itself be opened up, and a
		 * link instead of it would change the link's target: hence
		 * never where strangers still run. */
		if (fchmodat(parent, name, 0700, 0) == 0)
			fd = openat(parent, name, flags);
	}
	if (fd < 0)
		return NULL;
	DIR *dir = r->force && fchmod(fd, 0700) < 0 ? NULL : fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

static void remove_one(struct removal *r, int parent, const char *name,
    unsigned depth);

static void
remove_children(struct removal *r, DIR *dir, unsigned depth)
{
	const struct dirent *e;

	/* A stream of our own: no other worker reads it. */
	while ((e = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			remove_one(r, dirfd(dir), e->d_name, depth + 1);
	}
}

static void
move_up(struct removal *r, int parent, const char *name)
{
	char to[32];

	do
		snprintf(to, sizeof to, ".deep-%u", r->moved++);
	while (faccessat(r->root, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
	if (renameat(parent, name, r->root, to) < 0)
		note(r);
	else
		r->again = true;
}

static void
remove_one(struct removal *r, int parent, const char *name, unsigned depth)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return;
	if (errno != EISDIR && errno != EPERM) {
		note(r);
		return;
	}
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return;
	if (errno != ENOTEMPTY && errno != EEXIST) {
		note(r);
		return;
	}
	if (depth >= DEPTH_MAX) {
		move_up(r, parent, name);
		return;
	}
	DIR *dir = open_dir(r, parent, name);
	if (!dir) {
		note(r);
		return;
	}
	remove_children(r, dir, depth);
	closedir(dir);
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
		note(r);
}

int
tree_remove(int parent, const char *name, bool force)
{
	struct removal r = { .force = force };

	wait_point();
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	DIR *dir = open_dir(&r, parent, name);
	if (!dir)
		return -1;
	r.root = dirfd(dir);
	do {
		r.again = false;
		rewinddir(dir);
		remove_children(&r, dir, 0);
		if (r.again && (r.err == ENOTEMPTY || r.err == EEXIST))
			r.err = 0;
	} while (r.again);
	closedir(dir);
	if (unlinkat(parent, name, AT_REMOVEDIR) < 0)
		note(&r);
	errno = r.err;
	return r.err ? -1 : 0;
}
