/* Finding parts of JSON text; see span.h. */
#include "agent/base/span.h"

static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
		p++;
	return p;
}

/* p is at the quote; the end of the text if there is no other. */
static const char *
skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

static const char *
skip_value(const char *p, const char *end)
{
	size_t depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
		} else if (*p == '{' || *p == '[') {
			depth++;
			p++;
		} else if (*p == '}' || *p == ']') {
			if (depth <= 1)
				return depth == 1 ? p + 1 : p;
			depth--;
			p++;
		} else if (depth == 0 && strchr(", \t\r\n", *p)) {
			return p;
		} else {
			p++;
			continue;
		}
		if (depth == 0)
			return p;
	}
	return end;
}

/* Enters a container with that opening bracket; NULL if it is none. */
static const char *
enter(struct span s, char bracket, const char **end)
{
	if (!s.bytes)
		return NULL;
	*end = s.bytes + s.len;
	const char *p = skip_blanks(s.bytes, *end);
	return p < *end && *p == bracket ? skip_blanks(p + 1, *end) : NULL;
}

struct span
span_member(struct span object, const char *name)
{
	const char *end;
	const char *p = enter(object, '{', &end);
	size_t n = strlen(name);

	while (p && p < end && *p == '"') {
		const char *key = p + 1;
		p = skip_string(p, end);
		bool found =
		    (size_t)(p - key) == n + 1 && memcmp(key, name, n) == 0;
		p = skip_blanks(p, end);
		if (p >= end || *p != ':')
			break;
		const char *value = skip_blanks(p + 1, end);
		p = skip_value(value, end);
		if (found)
			return (struct span){ value, (size_t)(p - value) };
		p = skip_blanks(p, end);
		if (p >= end || *p != ',')
			break;
		p = skip_blanks(p + 1, end);
	}
	return (struct span){ 0 };
}

bool
span_next(struct span array, struct span *element)
{
	const char *end;
	const char *p = enter(array, '[', &end);

	if (!p)
		return false;
	if (element->bytes) {
		p = skip_blanks(element->bytes + element->len, end);
		if (p >= end || *p != ',')
			return false;
		p = skip_blanks(p + 1, end);
	}
	if (p >= end || *p == ']')
		return false;
	const char *stop = skip_value(p, end);
	if (stop == p)
		return false;
	*element = (struct span){ p, (size_t)(stop - p) };
	return true;
}
