/* See watchdog.h. */
#include "agent/box/watchdog.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/statvfs.h>

#include "agent/base/lock.h"
#include "agent/box/inside.h"
#include "agent/box/toolbox.h"

#define PERIOD_MS 500

static struct {
	/* immutable */
	uint64_t memory, reserve;
} limit;

/* The first bytes of a file of /proc, NUL-terminated. */
static bool
read_proc(const char *proc, const char *pid, const char *name, char *out,
    size_t size)
{
	auto_free char *path = xasprintf("%s/%s/%s", proc, pid, name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	out[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static uint64_t
resident(const char *proc, const char *pid)
{
	char text[128], *end = text;

	if (!read_proc(proc, pid, "statm", text, sizeof text))
		return 0;
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* A process may forbid the look at its share: then it pays for all. */
static uint64_t
proportional(const char *proc, const char *pid)
{
	char text[1024];
	const char *pss = NULL;

	if (read_proc(proc, pid, "smaps_rollup", text, sizeof text))
		pss = strstr(text, "\nPss:");
	return pss ? strtoull(pss + 5, NULL, 10) * 1024 : resident(proc, pid);
}

uint64_t
watchdog_resident(const char *proc, bool exact)
{
	DIR *dir = opendir(proc);
	const struct dirent *e;
	uint64_t sum = 0;

	if (!dir)
		return 0;
	/* A stream of our own: no other worker reads it. */
	while ((e = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe) */
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    strcmp(e->d_name, "1") == 0)
			continue;
		sum += exact ? proportional(proc, e->d_name)
			     : resident(proc, e->d_name);
	}
	closedir(dir);
	return sum;
}

static bool
disk_low(void)
{
	struct statvfs v;

	if (statvfs(TOOLBOX_HOME, &v) < 0)
		return false;
	/* Some file systems have no fixed number of inodes, and say 0. */
	return (uint64_t)v.f_bavail * v.f_frsize < limit.reserve ||
	    (v.f_files > 0 && v.f_favail < v.f_files / 100);
}

static void *
watch(void *arg)
{
	for (;;) {
		poll(NULL, 0, PERIOD_MS);
		if (limit.memory &&
		    watchdog_resident("/proc", false) > limit.memory &&
		    watchdog_resident("/proc", true) > limit.memory)
			_exit(INSIDE_MEMORY);
		if (limit.reserve && disk_low())
			_exit(INSIDE_DISK);
	}
	return arg;
}

void
watchdog_start(uint64_t memory_bytes, uint64_t reserve_bytes)
{
	limit.memory = memory_bytes;
	limit.reserve = reserve_bytes;
	pthread_detach(worker_start(watch, NULL, "watchdog"));
}
