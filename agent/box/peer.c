/* See peer.h. */
#include "agent/box/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"

#define HEAD_MAX ((size_t)65536)

void
peer_init(struct peer *p)
{
	*p = (struct peer){ .fd = -1, .client_fd = -1, .length = -1 };
	buf_init(&p->in, HEAD_MAX * 2);
}

void
peer_finish(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	buf_finish(&p->in);
	for (size_t i = 0; i < p->header_count; i++) {
		free(p->headers[i].name);
		free(p->headers[i].value);
	}
	p->header_count = 0;
}

int
peer_connect(struct peer *p, const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof to.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
	p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->fd < 0)
		return -1;
	while (connect(p->fd, (struct sockaddr *)&to, sizeof to) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

/* -1 when the time is up, or the client has gone. */
static int
await(const struct peer *p, short events)
{
	struct pollfd fds[2] = { { .fd = p->fd, .events = events },
		{ .fd = p->client_fd, .events = POLLRDHUP } };
	int64_t deadline = p->patience ? clock_mono_ms() + p->patience : 0;

	wait_point();
	for (;;) {
		int64_t left = deadline ? deadline - clock_mono_ms() : -1;
		if (deadline && left <= 0)
			return -1;
		int n = poll(fds, 2, (int)MIN(left, (int64_t)3600000));
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0 && fds[0].revents)
			return 0;
		if (n > 0 && fds[1].revents)
			return -1;
	}
}

int
peer_write(struct peer *p, const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = send(p->fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (await(p, POLLOUT) < 0)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

/* Receives something more: 1, 0 at the end of the stream, -1. */
static int
fill(struct peer *p)
{
	char *room = buf_reserve(&p->in, HEAD_MAX);

	if (!room)
		return -1;
	for (;;) {
		ssize_t n = recv(p->fd, room, HEAD_MAX, MSG_DONTWAIT);
		if (n > 0)
			buf_commit(&p->in, (size_t)n);
		if (n >= 0)
			return n > 0;
		if (errno == EAGAIN) {
			if (await(p, POLLIN) < 0)
				return -1;
		} else if (errno != EINTR) {
			return -1;
		}
	}
}

const char *
peer_header(const struct peer *p, const char *name)
{
	for (size_t i = 0; i < p->header_count; i++)
		if (strcasecmp(p->headers[i].name, name) == 0)
			return p->headers[i].value;
	return NULL;
}

static int
parse_line(struct peer *p, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	if (!colon || colon == line || memchr(line, '\0', len) ||
	    p->header_count == PEER_HEADERS_MAX)
		return -1;
	const char *value = colon + 1, *end = line + len;
	while (value < end && (*value == ' ' || *value == '\t'))
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	p->headers[p->header_count++] = (struct peer_header){
		.name = xstrndup(line, (size_t)(colon - line)),
		.value = xstrndup(value, (size_t)(end - value)),
	};
	return 0;
}

/* Digits only; -1 if it is none or huge. */
static int
parse_length(const char *s, int64_t *out)
{
	*out = 0;
	if (!*s || strlen(s) > 18)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		*out = *out * 10 + (*s - '0');
	}
	return 0;
}

static int
decide_body(struct peer *p, bool no_body)
{
	const char *coding = peer_header(p, "Transfer-Encoding");
	const char *length = peer_header(p, "Content-Length");

	p->chunked = coding && strcasecmp(coding, "chunked") == 0;
	if (coding && !p->chunked)
		return -1;
	if (!p->chunked && length && parse_length(length, &p->length) < 0)
		return -1;
	if (no_body || p->status == 204 || p->status == 304) {
		p->length = 0;
		p->chunked = false;
	}
	p->left = p->chunked ? 0 : p->length;
	p->ended = p->length == 0;
	return 0;
}

/* The head is there, `len` bytes with its empty line. */
static int
parse_head(struct peer *p, size_t len, bool no_body)
{
	const char *at = p->in.bytes, *end = at + len - 2;
	unsigned status = 0;

	if (len < 16 || memcmp(at, "HTTP/1.1 ", 9) != 0)
		return -1;
	for (size_t i = 9; i < 12; i++) {
		if (at[i] < '0' || at[i] > '9')
			return -1;
		status = status * 10 + (unsigned)(at[i] - '0');
	}
	p->status = status;
	at = (const char *)memmem(at, len, "\r\n", 2) + 2;
	while (at < end) {
		const char *stop =
		    memmem(at, (size_t)(end - at) + 2, "\r\n", 2);
		if (parse_line(p, at, (size_t)(stop - at)) < 0)
			return -1;
		at = stop + 2;
	}
	buf_consume(&p->in, len);
	return decide_body(p, no_body);
}

int
peer_read_head(struct peer *p, bool no_body)
{
	for (;;) {
		const char *at = memmem(p->in.bytes, p->in.len, "\r\n\r\n", 4);
		if (at) {
			size_t len = (size_t)(at - p->in.bytes) + 4;
			if (len > HEAD_MAX || parse_head(p, len, no_body) < 0)
				return -1;
			if (p->status >= 200)
				return 0;
			continue;
		}
		if (p->in.len > HEAD_MAX || fill(p) <= 0)
			return -1;
	}
}

/* The line "hex[;ext]" before a chunk, or the line break after one. */
static int
begin_chunk(struct peer *p)
{
	for (;;) {
		size_t skip =
		    p->in.len >= 2 && memcmp(p->in.bytes, "\r\n", 2) == 0 ? 2
									  : 0;
		const char *start = p->in.bytes + skip;
		const char *at = memmem(start, p->in.len - skip, "\r\n", 2);
		if (at) {
			char *end = NULL;
			errno = 0;
			long long n = strtoll(start, &end, 16);
			if (errno || end == start || n < 0 ||
			    (*end != '\r' && *end != ';'))
				return -1;
			buf_consume(&p->in, (size_t)(at - p->in.bytes) + 2);
			p->left = n;
			p->ended = n == 0;
			return 0;
		}
		if (p->in.len > 1024 || fill(p) <= 0)
			return -1;
	}
}

ssize_t
peer_read(struct peer *p, char *out, size_t max)
{
	if (!p->ended && p->chunked && p->left == 0 && begin_chunk(p) < 0)
		return -1;
	if (p->ended)
		return 0;
	if (p->in.len == 0) {
		int got = fill(p);
		if (got < 0 || (got == 0 && (p->chunked || p->length >= 0)))
			return -1;
		if (got == 0) {
			p->ended = true;
			return 0;
		}
	}
	size_t n = MIN(max, p->in.len);
	if (p->chunked || p->length >= 0)
		n = (size_t)MIN((int64_t)n, p->left);
	memcpy(out, p->in.bytes, n);
	buf_consume(&p->in, n);
	p->left -= (int64_t)n;
	if (!p->chunked && p->length >= 0 && p->left == 0)
		p->ended = true;
	return (ssize_t)n;
}
