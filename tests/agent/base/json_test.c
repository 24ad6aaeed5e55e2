/* Typed getters, printing, times, outcomes. */
#include "agent/base/json.h"

#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "tests/test.h"

static void
test_parse(void **state)
{
	static const char *const bad[] = { "", "{", "{} x", "{}{}", "nul" };
	struct status st;
	cJSON *good = json_parse(" {\"a\":1} \n", 10, &st);

	(void)state;
	assert_non_null(good);
	cJSON_Delete(good);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_null(json_parse(bad[i], strlen(bad[i]), &st));
		assert_int_equal(st.code, STATUS_INVALID);
	}
	assert_null(json_parse("{}\0", 3, &st));
	/* Only the length counts. */
	cJSON *first = json_parse("{}}}", 2, &st);
	assert_non_null(first);
	cJSON_Delete(first);
}

static void
test_getters(void **state)
{
	static const char text[] =
	    "{\"s\":\"x\",\"n\":3,\"f\":1.5,\"b\":true,\"big\":1e300}";
	struct status st;
	cJSON *obj = json_parse(text, strlen(text), &st);
	const char *s = NULL;
	int64_t n = 0;

	(void)state;
	assert_int_equal(json_string(obj, "s", &s, &st), 0);
	assert_string_equal(s, "x");
	assert_int_equal(json_string(obj, "n", &s, &st), -1);
	assert_string_equal(st.text, "field n: not a string");
	assert_int_equal(json_int(obj, "n", &n, &st), 0);
	assert_int_equal(n, 3);
	assert_int_equal(json_int(obj, "f", &n, &st), -1);
	assert_int_equal(json_int(obj, "big", &n, &st), -1);
	assert_int_equal(json_int(obj, "none", &n, &st), -1);
	assert_string_equal(st.text, "field none: missing");
	assert_true(json_bool_or(obj, "b", false));
	assert_int_equal(json_int_or(obj, "s", 7), 7);
	assert_null(json_string_or(obj, "b", NULL));
	cJSON_Delete(obj);
}

static void
test_print_string(void **state)
{
	auto_buf b = BUF_INIT(1000);

	(void)state;
	json_print_string(&b, "q\"\\\n\t\x01\x7f\xc3\xa9\xff\xe2\x82", 12);
	assert_string_equal(b.bytes,
	    "\"q\\\"\\\\\\n\\t\\u0001\\u007f\xc3\xa9"
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void
test_times(void **state)
{
	char out[32];

	(void)state;
	clock_rfc3339(out, 1796066527042, false);
	assert_string_equal(out, "2026-11-30T19:22:07Z");
	clock_rfc3339(out, 1796066527042, true);
	assert_string_equal(out, "2026-11-30T19:22:07.042Z");
	assert_int_equal(clock_sooner(0, 5), 5);
	assert_int_equal(clock_sooner(5, 0), 5);
	assert_int_equal(clock_sooner(4, 5), 4);
	assert_int_equal(clock_sooner(0, 0), 0);
}

static void
test_status(void **state)
{
	struct status st = { 0 };

	(void)state;
	assert_int_equal(status_set(&st, STATUS_BUSY, "a\n%d", 5), -1);
	assert_string_equal(st.text, "a\\n5");
	assert_int_equal(status_wrap(&st, "open %s", "x"), -1);
	assert_string_equal(st.text, "open x: a\\n5");
	assert_int_equal(st.code, STATUS_BUSY);
	assert_int_equal(status_errno(&st, ENOSPC, "write"), -1);
	assert_int_equal(st.code, STATUS_NO_SPACE);
	assert_string_equal(st.text, "write: No space left on device");
	assert_int_equal(status_from_errno(EXDEV), STATUS_IO);
	/* What is too long ends at a whole character. */
	char euros[400];
	for (size_t i = 0; i + 3 < sizeof euros; i += 3)
		memcpy(euros + i, "\xe2\x82\xac", 4);
	for (int shift = 0; shift < 3; shift++) {
		status_set(&st, STATUS_IO, "%.*s", 180 + shift, euros);
		status_wrap(&st, "%.*s%s", shift, "ab", euros);
		status_wrap(&st, "%.*s", shift, "ab");
		assert_true(strlen(st.text) > 200);
		assert_true(utf8_valid(st.text, strlen(st.text)));
		status_set(&st, STATUS_IO, "%.*s", shift, "ab");
		status_wrap(&st, "%.60s", euros);
		status_errno(&st, ENOSPC, "%.231s", euros);
		assert_true(utf8_valid(st.text, strlen(st.text)));
	}
	for (int code = STATUS_OK; code <= STATUS_BUG; code++)
		assert_string_not_equal(status_word((enum status_code)code),
		    "unknown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_getters),
		cmocka_unit_test(test_print_string),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
