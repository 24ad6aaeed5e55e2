/*
 * Starting and reaping; see child.h. A child may end before its starter has
 * noted its pid, so fork and the note are one step under the lock, and the
 * reaper takes the lock between waitpid() and the search.
 */
#include "agent/box/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"

struct child {
	/* under lock */
	struct child *next;
	pid_t pid;
	int status;
	bool ended;
};

static struct {
	/* under lock */
	struct lock lock;
	struct cond forked; /* the reaper has somebody to wait for */
	struct cond ended;
	struct child *first;
	bool none; /* no process but pid 1 */
	/* immutable after child_set_limits() */
	struct child_limits limits;
} all;

static void
note_end(pid_t pid, int status)
{
	for (struct child *c = all.first; c; c = c->next)
		if (c->pid == pid) {
			c->status = status;
			c->ended = true;
		}
	cond_broadcast(&all.ended);
}

static void *
reap(void *arg)
{
	(void)arg;
	for (;;) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, __WALL);
		int err = errno;

		lock_acquire(&all.lock);
		if (pid > 0) {
			note_end(pid, status);
		} else if (err == ECHILD) {
			/* A fork may have slipped in since: look again. */
			siginfo_t info;
			if (waitid(P_ALL, 0, &info,
				WEXITED | WNOWAIT | WNOHANG) < 0) {
				all.none = true;
				cond_broadcast(&all.ended);
				while (all.none)
					cond_wait(&all.forked, &all.lock, 0);
			}
		}
		lock_release(&all.lock);
	}
	return NULL;
}

void
child_init(void)
{
	lock_init(&all.lock, RANK_LANE);
	cond_init(&all.forked);
	cond_init(&all.ended);
	all.none = true;
	pthread_detach(worker_start(reap, NULL, "reaper"));
}

void
child_set_limits(const struct child_limits *limits)
{
	all.limits = *limits;
}

static void
limit(int what, uint64_t value)
{
	struct rlimit now;

	if (value == 0 || getrlimit((__rlimit_resource_t)what, &now) < 0)
		return;
	if (value > now.rlim_max)
		value = now.rlim_max;
	const struct rlimit to = { value, value };
	setrlimit((__rlimit_resource_t)what, &to);
}

/* In the child: only calls that are safe after fork of a threaded program. */
static void
become(const struct child_spec *spec, int report)
{
	sigset_t none;
	const struct rlimit no_core = { 0, 0 };

	setpgid(0, 0);
	sigemptyset(&none);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	if (dup2(spec->in, 0) < 0 || dup2(spec->out, 1) < 0 ||
	    dup2(spec->out, 2) < 0)
		goto fail;
	if (spec->cwd && chdir(spec->cwd) < 0)
		goto fail;
	umask(022);
	setrlimit(RLIMIT_CORE, &no_core);
	limit(RLIMIT_NOFILE, all.limits.files);
	limit(RLIMIT_FSIZE, all.limits.file_bytes);
	limit(RLIMIT_DATA, all.limits.data_bytes);
	limit(RLIMIT_NPROC, all.limits.processes);
	execve(spec->argv[0], spec->argv, spec->envp);
fail:;
	int err = errno;
	if (write(report, &err, sizeof err) < 0)
		_exit(126);
	_exit(127);
}

struct child *
child_start(const struct child_spec *spec)
{
	int report[2];
	struct child *c = xcalloc(1, sizeof *c);

	if (pipe2(report, O_CLOEXEC) < 0) {
		free(c);
		return NULL;
	}
	lock_acquire(&all.lock);
	pid_t pid = fork();
	if (pid == 0)
		become(spec, report[1]);
	int err = errno;
	if (pid > 0) {
		c->pid = pid;
		c->next = all.first;
		all.first = c;
		all.none = false;
		cond_signal(&all.forked);
	}
	lock_release(&all.lock);
	close(report[1]);
	if (pid > 0) {
		/* End of file when execve succeeded. */
		err = 0;
		ssize_t n;
		do
			n = read(report[0], &err, sizeof err);
		while (n < 0 && errno == EINTR);
		if (n == (ssize_t)sizeof err) {
			int status;
			child_wait(c, 0, &status);
			c = NULL;
		}
	} else {
		free(c);
		c = NULL;
	}
	close(report[0]);
	errno = err;
	return c;
}

void
child_kill(struct child *c)
{
	lock_acquire(&all.lock);
	/* The group outlives its leader while a member lives; once the leader
	 * was reaped its number could belong to somebody else only when no
	 * member is left, and pid numbers are not reused that fast. */
	kill(-c->pid, SIGKILL);
	lock_release(&all.lock);
}

bool
child_wait(struct child *c, int64_t deadline_ms, int *status)
{
	bool in_time = true;

	wait_point();
	lock_acquire(&all.lock);
	while (!c->ended && in_time)
		in_time = cond_wait(&all.ended, &all.lock, deadline_ms);
	bool ended = c->ended;
	if (ended) {
		struct child **at = &all.first;
		while (*at != c)
			at = &(*at)->next;
		*at = c->next;
		*status = c->status;
	}
	lock_release(&all.lock);
	if (ended)
		free(c);
	return ended;
}

void
child_end_all(int64_t deadline_ms)
{
	bool in_time = true;

	wait_point();
	kill(-1, SIGTERM);
	/* Stopped ones must run to see it. */
	kill(-1, SIGCONT);
	lock_acquire(&all.lock);
	while (!all.none && in_time)
		in_time = cond_wait(&all.ended, &all.lock, deadline_ms);
	lock_release(&all.lock);
}
