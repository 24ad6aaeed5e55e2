/* cage_probe(): can sandboxes be made on this machine? See cage.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/box/cage.h"
#include "agent/box/rootfs.h"
#include "agent/box/spawn.h"

#define PROBE_MS 10000

/* Its exit code, or -1 with `words`. */
static int
try_bwrap(bool modern, char *words, size_t size)
{
	struct args args = { 0 };
	char *env[] = { NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_fd int said = memfd_create("words", MFD_CLOEXEC);
	int status = 0;
	pid_t done = 0;

	*words = '\0';
	args_add_all(&args, "bwrap", "--unshare-user", "--unshare-pid",
	    "--unshare-ipc", "--unshare-uts", "--uid", "1000", "--gid", "1000",
	    "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", NULL);
	if (modern)
		args_add_all(&args, "--disable-userns", "--size", "1048576",
		    "--perms", "1777", "--tmpfs", "/dev/shm", NULL);
	args_add_all(&args, "--", "true", NULL);
	args_end(&args);
	const int fds[] = { null, null, said };
	pid_t pid = spawn(args.v, env, fds, ARRAY_SIZE(fds));
	int err = errno;
	args_finish(&args);
	if (pid < 0) {
		errno = err;
		return -1;
	}
	int64_t deadline = clock_mono_ms() + PROBE_MS;
	/* Short steps: there is no event for a child's end to wait on here. */
	while ((done = waitpid(pid, &status, WNOHANG)) == 0 &&
	    clock_mono_ms() < deadline)
		poll(NULL, 0, 1);
	if (done == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		snprintf(words, size, "it hangs");
		return 1;
	}
	ssize_t n = pread(said, words, size - 1, 0);
	words[n > 0 ? n : 0] = '\0';
	words[strcspn(words, "\r\n")] = '\0';
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The first number in a file of /proc/sys, or -1. */
static long
setting(const char *name)
{
	char text[32] = "";
	auto_free char *path = xasprintf("/proc/sys/%s", name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		return -1;
	return strtol(text, NULL, 10);
}

static int
explain(const char *words, struct status *st)
{
	if (setting("user/max_user_namespaces") == 0)
		return status_set(st, STATUS_DENIED,
		    "user namespaces are forbidden: sysctl "
		    "user.max_user_namespaces=15000 allows them");
	if (setting("kernel/unprivileged_userns_clone") == 0)
		return status_set(st, STATUS_DENIED,
		    "user namespaces are forbidden: sysctl "
		    "kernel.unprivileged_userns_clone=1 allows them");
	if (setting("kernel/apparmor_restrict_unprivileged_userns") == 1)
		return status_set(st, STATUS_DENIED,
		    "AppArmor forbids user namespaces: sysctl "
		    "kernel.apparmor_restrict_unprivileged_userns=0, or an "
		    "AppArmor profile for bwrap, allows them");
	return status_set(st, STATUS_DENIED,
	    "bubblewrap cannot make a sandbox here (a container without user "
	    "namespaces?): %s",
	    *words ? words : "it failed");
}

int
cage_probe(struct cage_settings *s, struct status *st)
{
	char words[160], first[160];

	wait_point();
	int code = try_bwrap(true, first, sizeof first);
	if (code < 0)
		return status_set(st, STATUS_NOT_FOUND,
		    "bubblewrap is missing: install bubblewrap (apt install "
		    "bubblewrap)");
	s->modern = code == 0;
	if (code == 0 || try_bwrap(false, words, sizeof words) == 0)
		return 0;
	return explain(words, st);
}
