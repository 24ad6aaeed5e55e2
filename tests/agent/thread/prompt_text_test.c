/* What may be in a prompt, whole and in pieces. */
#include "agent/thread/thread.h"
#include "tests/test.h"

static enum status_code
check(const char *text, size_t len, bool whole)
{
	struct status st = { 0 };

	return thread_prompt_text_check(text, len, whole, &st) == 0 ? STATUS_OK
								    : st.code;
}

static void
test_good(void **state)
{
	static const char *const good[] = { "", "x", "a\nb\r\n", "é北🤣",
		"\xef\xbb\xbf", "\xf4\x8f\xbf\xbf", "\x1b[2J" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(check(good[i], strlen(good[i]), true),
		    STATUS_OK);
}

static void
test_bad(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = { { "a\0b", 3 }, { "\0", 1 }, { "\xff", 1 },
		{ "\xed\xa0\x80", 3 }, { "\xc0\xaf", 2 },
		{ "\xf5\x80\x80\x80", 4 }, { "good \x80 bad", 10 },
		{ "\x80", 1 }, { "\xe0\x80", 2 }, { "\xf0\x8f\xbf", 3 },
		{ "\xc3\xc3", 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(check(bad[i].text, bad[i].len, true),
		    STATUS_INVALID);
		/* Nothing that follows can make it right. */
		assert_int_equal(check(bad[i].text, bad[i].len, false),
		    STATUS_INVALID);
	}
}

/* A character cut at the end is right only while more may come. */
static void
test_cut(void **state)
{
	static const char text[] = "aé北🤣\xf4\x8f\xbf\xbf\xed\x9f\xbf";

	(void)state;
	for (size_t n = 0; n < sizeof text; n++) {
		assert_int_equal(check(text, n, false), STATUS_OK);
		bool boundary = n == 0 || n == 1 || n == 3 || n == 6 ||
		    n == 10 || n == 14 || n == 17;
		assert_int_equal(check(text, n, true),
		    boundary ? STATUS_OK : STATUS_INVALID);
	}
}

static void
test_long(void **state)
{
	char *text = malloc(THREAD_PROMPT_MAX + 1);

	(void)state;
	memset(text, 'x', THREAD_PROMPT_MAX + 1);
	assert_int_equal(check(text, THREAD_PROMPT_MAX, true), STATUS_OK);
	assert_int_equal(check(text, THREAD_PROMPT_MAX + 1, true),
	    STATUS_TOO_BIG);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
