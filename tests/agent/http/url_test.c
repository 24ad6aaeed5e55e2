/* URLs, answer headers, statuses: the pure parts of agent/http. */
#include "agent/http/url.h"

#include "agent/http/code.h"
#include "agent/http/header.h"
#include "tests/test.h"

static void
origins(void **state)
{
	struct url_origin o;
	struct status st;

	(void)state;
	assert_int_equal(url_origin("https://App.Example/api?x", &o, &st), 0);
	assert_string_equal(o.scheme, "https");
	assert_string_equal(o.host, "app.example");
	assert_int_equal(o.port, 443);
	assert_int_equal(url_origin("http://127.0.0.1:81", &o, &st), 0);
	assert_int_equal(o.port, 81);
	assert_int_equal(url_origin("ftp://x/", &o, &st), -1);
	assert_int_equal(url_origin("x", &o, &st), -1);
	assert_int_equal(url_origin("https://user@x/", &o, &st), -1);
	assert_int_equal(url_origin("https://x:y@z/", &o, &st), -1);
}

static void
secrets(void **state)
{
	static const struct {
		const char *url, *home;
		bool may;
	} cases[] = {
		{ "https://proxy.x/t", "https://app.x/api", true },
		{ "http://proxy.x/t", "https://app.x/api", false },
		{ "http://app.x/t", "https://app.x/api", false },
		{ "http://127.0.0.1:9/t", "http://127.0.0.1:8/api", true },
		{ "http://127.0.0.2:8/t", "http://127.0.0.1:8/api", false },
		{ "https://127.0.0.2/t", "http://127.0.0.1:8/api", true },
		{ "http://127.0.0.1@evil/t", "http://127.0.0.1/", false },
		{ "", "https://app.x/api", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (url_may_carry_secret(cases[i].url, cases[i].home) !=
		    cases[i].may)
			fail_msg("%s for %s", cases[i].url, cases[i].home);
}

static void
building(void **state)
{
	auto_buf u = BUF_INIT(200);

	(void)state;
	buf_puts(&u, "/files");
	url_add_segment(&u, "a/b c");
	url_add_query(&u, "path", "/x;+\xff&", 6);
	url_add_query(&u, "n", "1", 1);
	assert_string_equal(u.bytes,
	    "/files/a%2Fb%20c?path=/x%3B%2B%FF%26&n=1");
}

static void
codes(void **state)
{
	(void)state;
	for (int s = 0; s < 1000; s++) {
		enum status_code c = http_code(s);
		if ((c == STATUS_OK) != (s >= 200 && s < 300))
			fail_msg("%d is %s", s, status_word(c));
		assert_int_not_equal(c, STATUS_CANCELED);
		assert_int_not_equal(c, STATUS_BUG);
	}
	assert_int_equal(http_code(401), STATUS_DENIED);
	assert_int_equal(http_code(403), STATUS_DENIED);
	assert_int_equal(http_code(404), STATUS_NOT_FOUND);
	assert_int_equal(http_code(408), STATUS_TIMEOUT);
	assert_int_equal(http_code(409), STATUS_EXISTS);
	assert_int_equal(http_code(418), STATUS_INVALID);
	assert_int_equal(http_code(429), STATUS_BUSY);
	assert_int_equal(http_code(500), STATUS_IO);
	assert_int_equal(http_code(502), STATUS_UNAVAILABLE);
	assert_int_equal(http_code(503), STATUS_UNAVAILABLE);
	assert_int_equal(http_code(504), STATUS_TIMEOUT);
	assert_int_equal(http_code(302), STATUS_IO);
}

static void
line(struct http_response *r, const char *text)
{
	http_header_line(r, text, strlen(text));
}

static void
headers(void **state)
{
	struct http_response r;

	(void)state;
	http_header_reset(&r);
	line(&r, "HTTP/2 206 \r\n");
	assert_int_equal(r.status, 206);
	line(&r, "content-range: bytes */17\r\n");
	assert_int_equal(r.range_first, -1);
	assert_int_equal(r.range_size, 17);
	line(&r, "HTTP/1.1 206 x");
	line(&r, "Content-Range: bytes 0--1/0");
	assert_int_equal(r.range_first, 0);
	assert_int_equal(r.range_last, -1);
	assert_int_equal(r.range_size, 0);
	line(&r, "Retry-After: Wed, 21 Oct 2026 07:28:00 GMT");
	assert_int_equal(r.retry_after_ms, -1);
	line(&r, "Retry-After: 999999999999");
	assert_int_equal(r.retry_after_ms, 86400000);
	line(&r, "HTTP/1.1 200");
	line(&r, "retry-after-ms: 250");
	assert_int_equal(r.retry_after_ms, 250);
	line(&r, "Content-Length: x");
	assert_int_equal(r.content_length, -1);
	line(&r, "no colon");
	line(&r, ":");
	line(&r, "");
	line(&r, "HTTP/1.1");
	assert_int_equal(r.status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins),
		cmocka_unit_test(secrets),
		cmocka_unit_test(building),
		cmocka_unit_test(codes),
		cmocka_unit_test(headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
