/* Answer headers; see header.h. Lines come from strangers. */
#include "agent/http/header.h"

#include <strings.h>

#define RETRY_AFTER_MAX_S INT64_C(86400)

void
http_header_reset(struct http_response *r)
{
	r->status = 0;
	r->content_type[0] = '\0';
	r->content_length = -1;
	r->range_first = r->range_last = r->range_size = -1;
	r->retry_after_ms = -1;
}

static char
lower(char c)
{
	if (c >= 'A' && c <= 'Z')
		c = (char)(c | 0x20);
	return c;
}

/* Digits, at most 18 of them; moves *p behind. -1 if there are none. */
static int64_t
read_number(const char **p, const char *end)
{
	int64_t n = 0;
	int digits = 0;

	while (*p < end && **p >= '0' && **p <= '9' && digits++ < 18)
		n = n * 10 + (*(*p)++ - '0');
	return digits > 0 ? n : -1;
}

static void
read_range(struct http_response *r, const char *p, const char *end)
{
	static const char unit[] = "bytes ";

	if ((size_t)(end - p) < strlen(unit) ||
	    strncasecmp(p, unit, strlen(unit)) != 0)
		return;
	p += strlen(unit);
	if (p < end && *p == '*') {
		p++;
	} else {
		r->range_first = read_number(&p, end);
		if (p < end && *p == '-')
			p++;
		/* "0--1/0": an empty file asked for its tail. */
		if (p < end && *p == '-') {
			p++;
			read_number(&p, end);
		} else {
			r->range_last = read_number(&p, end);
		}
	}
	if (p < end && *p == '/') {
		p++;
		r->range_size = read_number(&p, end);
	}
}

static void
read_retry_after(struct http_response *r, const char *p, const char *end,
    int64_t unit_ms)
{
	int64_t n = read_number(&p, end);

	/* A date instead of a number is rare: the caller's own back-off. */
	if (n >= 0 && p == end)
		r->retry_after_ms = MAX(r->retry_after_ms,
		    MIN(n, RETRY_AFTER_MAX_S * 1000 / unit_ms) * unit_ms);
}

static void
read_status(struct http_response *r, const char *line, size_t len)
{
	const char *p = memchr(line, ' ', len);

	http_header_reset(r);
	if (p) {
		p++;
		r->status = (int)MIN(read_number(&p, line + len), 999);
	}
}

static bool
is_name(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(line, name, len) == 0;
}

void
http_header_line(struct http_response *r, const char *line, size_t len)
{
	while (len > 0 && strchr("\r\n\t ", line[len - 1]))
		len--;
	if (len >= 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		read_status(r, line, len);
		return;
	}
	const char *colon = memchr(line, ':', len);
	if (!colon)
		return;
	size_t name = (size_t)(colon - line);
	const char *p = colon + 1, *end = line + len;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;

	if (is_name(line, name, "content-type")) {
		size_t n = MIN((size_t)(end - p), sizeof r->content_type - 1);
		for (size_t i = 0; i < n; i++)
			r->content_type[i] = lower(p[i]);
		r->content_type[n] = '\0';
	} else if (is_name(line, name, "content-length")) {
		r->content_length = read_number(&p, end);
	} else if (is_name(line, name, "content-range")) {
		read_range(r, p, end);
	} else if (is_name(line, name, "retry-after-ms")) {
		read_retry_after(r, p, end, 1);
	} else if (name >= 11 && strncasecmp(line, "retry-after", 11) == 0) {
		read_retry_after(r, p, end, 1000);
	}
}
