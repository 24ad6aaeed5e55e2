/* Server-sent events; see sse.h. */
#include "agent/http/sse.h"

#include "agent/base/text.h"

#define LINE_MAX_BYTES    (16U << 20)
#define EVENT_MAX_BYTES   (32U << 20)
#define NAME_MAX_BYTES    256U
#define COMMENT_MAX_BYTES 4096U

static const char bom[] = "\xef\xbb\xbf";

void
sse_init(struct sse *p, void (*event)(void *arg, const struct sse_event *),
    void *arg)
{
	*p = (struct sse){ .event = event, .arg = arg };
	buf_init(&p->line, LINE_MAX_BYTES);
	buf_init(&p->data, EVENT_MAX_BYTES);
	buf_init(&p->name, NAME_MAX_BYTES);
	buf_init(&p->comment, COMMENT_MAX_BYTES);
}

void
sse_finish(struct sse *p)
{
	buf_finish(&p->line);
	buf_finish(&p->data);
	buf_finish(&p->name);
	buf_finish(&p->comment);
}

static void
dispatch(struct sse *p, bool at_end)
{
	bool is_error = strcmp(p->name.bytes, "error") == 0;

	if (p->data_lines > 0 || (is_error && p->comment.len > 0)) {
		struct sse_event e = {
			.name = p->name.len > 0 ? p->name.bytes : "message",
			.data = p->data.bytes,
			.len = p->data.len,
			.lines = p->data_lines,
			.comment = p->comment.bytes,
			.at_end = at_end,
		};
		p->event(p->arg, &e);
	}
	buf_reset(&p->data);
	buf_reset(&p->name);
	buf_reset(&p->comment);
	p->data_lines = 0;
}

static void
add_data(struct sse *p, const char *value, size_t len)
{
	if (p->data_lines++ > 0)
		buf_putc(&p->data, '\n');
	text_add_utf8(&p->data, value, len);
}

static void
set(struct buf *b, const char *value, size_t len)
{
	buf_reset(b);
	text_add_utf8(b, value, MIN(len, b->max / 3));
}

/* Some servers write an error as a bare JSON line or under a field of its own
 * (old llama.cpp): both are error events. */
static bool
bare_error(struct sse *p, const char *line, size_t len, const char *colon)
{
	bool object = len > 8 && line[0] == '{' &&
	    memmem(line, MIN(len, (size_t)64), "\"error\"", 7);
	bool field =
	    colon && colon - line == 5 && memcmp(line, "error", 5) == 0;

	if (!object && !field)
		return false;
	const char *value = field ? colon + 1 : line;
	size_t n = len - (size_t)(value - line);
	dispatch(p, false);
	set(&p->name, "error", 5);
	add_data(p, value, n);
	dispatch(p, false);
	return true;
}

static void
take_line(struct sse *p)
{
	const char *line = p->line.bytes;
	size_t len = p->line.len;

	if (len == 0) {
		dispatch(p, false);
		return;
	}
	const char *colon = memchr(line, ':', len);
	if (colon == line) {
		p->comments++;
		size_t skip = len > 1 && line[1] == ' ' ? 2 : 1;
		set(&p->comment, line + skip, len - skip);
	} else if (!bare_error(p, line, len, colon)) {
		size_t name_len = colon ? (size_t)(colon - line) : len;
		const char *value = colon ? colon + 1 : line + len;
		if (value < line + len && *value == ' ')
			value++;
		size_t n = len - (size_t)(value - line);
		if (name_len == 4 && memcmp(line, "data", 4) == 0)
			add_data(p, value, n);
		else if (name_len == 5 && memcmp(line, "event", 5) == 0)
			set(&p->name, value, n);
	}
	buf_reset(&p->line);
}

/* Drops a byte order mark at the very start, also when it comes in pieces. */
static bool
in_bom(struct sse *p, char c)
{
	if (p->bom >= 3)
		return false;
	if (c == bom[p->bom]) {
		p->bom++;
		return true;
	}
	buf_add(&p->line, bom, p->bom);
	p->bom = 3;
	return false;
}

int
sse_feed(struct sse *p, const char *bytes, size_t len, struct status *st)
{
	for (size_t i = 0; i < len; i++) {
		char c = bytes[i];
		if (in_bom(p, c))
			continue;
		bool after_cr = p->skip_lf;
		p->skip_lf = c == '\r';
		if (c == '\n' && after_cr)
			continue;
		if (c == '\n' || c == '\r')
			take_line(p);
		else
			buf_putc(&p->line, c);
		if (p->line.failed || p->data.failed)
			return status_set(st, STATUS_TOO_BIG,
			    "an event of the stream is too large");
	}
	return 0;
}

void
sse_end(struct sse *p)
{
	if (p->line.len > 0)
		take_line(p);
	dispatch(p, true);
}
