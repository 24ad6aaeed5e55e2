/* See sockets.h. */
#include "agent/box/sockets.h"

#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 1024

int
sockets_listen_unix(const char *path, struct status *st)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct stat old;

	if (strlen(path) >= sizeof at.sun_path)
		return status_set(st, STATUS_INVALID,
		    "--socket %s: longer than %zu bytes", path,
		    sizeof at.sun_path - 1);
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (lstat(path, &old) == 0 && S_ISSOCK(old.st_mode))
		unlink(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mode_t mask = umask(0177);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ||
	    listen(fd, BACKLOG) < 0) {
		status_errno(st, errno, "--socket %s", path);
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	umask(mask);
	return fd;
}

int
sockets_listen_tcp(const char *where, struct status *st)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	const char *colon = strrchr(where, ':');
	int one = 1, fd = -1;

	if (!colon || colon == where || !colon[1])
		return status_set(st, STATUS_INVALID,
		    "--listen %s: HOST:PORT is wanted", where);
	auto_free char *host = xstrndup(where, (size_t)(colon - where));
	if (getaddrinfo(host, colon + 1, &hints, &list) != 0)
		return status_set(st, STATUS_INVALID,
		    "--listen %s: no such address", where);
	errno = EADDRNOTAVAIL;
	for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
		    listen(fd, BACKLOG) == 0)
			continue;
		int err = errno;
		close(fd);
		errno = err;
		fd = -1;
	}
	int err = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return status_errno(st, err, "--listen %s", where);
	return fd;
}

void
sockets_announce(int fd, const char *where)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	char port[16] = "";
	const char *colon = strrchr(where, ':');

	if (getsockname(fd, (struct sockaddr *)&at, &len) == 0)
		getnameinfo((struct sockaddr *)&at, len, NULL, 0, port,
		    sizeof port, NI_NUMERICSERV);
	printf("sandagentfs-box: listening on http://%.*s:%s/api\n",
	    (int)(colon - where), where, port);
	fflush(stdout);
}
