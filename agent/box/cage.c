/*
 * See cage.h. One worker a cage waits for bubblewrap's end; the pid of pid 1,
 * as seen from here, comes by --info-fd, so that it can be killed for sure.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/json.h"
#include "agent/base/lock.h"
#include "agent/box/cage_args.h"
#include "agent/box/inside.h"
#include "agent/box/peer.h"
#include "agent/box/spawn.h"

#define START_MS  20000
#define GENTLE_MS 3000
#define KILL_MS   10000
#define BACKLOG   1024

struct cage {
	/* immutable after cage_start() */
	char socket[64];
	pid_t monitor, pid1;
	int words; /* what bubblewrap and pid 1 said */
	pthread_t minder;
	void (*on_end)(void *arg);
	void *arg;
	/* one worker: start, then stop */
	int life; /* write end; closing it ends pid 1 */
	/* under lock */
	struct lock lock;
	struct cond change;
	bool ended;
	int status;
};

static void *
mind(void *arg)
{
	struct cage *c = arg;
	int status = 0;

	while (waitpid(c->monitor, &status, 0) < 0 && errno == EINTR)
		;
	lock_acquire(&c->lock);
	c->ended = true;
	c->status = status;
	cond_broadcast(&c->change);
	lock_release(&c->lock);
	if (c->on_end)
		c->on_end(c->arg);
	return NULL;
}

static bool
wait_end(struct cage *c, int64_t ms)
{
	int64_t deadline = clock_mono_ms() + ms;
	bool in_time = true;

	wait_point();
	lock_acquire(&c->lock);
	while (!c->ended && in_time)
		in_time = cond_wait(&c->change, &c->lock, deadline);
	bool ended = c->ended;
	lock_release(&c->lock);
	return ended;
}

static int
listen_at(const char *path, struct status *st)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		status_errno(st, errno, "socket of a sandbox");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* Held by the processes of a sandbox: those that a killed server left behind
 * must be gone before the same folders are used again. */
static int
lock_folder(const char *dir, struct status *st)
{
	auto_free char *path = xasprintf("%s/lock", dir);
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int64_t deadline = clock_mono_ms() + GENTLE_MS;

	if (fd < 0)
		return status_errno(st, errno, "%s", path);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (clock_mono_ms() > deadline)
			return status_set(st, STATUS_BUSY,
			    "%s: the sandbox still has processes", path);
		poll(NULL, 0, 20);
	}
	return take_fd(fd);
}

/* The pid in bubblewrap's `{ "child-pid": N, … }`; 0 if it never says it. */
static pid_t
read_info(int fd)
{
	char text[1024];
	size_t n = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const char *at;

	while (n + 1 < sizeof text && poll(&p, 1, START_MS) > 0) {
		ssize_t got = read(fd, text + n, sizeof text - 1 - n);
		if (got <= 0)
			break;
		n += (size_t)got;
		text[n] = '\0';
		if (strchr(text, '}'))
			break;
	}
	text[n] = '\0';
	at = strstr(text, "\"child-pid\":");
	return at ? (pid_t)strtol(at + 12, NULL, 10) : 0;
}

/* The first line that was said, for an error. */
static void
first_words(int fd, char *out, size_t size)
{
	ssize_t n = pread(fd, out, size - 1, 0);

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\r\n")] = '\0';
}

static int
launch(struct cage *c, const struct cage_settings *s,
    const struct cage_request *request, const char *dir, struct status *st)
{
	struct args args = { 0 };
	int life[2] = { -1, -1 }, info[2] = { -1, -1 };
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd int listener = listen_at(c->socket, st);
	auto_fd int lock = listener < 0 ? -1 : lock_folder(dir, st);

	if (lock < 0)
		return -1;
	if (null < 0 || pipe2(life, O_CLOEXEC) < 0 ||
	    pipe2(info, O_CLOEXEC) < 0) {
		int err = errno;
		if (life[0] >= 0) {
			close(life[0]);
			close(life[1]);
		}
		return status_errno(st, err, "start of a sandbox");
	}
	cage_args(&args, s, request, dir);
	const int fds[CAGE_FD_COUNT] = { null, c->words, c->words, listener,
		life[0], info[1], lock };
	c->monitor = spawn(args.v, request->env, fds, CAGE_FD_COUNT);
	int err = errno;
	args_finish(&args);
	close(life[0]);
	close(info[1]);
	c->life = life[1];
	if (c->monitor > 0)
		c->pid1 = read_info(info[0]);
	close(info[0]);
	if (c->monitor < 0)
		return status_errno(st, err, "bubblewrap (bwrap)");
	return 0;
}

/* The first answer, or the news that it ended. */
static int
await_answer(struct cage *c, struct status *st)
{
	static const char request[] =
	    "GET /version HTTP/1.1\r\nHost: inside\r\n"
	    "Connection: close\r\n\r\n";
	struct peer peer;
	char words[160];

	peer_init(&peer);
	peer.patience = START_MS;
	bool ok = peer_connect(&peer, c->socket) == 0 &&
	    peer_write(&peer, request, sizeof request - 1) == 0 &&
	    peer_read_head(&peer, false) == 0 && peer.status == 200;
	peer_finish(&peer);
	if (ok)
		return 0;
	first_words(c->words, words, sizeof words);
	return status_set(st, STATUS_UNAVAILABLE, "%s",
	    *words ? words : "the sandbox does not answer");
}

struct cage *
cage_start(const struct cage_settings *s, const struct cage_request *request,
    struct status *st)
{
	struct cage *c = xcalloc(1, sizeof *c);
	auto_free char *dir = place_path(s->place, "sandboxes/%s", request->id);

	wait_point();
	lock_init(&c->lock, RANK_SANDBOX);
	cond_init(&c->change);
	c->life = -1;
	c->on_end = request->ended;
	c->arg = request->arg;
	/* By the descriptor: a path may be too long for a socket's name. */
	snprintf(c->socket, sizeof c->socket, "/proc/self/fd/%d/run/%.18s",
	    s->place->data_fd, request->id);
	c->words = memfd_create("words", MFD_CLOEXEC);
	if (c->words < 0) {
		status_errno(st, errno, "start of a sandbox");
		goto fail;
	}
	if (place_check_space(s->place, s->options, st) < 0 ||
	    rootfs_write_etc(s->place, dir, st) < 0 ||
	    launch(c, s, request, dir, st) < 0)
		goto fail;
	c->minder = worker_start(mind, c, "minder");
	if (await_answer(c, st) == 0)
		return c;
fail:
	cage_stop(c, false);
	return NULL;
}

void
cage_stop(struct cage *c, bool gentle)
{
	if (!c)
		return;
	if (c->life >= 0)
		close(c->life);
	c->life = -1;
	if (c->monitor > 0) {
		if (!gentle || !wait_end(c, GENTLE_MS)) {
			if (c->pid1 > 0)
				kill(c->pid1, SIGKILL);
			if (!wait_end(c, KILL_MS))
				kill(c->monitor, SIGKILL);
		}
		worker_join(c->minder);
	}
	unlink(c->socket);
	if (c->words >= 0)
		close(c->words);
	cond_finish(&c->change);
	lock_finish(&c->lock);
	free(c);
}

bool
cage_has_ended(struct cage *c, const char **why)
{
	lock_acquire(&c->lock);
	bool ended = c->ended;
	int code = WIFEXITED(c->status) ? WEXITSTATUS(c->status) : 0;
	lock_release(&c->lock);
	*why = code == INSIDE_MEMORY ? "it used more memory than it may"
	    : code == INSIDE_DISK    ? "the disk is nearly full"
				     : "";
	return ended;
}

const char *
cage_socket(const struct cage *c)
{
	return c->socket;
}
