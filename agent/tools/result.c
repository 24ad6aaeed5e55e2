/* Texts of results; see result.h. */
#include "agent/tools/result.h"

#include <stdarg.h>

#include "agent/base/path.h"
#include "agent/base/text.h"

static const char cut_note[] =
    "... [results truncated, try being more specific with your parameters]";

void
result_init(struct tool_result *r)
{
	*r = (struct tool_result){ .exit_code = -1 };
	buf_init(&r->text, TOOL_RESULT_MAX);
}

void
tool_result_finish(struct tool_result *r)
{
	buf_finish(&r->text);
	free(r->blocks);
	r->blocks = NULL;
}

static void
set_text(struct tool_result *r, const char *fmt, va_list ap)
{
	char *raw;

	buf_reset(&r->text);
	if (vasprintf(&raw, fmt, ap) < 0)
		abort();
	/* Three bytes may stand for each bad one. */
	size_t len = strlen(raw);
	text_add_utf8(&r->text, raw, utf8_prefix(raw, len, RESULT_BYTES / 3));
	free(raw);
}

int
result_set(struct tool_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(r, fmt, ap);
	va_end(ap);
	return 0;
}

int
result_error(struct tool_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	set_text(r, fmt, ap);
	va_end(ap);
	r->failed = true;
	return 0;
}

int
result_status(struct tool_result *r, const struct status *st)
{
	result_error(r, "Error: %s", st->text);
	if (st->code != STATUS_CANCELED)
		return 0;
	r->canceled = true;
	return -1;
}

size_t
text_chars(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

size_t
text_head(const char *s, size_t len, size_t chars)
{
	size_t i = 0;

	for (; i < len; i++)
		if (((unsigned char)s[i] & 0xc0) != 0x80 && chars-- == 0)
			break;
	return i;
}

void
result_add_capped(struct tool_result *r, const char *text, size_t len)
{
	size_t had = MIN(r->text.len, RESULT_BYTES);

	/* Three bytes may stand for each bad one. */
	auto_buf valid = BUF_INIT(3 * len + 1);
	text_add_utf8(&valid, text, len);
	size_t keep = text_head(valid.bytes, valid.len, RESULT_CHARS);
	if (keep > RESULT_BYTES - had)
		keep = utf8_prefix(valid.bytes, valid.len, RESULT_BYTES - had);
	buf_add(&r->text, valid.bytes, keep);
	if (keep < valid.len)
		buf_printf(&r->text, "\n%s", cut_note);
}

const char *
result_file_code(const struct status *st)
{
	switch (st->code) {
	case STATUS_NOT_FOUND:
		return "file_not_found";
	case STATUS_DENIED:
		return "permission_denied";
	case STATUS_IS_DIR:
		return "is_directory";
	case STATUS_NOT_DIR:
		return "invalid_path";
	default:
		return st->text;
	}
}

const char *
result_dir_code(const struct status *st)
{
	switch (st->code) {
	case STATUS_NOT_FOUND:
		return "path_not_found";
	case STATUS_NOT_DIR:
		return "not_a_directory";
	case STATUS_DENIED:
		return "permission_denied";
	default:
		return st->text;
	}
}

/* A string as Python's repr() prints it, but for rare Unicode. */
static void
add_repr(struct buf *out, const char *s)
{
	char quote = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';

	buf_putc(out, quote);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\r')
			buf_puts(out, "\\r");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if (c < ' ' || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else if (c == '\\' || c == (unsigned char)quote)
			buf_printf(out, "\\%c", c);
		else
			buf_putc(out, *s);
	}
	buf_putc(out, quote);
}

void
result_add_list(struct tool_result *r, char *const *paths, size_t count)
{
	size_t total = 0, keep = count;

	for (size_t i = 0; i < count; i++)
		total += text_chars(paths[i], strlen(paths[i]));
	if (total > RESULT_CHARS)
		keep = count * RESULT_CHARS / total;
	buf_putc(&r->text, '[');
	size_t shown = 0;
	for (; shown < keep && r->text.len < RESULT_BYTES - PATH_BYTES_MAX * 4;
	     shown++) {
		auto_buf valid = BUF_INIT(3 * strlen(paths[shown]) + 1);
		text_add_utf8(&valid, paths[shown], strlen(paths[shown]));
		if (shown > 0)
			buf_puts(&r->text, ", ");
		add_repr(&r->text, valid.bytes);
	}
	if (shown < count)
		buf_printf(&r->text, "%s'%s'", shown > 0 ? ", " : "", cut_note);
	buf_putc(&r->text, ']');
}
