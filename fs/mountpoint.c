/* Mount points; see mountpoint.h. */
#include "fs/mountpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/base/buf.h"
#include "fs/mountinfo.h"

#define TABLE_MAX ((size_t)16 << 20)
/* How long a mount of another state directory may take to say it lives. */
#define PROBE_MS 3000

char *
mountpoint_table(void)
{
	struct buf text = BUF_INIT(TABLE_MAX);
	auto_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	do {
		char *room = fd < 0 ? NULL : buf_reserve(&text, 65536);
		n = room ? read(fd, room, 65536) : -1;
		if (n > 0)
			buf_commit(&text, (size_t)n);
	} while (n > 0);
	if (text.len == 0)
		buf_putc(&text, '\n');
	return buf_take(&text);
}

char *
mountpoint_resolve(const char *path, struct status *st)
{
	char link[64], *out = xcalloc(1, PATH_MAX + 1);
	/* O_PATH walks to the root of a mount without asking its server. */
	auto_fd int fd = open(path, O_PATH | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, out, PATH_MAX);
	}
	if (n > 0)
		return out;
	if (errno == ENOENT)
		status_set(st, STATUS_NOT_FOUND,
		    "%s: no such directory: make it with mkdir", path);
	else
		status_errno(st, errno, "%s", path);
	free(out);
	return NULL;
}

int
mountpoint_holds(const char *mountpoint, const char *what, const char *dir,
    struct status *st)
{
	size_t len = strlen(mountpoint);

	if (strncmp(dir, mountpoint, len) != 0 ||
	    (dir[len] != '/' && dir[len] != '\0'))
		return 0;
	return status_set(st, STATUS_INVALID,
	    "%s lies inside the mount point: choose another with -o %s=DIR",
	    dir, what);
}

static int
check_empty(const char *path, struct status *st)
{
	DIR *dir = opendir(path);
	bool empty = true;

	if (!dir)
		return errno == ENOTDIR
		    ? status_set(st, STATUS_NOT_DIR,
			  "%s: not a directory: name an empty one", path)
		    : status_errno(st, errno, "%s", path);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): before any other worker
	for (struct dirent *e; (e = readdir(dir));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			empty = false;
	closedir(dir);
	return empty ? 0
		     : status_set(st, STATUS_NOT_EMPTY,
			   "%s: not empty: mount on an empty directory", path);
}

int
mountpoint_check(const char *path, bool *ours, struct status *st)
{
	auto_free char *table = mountpoint_table();

	*ours = mountinfo_at(table, path) == MOUNTINFO_OURS;
	return *ours ? 0 : check_empty(path, st);
}

/* In a child, for the answer may never come: 0 it lives, ENOTCONN it is dead,
 * or another errno. */
static int
probe(const char *path)
{
	struct stat sb;
	struct pollfd p = { .events = POLLIN };
	int fds[2], err = ETIMEDOUT;
	ssize_t n = -1;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return errno;
	pid_t child = fork();
	if (child == 0) {
		err = stat(path, &sb) < 0 ? errno : 0;
		n = write(fds[1], &err, sizeof err);
		_exit(n < 0);
	}
	close(fds[1]);
	p.fd = fds[0];
	if (child > 0 && poll(&p, 1, PROBE_MS) == 1)
		n = read(fds[0], &err, sizeof err);
	if (child > 0 && n <= 0)
		kill(child, SIGKILL);
	close(fds[0]);
	/* One that hangs is left to init. */
	if (child > 0)
		waitpid(child, NULL, n > 0 ? 0 : WNOHANG);
	return err;
}

static int
unmount_lazily(const char *path)
{
	char program[] = "fusermount3", u[] = "-u", z[] = "-z", q[] = "-q";
	char dashes[] = "--", *at = xstrdup(path);
	char *argv[] = { program, u, z, q, dashes, at, NULL };
	pid_t child;
	int status = -1;

	if (umount2(path, MNT_DETACH) == 0)
		status = 0;
	else if (posix_spawnp(&child, program, NULL, NULL, argv, environ) == 0)
		waitpid(child, &status, 0);
	free(at);
	return status == 0 ? 0 : -1;
}

int
mountpoint_replace(const char *path, struct status *st)
{
	bool ours = true;

	while (ours) {
		int err = probe(path);
		if (err != ENOTCONN && err != ECONNABORTED)
			return status_set(st, STATUS_BUSY,
			    "%s: already mounted, by a server with another "
			    "state directory: end it with fusermount3 -u %s",
			    path, path);
		if (unmount_lazily(path) < 0)
			return status_set(st, STATUS_IO,
			    "%s: a mount left by a crash cannot be removed: "
			    "try fusermount3 -u -z %s",
			    path, path);
		if (mountpoint_check(path, &ours, st) < 0)
			return -1;
	}
	return 0;
}
