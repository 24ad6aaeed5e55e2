/* See spawn.h. */
#include "agent/box/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* In the child: only calls that are safe after fork of a threaded program. */
static void
become(char *const *argv, char *const *envp, const int *fds, size_t count,
    int report)
{
	int high[SPAWN_FDS_MAX + 1];
	sigset_t none;

	setsid();
	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	/* Out of the way first: a source may be a target. */
	for (size_t i = 0; i < count; i++)
		if ((high[i] = fcntl(fds[i], F_DUPFD, 64)) < 0)
			goto fail;
	high[count] = fcntl(report, F_DUPFD_CLOEXEC, 64);
	report = high[count];
	for (size_t i = 0; i < count; i++)
		if (dup2(high[i], (int)i) < 0)
			goto fail;
	for (size_t i = 0; i < count; i++)
		close(high[i]);
	execvpe(argv[0], argv, envp);
fail:;
	int err = errno;
	if (write(report, &err, sizeof err) < 0)
		_exit(126);
	_exit(127);
}

pid_t
spawn(char *const *argv, char *const *envp, const int *fds, size_t count)
{
	int report[2], err = 0;
	ssize_t n;

	if (count > SPAWN_FDS_MAX || pipe2(report, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, envp, fds, count, report[1]);
	if (pid < 0)
		err = errno;
	close(report[1]);
	do
		n = pid < 0 ? 0 : read(report[0], &err, sizeof err);
	while (n < 0 && errno == EINTR);
	close(report[0]);
	if (n == (ssize_t)sizeof err) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	errno = err;
	return pid;
}
