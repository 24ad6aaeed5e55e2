/* Values; see value.h. */
#include "agent/config/value.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

int
value_number(const char *text, int64_t low, int64_t high, int64_t *out)
{
	const char *digits = text + (*text == '-' || *text == '+');
	char *end;

	if (!isdigit((unsigned char)*digits))
		return -1;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	if (errno || *end || value < low || value > high)
		return -1;
	*out = value;
	return 0;
}

static int
unit_shift(const char *unit)
{
	static const char letters[] = "KMGT";
	const char *at =
	    *unit ? strchr(letters, toupper((unsigned char)*unit)) : NULL;

	if (!*unit)
		return 0;
	if (!at ||
	    (unit[1] && strcasecmp(unit + 1, "b") != 0 &&
		strcasecmp(unit + 1, "ib") != 0))
		return -1;
	return 10 * (int)(at - letters + 1);
}

int
value_size(const char *text, int64_t low, int64_t high, int64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	int shift = unit_shift(text + digits);
	auto_free char *number = xstrndup(text, digits);
	int64_t value;

	if (shift < 0 ||
	    value_number(number, 0, INT64_MAX >> shift, &value) < 0)
		return -1;
	value <<= shift;
	if (value < low || value > high)
		return -1;
	*out = value;
	return 0;
}

int
value_real(const char *text, double low, double high, double *out)
{
	const char *p = text + (*text == '-' || *text == '+');
	size_t whole = strspn(p, "0123456789"), part = 0;
	double value = 0, scale = 1;

	if (p[whole] == '.')
		part = strspn(p + whole + 1, "0123456789");
	const char *end = p + whole + (p[whole] == '.' ? part + 1 : 0);
	if (whole + part == 0 || whole + part > 15 || *end)
		return -1;
	for (const char *d = p; d < end; d++) {
		if (*d == '.')
			continue;
		value = value * 10 + (*d - '0');
		if (d > p + whole)
			scale *= 10;
	}
	value = *text == '-' ? -value / scale : value / scale;
	if (value < low || value > high)
		return -1;
	*out = value;
	return 0;
}

bool
value_is_url(const char *text)
{
	size_t scheme = 0;

	if (strncasecmp(text, "https://", 8) == 0)
		scheme = 8;
	else if (strncasecmp(text, "http://", 7) == 0)
		scheme = 7;
	return scheme && text[scheme] && text[scheme] != '/' &&
	    !strpbrk(text, " \t\r\n\"<>\\");
}
