/* One exchange: what is sent, what comes, deadlines, cancelling. */
#include "agent/http/exchange.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "agent/base/clock.h"
#include "tests/agent/http/peer.h"

static struct peer peer;
static struct http_client *client;

struct got {
	struct http_response r;
	struct status st;
	int rc;
	int64_t ms;
};

static int
set_up(void **state)
{
	(void)state;
	peer_start(&peer, NULL);
	client = http_client_create();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	http_client_destroy(client);
	peer_stop(&peer);
	return 0;
}

static char *
url(const char *path)
{
	return xasprintf("http://127.0.0.1:%d%s", peer.port, path);
}

static void
ask(struct got *g, struct http_request rq, const char *path, struct cancel *c)
{
	char *u = url(path);

	memset(g, 0, sizeof *g);
	g->r.body = BUF_INIT(100);
	rq.url = u;
	rq.method = rq.method ? rq.method : "GET";
	int64_t t = clock_mono_ms();
	g->rc = http_exchange(client, &rq, &g->r, c, &g->st);
	g->ms = clock_mono_ms() - t;
	free(u);
}

static void
answers_are_read(void **state)
{
	struct got g;
	const char *headers[] = { "X-One: 1", NULL };

	(void)state;
	peer_answer(&peer,
	    "HTTP/1.1 206 Partial\r\nContent-Type: Text/Plain; charset=utf-8"
	    "\r\nContent-Range: bytes 3-7/20\r\nContent-Length: 5\r\n"
	    "Retry-After-sandbox-create: 12\r\n\r\nhello");
	peer_answer(&peer,
	    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n"
	    "Content-Length: 0\r\n\r\n");
	ask(&g, (struct http_request){ .token = "s3cret", .headers = headers },
	    "/a?path=x", NULL);
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.r.status, 206);
	assert_string_equal(g.r.body.bytes, "hello");
	assert_string_equal(g.r.content_type, "text/plain; charset=utf-8");
	assert_int_equal(g.r.range_first, 3);
	assert_int_equal(g.r.range_last, 7);
	assert_int_equal(g.r.range_size, 20);
	assert_int_equal(g.r.content_length, 5);
	assert_int_equal(g.r.retry_after_ms, 12000);
	assert_non_null(
	    strstr(peer.requests[0], "Authorization: Bearer s3cret\r\n"));
	assert_non_null(strstr(peer.requests[0], "X-One: 1\r\n"));
	buf_finish(&g.r.body);

	ask(&g, (struct http_request){ 0 }, "/b", NULL);
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.r.status, 404);
	assert_int_equal(g.r.range_first, -1);
	assert_int_equal(g.r.retry_after_ms, -1);
	assert_null(strstr(peer.requests[1], "Authorization"));
	/* the same connection */
	assert_int_equal(peer.connections, 1);
	buf_finish(&g.r.body);
}

static void
bodies_are_sent(void **state)
{
	struct got g;
	int fd = memfd_create("body", MFD_CLOEXEC);
	struct http_segment body[] = { { .bytes = "head ", .len = 5 },
		{ .fd = fd, .off = 2, .len = 4 }, { .bytes = "", .len = 0 },
		{ .bytes = " tail", .len = 5 } };

	(void)state;
	assert_int_equal(write_all(fd, "0123", 4), 0);
	peer_answer(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ask(&g,
	    (struct http_request){ .method = "POST",
		.body = body,
		.body_count = 4 },
	    "/", NULL);
	assert_int_equal(g.rc, 0);
	assert_non_null(strstr(peer.requests[0], "Content-Length: 14\r\n"));
	/* the file is shorter than promised: NULs */
	assert_memory_equal(peer.requests[0] + peer.request_lens[0] - 14,
	    "head 23\0\0 tail", 14);
	assert_null(strstr(peer.requests[0], "Expect"));
	buf_finish(&g.r.body);
	ask(&g, (struct http_request){ .method = "POST" }, "/", NULL);
	assert_non_null(strstr(peer.requests[1], "Content-Length: 0\r\n"));
	buf_finish(&g.r.body);
	ask(&g, (struct http_request){ .method = "DELETE" }, "/", NULL);
	assert_memory_equal(peer.requests[2], "DELETE / ", 9);
	buf_finish(&g.r.body);
	close(fd);
}

struct sunk {
	struct buf b;
	size_t limit;
	int begun;
};

static int
begin(void *arg, const struct http_response *r, struct status *st)
{
	struct sunk *s = arg;

	(void)st;
	assert_int_equal(r->status, 200);
	s->begun++;
	return 0;
}

static int
sink(void *arg, const void *bytes, size_t len, struct status *st)
{
	struct sunk *s = arg;

	if (s->b.len + len > s->limit)
		return status_set(st, STATUS_NO_SPACE, "full");
	buf_add(&s->b, bytes, len);
	return 0;
}

static void
sinks(void **state)
{
	struct got g;
	struct sunk s = { .b = BUF_INIT(1000), .limit = 1000 };

	(void)state;
	peer_answer(&peer,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
	peer_answer(&peer, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nwords");
	peer_answer(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
	struct http_request rq = { .begin = begin, .sink = sink, .arg = &s };
	ask(&g, rq, "/", NULL);
	assert_int_equal(g.rc, 0);
	assert_string_equal(s.b.bytes, "hello world");
	assert_int_equal(s.begun, 1);
	assert_int_equal(g.r.body.len, 0);
	buf_finish(&g.r.body);
	/* an error's body is the response's */
	ask(&g, rq, "/", NULL);
	assert_int_equal(g.rc, 0);
	assert_string_equal(g.r.body.bytes, "words");
	assert_string_equal(s.b.bytes, "hello world");
	buf_finish(&g.r.body);
	s.limit = 12;
	ask(&g, rq, "/", NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_NO_SPACE);
	buf_finish(&g.r.body);
	buf_finish(&s.b);
}

static void
bounds(void **state)
{
	static char big[400];
	struct got g;

	(void)state;
	snprintf(big, sizeof big,
	    "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n%0200d", 7);
	peer_answer(&peer, big);
	static char bad[400];
	snprintf(bad, sizeof bad,
	    "HTTP/1.1 400 Bad\r\nContent-Length: 200\r\n\r\n%0200d", 7);
	peer_answer(&peer, bad);
	ask(&g, (struct http_request){ 0 }, "/", NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_TOO_BIG);
	buf_finish(&g.r.body);
	ask(&g, (struct http_request){ 0 }, "/", NULL);
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.r.status, 400);
	assert_int_equal(g.r.body.len, 100);
	buf_finish(&g.r.body);
}

static void
redirects_are_not_followed(void **state)
{
	struct got g;

	(void)state;
	peer_answer(&peer,
	    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/steal\r\n"
	    "Content-Length: 0\r\n\r\n");
	ask(&g, (struct http_request){ .token = "t" }, "/", NULL);
	assert_int_equal(g.rc, 0);
	assert_int_equal(g.r.status, 302);
	assert_int_equal(peer.asked, 1);
	buf_finish(&g.r.body);
}

static void
deadlines(void **state)
{
	struct got g;

	(void)state;
	peer_answer(&peer, "@wait 3000\nHTTP/1.1 200 OK\r\n\r\n");
	peer_answer(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
	peer_answer(&peer, "@wait 3000\nHTTP/1.1 200 OK\r\n\r\n");
	ask(&g, (struct http_request){ .deadlines.first = 150 }, "/", NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_TIMEOUT);
	assert_true(g.r.begun);
	assert_true(g.ms >= 140 && g.ms < 1000);
	buf_finish(&g.r.body);
	ask(&g,
	    (struct http_request){
		.deadlines = { .first = 2000, .idle = 150 } },
	    "/", NULL);
	assert_int_equal(g.st.code, STATUS_TIMEOUT);
	assert_true(g.ms < 1000);
	buf_finish(&g.r.body);
	ask(&g, (struct http_request){ .deadlines.total = 150 }, "/", NULL);
	assert_int_equal(g.st.code, STATUS_TIMEOUT);
	assert_true(g.ms < 1000);
	buf_finish(&g.r.body);
}

static void *
fire_later(void *arg)
{
	poll(NULL, 0, 200);
	cancel_fire(arg);
	return NULL;
}

static void
cancelling(void **state)
{
	struct got g;
	struct cancel *c = cancel_create(NULL);
	pthread_t t;

	(void)state;
	peer_answer(&peer, "@wait 3000\nHTTP/1.1 200 OK\r\n\r\n");
	pthread_create(&t, NULL, fire_later, c);
	ask(&g, (struct http_request){ 0 }, "/", c);
	pthread_join(t, NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_CANCELED);
	assert_true(g.ms >= 190 && g.ms < 800);
	buf_finish(&g.r.body);
	/* fired before: nothing is sent */
	unsigned asked = peer_asked(&peer);
	ask(&g, (struct http_request){ 0 }, "/", c);
	assert_int_equal(g.st.code, STATUS_CANCELED);
	assert_int_equal(peer_asked(&peer), asked);
	buf_finish(&g.r.body);
	cancel_put(c);
}

static void
broken_connections(void **state)
{
	struct got g;

	(void)state;
	peer_answer(&peer,
	    "@close\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
	peer_answer(&peer, "@close\n");
	ask(&g, (struct http_request){ 0 }, "/", NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_UNAVAILABLE);
	assert_true(g.r.begun);
	buf_finish(&g.r.body);
	ask(&g, (struct http_request){ 0 }, "/", NULL);
	assert_int_equal(g.st.code, STATUS_UNAVAILABLE);
	buf_finish(&g.r.body);
}

static void
nobody_there(void **state)
{
	struct got g;
	int port = peer.port;

	(void)state;
	peer.port = 1;
	ask(&g, (struct http_request){ .token = "s3cret" }, "/?q=private",
	    NULL);
	peer.port = port;
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_UNAVAILABLE);
	assert_false(g.r.begun);
	assert_null(strstr(g.st.text, "s3cret"));
	assert_null(strstr(g.st.text, "private"));
	buf_finish(&g.r.body);
}

/* A kept connection that the server has dropped meanwhile. */
static void
stale_connections(void **state)
{
	struct got g;
	struct http_segment body = { .bytes = "text", .len = 4 };
	struct http_request rq = { .method = "POST",
		.body = &body,
		.body_count = 1 };

	(void)state;
	peer_answer(&peer,
	    "@close\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		ask(&g, rq, "/", NULL);
		assert_int_equal(g.rc, 0);
		assert_int_equal(g.r.status, 200);
		buf_finish(&g.r.body);
		poll(NULL, 0, 20);
	}
	assert_int_equal(peer.connections, 3);
}

static void
unix_sockets(void **state)
{
	struct peer p;
	struct got g;
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "/tmp/saf-exchange-%d", (int)getpid());
	peer_start(&p, path);
	peer_answer(&p, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	memset(&g, 0, sizeof g);
	g.r.body = BUF_INIT(100);
	struct http_request rq = { .method = "GET",
		.url = "http://localhost/api",
		.unix_path = path };
	assert_int_equal(http_exchange(client, &rq, &g.r, NULL, &g.st), 0);
	assert_string_equal(g.r.body.bytes, "hi");
	assert_non_null(strstr(p.requests[0], "Host: localhost\r\n"));
	buf_finish(&g.r.body);
	http_client_destroy(client);
	client = http_client_create();
	peer_stop(&p);
}

static void
headers_are_not_split(void **state)
{
	struct got g;

	(void)state;
	peer_answer(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	ask(&g, (struct http_request){ .token = "a\r\nX-Evil: 1" }, "/", NULL);
	assert_int_equal(g.rc, -1);
	assert_int_equal(g.st.code, STATUS_INVALID);
	assert_int_equal(peer.asked, 0);
	buf_finish(&g.r.body);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_are_read),
		T(bodies_are_sent),
		T(sinks),
		T(bounds),
		T(redirects_are_not_followed),
		T(deadlines),
		T(cancelling),
		T(broken_connections),
		T(nobody_there),
		T(stale_connections),
		T(unix_sockets),
		T(headers_are_not_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
