/* The holder of the lock; see holder.h. */
#include "fs/holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>

#include "agent/base/clock.h"
#include "fs/mountinfo.h"
#include "fs/mountpoint.h"

/* How long bringing files home may take. */
#define ENDING_MS 20000
/* How long it may take to notice that one was unmounted. */
#define NOTICE_MS 200

/* Has the process named in DIR/lock the kernel's end of a mount open? */
static bool
holder_serves(const char *state_dir)
{
	auto_free char *lock = xasprintf("%s/lock", state_dir);
	auto_fd int fd = open(lock, O_RDONLY | O_CLOEXEC);
	char text[32] = "", path[320], link[32];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	bool serves = false;

	snprintf(path, sizeof path, "/proc/%ld/fd", strtol(text, NULL, 10));
	DIR *dir = n > 0 ? opendir(path) : NULL;
	// NOLINTNEXTLINE(concurrency-mt-unsafe): before any other worker
	for (struct dirent *e; dir && !serves && (e = readdir(dir));) {
		n = readlinkat(dirfd(dir), e->d_name, link, sizeof link - 1);
		link[MAX(n, 0)] = '\0';
		serves = strcmp(link, "/dev/fuse") == 0;
	}
	if (dir)
		closedir(dir);
	return serves;
}

bool
holder_is_ending(const char *state_dir, int64_t since)
{
	auto_free char *table = mountpoint_table();
	int64_t waited = clock_mono_ms() - since;

	if (waited > ENDING_MS)
		return false;
	if (mountinfo_any_ours(table) && holder_serves(state_dir) &&
	    waited > NOTICE_MS)
		return false;
	poll(NULL, 0, 20);
	return true;
}
