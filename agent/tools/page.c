/* Pages of a text file; see page.h. */
#include "agent/tools/page.h"

#include "agent/base/path.h"
#include "agent/base/text.h"
#include "agent/tools/result.h"

static const char empty_note[] =
    "System reminder: File exists but has empty contents";

/* Takes the next line off [*p, end); false at the end. A final line end makes
 * no further line. */
static bool
next_line(const char **p, const char *end, const char **line, size_t *len)
{
	const char *s = *p;

	if (s >= end)
		return false;
	*line = s;
	while (s < end && *s != '\n' && *s != '\r')
		s++;
	*len = (size_t)(s - *line);
	if (s < end && *s == '\r')
		s++;
	if (s < end && *s == '\n' && (s == *line + *len || s[-1] == '\r'))
		s++;
	*p = s;
	return true;
}

static int64_t
count_lines(const char *p, const char *end)
{
	const char *line;
	size_t len;
	int64_t n = 0;

	while (next_line(&p, end, &line, &len))
		n++;
	return n;
}

static bool
is_blank(const struct page_source *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (!s->bytes[i] || !strchr(" \t\r\n\v\f", s->bytes[i]))
			return false;
	return s->first_line == 0 && s->total_lines < 0;
}

struct shown {
	struct buf body;
	int64_t lines;
	bool cut;         /* not all that were asked for fit */
	size_t chars, of; /* of a first line that alone is too long, or 0 */
};

static void
show_line(struct shown *shown, const char *line, size_t len, size_t *room)
{
	auto_buf valid = BUF_INIT(3 * len + 1);

	text_add_utf8(&valid, line, len);
	size_t chars = text_chars(valid.bytes, valid.len);
	bool fits = chars + 1 <= *room &&
	    shown->body.len + valid.len + 1 <= RESULT_BYTES;
	if (!fits && shown->lines > 0) {
		shown->cut = true;
		return;
	}
	if (!fits) {
		size_t keep = text_head(valid.bytes, valid.len, *room);
		keep = MIN(keep,
		    utf8_prefix(valid.bytes, valid.len, RESULT_BYTES));
		shown->chars = text_chars(valid.bytes, keep);
		shown->of = chars;
		shown->cut = true;
		valid.len = keep;
	}
	if (shown->lines++ > 0)
		buf_putc(&shown->body, '\n');
	buf_add(&shown->body, valid.bytes, valid.len);
	*room -= MIN(*room, chars + 1);
}

static void
collect(struct shown *shown, const struct page_source *source, int64_t offset,
    int64_t limit)
{
	const char *p = source->bytes, *end = p + source->len, *line;
	size_t len, room = RESULT_CHARS;

	for (int64_t i = source->first_line; shown->lines < limit &&
	     !shown->cut && next_line(&p, end, &line, &len);
	     i++)
		if (i >= offset)
			show_line(shown, line, len, &room);
}

static void
print_header(struct buf *out, const struct shown *shown, int64_t offset,
    int64_t total)
{
	int64_t last = offset + shown->lines;

	if (shown->of > 0)
		buf_printf(out,
		    "[Line %lld is too long to be shown whole. Its first %zu "
		    "characters follow; bring the file into shorter lines to "
		    "see the rest.]\n",
		    (long long)offset + 1, shown->chars);
	else if (shown->cut)
		buf_printf(out,
		    "[Not all of the lines asked for fit into one result. Read "
		    "on from offset %lld.]\n",
		    (long long)last);
	buf_printf(out, "@@ lines %lld-%lld of %lld", (long long)offset + 1,
	    (long long)last, (long long)total);
	if (shown->of > 0)
		buf_printf(out, " | truncated mid-line: %zu of %zu chars",
		    shown->chars, shown->of);
	else if (last < total)
		buf_printf(out, " | next offset %lld", (long long)last);
	if (shown->cut && shown->of == 0)
		buf_puts(out, " | truncated due to size");
	buf_puts(out, " @@\n");
}

enum page_end
page_print(struct buf *out, const struct page_source *source, int64_t offset,
    int64_t limit, int64_t *total)
{
	struct shown shown = { .lines = 0 };

	*total = source->total_lines;
	if (*total < 0)
		*total =
		    count_lines(source->bytes, source->bytes + source->len);
	if (limit < 1) {
		buf_puts(out, "Nothing was read: limit must be at least 1.");
		return PAGE_NOTHING;
	}
	if (*total == 0 || is_blank(source)) {
		buf_printf(out, "%s%s", *total == 0 ? "@@ lines 1-1 @@\n" : "",
		    empty_note);
		return PAGE_EMPTY;
	}
	if (offset >= *total)
		return PAGE_PAST_END;
	if (offset < 0)
		buf_printf(out,
		    "[Requested offset %lld is before the start of the file; "
		    "read from line 1 instead.]\n",
		    (long long)offset);
	offset = MAX(offset, 0);
	buf_init(&shown.body, RESULT_BYTES);
	collect(&shown, source, offset, limit);
	print_header(out, &shown, offset, *total);
	buf_add(out, shown.body.bytes, shown.body.len);
	buf_finish(&shown.body);
	return PAGE_OK;
}
