/* The way into the background; see start.h. */
#include "fs/start.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "agent/base/diag.h"

static _Noreturn void
parent(pid_t child, int fd)
{
	char line[8192];
	size_t len = 0;
	ssize_t n;
	int status = 0;

	while ((n = read(fd, line + len, sizeof line - 1 - len)) > 0 ||
	    (n < 0 && errno == EINTR))
		len += n > 0 ? (size_t)n : 0;
	if (len > 0) {
		line[len] = '\0';
		fputs(line, stdout);
		_exit(fflush(stdout) == 0 ? 0 : 1);
	}
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		fprintf(stderr,
		    "sandagentfs: killed by signal %d while starting\n",
		    WTERMSIG(status));
	_exit(1);
}

void
start_fork(struct start *s, bool foreground)
{
	int fds[2];

	s->pipe = -1;
	if (foreground)
		return;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		perror("sandagentfs: pipe");
		_exit(1);
	}
	pid_t child = fork();
	if (child < 0) {
		perror("sandagentfs: fork");
		_exit(1);
	}
	if (child > 0) {
		close(fds[1]);
		parent(child, fds[0]);
	}
	close(fds[0]);
	s->pipe = fds[1];
}

void
start_detach(const struct start *s)
{
	if (s->pipe >= 0)
		setsid();
	if (chdir("/") < 0)
		perror("sandagentfs: chdir /");
}

void
start_ready(struct start *s, const char *line)
{
	if (s->pipe < 0) {
		fputs(line, stdout);
		fflush(stdout);
		return;
	}
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	if (write_all(s->pipe, line, strlen(line)) < 0)
		diag_warn("nobody waited for the mount");
	close(s->pipe);
	s->pipe = -1;
}
