/* Arguments of tool calls as models write them: a table of text and verdict. */
#include "agent/model/arguments.h"

#include "tests/test.h"

struct row {
	const char *text;
	enum arguments_status status;
	const char *object; /* NULL: untouched */
};

static const struct row complete_rows[] = {
	{ "", ARGUMENTS_EMPTY, "{}" },
	{ " \n\t", ARGUMENTS_EMPTY, "{}" },
	{ "null", ARGUMENTS_EMPTY, "{}" },
	{ "{}", ARGUMENTS_OK, "{}" },
	{ " {\"a\": 1} ", ARGUMENTS_OK, "{\"a\":1}" },
	{ "{\"n\":9007199254740993,\"f\":0.30000000000000004}", ARGUMENTS_OK,
	    "{\"n\":9007199254740993,\"f\":0.30000000000000004}" },
	{ "{\"a\":\"x\\u0000y\"}", ARGUMENTS_OK, "{\"a\":\"x\\ufffdy\"}" },
	{ "{\"a\":\"\\ud83d\\ude00\"}", ARGUMENTS_OK,
	    "{\"a\":\"\\ud83d\\ude00\"}" },
	{ "{\"a\":\"\\ud83d\"}", ARGUMENTS_OK, "{\"a\":\"\\ufffd\"}" },
	{ "\"{\\\"a\\\":1}\"", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "{'a': 'it\\'s'}", ARGUMENTS_REPAIRED, "{\"a\":\"it's\"}" },
	{ "{a_b: True, c: None,}", ARGUMENTS_REPAIRED,
	    "{\"a_b\":true,\"c\":null}" },
	{ "{\"a\":[1,2,],} // done", ARGUMENTS_REPAIRED, "{\"a\":[1,2]}" },
	{ "/* hm */ {\"a\":1}", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "```json\n{\"a\":1}\n```", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "{\"p\":\"C:\\Work\"}", ARGUMENTS_REPAIRED,
	    "{\"p\":\"C:\\\\Work\"}" },
	{ "{\"t\":\"1\n2\"}", ARGUMENTS_REPAIRED, "{\"t\":\"1\\u000a2\"}" },
	{ "{}{\"a\":1}", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "{\"a\":1}}", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "\xef\xbb\xbf{\"a\":1}", ARGUMENTS_REPAIRED, "{\"a\":1}" },
	{ "{\"a\":1}{\"b\":2}", ARGUMENTS_INVALID, NULL },
	{ "{}{}", ARGUMENTS_INVALID, NULL },
	{ "[1]", ARGUMENTS_INVALID, NULL },
	{ "5", ARGUMENTS_INVALID, NULL },
	{ "\"text\"", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":\"x", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":01}", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":1.}", ARGUMENTS_INVALID, NULL },
	{ "{\"a\" 1}", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":Trueish}", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":1} and more", ARGUMENTS_INVALID, NULL },
	{ "{\"a\":/* open", ARGUMENTS_INVALID, NULL },
	{ "\\", ARGUMENTS_INVALID, NULL },
};

static void
check(const struct row *row, bool complete)
{
	auto_buf object = BUF_INIT(1U << 20);
	size_t len = strlen(row->text);
	enum arguments_status got =
	    arguments_read(row->text, len, complete, &object);

	if (got != row->status)
		print_error("%s: verdict %d\n", row->text, (int)got);
	assert_int_equal(got, row->status);
	assert_string_equal(object.bytes, row->object ? row->object : "");
}

static void
test_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(complete_rows); i++)
		check(&complete_rows[i], true);
}

/* Under a cut nothing is repaired, and what is whole stays whole. */
static void
test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(complete_rows); i++) {
		struct row row = complete_rows[i];
		if (row.status == ARGUMENTS_REPAIRED) {
			row.status = ARGUMENTS_INVALID;
			row.object = NULL;
		}
		check(&row, false);
	}
}

/* No prefix of a strict object is taken for one. */
static void
test_prefixes(void **state)
{
	static const char text[] =
	    "{\"path\":\"a\\n\",\"n\":[1,2,{\"x\":-1.5e3}],\"t\":true}";

	(void)state;
	for (size_t n = 1; n < sizeof text - 1; n++) {
		auto_buf object = BUF_INIT(4096);
		assert_int_equal(arguments_read(text, n, true, &object),
		    ARGUMENTS_INVALID);
	}
}

static void
test_depth(void **state)
{
	auto_buf deep = BUF_INIT(1U << 20);
	auto_buf object = BUF_INIT(1U << 20);

	(void)state;
	buf_puts(&deep, "{\"a\":");
	for (int i = 0; i < 100000; i++)
		buf_putc(&deep, '[');
	assert_int_equal(arguments_read(deep.bytes, deep.len, true, &object),
	    ARGUMENTS_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_complete),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
