/* The Range header. */
#include "agent/box/range.h"

#include "tests/test.h"

struct want {
	const char *text;
	int64_t size;
	enum range_result result;
	size_t count;
	struct range first;
};

static void
ranges(void **state)
{
	static const struct want cases[] = {
		{ NULL, 10, RANGE_NONE, 0, { 0, 0 } },
		{ "bytes=2-4", 10, RANGE_OK, 1, { 2, 3 } },
		{ "bytes=7-", 10, RANGE_OK, 1, { 7, 3 } },
		{ "bytes=-3", 10, RANGE_OK, 1, { 7, 3 } },
		{ "bytes=-99", 10, RANGE_OK, 1, { 0, 10 } },
		{ "bytes=-0", 10, RANGE_OK, 1, { 10, 0 } },
		{ "bytes=8-99", 10, RANGE_OK, 1, { 8, 2 } },
		{ "bytes= 2 - 4 ", 10, RANGE_OK, 1, { 2, 3 } },
		{ "bytes=10-", 10, RANGE_NO_OVERLAP, 0, { 0, 0 } },
		{ "bytes=50-60", 10, RANGE_NO_OVERLAP, 0, { 0, 0 } },
		{ "bytes=0-1,4-5", 10, RANGE_OK, 2, { 0, 2 } },
		{ "bytes=0-1,50-60", 10, RANGE_OK, 1, { 0, 2 } },
		{ "bytes=0-9,0-9", 10, RANGE_NONE, 0, { 0, 0 } },
		{ "bytes=5-2", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "lines=1-2", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "bytes=x", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "bytes=x-", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "bytes=--5", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "bytes=1-+5", 10, RANGE_INVALID, 0, { 0, 0 } },
		{ "bytes=99999999999999999999-", 10, RANGE_INVALID, 0,
		    { 0, 0 } },
		{ "bytes=", 10, RANGE_NONE, 0, { 0, 0 } },
		{ "bytes=0-9", 0, RANGE_NONE, 0, { 0, 0 } },
		{ "bytes=-5", 0, RANGE_OK, 1, { 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct want *w = &cases[i];
		struct range out[RANGE_MAX];
		size_t count = 0;
		enum range_result result =
		    range_parse(w->text, w->size, out, &count);
		if (result != w->result ||
		    (result == RANGE_OK &&
			(count != w->count || out[0].start != w->first.start ||
			    out[0].len != w->first.len)))
			fail_msg("%s of %lld: %d, %zu", w->text,
			    (long long)w->size, (int)result, count);
		if (result != RANGE_OK)
			assert_int_equal(count, 0);
	}
}

static void
many_are_refused(void **state)
{
	struct range out[RANGE_MAX];
	size_t count = 0;
	char text[8 * (RANGE_MAX + 2)] = "bytes=0-0";

	(void)state;
	for (size_t i = 0; i < RANGE_MAX; i++)
		snprintf(text + strlen(text), 5, ",0-0");
	assert_int_equal(range_parse(text, 1000, out, &count), RANGE_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(many_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
