/* The client against a service that answers what a test wrote before. */
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/sandbox/sandbox.h"
#include "tests/agent/http/peer.h"

static struct peer peer;
static struct provider *provider;
static struct sandbox *sb;
static char *texts[PEER_MAX];
static char events[1000];

static void
note_event(void *arg, const char *line)
{
	size_t used = strlen(events);

	(void)arg;
	snprintf(events + used, sizeof events - used, "%s\n", line);
}

static int
set_up(void **state)
{
	struct sandbox_options o = { .ttl_minutes = 60, .stop_minutes = 15 };

	(void)state;
	peer_start(&peer, NULL);
	char *url = xasprintf("http://127.0.0.1:%d/api/", peer.port);
	struct provider_settings s = { .api_url = url,
		.api_key = "dtn_secret",
		.target = "eu",
		.owner = "me" };
	provider = provider_create(&s);
	free(url);
	sb = sandbox_create(provider, "thread-a b", &o);
	events[0] = '\0';
	sandbox_on_event(sb, note_event, NULL);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	sandbox_destroy(sb);
	provider_destroy(provider);
	peer_stop(&peer);
	for (size_t i = 0; i < PEER_MAX; i++) {
		free(texts[i]);
		texts[i] = NULL;
	}
	return 0;
}

static void
answer(const char *directives, const char *status, const char *headers,
    const char *body)
{
	unsigned i = peer.answer_count;

	texts[i] = xasprintf("%sHTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n%s",
	    directives, status, headers, strlen(body), body);
	peer_answer(&peer, texts[i]);
}

static void
record(const char *state, const char *labels)
{
	char *body = xasprintf("{\"id\":\"id-1\",\"name\":\"thread-a b\","
			       "\"state\":\"%s\",\"labels\":{%s},"
			       "\"autoDestroyAt\":\"2026-08-17T11:00:00.000Z\","
			       "\"toolboxProxyUrl\":\"http://127.0.0.1:%d/tb/"
			       "\"}",
	    state, labels, peer.port);

	answer("", "200 OK", "", body);
	free(body);
}

#define OURS "\"sandagentfs\":\"1\",\"sandagentfs.store\":\"me\""

static void
executed(const char *result)
{
	char *body = xasprintf("{\"exitCode\":0,\"result\":\"%s\"}", result);

	answer("", "200 OK", "", body);
	free(body);
}

#define SCRIPT_OK "=saf=begin\\n=saf=out\\nb2s=\\n=saf=code 0\\n=saf=end\\n"
#define NOT_THERE                                                               \
	"{\"statusCode\":404,\"message\":\"Sandbox with ID or name thread-a b " \
	"not found\"}"

static int
script(enum sandbox_want want, struct status *st)
{
	auto_buf out = BUF_INIT(100);
	int code = -1;
	int rc = sandbox_script(sb, want, "x", 1, &out, &code, NULL, st);

	if (rc == 0) {
		assert_string_equal(out.bytes, "ok");
		assert_int_equal(code, 0);
	}
	return rc;
}

static void
script_ok(enum sandbox_want want)
{
	struct status st = { 0 };

	if (script(want, &st) < 0)
		fail_msg("%s", st.text);
}

static void
asked(unsigned i, const char *line, const char *part)
{
	assert_true(i < peer.asked);
	if (strncmp(peer.requests[i], line, strlen(line)) != 0)
		fail_msg("request %u is %.80s", i, peer.requests[i]);
	if (part && !strstr(peer.requests[i], part))
		fail_msg("request %u lacks %s: %s", i, part, peer.requests[i]);
}

static void
found_and_used(void **state)
{
	(void)state;
	record("started", OURS);
	executed(SCRIPT_OK);
	executed("from .zshenv\\n=saf=begin of nothing\\n" SCRIPT_OK);
	script_ok(SANDBOX_CREATE);
	script_ok(SANDBOX_LOOK);
	assert_int_equal(peer.asked, 3);
	asked(0, "GET /api/sandbox/thread-a%20b HTTP/1.1\r\n",
	    "Authorization: Bearer dtn_secret\r\n");
	asked(1, "POST /tb/id-1/process/execute HTTP/1.1\r\n",
	    "X-Daytona-SDK-Version: 0.190.0\r\n");
	asked(1, "POST", "Authorization: Bearer dtn_secret\r\n");
	asked(1, "POST", "\"cwd\":\"/\"");
	assert_null(strstr(peer.requests[1], "Skip-Last-Activity"));
	asked(2, "POST", "X-Daytona-Skip-Last-Activity-Update: true\r\n");
	assert_string_equal(events, "found thread-a b (id=id-1)\n");
}

static void
created(void **state)
{
	(void)state;
	answer("", "404 Not Found", "", NOT_THERE);
	record("creating", OURS);
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_CREATE);
	asked(1, "POST /api/sandbox HTTP/1.1\r\n", "\"ttlMinutes\":60");
	asked(1, "POST", "\"autoStopInterval\":15");
	asked(1, "POST", "\"target\":\"eu\"");
	asked(1, "POST", OURS);
	assert_int_equal(peer.asked, 4);
	assert_string_equal(events,
	    "created thread-a b (id=id-1, ttl=60min)\n");
}

static void
created_by_two(void **state)
{
	(void)state;
	answer("", "404 Not Found", "", NOT_THERE);
	answer("", "409 Conflict", "",
	    "{\"message\":\"Sandbox with name thread-a b already exists\"}");
	record("started", "");
	executed(SCRIPT_OK);
	script_ok(SANDBOX_CREATE);
	assert_int_equal(peer.asked, 4);
	assert_string_equal(events,
	    "found thread-a b (id=id-1)\nthread-a b belongs to somebody else: "
	    "it is used and left\n");
}

static void
started_from_archive(void **state)
{
	(void)state;
	record("archiving", OURS);
	record("archived", OURS);
	answer("", "409 Conflict", "",
	    "{\"message\":\"Sandbox state change in progress\"}");
	record("archived", OURS);
	record("restoring", OURS);
	record("starting", OURS);
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_START);
	assert_int_equal(peer.asked, 8);
	asked(2, "POST /api/sandbox/id-1/start HTTP/1.1\r\n", NULL);
	assert_string_equal(events,
	    "found thread-a b (id=id-1)\nstarted thread-a b (id=id-1)\n");
}

static void
looking_starts_nothing(void **state)
{
	struct status st = { 0 };

	(void)state;
	record("stopped", OURS);
	assert_int_equal(script(SANDBOX_LOOK, &st), -1);
	assert_int_equal(st.code, STATUS_UNAVAILABLE);
	assert_int_equal(peer.asked, 1);
	assert_string_equal(events, "");
}

static void
a_broken_one(void **state)
{
	struct status st = { 0 };
	struct sandbox_view v;

	(void)state;
	answer("", "200 OK", "",
	    "{\"id\":\"id-1\",\"state\":\"error\",\"errorReason\":\"disk "
	    "gone\"}");
	assert_int_equal(script(SANDBOX_CREATE, &st), -1);
	assert_int_equal(st.code, STATUS_UNAVAILABLE);
	assert_non_null(strstr(st.text, "disk gone"));
	sandbox_view(sb, &v);
	assert_string_equal(v.state, "error");
	assert_string_equal(v.reason, "disk gone");
}

static void
a_bad_key(void **state)
{
	struct status st = { 0 };

	(void)state;
	answer("", "401 Unauthorized", "",
	    "{\"message\":\"Invalid credentials\"}");
	assert_int_equal(script(SANDBOX_CREATE, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_non_null(strstr(st.text, "Invalid credentials"));
	assert_null(strstr(st.text, "dtn_"));
	assert_int_equal(peer.asked, 1);
}

static void
no_quota(void **state)
{
	struct status st = { 0 };

	(void)state;
	answer("", "404 Not Found", "", NOT_THERE);
	answer("", "400 Bad Request", "",
	    "{\"message\":\"Total CPU limit exceeded. Maximum allowed: 10\"}");
	assert_int_equal(script(SANDBOX_CREATE, &st), -1);
	assert_int_equal(st.code, STATUS_NO_SPACE);
	assert_non_null(strstr(st.text, "Total CPU limit"));
}

static void
deleted_meanwhile(void **state)
{
	(void)state;
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_CREATE);
	answer("", "401 Unauthorized", "",
	    "{\"code\":\"UNAUTHORIZED\",\"message\":\"unauthorized: "
	    "authentication failed\"}");
	answer("", "404 Not Found", "", NOT_THERE);
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_CREATE);
	assert_int_equal(peer.asked, 6);
	asked(4, "POST /api/sandbox HTTP", NULL);
	assert_non_null(strstr(events, "created thread-a b"));
}

static void
not_up_yet(void **state)
{
	(void)state;
	record("started", OURS);
	answer("", "400 Bad Request", "",
	    "{\"message\":\"bad request: failed to resolve container IP after "
	    "3 attempts: no IP address found. Is the Sandbox started?\"}");
	record("starting", OURS);
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_START);
	assert_int_equal(peer.asked, 5);
}

static void
gateways(void **state)
{
	(void)state;
	answer("", "503 Service Unavailable", "", "");
	record("started", OURS);
	answer("", "502 Bad Gateway", "", "");
	record("started", OURS);
	answer("@close\n", "502 Bad Gateway", "", "");
	record("started", OURS);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_START);
	assert_int_equal(peer.asked, 7);
}

static void
told_to_wait(void **state)
{
	(void)state;
	record("started", OURS);
	answer("", "429 Too Many Requests", "Retry-After-authenticated: 1\r\n",
	    "{\"message\":\"ThrottlerException: Too Many Requests\"}");
	executed(SCRIPT_OK);
	int64_t t = clock_mono_ms();
	script_ok(SANDBOX_START);
	assert_true(clock_mono_ms() - t >= 1000);
	assert_int_equal(peer.asked, 3);
}

static void
key_stays_home(void **state)
{
	struct status st = { 0 };

	(void)state;
	answer("", "200 OK", "",
	    "{\"id\":\"id-1\",\"state\":\"started\",\"toolboxProxyUrl\":"
	    "\"http://127.0.0.2:9/toolbox\"}");
	assert_int_equal(script(SANDBOX_START, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_int_equal(peer.asked, 1);
}

static void
toolbox_url_asked_for(void **state)
{
	char url[100];

	(void)state;
	answer("", "200 OK", "", "{\"id\":\"id-1\",\"state\":\"started\"}");
	snprintf(url, sizeof url, "{\"url\":\"http://127.0.0.1:%d/tb\"}",
	    peer.port);
	answer("", "200 OK", "", url);
	executed(SCRIPT_OK);
	script_ok(SANDBOX_START);
	asked(1, "GET /api/sandbox/id-1/toolbox-proxy-url HTTP", NULL);
	asked(2, "POST /tb/id-1/process/execute HTTP", NULL);
}

static void
half_an_answer(void **state)
{
	struct status st = { 0 };

	(void)state;
	record("started", OURS);
	executed("=saf=begin\\n=saf=out\\nb2s=\\n");
	executed("=saf=begin\\n=saf=out\\n!!\\n=saf=code 0\\n=saf=end\\n");
	answer("", "200 OK", "", "{\"exitCode\":0,\"res");
	answer("", "408 Request Timeout", "",
	    "{\"message\":\"request timeout: command execution timeout\"}");
	assert_int_equal(script(SANDBOX_START, &st), -1);
	assert_int_equal(st.code, STATUS_IO);
	assert_int_equal(script(SANDBOX_START, &st), -1);
	assert_int_equal(st.code, STATUS_IO);
	assert_int_equal(script(SANDBOX_START, &st), -1);
	assert_int_equal(st.code, STATUS_INVALID);
	assert_int_equal(script(SANDBOX_START, &st), -1);
	assert_int_equal(st.code, STATUS_TIMEOUT);
}

static int
gather(void *arg, const void *bytes, size_t len, struct status *st)
{
	(void)st;
	buf_add(arg, bytes, len);
	return 0;
}

static void
get(int64_t off, int64_t len, const char *expected, int64_t size)
{
	auto_buf b = BUF_INIT(1000);
	struct status st = { 0 };
	int64_t total = -7;

	if (sandbox_get(sb, SANDBOX_LOOK, "f", off, len, gather, &b, &total,
		NULL, &st) < 0)
		fail_msg("%s", st.text);
	assert_string_equal(b.bytes, expected);
	assert_int_equal(total, size);
}

static void
ranges(void **state)
{
	struct status st = { 0 };
	auto_buf b = BUF_INIT(1000);
	int64_t total;

	(void)state;
	record("started", OURS);
	/* ignored */
	answer("", "200 OK", "", "0123456789");
	get(3, 4, "3456", 10);
	asked(1, "GET /tb/id-1/files/download?path=/home/daytona/f HTTP",
	    "Range: bytes=3-6\r\n");
	answer("", "200 OK", "", "0123456789");
	get(7, 0, "789", 10);
	/* an empty file, three ways */
	answer("", "200 OK", "", "");
	get(0, 5, "", 0);
	answer("", "206 Partial", "Content-Range: bytes 0--1/0\r\n", "");
	get(2, 0, "", 0);
	answer("", "416 No", "Content-Range: bytes */0\r\n", "invalid range");
	get(0, 5, "", 0);
	/* past the end */
	answer("", "416 No", "Content-Range: bytes */4\r\n", "invalid range");
	get(9, 5, "", 4);
	/* another part than asked for */
	answer("", "206 Partial", "Content-Range: bytes 0-3/9\r\n", "0123");
	assert_int_equal(sandbox_get(sb, SANDBOX_LOOK, "f", 2, 4, gather, &b,
			     &total, NULL, &st),
	    -1);
	assert_int_equal(st.code, STATUS_IO);
}

static void
a_transfer_goes_on(void **state)
{
	(void)state;
	record("started", OURS);
	peer_answer(&peer,
	    "@close\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123");
	record("started", OURS);
	answer("", "206 Partial", "Content-Range: bytes 4-9/10\r\n", "456789");
	get(0, 0, "0123456789", 10);
	asked(3, "GET", "Range: bytes=4-\r\n");
}

static void
stopped_already(void **state)
{
	struct status st = { 0 };

	(void)state;
	record("started", OURS);
	answer("", "400 Bad Request", "",
	    "{\"message\":\"Sandbox is not in a stoppable state\"}");
	record("stopped", OURS);
	assert_int_equal(sandbox_stop(sb, NULL, &st), 0);
	assert_string_equal(events, "");
	answer("", "404 Not Found", "", NOT_THERE);
	assert_int_equal(sandbox_stop(sb, NULL, &st), 0);
	assert_int_equal(peer.asked, 4);
}

static void
deleting(void **state)
{
	struct status st = { 0 };

	(void)state;
	record("started", OURS);
	answer("", "409 Conflict", "",
	    "{\"message\":\"Sandbox state change in progress\"}");
	record("stopping", OURS);
	answer("", "200 OK", "", "{}");
	assert_int_equal(sandbox_delete(sb, NULL, &st), 0);
	asked(3, "DELETE /api/sandbox/id-1 HTTP", NULL);
	assert_string_equal(events, "deleted thread-a b\n");
	/* somebody else's */
	record("started",
	    "\"sandagentfs\":\"1\","
	    "\"sandagentfs.store\":\"another\"");
	assert_int_equal(sandbox_delete(sb, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_int_equal(peer.asked, 5);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(found_and_used),
		T(created),
		T(created_by_two),
		T(started_from_archive),
		T(looking_starts_nothing),
		T(a_broken_one),
		T(a_bad_key),
		T(no_quota),
		T(deleted_meanwhile),
		T(not_up_yet),
		T(gateways),
		T(told_to_wait),
		T(key_stays_home),
		T(toolbox_url_asked_for),
		T(half_an_answer),
		T(ranges),
		T(a_transfer_goes_on),
		T(stopped_already),
		T(deleting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
