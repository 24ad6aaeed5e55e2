/* The forms of Go's standard library. */
#include "agent/box/gotext.h"

#include "tests/test.h"

static void
check_string(const char *in, size_t len, const char *want)
{
	auto_buf out = BUF_INIT(4096);

	gotext_string(&out, in, len);
	assert_string_equal(out.bytes, want);
}

static void
strings(void **state)
{
	(void)state;
	check_string("a", 1, "\"a\"");
	check_string("", 0, "\"\"");
	check_string("<&>", 3, "\"\\u003c\\u0026\\u003e\"");
	check_string("\"\\\n\t\r", 5, "\"\\\"\\\\\\n\\t\\r\"");
	check_string("a\0b", 3, "\"a\\u0000b\"");
	check_string("\x01", 1, "\"\\u0001\"");
	check_string("\x7f", 1, "\"\x7f\"");
	check_string("\xc3\xa9", 2, "\"\xc3\xa9\"");
	check_string("\xe2\x80\xa8\xe2\x80\xa9", 6, "\"\\u2028\\u2029\"");
	check_string("a\xff\xc3", 3, "\"a\\ufffd\\ufffd\"");
	check_string("\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\"");
	/* A surrogate half is no UTF-8: each of its bytes is bad. */
	check_string("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");
}

static void
trees(void **state)
{
	(void)state;
	auto_json *json = cJSON_CreateObject();
	auto_buf out = BUF_INIT(4096);

	cJSON_AddStringToObject(json, "a<", "x&\xff");
	gotext_json(&out, json);
	assert_string_equal(out.bytes, "{\"a\\u003c\":\"x\\u0026\\ufffd\"}");
}

static void
modes(void **state)
{
	static const struct {
		mode_t mode;
		const char *want;
	} cases[] = {
		{ S_IFREG | 0644, "-rw-r--r--" },
		{ S_IFDIR | 0755, "drwxr-xr-x" },
		{ S_IFDIR | 01777, "dtrwxrwxrwx" },
		{ S_IFREG | 04755, "urwxr-xr-x" },
		{ S_IFREG | 06700, "ugrwx------" },
		{ S_IFIFO | 0644, "prw-r--r--" },
		{ S_IFSOCK | 0777, "Srwxrwxrwx" },
		{ S_IFCHR | 0666, "Dcrw-rw-rw-" },
		{ S_IFBLK | 0660, "Drw-rw----" },
		{ S_IFREG, "----------" },
	};

	char out[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		gotext_mode(out, cases[i].mode);
		assert_string_equal(out, cases[i].want);
	}
}

static void
times(void **state)
{
	const struct timespec whole = { .tv_sec = 1709210096 };
	const struct timespec part = { 1709210096, 123456789 };
	const struct timespec half = { 1709210096, 500000000 };
	char out[64];
	time_t t = 0;

	(void)state;
	gotext_time(out, &whole);
	assert_string_equal(out, "2024-02-29 12:34:56 +0000 UTC");
	gotext_time(out, &part);
	assert_string_equal(out, "2024-02-29 12:34:56.123456789 +0000 UTC");
	gotext_rfc3339(out, &half);
	assert_string_equal(out, "2024-02-29T12:34:56.5Z");
	gotext_http_time(out, whole.tv_sec);
	assert_string_equal(out, "Thu, 29 Feb 2024 12:34:56 GMT");
	assert_int_equal(gotext_parse_http_time(out, &t), 0);
	assert_int_equal(t, whole.tv_sec);
	assert_int_equal(gotext_parse_http_time("yesterday", &t), -1);
	assert_int_equal(
	    gotext_parse_http_time("Thu, 29 Feb 2024 12:34:56 GMTx", &t), -1);
}

static void
dispositions(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "ten", "filename=\"ten\"; filename*=utf-8''ten" },
		{ "q\"u\\o%te",
		    "filename=\"q\\\"u\\\\o%te\"; "
		    "filename*=utf-8''q%22u%5Co%25te" },
		{ "new\nline",
		    "filename=\"newline\"; filename*=utf-8''new%0Aline" },
		{ "u\xc3\xa9", "filename=\"u\xe9\"; filename*=utf-8''u%C3%A9" },
		{ "bad\xffname",
		    "filename=\"bad_name\"; filename*=utf-8''bad%FFname" },
		{ "\xe2\x82\xac",
		    "filename=\"_\"; filename*=utf-8''%E2%82%AC" },
		{ "", "filename=\"\"; filename*=utf-8''" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf out = BUF_INIT(4096);
		gotext_disposition(&out, cases[i].name, strlen(cases[i].name));
		assert_string_equal(out.bytes, cases[i].want);
	}
}

static void
words(void **state)
{
	char out[96];

	(void)state;
	gotext_errno(out, 2);
	assert_string_equal(out, "no such file or directory");
	assert_string_equal(gotext_mime("/a.b/c.TXT"),
	    "text/plain; charset=utf-8");
	assert_string_equal(gotext_mime("/a.txt/c"),
	    "application/octet-stream");
	auto_free char *trimmed = gotext_trim(" \t a b\n");
	assert_string_equal(trimmed, "a b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(trees),
		cmocka_unit_test(modes),
		cmocka_unit_test(times),
		cmocka_unit_test(dispositions),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
