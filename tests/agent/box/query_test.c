/* Queries as net/url decodes them. */
#include "agent/box/query.h"

#include "tests/test.h"

static void
values(void **state)
{
	static const struct {
		const char *query, *want; /* of "path"; NULL: absent */
	} cases[] = {
		{ "path=%2Fa%2Fb", "/a/b" },
		{ "path=/a/b", "/a/b" },
		{ "x=1&path=a+b", "a b" },
		{ "path=a%2Bb", "a+b" },
		{ "path=first&path=second", "first" },
		{ "path", "" },
		{ "path=", "" },
		{ "path=a=b", "a=b" },
		{ "p%61th=x", "x" },
		{ "path=a;b", NULL },
		{ "path=a%2", NULL },
		{ "path=%zz&path=good", "good" },
		{ "paths=x", NULL },
		{ "", NULL },
		{ "&&path=x&", "x" },
		{ "path=%ff", "\xff" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool nul = false;
		auto_free char *got = query_get(cases[i].query, "path", &nul);
		assert_false(nul);
		if (!cases[i].want)
			assert_null(got);
		else
			assert_string_equal(got, cases[i].want);
	}
}

static void
nul_is_told(void **state)
{
	bool nul = false;
	auto_free char *got = query_get("path=a%00b", "path", &nul);

	(void)state;
	assert_true(nul);
	assert_string_equal(got, "a");
}

static void
repeated(void **state)
{
	(void)state;
	auto_free char *a = query_get_nth("s=1&t=x&s=2", "s", 0, NULL);
	auto_free char *b = query_get_nth("s=1&t=x&s=2", "s", 1, NULL);

	assert_string_equal(a, "1");
	assert_string_equal(b, "2");
	assert_null(query_get_nth("s=1&t=x&s=2", "s", 2, NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(nul_is_told),
		cmocka_unit_test(repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
