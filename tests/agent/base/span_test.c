/* Spans of JSON text. */
#include "agent/base/span.h"

#include "tests/test.h"

static struct span
span_of(const char *text)
{
	return (struct span){ text, strlen(text) };
}

static void
assert_span(struct span s, const char *wanted)
{
	if (!wanted) {
		assert_null(s.bytes);
		return;
	}
	assert_non_null(s.bytes);
	assert_int_equal(s.len, strlen(wanted));
	assert_memory_equal(s.bytes, wanted, s.len);
}

static void
test_member(void **state)
{
	static const char text[] =
	    " { \"a\" : 1.50 , \"b}\":{\"c\":[\"]\\\"}\",{}]},"
	    "\"d\":\"x,y\",\"e\":null,\"a\":2,\"f\" : [ ] }";

	(void)state;
	assert_span(span_member(span_of(text), "a"), "1.50");
	assert_span(span_member(span_of(text), "b}"),
	    "{\"c\":[\"]\\\"}\",{}]}");
	assert_span(span_member(span_member(span_of(text), "b}"), "c"),
	    "[\"]\\\"}\",{}]");
	assert_span(span_member(span_of(text), "d"), "\"x,y\"");
	assert_span(span_member(span_of(text), "e"), "null");
	assert_span(span_member(span_of(text), "f"), "[ ]");
	assert_span(span_member(span_of(text), "c"), NULL);
	assert_span(span_member(span_of("[1]"), "a"), NULL);
	assert_span(span_member((struct span){ 0 }, "a"), NULL);
}

static void
assert_elements(const char *array, const char *wanted)
{
	struct span element = { 0 };
	char all[200] = "";
	size_t used = 0;

	while (span_next(span_of(array), &element))
		used += (size_t)snprintf(all + used, sizeof all - used, "%.*s;",
		    (int)element.len, element.bytes);
	assert_string_equal(all, wanted);
}

static void
test_elements(void **state)
{
	(void)state;
	assert_elements("[]", "");
	assert_elements(" [ ] ", "");
	assert_elements("[1,\"a]\", {\"b\":[2,3]} , [[]],true]",
	    "1;\"a]\";{\"b\":[2,3]};[[]];true;");
	assert_elements("{\"a\":1}", "");
	assert_elements("7", "");
}

/* On text that is no JSON it stays within it and ends. */
static void
test_broken(void **state)
{
	static const char *const texts[] = { "", "{", "{\"", "{\"a", "{\"a\"",
		"{\"a\":", "{\"a\":}", "{\"a\":[", "[", "[,", "[1", "[1,", "[}",
		"{]", "[\"\\", "{\"a\\\":1}", "{\"a\":1 \"a\":2}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		/* A copy of its exact size, so that ASan sees more. */
		size_t len = strlen(texts[i]);
		char *text = malloc(len ? len : 1);
		memcpy(text, texts[i], len);
		struct span element = { 0 }, whole = { text, len };
		struct span found = span_member(whole, "a");
		assert_true(!found.bytes ||
		    (found.bytes >= text &&
			found.bytes + found.len <= text + len));
		for (int n = 0; span_next(whole, &element); n++)
			assert_true(n < 10);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_member),
		cmocka_unit_test(test_elements),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
