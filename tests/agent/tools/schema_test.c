/* Lax checking of arguments. */
#include "agent/tools/schema.h"

#include "tests/test.h"

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"file_path\":{\"type\":\"string\"},"
    "\"n\":{\"type\":\"integer\",\"default\":7,\"minimum\":1},"
    "\"m\":{\"type\":[\"integer\",\"null\"],\"default\":null},"
    "\"flag\":{\"type\":\"boolean\",\"default\":false},"
    "\"mode\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"default\":\"a\"}"
    "},\"required\":[\"file_path\"]}";

/* Gives the checked arguments as text, or the errors after a "!". */
static char *
check(const char *args)
{
	struct status st;
	auto_buf errors = BUF_INIT(1000), out = BUF_INIT(1000);
	auto_json *schema = json_parse(schema_text, strlen(schema_text), &st);
	auto_json *given = json_parse(args, strlen(args), &st);

	assert_non_null(schema);
	assert_non_null(given);
	auto_json *fit = schema_check(schema, given, &errors);
	if (!fit) {
		assert_true(errors.len > 0);
		return xasprintf("!%s", errors.bytes);
	}
	assert_int_equal(errors.len, 0);
	json_print(&out, fit);
	return buf_take(&out);
}

static void
test_table(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"file_path\":\"x\"}",
		    "{\"file_path\":\"x\",\"n\":7,\"flag\":false,\"mode\":"
		    "\"a\"}" },
		{ "{\"file_path\":\"\",\"n\":\"5\",\"m\":3.0,\"flag\":\"Yes\","
		  "\"mode\":\"b\",\"other\":[1]}",
		    "{\"file_path\":\"\",\"n\":5,\"m\":3,\"flag\":true,"
		    "\"mode\":\"b\"}" },
		{ "{\"file_path\":\"x\",\"n\":\" 5.0 \",\"m\":null,\"flag\":1}",
		    "{\"file_path\":\"x\",\"n\":5,\"flag\":true,\"mode\":"
		    "\"a\"}" },
		{ "{\"path\":\"y\",\"n\":1}",
		    "{\"file_path\":\"y\",\"n\":1,\"flag\":false,\"mode\":"
		    "\"a\"}" },
		{ "{}", "!file_path: Field required\n" },
		{ "{\"file_path\":null}",
		    "!file_path: Input should be a valid string\n" },
		{ "{\"file_path\":5}",
		    "!file_path: Input should be a valid string\n" },
		{ "{\"file_path\":\"x\",\"n\":5.5,\"flag\":2}",
		    "!n: Input should be a valid integer, got a number with a "
		    "fractional part\nflag: Input should be a valid boolean\n" },
		{ "{\"file_path\":\"x\",\"n\":null}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"n\":\"five\"}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"n\":\"\"}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"n\":\"5 6\"}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"n\":\"nan\"}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"n\":1e300}",
		    "!n: Input should be a valid integer, got a number with a "
		    "fractional part\n" },
		{ "{\"file_path\":\"x\",\"n\":0}",
		    "!n: Input is below the least value allowed\n" },
		{ "{\"file_path\":\"x\",\"n\":[]}",
		    "!n: Input should be a valid integer\n" },
		{ "{\"file_path\":\"x\",\"mode\":\"c\"}",
		    "!mode: Input is none of the values allowed\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *got = check(rows[i][0]);
		assert_string_equal(got, rows[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
