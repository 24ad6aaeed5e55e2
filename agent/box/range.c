/* See range.h. */
#include "agent/box/range.h"

#include <errno.h>

/* A whole number of digits only, white space around it allowed. */
static bool
number(const char *s, size_t len, int64_t *out)
{
	while (len > 0 && (*s == ' ' || *s == '\t'))
		s++, len--;
	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	if (len == 0 || len > 18)
		return false;
	*out = 0;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*out = *out * 10 + (s[i] - '0');
	}
	return true;
}

enum one { ONE_OK, ONE_BEYOND, ONE_INVALID };

static enum one
parse_one(const char *s, size_t len, int64_t size, struct range *out)
{
	const char *dash = memchr(s, '-', len);
	int64_t first = 0, last = size - 1;

	if (!dash)
		return ONE_INVALID;
	size_t left = (size_t)(dash - s), right = len - left - 1;
	if (strspn(s, " \t") >= left) {
		/* -n: the last n bytes. */
		if (!number(dash + 1, right, &first))
			return ONE_INVALID;
		first = MIN(first, size);
		*out = (struct range){ size - first, first };
		return ONE_OK;
	}
	if (!number(s, left, &first))
		return ONE_INVALID;
	if (first >= size)
		return ONE_BEYOND;
	if (right > strspn(dash + 1, " \t") &&
	    (!number(dash + 1, right, &last) || last < first))
		return ONE_INVALID;
	last = MIN(last, size - 1);
	*out = (struct range){ first, last - first + 1 };
	return ONE_OK;
}

enum range_result
range_parse(const char *text, int64_t size, struct range out[RANGE_MAX],
    size_t *count)
{
	bool beyond = false;
	int64_t sum = 0;

	*count = 0;
	if (!text || !*text)
		return RANGE_NONE;
	if (strncmp(text, "bytes=", 6) != 0)
		return RANGE_INVALID;
	for (text += 6;; text++) {
		size_t len = strcspn(text, ",");
		if (strspn(text, " \t") < len) {
			if (*count == RANGE_MAX)
				return RANGE_INVALID;
			switch (parse_one(text, len, size, &out[*count])) {
			case ONE_OK:
				sum += out[(*count)++].len;
				break;
			case ONE_BEYOND:
				beyond = true;
				break;
			case ONE_INVALID:
				return RANGE_INVALID;
			}
		}
		text += len;
		if (!*text)
			break;
	}
	if (*count == 0)
		return beyond && size > 0 ? RANGE_NO_OVERLAP : RANGE_NONE;
	if (sum > size) {
		*count = 0;
		return RANGE_NONE;
	}
	return RANGE_OK;
}
