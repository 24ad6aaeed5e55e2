/* Multipart bodies, cut at every point. */
#include "agent/box/multipart.h"

#include "tests/test.h"

static void
on_part(void *arg, const char *name, bool has_name)
{
	buf_printf(arg, "[%s%s:", has_name ? "" : "?", name);
}

static void
on_bytes(void *arg, const char *bytes, size_t len)
{
	buf_add(arg, bytes, len);
}

static void
on_end(void *arg)
{
	buf_puts(arg, "]");
}

static const struct multipart_events events = { on_part, on_bytes, on_end };

#define PART(name) \
	"--B\r\nContent-Disposition: form-data; name=" name "\r\n\r\n"

static const struct {
	const char *body, *want;
	enum multipart_end end;
} cases[] = {
	{ PART("\"a\"") "one\r\n--B--\r\n", "[a:one]", MULTIPART_COMPLETE },
	{ PART("\"a\"") "\r\n--B--", "[a:]", MULTIPART_COMPLETE },
	{ PART("\"a\"") "1\r\n" PART("b") "2\r\n--B--\r\n", "[a:1][b:2]",
	    MULTIPART_COMPLETE },
	{ PART("\"a\"") "x\r\n--\r\n--C\r\ny\r\n--B--",
	    "[a:x\r\n--\r\n--C\r\ny]", MULTIPART_COMPLETE },
	{ PART("\"q\\\"; x\"") "1\r\n--B--", "[q\"; x:1]", MULTIPART_COMPLETE },
	{ "preamble\r\n" PART("\"a\"") "1\r\n--B--\r\nepilogue", "[a:1]",
	    MULTIPART_COMPLETE },
	{ "--B\r\n\r\nx\r\n--B--", "[?:x]", MULTIPART_COMPLETE },
	{ "--B  \r\nCONTENT-disposition: form-data;NAME=\"a\"\r\n\r\nx\r\n--B--",
	    "[a:x]", MULTIPART_COMPLETE },
	{ "--B--", "", MULTIPART_COMPLETE },
	{ PART("\"a\"") "abc", "[a:abc", MULTIPART_CUT },
	{ PART("\"a\"") "abc\r\n--", "[a:abc\r\n--", MULTIPART_CUT },
	{ "--B\r\nContent-Dis", "", MULTIPART_CUT },
	{ "--B", "", MULTIPART_CUT },
	{ "--Bx\r\n", "", MULTIPART_INVALID },
	{ "no boundary at all", "", MULTIPART_INVALID },
	{ "", "", MULTIPART_INVALID },
};

static enum multipart_end
parse(const char *body, size_t step, struct buf *out)
{
	struct multipart *m =
	    multipart_create("multipart/form-data; boundary=B", &events, out);
	size_t len = strlen(body);

	assert_non_null(m);
	for (size_t i = 0; i < len; i += step)
		multipart_feed(m, body + i, MIN(step, len - i));
	enum multipart_end end = multipart_finish(m);
	multipart_destroy(m);
	return end;
}

static void
bodies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].body);
		for (size_t step = 1; step <= len + 1; step++) {
			auto_buf out = BUF_INIT(65536);
			enum multipart_end end =
			    parse(cases[i].body, step, &out);
			if (end != cases[i].end ||
			    strcmp(out.bytes, cases[i].want) != 0)
				fail_msg("case %zu, steps of %zu: %d %s", i,
				    step, (int)end, out.bytes);
		}
	}
}

static void
large_content(void **state)
{
	auto_buf body = BUF_INIT((size_t)1 << 22);
	auto_buf out = BUF_INIT((size_t)1 << 22);

	(void)state;
	buf_puts(&body, PART("\"a\""));
	for (size_t i = 0; i < 300000; i++)
		buf_puts(&body, "\r\n--");
	buf_puts(&body, "\r\n--B--");
	assert_int_equal(parse(body.bytes, 4099, &out), MULTIPART_COMPLETE);
	assert_int_equal(out.len, 3 + 300000 * 4 + 1);
}

static void
huge_headers(void **state)
{
	auto_buf body = BUF_INIT((size_t)1 << 20);
	auto_buf out = BUF_INIT(65536);

	(void)state;
	buf_puts(&body, "--B\r\nX: ");
	for (size_t i = 0; i < 40000; i++)
		buf_putc(&body, 'x');
	assert_int_equal(parse(body.bytes, 1000, &out), MULTIPART_INVALID);
}

static void
content_types(void **state)
{
	static const char *const bad[] = { NULL, "", "text/plain",
		"multipart/form-data", "multipart/form-data; boundary=",
		"multipart/form-data; boundary=\"\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(multipart_create(bad[i], &events, NULL));
	struct multipart *m =
	    multipart_create("Multipart/Form-Data; charset=x; boundary=\"B\"",
		&events, NULL);
	assert_non_null(m);
	multipart_destroy(m);
	multipart_destroy(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies),
		cmocka_unit_test(large_content),
		cmocka_unit_test(huge_headers),
		cmocka_unit_test(content_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
