/* Secret values, whole and in pieces. */
#include "agent/thread/secrets.h"

#include "tests/test.h"

static const char *const values[] = { "nvapi-0123456789", "nvapi-01234567",
	"short", "", "xxabxxabxxac" };

static void
each(void *arg, void (*fn)(void *, const char *), void *fn_arg)
{
	assert_string_equal(arg, "arg");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		fn(fn_arg, values[i]);
	fn(fn_arg, NULL);
}

static int
setup(void **state)
{
	static struct secrets s;

	secrets_init(&s, each, (void *)"arg");
	*state = &s;
	return 0;
}

static int
teardown(void **state)
{
	secrets_finish(*state);
	return 0;
}

static const struct {
	const char *text, *masked;
} cases[] = {
	{ "", "" },
	{ "nothing here", "nothing here" },
	{ "short stays", "short stays" },
	{ "key nvapi-0123456789.", "key ***." },
	/* The longest counts. */
	{ "nvapi-0123456789nvapi-01234567", "******" },
	{ "nvapi-0123456", "nvapi-0123456" },
	{ "nvapi-nvapi-01234567", "nvapi-***" },
	{ "xxabxxabxxabxxac", "xxab***" },
	{ "xxabxxab", "xxabxxab" },
};

static void
test_whole(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf out = BUF_INIT(1000);
		secrets_mask(*state, &out, cases[i].text,
		    strlen(cases[i].text));
		assert_string_equal(out.bytes, cases[i].masked);
	}
}

static void
test_in_place(void **state)
{
	char *none = NULL;

	secrets_mask_string(*state, &none);
	assert_null(none);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = xstrdup(cases[i].text);
		secrets_mask_string(*state, &text);
		assert_string_equal(text, cases[i].masked);
		free(text);
	}
}

/* However the text is cut, the same comes out, and never a part of a value. */
static void
test_pieces(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);
		for (size_t piece = 1; piece <= len; piece++) {
			struct mask_stream m;
			auto_buf out = BUF_INIT(1000);
			mask_stream_init(&m, *state);
			for (size_t at = 0; at < len; at += piece)
				mask_stream_add(&m, cases[i].text + at,
				    MIN(piece, len - at), false, &out);
			mask_stream_add(&m, "", 0, true, &out);
			assert_string_equal(out.bytes, cases[i].masked);
			mask_stream_finish(&m);
		}
	}
}

static void
test_shown_early(void **state)
{
	struct mask_stream m;
	auto_buf out = BUF_INIT(1000);

	mask_stream_init(&m, *state);
	mask_stream_add(&m, "plain nva", 9, false, &out);
	assert_string_equal(out.bytes, "plain ");
	mask_stream_add(&m, "il", 2, false, &out);
	assert_string_equal(out.bytes, "plain nvail");
	mask_stream_finish(&m);
}

static void
test_none(void **state)
{
	struct secrets none;
	auto_buf out = BUF_INIT(1000);

	(void)state;
	secrets_init(&none, NULL, NULL);
	secrets_mask(&none, &out, "nvapi-0123456789", 16);
	assert_string_equal(out.bytes, "nvapi-0123456789");
	secrets_finish(&none);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_shown_early),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
