/* outside_run(): the key, the order of starting and ending. See outside.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "agent/base/diag.h"
#include "agent/box/descriptors.h"
#include "agent/box/outside.h"
#include "agent/box/sockets.h"

/* The file's first line. */
static int
read_token(struct outside *out, const char *path, struct status *st)
{
	char text[4096];
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n < 0)
		return status_errno(st, errno, "--token-file %s", path);
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text)
		return status_set(st, STATUS_INVALID,
		    "--token-file %s: its first line must be the key", path);
	out->token = xstrdup(text);
	return 0;
}

static void
await_end(int signals, int parent_fd)
{
	struct pollfd fds[2] = { { .fd = signals, .events = POLLIN },
		{ .fd = parent_fd, .events = POLLIN } };
	char byte;

	for (;;) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents ||
		    (fds[1].revents && read(parent_fd, &byte, 1) <= 0))
			return;
	}
}

/* Everything that must be done as root, before other workers. */
static int
prepare(const struct options *o, struct outside *out, struct place *place,
    struct hostenv *host, int fds[2], struct status *st)
{
	if (o->token_file && read_token(out, o->token_file, st) < 0)
		return -1;
	if (place_open(place, o, st) < 0)
		return -1;
	if (o->socket && (fds[0] = sockets_listen_unix(o->socket, st)) < 0)
		return -1;
	if (o->listen && (fds[1] = sockets_listen_tcp(o->listen, st)) < 0)
		return -1;
	if (hostenv_read(host, place, o, environ, st) < 0)
		return -1;
	return place_give_up_root(place, o, st);
}

static int
start_servers(struct outside *out, const int fds[2],
    struct http_server *servers[2], struct status *st)
{
	for (size_t i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		servers[i] =
		    http_server_start(fds[i], outside_route, out, false);
		if (!servers[i])
			return status_set(st, STATUS_IO, "cannot serve");
	}
	return 0;
}

static void
report(const struct options *o, const char *line)
{
	if (o->ready_fd < 0)
		return;
	if (write_all(o->ready_fd, line, strlen(line)) < 0)
		diag_warn("--ready-fd: nobody reads it");
	close(o->ready_fd);
}

static int
serve(const struct options *o, struct outside *out, const struct place *place,
    const struct hostenv *host, const int fds[2], int signals,
    struct status *st)
{
	struct cage_settings settings = { .options = o,
		.place = place,
		.hostenv = host };
	struct registry registry;
	struct http_server *servers[2] = { NULL, NULL };

	if (cage_probe(&settings, st) < 0 ||
	    registry_init(&registry, &settings, st) < 0)
		return -1;
	out->registry = &registry;
	registry_run(&registry);
	int result = start_servers(out, fds, servers, st);
	if (result == 0) {
		if (o->listen)
			sockets_announce(fds[1], o->listen);
		report(o, "ok\n");
		await_end(signals, o->parent_fd);
	}
	/* First the sandboxes: it ends the waits of requests. */
	registry_stop(&registry);
	http_server_stop(servers[0]);
	http_server_stop(servers[1]);
	registry_finish(&registry);
	out->registry = NULL;
	return result;
}

/* Each request under way needs a few descriptors. */
static void
raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

int
outside_run(const struct options *o)
{
	struct outside out = { 0 };
	struct place place = { .data_fd = -1 };
	struct hostenv host = { 0 };
	int fds[2] = { -1, -1 };
	struct status st;
	sigset_t ends;

	/* What we inherited is nobody else's. */
	descriptors_keep_private();
	raise_files();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	auto_fd int signals = signalfd(-1, &ends, SFD_CLOEXEC);
	int result = prepare(o, &out, &place, &host, fds, &st);
	if (result == 0)
		result = serve(o, &out, &place, &host, fds, signals, &st);
	if (result < 0) {
		auto_free char *line = xasprintf("error: %s\n", st.text);
		report(o, line);
		fprintf(stderr, "sandagentfs-box: %s\n", st.text);
	}
	if (o->socket && fds[0] >= 0)
		unlink(o->socket);
	hostenv_finish(&host);
	place_finish(&place);
	free(out.token);
	return result < 0;
}
