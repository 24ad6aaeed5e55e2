/* Pages of a text file. */
#include "agent/tools/page.h"

#include "agent/tools/result.h"
#include "tests/test.h"

static enum page_end
print(struct buf *out, const char *text, int64_t offset, int64_t limit,
    int64_t *total)
{
	struct page_source source = { .bytes = text,
		.len = strlen(text),
		.total_lines = -1 };

	buf_reset(out);
	return page_print(out, &source, offset, limit, total);
}

static void
expect(const char *text, int64_t offset, int64_t limit, const char *page)
{
	auto_buf out = BUF_INIT(1 << 20);
	int64_t total;

	assert_true(print(&out, text, offset, limit, &total) != PAGE_PAST_END);
	assert_string_equal(out.bytes, page);
}

static void
test_pages(void **state)
{
	(void)state;
	expect("a\nb\nc\n", 0, 100, "@@ lines 1-3 of 3 @@\na\nb\nc");
	expect("a\nb\nc", 0, 100, "@@ lines 1-3 of 3 @@\na\nb\nc");
	expect("a\nb\nc\n", 0, 2, "@@ lines 1-2 of 3 | next offset 2 @@\na\nb");
	expect("a\nb\nc\n", 2, 2, "@@ lines 3-3 of 3 @@\nc");
	expect("a\nb\nc\n", 1, 1, "@@ lines 2-2 of 3 | next offset 2 @@\nb");
	expect("  a\t\n\n\nb\n", 0, 100, "@@ lines 1-4 of 4 @@\n  a\t\n\n\nb");
	expect("a\r\nb\rc\n\rd", 0, 100, "@@ lines 1-5 of 5 @@\na\nb\nc\n\nd");
	expect("a\n", -5, 100,
	    "[Requested offset -5 is before the start of the file; read from "
	    "line 1 instead.]\n@@ lines 1-1 of 1 @@\na");
	expect("a\xff"
	       "b\n",
	    0, 1,
	    "@@ lines 1-1 of 1 @@\na\xef\xbf\xbd"
	    "b");
}

static void
test_empty(void **state)
{
	static const char note[] =
	    "System reminder: File exists but has empty contents";
	auto_buf out = BUF_INIT(1000);
	int64_t total;

	(void)state;
	assert_int_equal(print(&out, "", 0, 100, &total), PAGE_EMPTY);
	assert_true(strncmp(out.bytes, "@@ lines 1-1 @@\n", 16) == 0);
	assert_string_equal(out.bytes + 16, note);
	assert_int_equal(print(&out, "\n \t\r\n\n", 0, 100, &total),
	    PAGE_EMPTY);
	assert_string_equal(out.bytes, note);
	/* Never that text for a page of a file that has some. */
	expect("\n\na\n", 0, 2, "@@ lines 1-2 of 3 | next offset 2 @@\n\n");
	assert_int_equal(print(&out, "a\n", 0, 0, &total), PAGE_NOTHING);
	assert_non_null(strstr(out.bytes, "limit must be at least 1"));
	assert_int_equal(print(&out, "", 0, -3, &total), PAGE_NOTHING);
}

static void
test_past_end(void **state)
{
	auto_buf out = BUF_INIT(1000);
	int64_t total;

	(void)state;
	assert_int_equal(print(&out, "a\nb\n", 2, 100, &total), PAGE_PAST_END);
	assert_int_equal(total, 2);
	assert_int_equal(print(&out, "a\nb\n", INT64_C(1) << 52, 1, &total),
	    PAGE_PAST_END);
}

/* Lines of nine characters and a line end. */
static void
test_cut_at_line(void **state)
{
	auto_buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	int64_t total;

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		buf_printf(&text, "%09u\n", i);
	assert_int_equal(print(&out, text.bytes, 0, 10000, &total), PAGE_OK);
	assert_int_equal(total, 10000);
	assert_non_null(strstr(out.bytes, "Read on from offset 8000."));
	assert_non_null(strstr(out.bytes,
	    "@@ lines 1-8000 of 10000 | next offset 8000 | truncated due to "
	    "size @@\n000000000\n"));
	assert_string_equal(out.bytes + out.len - 9, "000007999");
	/* The rest fits. */
	assert_int_equal(print(&out, text.bytes, 8000, 10000, &total), PAGE_OK);
	assert_true(
	    strncmp(out.bytes, "@@ lines 8001-10000 of 10000 @@\n", 32) == 0);
	/* Exactly what fits is not cut. */
	assert_int_equal(print(&out, text.bytes, 0, 8000, &total), PAGE_OK);
	assert_null(strstr(out.bytes, "truncated"));
}

static void
test_long_line(void **state)
{
	auto_buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	int64_t total;

	(void)state;
	buf_puts(&text, "first\n");
	for (unsigned i = 0; i < 100000; i++)
		buf_puts(&text, "é");
	buf_puts(&text, "\nlast\n");
	assert_int_equal(print(&out, text.bytes, 0, 3, &total), PAGE_OK);
	assert_non_null(strstr(out.bytes,
	    "@@ lines 1-1 of 3 | next offset 1 | truncated due to size @@\n"
	    "first"));
	assert_int_equal(print(&out, text.bytes, 1, 3, &total), PAGE_OK);
	assert_non_null(strstr(out.bytes, "Line 2 is too long"));
	assert_non_null(strstr(out.bytes,
	    "truncated mid-line: 80000 of 100000 chars @@\n"));
	const char *body = strstr(out.bytes, "@@\n") + 3;
	assert_int_equal(text_chars(body, strlen(body)), 80000);
	assert_null(strstr(out.bytes, "last"));
	assert_int_equal(print(&out, text.bytes, 2, 3, &total), PAGE_OK);
	assert_string_equal(out.bytes, "@@ lines 3-3 of 3 @@\nlast");
}

/* Four bytes a character: the bound in bytes comes first. */
static void
test_byte_bound(void **state)
{
	auto_buf text = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
	int64_t total;

	(void)state;
	for (unsigned i = 0; i < 790; i++) {
		for (unsigned k = 0; k < 100; k++)
			buf_puts(&text, "😀");
		buf_putc(&text, '\n');
	}
	assert_int_equal(print(&out, text.bytes, 0, 790, &total), PAGE_OK);
	assert_true(out.len < TOOL_RESULT_MAX);
	assert_non_null(strstr(out.bytes, "truncated due to size"));
	buf_reset(&text);
	for (unsigned k = 0; k < 70000; k++)
		buf_puts(&text, "😀");
	assert_int_equal(print(&out, text.bytes, 0, 1, &total), PAGE_OK);
	assert_true(out.len < TOOL_RESULT_MAX);
	assert_non_null(strstr(out.bytes, "of 70000 chars"));
}

/* A part of a file from some line on. */
static void
test_part(void **state)
{
	struct page_source source = { .bytes = "x\ny\n",
		.len = 4,
		.first_line = 50,
		.total_lines = 1000 };
	auto_buf out = BUF_INIT(1000);
	int64_t total;

	(void)state;
	assert_int_equal(page_print(&out, &source, 50, 2, &total), PAGE_OK);
	assert_string_equal(out.bytes,
	    "@@ lines 51-52 of 1000 | next offset 52 @@\nx\ny");
	assert_int_equal(page_print(&out, &source, 1000, 2, &total),
	    PAGE_PAST_END);
	source.bytes = "\n\n\n\n";
	buf_reset(&out);
	assert_int_equal(page_print(&out, &source, 50, 2, &total), PAGE_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_past_end),
		cmocka_unit_test(test_cut_at_line),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_byte_bound),
		cmocka_unit_test(test_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
