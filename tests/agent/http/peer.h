/*
 * A server on the loopback that answers with what a test wrote before: each
 * request takes the next answer, raw bytes, and is kept for inspection. An
 * answer may begin with directives, each on a line: "@wait MS" before it,
 * "@close" after it. One connection at a time is enough for most; each has a
 * worker of its own.
 */
#ifndef TESTS_AGENT_HTTP_PEER_H
#define TESTS_AGENT_HTTP_PEER_H

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/base/buf.h"
#include "tests/test.h"

#define PEER_MAX 64

struct peer {
	int fd;
	int port; /* 0: a unix socket */
	char path[108];
	pthread_t acceptor;
	int stop; /* readable: the end */
	pthread_mutex_t lock;
	pthread_cond_t gone;
	unsigned live; /* workers of connections */
	const char *answers[PEER_MAX];
	size_t answer_lens[PEER_MAX];
	unsigned answer_count, asked, connections;
	char *requests[PEER_MAX];
	size_t request_lens[PEER_MAX];
};

struct peer_connection {
	struct peer *p;
	int fd;
};

/* Reads one whole request; false at the end of the connection. */
static bool
peer_read(int fd, struct buf *b)
{
	size_t want = 0;

	while (true) {
		char *end = memmem(b->bytes, b->len, "\r\n\r\n", 4);
		if (end && want == 0) {
			char *length =
			    memmem(b->bytes, b->len, "Content-Length: ", 16);
			want = (size_t)(end - b->bytes) + 4 +
			    (length && length < end
				    ? strtoul(length + 16, NULL, 10)
				    : 0);
		}
		if (want > 0 && b->len >= want)
			return true;
		char *room = buf_reserve(b, 65536);
		ssize_t n = room ? read(fd, room, 65536) : -1;
		if (n <= 0)
			return false;
		buf_commit(b, (size_t)n);
	}
}

static const char *
peer_directives(const char *a, int *wait, bool *closes)
{
	while (*a == '@') {
		if (strncmp(a, "@wait ", 6) == 0)
			*wait = (int)strtol(a + 6, NULL, 10);
		else if (strncmp(a, "@close", 6) == 0)
			*closes = true;
		a = strchr(a, '\n') + 1;
	}
	return a;
}

static void *
peer_serve(void *arg)
{
	struct peer_connection *k = arg;
	struct peer *p = k->p;
	auto_buf b = BUF_INIT(64 << 20);
	bool closes = false;

	while (!closes && peer_read(k->fd, &b)) {
		int wait = 0;
		pthread_mutex_lock(&p->lock);
		unsigned i = p->asked++;
		assert_true(i < PEER_MAX);
		p->requests[i] = xcalloc(b.len + 1, 1);
		memcpy(p->requests[i], b.bytes, b.len);
		p->request_lens[i] = b.len;
		unsigned k_answer = MIN(i, p->answer_count - 1);
		const char *whole = p->answers[k_answer];
		size_t len = p->answer_lens[k_answer];
		pthread_mutex_unlock(&p->lock);
		buf_reset(&b);
		const char *a = peer_directives(whole, &wait, &closes);
		if (wait > 0)
			poll(&(struct pollfd){ .fd = p->stop,
				 .events = POLLIN },
			    1, wait);
		if (write_all(k->fd, a, len - (size_t)(a - whole)) < 0)
			break;
	}
	close(k->fd);
	free(k);
	pthread_mutex_lock(&p->lock);
	p->live--;
	pthread_cond_signal(&p->gone);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void *
peer_accept(void *arg)
{
	struct peer *p = arg;

	while (true) {
		int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return NULL;
		struct peer_connection *k = xcalloc(1, sizeof *k);
		pthread_t t;
		*k = (struct peer_connection){ .p = p, .fd = fd };
		pthread_mutex_lock(&p->lock);
		p->connections++;
		p->live++;
		pthread_mutex_unlock(&p->lock);
		pthread_create(&t, NULL, peer_serve, k);
		pthread_detach(t);
	}
}

static __attribute__((unused)) void
peer_start(struct peer *p, const char *unix_path)
{
	*p = (struct peer){ .lock = PTHREAD_MUTEX_INITIALIZER,
		.gone = PTHREAD_COND_INITIALIZER,
		.stop = eventfd(0, EFD_CLOEXEC) };
	assert_true(p->stop >= 0);
	if (unix_path) {
		struct sockaddr_un un = { .sun_family = AF_UNIX };
		snprintf(un.sun_path, sizeof un.sun_path, "%s", unix_path);
		snprintf(p->path, sizeof p->path, "%s", unix_path);
		p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(p->fd, (struct sockaddr *)&un, sizeof un),
		    0);
	} else {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		socklen_t len = sizeof in;
		p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(p->fd, (struct sockaddr *)&in, sizeof in),
		    0);
		getsockname(p->fd, (struct sockaddr *)&in, &len);
		p->port = ntohs(in.sin_port);
	}
	assert_int_equal(listen(p->fd, 16), 0);
	pthread_create(&p->acceptor, NULL, peer_accept, p);
}

static __attribute__((unused)) void
peer_answer_bytes(struct peer *p, const char *bytes, size_t len)
{
	p->answer_lens[p->answer_count] = len;
	p->answers[p->answer_count++] = bytes;
}

static __attribute__((unused)) void
peer_answer(struct peer *p, const char *text)
{
	peer_answer_bytes(p, text, strlen(text));
}

static __attribute__((unused)) unsigned
peer_asked(struct peer *p)
{
	pthread_mutex_lock(&p->lock);
	unsigned n = p->asked;
	pthread_mutex_unlock(&p->lock);
	return n;
}

static __attribute__((unused)) void
peer_stop(struct peer *p)
{
	shutdown(p->fd, SHUT_RDWR);
	close(p->fd);
	pthread_join(p->acceptor, NULL);
	assert_int_equal(eventfd_write(p->stop, 1), 0);
	/* The client has closed its connections. */
	pthread_mutex_lock(&p->lock);
	while (p->live > 0)
		pthread_cond_wait(&p->gone, &p->lock);
	pthread_mutex_unlock(&p->lock);
	close(p->stop);
	if (p->path[0])
		unlink(p->path);
	for (unsigned i = 0; i < p->asked; i++)
		free(p->requests[i]);
}

#endif
