/* provider_check(): asks the local sandbox server's program; see sandbox.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/sandbox/sandbox.h"

/* Its own deadlines are shorter. */
#define CHECK_MS 25000

static int
start(const char *program, int words, pid_t *pid)
{
	char *argv[] = { (char *)(uintptr_t)program,
		(char *)(uintptr_t) "--check", NULL };
	posix_spawn_file_actions_t files;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&files, words, 2);
	int err = posix_spawn(pid, program, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

/* All that it says, until it ends; false when the time is over. */
static bool
listen_to(int fd, struct buf *words)
{
	int64_t deadline = clock_mono_ms() + CHECK_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char piece[512];

	for (;;) {
		int64_t left = deadline - clock_mono_ms();
		if (left <= 0 || (poll(&p, 1, (int)left) < 0 && errno != EINTR))
			return false;
		ssize_t n = p.revents ? read(fd, piece, sizeof piece) : 0;
		if (p.revents && n <= 0)
			return true;
		buf_add(words, piece, (size_t)n);
	}
}

int
provider_check(const char *box_program, struct status *st)
{
	auto_buf words = BUF_INIT(4096);
	int fds[2], status = 0;
	pid_t pid = 0;

	wait_point();
	if (pipe2(fds, O_CLOEXEC) < 0)
		return status_errno(st, errno, "local sandbox server");
	int err = start(box_program, fds[1], &pid);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return status_errno(st, err,
		    "cannot run %s, the local sandbox server: install it beside "
		    "sandagentfs, or set DAYTONA_API_KEY",
		    box_program);
	}
	if (!listen_to(fds[0], &words))
		kill(pid, SIGKILL);
	close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	words.bytes[strcspn(words.bytes, "\n")] = '\0';
	return status_set(st, STATUS_UNAVAILABLE, "local sandbox: %s",
	    words.len > 0 ? words.bytes : "its server does not answer");
}
