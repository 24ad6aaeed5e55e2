/*
 * The child that is the local sandbox server; see local.h. One worker starts
 * it, the others wait for that one (each with its own token, fired at the end).
 */
#include "agent/sandbox/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/lock.h"
#include "agent/sandbox/waiters.h"

#define READY_MS 20000
#define STOP_MS  15000
/* What the child finds its two descriptors as. */
#define FD_PARENT 3
#define FD_READY  4

struct box {
	/* immutable */
	char *program, *dir;
	char *short_dir; /* where the socket is, if dir is too long */
	char *socket;
	struct lock lock;
	/* under lock */
	pid_t pid;    /* 0: none */
	int lifeline; /* its end ends the child */
	bool starting;
	struct waiters waiters;
};

struct box *
box_create(const char *program, const char *dir)
{
	struct box *box = xcalloc(1, sizeof *box);
	struct sockaddr_un un;

	lock_init(&box->lock, RANK_SANDBOX);
	box->program = xstrdup(program);
	box->dir = xstrdup(dir);
	box->lifeline = -1;
	box->socket = xasprintf("%s/sock", dir);
	if (strlen(box->socket) >= sizeof un.sun_path) {
		free(box->socket);
		box->socket = NULL;
	}
	return box;
}

const char *
box_socket(struct box *box)
{
	return box->socket;
}

/* Reaps the child if it ended. */
static bool
running_locked(struct box *box)
{
	int how;

	lock_assert_held(&box->lock);
	if (box->pid == 0)
		return false;
	pid_t got = waitpid(box->pid, &how, WNOHANG);
	if (got == 0 || (got < 0 && errno == EINTR))
		return true;
	if (got > 0)
		diag_warn("sandagentfs-box ended, status %#x", (unsigned)how);
	close(box->lifeline);
	box->lifeline = -1;
	box->pid = 0;
	return false;
}

bool
box_running(struct box *box)
{
	lock_acquire(&box->lock);
	bool running = !box->starting && running_locked(box);
	lock_release(&box->lock);
	return running;
}

/* Secrets of ours that the child has no use for. */
static bool
is_secret(const char *assignment)
{
	static const char *const parts[] = { "API_KEY", "TOKEN", "SECRET",
		"PASSWORD", "PASSWD", "CREDENTIAL", "ACCESS_KEY" };
	char name[128];
	size_t n = MIN(strcspn(assignment, "="), sizeof name - 1);

	for (size_t i = 0; i < n; i++) {
		name[i] = assignment[i];
		if (name[i] >= 'a' && name[i] <= 'z')
			name[i] = (char)(name[i] & ~0x20);
	}
	name[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

/* Gives an array of borrowed strings. */
static char **
clean_environment(void)
{
	size_t n = 0, kept = 0;

	while (environ && environ[n])
		n++;
	char **env = xcalloc(n + 1, sizeof *env);
	for (size_t i = 0; i < n; i++)
		if (!is_secret(environ[i]))
			env[kept++] = environ[i];
	return env;
}

/* A directory of our own with a short name, for a box_dir with a long one. */
static int
make_short_dir(struct box *box, struct status *st)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody calls setenv. */
	const char *base = getenv("XDG_RUNTIME_DIR");

	if (!base || base[0] != '/' || strlen(base) > 60 ||
	    access(base, W_OK) != 0)
		base = "/tmp";
	box->short_dir = xasprintf("%s/sandagentfs-XXXXXX", base);
	if (!mkdtemp(box->short_dir)) {
		int err = errno;
		free(box->short_dir);
		box->short_dir = NULL;
		return status_errno(st, err, "a directory in %s", base);
	}
	box->socket = xasprintf("%s/sock", box->short_dir);
	return 0;
}

/* A pipe whose ends lie above the child's two numbers. */
static int
high_pipe(int fds[2], struct status *st)
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) < 0)
		return status_errno(st, errno, "pipe");
	for (int i = 0; i < 2; i++) {
		fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 10);
		close(low[i]);
	}
	if (fds[0] >= 0 && fds[1] >= 0)
		return 0;
	return status_errno(st, errno, "pipe");
}

static void
add_files(posix_spawn_file_actions_t *files, const char *dir, int parent,
    int ready)
{
	auto_free char *log = xasprintf("%s/stderr", dir);

	posix_spawn_file_actions_addopen(files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(files, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(files, 2, log,
	    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(files, parent, FD_PARENT);
	posix_spawn_file_actions_adddup2(files, ready, FD_READY);
	posix_spawn_file_actions_addclosefrom_np(files, FD_READY + 1);
}

static int
spawn(const struct box *box, int parent, int ready, pid_t *pid)
{
	char parent_text[8], ready_text[8];
	char *argv[] = { (char[]){ "sandagentfs-box" }, (char[]){ "--socket" },
		box->socket, (char[]){ "--data" }, box->dir,
		(char[]){ "--parent-fd" }, parent_text,
		(char[]){ "--ready-fd" }, ready_text, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	auto_free char **env = clean_environment();

	snprintf(parent_text, sizeof parent_text, "%d", FD_PARENT);
	snprintf(ready_text, sizeof ready_text, "%d", FD_READY);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	add_files(&files, box->dir, parent, ready);
	posix_spawnattr_init(&attr);
	/* Its own session: a Ctrl-C at our terminal is ours alone. */
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
		POSIX_SPAWN_SETSID);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	int err = posix_spawn(pid, box->program, &files, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return err;
}

static void
wake(void *arg)
{
	uint64_t one = 1;

	if (write(*(int *)arg, &one, sizeof one) < 0)
		return; /* full: it is awake already */
}

/* The child's first line, or why there is none. */
static int
read_ready(int fd, struct cancel *c, struct status *st)
{
	char line[200];
	size_t len = 0;
	int64_t deadline = clock_mono_ms() + READY_MS;
	auto_fd int woken = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct cancel *own = cancel_create(c);
	struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
		{ .fd = woken, .events = POLLIN } };

	cancel_set_wake(own, wake, &woken);
	while (len < sizeof line - 1 && !memchr(line, '\n', len)) {
		int64_t left = deadline - clock_mono_ms();
		if (left <= 0 || cancel_fired(own))
			break;
		if (poll(fds, 2, (int)left) < 0 && errno != EINTR)
			break;
		if (!fds[0].revents)
			continue;
		ssize_t n = read(fd, line + len, sizeof line - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	bool canceled = cancel_fired(own);
	cancel_clear_wake(own);
	cancel_put(own);
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "ok") == 0)
		return 0;
	if (canceled)
		return status_set(st, STATUS_CANCELED, "canceled");
	if (strncmp(line, "error: ", 7) == 0)
		return status_set(st, STATUS_UNAVAILABLE, "%s", line + 7);
	return status_set(st, STATUS_UNAVAILABLE,
	    "sandagentfs-box did not start: see box/stderr in the state "
	    "directory");
}

/* Waits for the end of a child, and sees to it after a while. */
static void
reap(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0U), how;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const int signals[] = { SIGTERM, SIGKILL };

	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(signals); i++) {
		if (poll(&p, 1, i == 0 ? STOP_MS : 2000) > 0)
			break;
		kill(pid, signals[i]);
	}
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
		;
}

static int
start(struct box *box, struct cancel *c, struct status *st)
{
	int parent[2] = { -1, -1 }, ready[2] = { -1, -1 };
	pid_t pid = 0;

	if (mkdir(box->dir, 0700) < 0 && errno != EEXIST)
		return status_errno(st, errno, "%s", box->dir);
	if (!box->socket && make_short_dir(box, st) < 0)
		return -1;
	if (high_pipe(parent, st) < 0)
		return -1;
	if (high_pipe(ready, st) < 0) {
		close(parent[0]);
		close(parent[1]);
		return -1;
	}
	int err = spawn(box, parent[0], ready[1], &pid);
	close(parent[0]);
	close(ready[1]);
	int rc = err ? status_errno(st, err, "%s", box->program)
		     : read_ready(ready[0], c, st);
	close(ready[0]);
	if (rc < 0) {
		close(parent[1]);
		if (pid > 0)
			reap(pid);
		return -1;
	}
	lock_acquire(&box->lock);
	box->pid = pid;
	box->lifeline = parent[1];
	lock_release(&box->lock);
	return 0;
}

int
box_ensure(struct box *box, struct cancel *c, struct status *st)
{
	int64_t deadline = clock_mono_ms() + READY_MS;

	wait_point();
	lock_acquire(&box->lock);
	while (box->starting)
		if (waiters_wait(&box->waiters, &box->lock, deadline, c, st) <
		    0) {
			lock_release(&box->lock);
			return -1;
		}
	bool running = running_locked(box);
	box->starting = !running;
	lock_release(&box->lock);
	if (running)
		return 0;
	int rc = start(box, c, st);
	lock_acquire(&box->lock);
	box->starting = false;
	waiters_wake(&box->waiters);
	lock_release(&box->lock);
	return rc < 0 ? status_wrap(st, "local sandbox server") : 0;
}

void
box_destroy(struct box *box)
{
	if (!box)
		return;
	wait_point();
	if (box->lifeline >= 0)
		close(box->lifeline);
	if (box->pid > 0)
		reap(box->pid);
	if (box->short_dir) {
		unlink(box->socket);
		rmdir(box->short_dir);
	}
	lock_finish(&box->lock);
	free(box->short_dir);
	free(box->socket);
	free(box->program);
	free(box->dir);
	free(box);
}
