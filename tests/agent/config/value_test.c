/* Numbers, sizes and URLs as people type them. */
#include "agent/config/value.h"

#include "tests/test.h"

static void
test_number(void **state)
{
	static const char *const bad[] = { "", "-", "+", " 1", "1 ", "1x",
		"0x1", "1.0", "99999999999999999999", "11", "-1" };
	int64_t n = -7;

	(void)state;
	assert_int_equal(value_number("10", 0, 10, &n), 0);
	assert_int_equal(n, 10);
	assert_int_equal(value_number("-3", -5, 10, &n), 0);
	assert_int_equal(n, -3);
	n = -7;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(value_number(bad[i], 0, 10, &n), -1);
	assert_int_equal(n, -7);
}

static void
test_size(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} good[] = { { "0", 0 }, { "17", 17 }, { "1k", 1024 }, { "1K", 1024 },
		{ "2M", 2 << 20 }, { "3GB", INT64_C(3) << 30 },
		{ "1GiB", 1 << 30 }, { "8T", INT64_C(8) << 40 } };

	static const char *const bad[] = { "", "K", "-1K", "1X", "1Kx", "1 K",
		"1.5G", "9999999999T", "1KK", "1iB" };
	int64_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(value_size(good[i].text, 0, INT64_MAX, &n), 0);
		assert_int_equal(n, good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(value_size(bad[i], 0, INT64_MAX, &n), -1);
	assert_int_equal(value_size("1M", 2 << 20, INT64_MAX, &n), -1);
	assert_int_equal(value_size("3M", 0, 2 << 20, &n), -1);
}

static void
test_real(void **state)
{
	static const char *const bad[] = { "", ".", "-", "1e1", "nan", "inf",
		"0x1", "1,5", "1.5x", " 1", "2.1", "-0.1",
		"1.0000000000000000000000000001" };
	double x;

	(void)state;
	assert_int_equal(value_real("0.7", 0, 2, &x), 0);
	assert_true(x > 0.6999999 && x < 0.7000001);
	assert_int_equal(value_real("2", 0, 2, &x), 0);
	assert_true(x == 2.0);
	assert_int_equal(value_real(".5", 0, 2, &x), 0);
	assert_true(x == 0.5);
	assert_int_equal(value_real("1.", 0, 2, &x), 0);
	assert_true(x == 1.0);
	assert_int_equal(value_real("-1.5", -2, 2, &x), 0);
	assert_true(x == -1.5);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(value_real(bad[i], 0, 2, &x), -1);
}

static void
test_url(void **state)
{
	static const char *const bad[] = { "", "http://", "https:///x",
		"ftp://x", "x", "http:/x", "http://a b", "http://a\n" };

	(void)state;
	assert_true(value_is_url("http://localhost:8000/v1"));
	assert_true(value_is_url("HTTPS://x"));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(value_is_url(bad[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_real),
		cmocka_unit_test(test_url),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
