/* Buffers: limits, codings, quoting. */
#include "agent/base/buf.h"

#include "tests/test.h"

static void
test_maximum(void **state)
{
	auto_buf b = BUF_INIT(4);

	(void)state;
	buf_puts(&b, "abc");
	buf_puts(&b, "de");
	assert_true(b.failed);
	assert_string_equal(b.bytes, "abc");
	buf_putc(&b, 'd');
	assert_string_equal(b.bytes, "abc"); /* failed stays */
	buf_reset(&b);
	buf_puts(&b, "wxyz");
	assert_false(b.failed);
	assert_string_equal(b.bytes, "wxyz");
	assert_null(buf_reserve(&b, SIZE_MAX));
	assert_true(b.failed);
}

static void
test_take_and_consume(void **state)
{
	auto_buf b = BUF_INIT(100);

	(void)state;
	auto_free char *nothing = buf_take(&b);
	assert_string_equal(nothing, "");
	buf_printf(&b, "%d-%s", 12, "x");
	buf_consume(&b, 3);
	auto_free char *rest = buf_take(&b);
	assert_string_equal(rest, "x");
	assert_int_equal(b.len, 0);
	assert_string_equal(b.bytes, "");
}

static void
test_base64(void **state)
{
	static const struct {
		const char *plain, *coded;
	} rows[] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" },
		{ "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "\xff\xfe", "//4=" } };

	static const char *const bad[] = { "Z", "Zg", "Zg=", "Zg==Zg==x",
		"Z===", "Zm8*", "=", "Zm=v" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_buf coded = BUF_INIT(100), plain = BUF_INIT(100);
		buf_base64(&coded, rows[i].plain, strlen(rows[i].plain));
		assert_string_equal(coded.bytes, rows[i].coded);
		assert_int_equal(buf_unbase64(&plain, coded.bytes, coded.len),
		    0);
		assert_string_equal(plain.bytes, rows[i].plain);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		auto_buf plain = BUF_INIT(100);
		assert_int_equal(buf_unbase64(&plain, bad[i], strlen(bad[i])),
		    -1);
	}
	auto_buf broken = BUF_INIT(100);
	assert_int_equal(buf_unbase64(&broken, "Zm\n9v\r\n", 7), 0);
	assert_string_equal(broken.bytes, "foo");
}

static void
test_quoting(void **state)
{
	auto_buf b = BUF_INIT(1000);

	(void)state;
	buf_shell_quote(&b, "it's $x\n`", 9);
	assert_string_equal(b.bytes, "'it'\\''s $x\n`'");
	buf_reset(&b);
	buf_urlencode(&b, "/a b+%\xff~", 8, true);
	assert_string_equal(b.bytes, "/a%20b%2B%25%FF~");
	buf_reset(&b);
	buf_urlencode(&b, "a/b", 3, false);
	assert_string_equal(b.bytes, "a%2Fb");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maximum),
		cmocka_unit_test(test_take_and_consume),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_quoting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
