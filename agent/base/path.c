/* Names and UTF-8; see path.h. */
#include "agent/base/path.h"

/* Length of the well-formed UTF-8 sequence at s (RFC 3629), 0 if there is none;
 * *cp is its code point. */
static size_t
utf8_sequence(const char *s, size_t len, uint32_t *cp)
{
	const unsigned char *p = (const unsigned char *)s;

	if (p[0] < 0x80) {
		*cp = p[0];
		return 1;
	}
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || len < n)
		return 0;
	uint32_t v = p[0] & (0xffU >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3fU);
	}
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*cp = v;
	return n;
}

bool
utf8_valid(const char *s, size_t len)
{
	uint32_t cp;

	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(s + i, len - i, &cp);
		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

size_t
utf8_prefix(const char *s, size_t len, size_t max)
{
	if (len <= max)
		return len;
	size_t n = max;
	while (n > 0 && max - n < 4 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

bool
name_valid(const char *s, size_t len)
{
	if (len == 0 || len > PATH_NAME_MAX || memchr(s, '/', len) ||
	    memchr(s, '\0', len))
		return false;
	return !(len == 1 && s[0] == '.') &&
	    !(len == 2 && s[0] == '.' && s[1] == '.');
}

static bool
is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0);
}

bool
thread_name_valid(const char *s)
{
	size_t len = strlen(s);
	uint32_t cp;

	if (len == 0 || len > 128 || s[0] == '.' || s[0] == '-' ||
	    strpbrk(s, "<>/") || strstr(s, "://") || strcasestr(s, "www."))
		return false;
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(s + i, len - i, &cp);
		if (n == 0 || is_control(cp))
			return false;
		i += n;
	}
	return true;
}

bool
relpath_valid(const char *s)
{
	if (!*s)
		return true;
	if (strlen(s) > PATH_BYTES_MAX)
		return false;
	for (;;) {
		size_t n = strcspn(s, "/");
		if (!name_valid(s, n))
			return false;
		if (!s[n])
			return true;
		s += n + 1;
	}
}

static bool
is_unsafe(uint32_t cp)
{
	return is_control(cp) || cp == 0x61c || cp == 0x2028 || cp == 0x2029 ||
	    cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	    (cp >= 0x2066 && cp <= 0x2069);
}

size_t
escape_line(char *out, size_t size, const char *s, size_t len)
{
	static const char
	    letters[] = { ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r' };
	size_t used = 0;

	if (size == 0)
		return 0;
	for (size_t i = 0; i < len;) {
		uint32_t cp = 0;
		char piece[20];
		size_t n = utf8_sequence(s + i, len - i, &cp);
		size_t take_bytes = n ? n : 1;

		if (n && !is_unsafe(cp)) {
			memcpy(piece, s + i, n);
		} else if (cp == '\n' || cp == '\t' || cp == '\r') {
			piece[0] = '\\';
			piece[1] = letters[cp];
			n = 2;
		} else {
			n = 0;
			for (size_t k = 0; k < take_bytes; k++)
				n += (size_t)snprintf(piece + n, 5, "\\x%02x",
				    (unsigned char)s[i + k]);
		}
		if (used + n >= size)
			break;
		memcpy(out + used, piece, n);
		used += n;
		i += take_bytes;
	}
	out[used] = '\0';
	return used;
}
