/* Patterns of names, what grep prints, pages of files: the first line is the
 * pattern, the rest a path and a text. */
#include "agent/base/path.h"
#include "agent/tools/matches.h"
#include "agent/tools/page.h"
#include "agent/tools/pattern.h"
#include "agent/tools/replace.h"
#include "agent/tools/result.h"
#include "tests/fuzz/fuzz.h"

static void
pages(const struct buf *text)
{
	struct page_source source = { .bytes = text->bytes,
		.len = text->len,
		.total_lines = -1 };
	auto_buf out = BUF_INIT(TOOL_RESULT_MAX);
	int64_t total;

	(void)page_print(&out, &source, text->len % 7, 1 + text->len % 5,
	    &total);
	must(!out.failed && utf8_valid(out.bytes, out.len));
	must(total <= (int64_t)text->len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const uint8_t *lf = memchr(input, '\n', len);
	size_t first = lf ? (size_t)(lf - input) : len;
	auto_free char *one = xstrndup((const char *)input, first);
	auto_buf text = BUF_INIT(1 << 20), changed = BUF_INIT(1 << 20);
	struct matches m = { 0 };
	struct pattern p;
	size_t count;

	if (first < len)
		buf_add(&text, lf + 1, len - first - 1);
	const char *fault = pattern_read(&p, one);
	(void)pattern_match(&p, text.bytes, false);
	matches_read(&m, &text, "/", fault ? NULL : &p, 5);
	must(m.count <= 5);
	matches_sort(&m);
	matches_finish(&m);
	pattern_finish(&p);
	pages(&text);
	if (*one)
		(void)replace_text(&changed, text.bytes, text.len, one, "x",
		    true, &count);
	return 0;
}
