/* What a hostile inside may answer. */
#include "agent/box/peer.h"

#include <signal.h>
#include <sys/socket.h>

#include "agent/base/clock.h"
#include "tests/test.h"

/* Feeds `text` and closes; the other end is the peer's. */
static void
connect_to(struct peer *p, const char *text, size_t len)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write_all(fds[1], text, len), 0);
	close(fds[1]);
	peer_init(p);
	p->fd = fds[0];
	p->patience = 2000;
}

/* The body, or NULL when it ended early. */
static bool
read_all(struct peer *p, struct buf *out, size_t step)
{
	char piece[64];
	ssize_t n;

	while ((n = peer_read(p, piece, step)) > 0)
		buf_add(out, piece, (size_t)n);
	return n == 0;
}

static void
good(void **state)
{
	static const struct {
		const char *text, *body;
		unsigned status;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello",
		    200 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloworld",
		    "hello", 200 },
		{ "HTTP/1.1 200 OK\r\n\r\nto the end", "to the end", 200 },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "", 204 },
		{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "",
		    304 },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 x\r\n"
		  "content-length:0\r\n\r\n",
		    "", 404 },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		  "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
		    "abcde", 200 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t step = 1; step < 8; step++) {
			struct peer p;
			auto_buf out = BUF_INIT(1000);
			connect_to(&p, cases[i].text, strlen(cases[i].text));
			assert_int_equal(peer_read_head(&p, false), 0);
			assert_int_equal(p.status, cases[i].status);
			assert_true(read_all(&p, &out, step));
			assert_string_equal(out.bytes, cases[i].body);
			peer_finish(&p);
		}
}

static void
bad_heads(void **state)
{
	static const char *const cases[] = { "", "HTTP/1.1 200 OK",
		"HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n\r\n",
		"HTTP/1.1 2x0 OK\r\n\r\n", "garbage\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: "
		"99999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer p;
		connect_to(&p, cases[i], strlen(cases[i]));
		if (peer_read_head(&p, false) == 0)
			fail_msg("taken: %s", cases[i]);
		peer_finish(&p);
	}
}

static void
bad_bodies(void **state)
{
	static const char *const cases[] = { "Content-Length: 9\r\n\r\nhello",
		"Transfer-Encoding: chunked\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello",
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct peer p;
		auto_buf out = BUF_INIT(1000);
		auto_free char *text =
		    xasprintf("HTTP/1.1 200 OK\r\n%s", cases[i]);
		connect_to(&p, text, strlen(text));
		assert_int_equal(peer_read_head(&p, false), 0);
		if (read_all(&p, &out, 64))
			fail_msg("taken: %s", cases[i]);
		peer_finish(&p);
	}
}

static void
too_much(void **state)
{
	auto_buf text = BUF_INIT((size_t)1 << 20);
	struct peer p;

	(void)state;
	buf_puts(&text, "HTTP/1.1 200 OK\r\n");
	for (size_t i = 0; i <= PEER_HEADERS_MAX; i++)
		buf_puts(&text, "a: b\r\n");
	buf_puts(&text, "\r\n");
	connect_to(&p, text.bytes, text.len);
	assert_int_equal(peer_read_head(&p, false), -1);
	peer_finish(&p);

	buf_reset(&text);
	buf_puts(&text, "HTTP/1.1 200 OK\r\na: ");
	for (size_t i = 0; i < 100000; i++)
		buf_putc(&text, 'x');
	connect_to(&p, text.bytes, text.len);
	assert_int_equal(peer_read_head(&p, false), -1);
	peer_finish(&p);
}

static void
a_nul_in_a_header(void **state)
{
	static const char text[] = "HTTP/1.1 200 OK\r\na: b\0c\r\n\r\n";
	struct peer p;

	(void)state;
	connect_to(&p, text, sizeof text - 1);
	assert_int_equal(peer_read_head(&p, false), -1);
	peer_finish(&p);
}

/* A silent one costs its time and no more; so does a client that has gone. */
static void
silence(void **state)
{
	int fds[2], client[2];
	struct peer p;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, client), 0);
	peer_init(&p);
	p.fd = fds[0];
	p.patience = 50;
	int64_t start = clock_mono_ms();
	assert_int_equal(peer_read_head(&p, false), -1);
	assert_in_range(clock_mono_ms() - start, 40, 2000);
	p.patience = 0;
	p.client_fd = client[0];
	close(client[1]);
	assert_int_equal(peer_read_head(&p, false), -1);
	close(client[0]);
	close(fds[1]);
	peer_finish(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),
		cmocka_unit_test(bad_heads),
		cmocka_unit_test(bad_bodies),
		cmocka_unit_test(too_much),
		cmocka_unit_test(a_nul_in_a_header),
		cmocka_unit_test(silence),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
