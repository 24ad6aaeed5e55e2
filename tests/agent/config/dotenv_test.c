/* python-dotenv's grammar: each row was seen with python-dotenv 1.2.2. */
#include "agent/config/dotenv.h"

#include "agent/base/buf.h"
#include "tests/test.h"

#define NO_VALUE ((const char *)1)

struct row {
	const char *text;
	unsigned bad_line;
	/* name, value, …; value NO_VALUE: a name without "=" */
	const char *expect[9];
};

static const char *
outer(void *arg, const char *name)
{
	(void)arg;
	if (strcmp(name, "B") == 0)
		return "V";
	return strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

static void
check(const struct row *row)
{
	struct dotenv d;
	size_t n = 0;

	dotenv_parse(&d, row->text, strlen(row->text), outer, NULL);
	for (; row->expect[2 * n]; n++) {
		const char *value = row->expect[2 * n + 1];
		if (n >= d.count)
			fail_msg("%s: no %s", row->text, row->expect[2 * n]);
		assert_string_equal(d.names[n], row->expect[2 * n]);
		if (value == NO_VALUE)
			assert_null(d.values[n]);
		else
			assert_string_equal(d.values[n], value);
	}
	if (d.count != n)
		fail_msg("%s: one too many: %s", row->text, d.names[n]);
	if (d.bad_line != row->bad_line)
		fail_msg("%s: bad line %u", row->text, d.bad_line);
	dotenv_finish(&d);
}

static void
test_table(void **state)
{
	static const struct row rows[] = {
		{ "a=#c", 0, { "a", "#c" } },
		{ "a= #c", 0, { "a", "#c" } },
		{ "a=b#c", 0, { "a", "b#c" } },
		{ "a=b #c", 0, { "a", "b" } },
		{ "a=\"b\" # c", 0, { "a", "b" } },
		{ "a=\"b\"#c", 0, { "a", "b" } },
		{ "a=\"b\"c", 1, { NULL } },
		{ "export a=b", 0, { "a", "b" } },
		{ "export=1", 0, { "export", "1" } },
		{ "export", 0, { "export", NO_VALUE } },
		{ "a", 0, { "a", NO_VALUE } },
		{ "a=", 0, { "a", "" } },
		{ "a: b", 1, { NULL } },
		{ "a b=c", 1, { NULL } },
		{ "a=\"b\\nc\\td\\\\e\\\"f\\q\"", 0,
		    { "a", "b\nc\td\\e\"f\\q" } },
		{ "a='b\\nc\\\\d\\'e'", 0, { "a", "b\\nc\\d'e" } },
		{ "a='x${B}y'", 0, { "a", "xVy" } },
		{ "a=x$By", 0, { "a", "x$By" } },
		{ "a=x\\${B}y", 0, { "a", "x\\Vy" } },
		{ "a=${M:-def}", 0, { "a", "def" } },
		{ "a=${M-def}", 0, { "a", "" } },
		{ "a=${M:-a}b}", 0, { "a", "ab}" } },
		{ "a=1\na=2", 0, { "a", "2" } },
		{ "a=\"1\n2\"\nb=3", 0, { "a", "1\n2", "b", "3" } },
		{ "a=\"1\nb=3", 1, { "b", "3" } },
		{ "a.b=c", 0, { "a.b", "c" } },
		{ "'a b'=c", 0, { "a b", "c" } },
		{ "\"a\"=b", 0, { "\"a\"", "b" } },
		{ "a=b\\\nc=d", 0, { "a", "b\\", "c", "d" } },
		{ "\xef\xbb\xbf"
		  "a=b",
		    0, { "a", "b" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}

/* What the numbered rules say beside the table. */
static void
test_rules(void **state)
{
	static const struct row rows[] = {
		{ "", 0, { NULL } },
		{ " \n\t\n", 0, { NULL } },
		{ "# only\n  # this", 0, { NULL } },
		{ "a=b\r\nc=d\re=f\n", 0, { "a", "b", "c", "d", "e", "f" } },
		{ "\n\n  a = b \n", 0, { "a", "b" } },
		{ "a = 'b' \n", 0, { "a", "b" } },
		{ "export\ta=b", 0, { "a", "b" } },
		{ "exporta=b", 0, { "exporta", "b" } },
		{ "=b\nc=d", 1, { "c", "d" } },
		{ "a=b\n\n  x y\nc=d", 3, { "a", "b", "c", "d" } },
		{ "a=\"1\n2\"x\nb=3", 1, { "b", "3" } },
		{ "a=1\r\nx y\r\n", 2, { "a", "1" } },
		{ "a=1\rx y\r", 2, { "a", "1" } },
		/* Without a closing quote an escaped one closes. */
		{ "a='b\\'", 0, { "a", "b\\" } },
		{ "a='b\\' c' # d", 0, { "a", "b' c" } },
		{ "a=\"\\a\\b\\f\\r\\v\"", 0, { "a", "\a\b\f\r\v" } },
		{ "a=it's", 0, { "a", "it's" } },
		{ "a=1\nb=${a}${a}\nc=${b}x", 0,
		    { "a", "1", "b", "11", "c", "11x" } },
		/* The process comes before the file, even if it is empty. */
		{ "B=file\na=${B}${EMPTY:-def}", 0, { "B", "file", "a", "V" } },
		{ "x\na=[${x:-def}]", 0, { "x", NO_VALUE, "a", "[]" } },
		{ "a=${x", 0, { "a", "${x" } },
		{ "a=${x:y}", 0, { "a", "${x:y}" } },
		{ "a=${x:-}", 0, { "a", "" } },
		{ "'a=b'=c", 1, { NULL } },
		{ "a=\tb\v\f", 0, { "a", "b" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check(&rows[i]);
}

/* Values that double with every line stop at a bound. */
static void
test_expansion_is_bounded(void **state)
{
	auto_buf text = BUF_INIT(4096);
	struct dotenv d;

	(void)state;
	buf_puts(&text, "a0=0123456789\n");
	for (unsigned i = 1; i < 40; i++)
		buf_printf(&text, "a%u=${a%u}${a%u}\n", i, i - 1, i - 1);
	dotenv_parse(&d, text.bytes, text.len, NULL, NULL);
	assert_true(d.bad_line > 10);
	assert_true(d.bad_line < 25);
	dotenv_finish(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_expansion_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
