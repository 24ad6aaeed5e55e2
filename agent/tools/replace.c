/* Replacing; see replace.h. */
#include "agent/tools/replace.h"

enum line_ends { AS_SENT, TO_CRLF, TO_LF };

/* Gives. */
static char *
convert(const char *s, enum line_ends ends)
{
	auto_buf out = BUF_INIT(2 * strlen(s) + 1);

	for (; *s; s++) {
		if (ends != AS_SENT && s[0] == '\r' && s[1] == '\n')
			continue;
		if (ends == TO_CRLF && *s == '\n')
			buf_putc(&out, '\r');
		buf_putc(&out, *s);
	}
	return buf_take(&out);
}

static size_t
count_places(const char *text, size_t len, const char *what)
{
	size_t n = 0, step = strlen(what);
	const char *p = text, *end = text + len;

	while ((p = memmem(p, (size_t)(end - p), what, step)) != NULL) {
		n++;
		p += step;
	}
	return n;
}

/* Does every line of the text (and there are some) end with CRLF? */
static bool
is_crlf(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	bool any = false;

	while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		if (p == text || p[-1] != '\r')
			return false;
		any = true;
		p++;
	}
	return any;
}

enum replace_end
replace_text(struct buf *out, const char *text, size_t len, const char *from,
    const char *to, bool all, size_t *count)
{
	auto_free char *what = NULL;
	enum line_ends ends = AS_SENT;

	for (;; ends++) {
		what = convert(from, ends);
		*count = count_places(text, len, what);
		if (*count > 0 || ends == TO_LF)
			break;
		free(take(what));
	}
	if (*count == 0)
		return REPLACE_NOT_FOUND;
	if (*count > 1 && !all)
		return REPLACE_SEVERAL;
	/* A piece of one line says nothing about line ends: the file does. */
	if (ends == AS_SENT && !strchr(from, '\n') && is_crlf(text, len))
		ends = TO_CRLF;
	auto_free char *with = convert(to, ends);
	size_t step = strlen(what);
	const char *p = text, *end = text + len;
	for (const char *at;
	     (at = memmem(p, (size_t)(end - p), what, step)) != NULL;
	     p = at + step) {
		buf_add(out, p, (size_t)(at - p));
		buf_puts(out, with);
	}
	buf_add(out, p, (size_t)(end - p));
	return out->failed ? REPLACE_TOO_BIG : REPLACE_OK;
}
