/* Repairing strangers' text. */
#include "agent/base/text.h"

#include "tests/test.h"

#define BAD "\xef\xbf\xbd"

struct row {
	const char *raw, *want;
};

static void
test_utf8(void **state)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "a\xc3\xa9", "a\xc3\xa9" },
		{ "\xff\xfe", BAD BAD },
		{ "\xe2\x82", BAD }, /* one maximal part */
		{ "\xe2\x82"
		  "a",
		    BAD "a" },
		{ "\xed\xa0\x80", BAD BAD BAD },
		{ "\xf0\x9f\x98", BAD },
		{ "\xc0\xaf", BAD BAD },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf b = BUF_INIT(100);
		text_add_utf8(&b, rows[i].raw, strlen(rows[i].raw));
		assert_string_equal(b.bytes, rows[i].want);
	}
	auto_buf nul = BUF_INIT(100);
	text_add_utf8(&nul, "a\0b", 3);
	assert_string_equal(nul.bytes, "a" BAD "b");
}

static void
test_joined(void **state)
{
	static const struct row rows[] = {
		{ "\xed\xa0\xbd\xed\xb8\x80", "\xf0\x9f\x98\x80" },
		{ "x\xed\xa0\xbdy", "x" BAD "y" },
		{ "\xed\xb8\x80\xed\xa0\xbd", BAD BAD },
		{ "plain", "plain" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf b = BUF_INIT(100);
		text_add_joined(&b, rows[i].raw, strlen(rows[i].raw));
		assert_string_equal(b.bytes, rows[i].want);
	}
}

static void
test_scrub(void **state)
{
	static const struct row rows[] = {
		{ "{\"a\":\"\\u0041\"}", "{\"a\":\"\\u0041\"}" },
		{ "\"\\u0000\"", "\"\\ufffd\"" },
		{ "\"\\uZZZZ\"", "\"\\ufffdZZZZ\"" },
		{ "\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"" },
		{ "\"\\ud83d!\"", "\"\\ufffd!\"" },
		{ "\"\\\\u0000\"", "\"\\\\u0000\"" },
		{ "\\u0000",
		    "\\u0000" }, /* outside a string: the parser's matter */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf b = BUF_INIT(200);
		text_scrub_json(&b, rows[i].raw, strlen(rows[i].raw), false);
		assert_string_equal(b.bytes, rows[i].want);
	}
	auto_buf halves = BUF_INIT(100);
	text_scrub_json(&halves, "\"\\ud83d\"", 8, true);
	assert_string_equal(halves.bytes, "\"\xed\xa0\xbd\"");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_scrub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
