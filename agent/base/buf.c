/* Growing buffers; see buf.h. */
#include "agent/base/buf.h"

#include <stdarg.h>

char buf_empty_[1];

void
buf_init(struct buf *b, size_t max)
{
	*b = BUF_INIT(max);
}

void
buf_finish(struct buf *b)
{
	if (b->cap > 0)
		free(b->bytes);
	buf_init(b, b->max);
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->cap > 0)
		b->bytes[0] = '\0';
}

char *
buf_reserve(struct buf *b, size_t len)
{
	if (b->failed || len > b->max || b->len > b->max - len) {
		b->failed = true;
		return NULL;
	}
	size_t need = b->len + len + 1;
	if (need > b->cap) {
		size_t cap = MAX(need, MIN(b->cap * 2, b->max + 1));
		cap = MAX(cap, (size_t)64);
		char *bytes = realloc(b->cap > 0 ? b->bytes : NULL, cap);
		if (!bytes) {
			b->failed = true;
			return NULL;
		}
		b->bytes = bytes;
		b->cap = cap;
		b->bytes[b->len] = '\0';
	}
	return b->bytes + b->len;
}

void
buf_commit(struct buf *b, size_t len)
{
	if (len == 0)
		return;
	b->len += len;
	b->bytes[b->len] = '\0';
}

void
buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (len == 0)
		return;
	char *p = buf_reserve(b, len);
	if (!p)
		return;
	memcpy(p, bytes, len);
	buf_commit(b, len);
}

void
buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *p = n < 0 ? NULL : buf_reserve(b, (size_t)n);
	if (!p) {
		b->failed = true;
		return;
	}
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_commit(b, (size_t)n);
}

void
buf_consume(struct buf *b, size_t len)
{
	if (len == 0)
		return;
	memmove(b->bytes, b->bytes + len, b->len - len);
	b->len -= len;
	b->bytes[b->len] = '\0';
}

char *
buf_take(struct buf *b)
{
	char *bytes = b->cap > 0 ? b->bytes : xstrdup("");

	buf_init(b, b->max);
	return bytes;
}

void
buf_shell_quote(struct buf *b, const char *s, size_t len)
{
	buf_putc(b, '\'');
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\'')
			buf_puts(b, "'\\''");
		else
			buf_putc(b, s[i]);
	}
	buf_putc(b, '\'');
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
#define PADDING 64 /* the place of '=' */

void
buf_base64(struct buf *b, const void *bytes, size_t len)
{
	const unsigned char *in = bytes;
	char *out =
	    len > SIZE_MAX / 2 ? NULL : buf_reserve(b, (len + 2) / 3 * 4);
	size_t n = 0;

	if (!out) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < len; i += 3) {
		size_t have = MIN(len - i, (size_t)3);
		uint32_t v = (uint32_t)in[i] << 16;
		if (have > 1)
			v |= (uint32_t)in[i + 1] << 8;
		if (have > 2)
			v |= in[i + 2];
		out[n++] = base64_digits[v >> 18];
		out[n++] = base64_digits[v >> 12 & 63];
		out[n++] = base64_digits[have > 1 ? v >> 6 & 63 : PADDING];
		out[n++] = base64_digits[have > 2 ? v & 63 : PADDING];
	}
	buf_commit(b, n);
}

static int
base64_value(char c)
{
	const char *p = c ? strchr(base64_digits, c) : NULL;

	return p ? (int)(p - base64_digits) : -1;
}

int
buf_unbase64(struct buf *b, const char *text, size_t len)
{
	uint32_t v = 0;
	unsigned digits = 0, padding = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (c == '\n' || c == '\r' || c == ' ' || c == '\t')
			continue;
		int d = c == '=' ? 0 : base64_value(c);
		if (d < 0 || (padding > 0 && c != '='))
			return -1;
		padding += c == '=';
		v = v << 6 | (uint32_t)d;
		if (++digits < 4)
			continue;
		if (padding > 2)
			return -1;
		char out[3] = { (char)(v >> 16), (char)(v >> 8), (char)v };
		buf_add(b, out, 3 - padding);
		v = digits = 0;
	}
	return digits == 0 && !b->failed ? 0 : -1;
}

void
buf_urlencode(struct buf *b, const char *s, size_t len, bool keep_slash)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') || (c && strchr("-._~", c)) ||
		    (keep_slash && c == '/');
		if (plain)
			buf_putc(b, (char)c);
		else
			buf_printf(b, "%%%02X", c);
	}
}
