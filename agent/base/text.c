/* Repairing strangers' text; see text.h. */
#include "agent/base/text.h"

#include "agent/base/path.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* Bytes of the well-formed sequence at s, or minus the length of the maximal
 * bad part (WHATWG Encoding, UTF-8 decoder). */
static int
decode(const unsigned char *s, size_t len)
{
	unsigned low = 0x80, high = 0xbf;
	int need;

	if (s[0] < 0x80)
		return s[0] ? 1 : -1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		need = 1;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		need = 2;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		need = 3;
	else
		return -1;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	for (int i = 1; i <= need; i++) {
		if ((size_t)i >= len || s[i] < low || s[i] > high)
			return -i;
		low = 0x80;
		high = 0xbf;
	}
	return need + 1;
}

void
text_add_utf8(struct buf *out, const char *s, size_t len)
{
	size_t good = 0; /* start of the run that is copied as it is */

	for (size_t i = 0; i < len;) {
		int n = decode((const unsigned char *)s + i, len - i);
		if (n > 0) {
			i += (size_t)n;
			continue;
		}
		buf_add(out, s + good, i - good);
		buf_puts(out, REPLACEMENT);
		i += (size_t)-n;
		good = i;
	}
	buf_add(out, s + good, len - good);
}

/* The surrogate half encoded in three bytes at s, or 0. */
static uint32_t
half_at(const char *s, size_t len)
{
	const unsigned char *p = (const unsigned char *)s;

	if (len < 3 || p[0] != 0xed || p[1] < 0xa0 || p[1] > 0xbf ||
	    (p[2] & 0xc0) != 0x80)
		return 0;
	return 0xd000U | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
}

static bool
is_high(uint32_t half)
{
	return half >= 0xd800 && half <= 0xdbff;
}

static bool
is_low(uint32_t half)
{
	return half >= 0xdc00 && half <= 0xdfff;
}

static void
add_joined_pair(struct buf *out, uint32_t high, uint32_t low)
{
	uint32_t cp = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
	char bytes[4] = { (char)(0xf0 | cp >> 18),
		(char)(0x80 | (cp >> 12 & 63)), (char)(0x80 | (cp >> 6 & 63)),
		(char)(0x80 | (cp & 63)) };

	buf_add(out, bytes, sizeof bytes);
}

void
text_add_joined(struct buf *out, const char *s, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i < len;) {
		uint32_t half = half_at(s + i, len - i);
		if (!half) {
			i++;
			continue;
		}
		text_add_utf8(out, s + start, i - start);
		i += 3;
		uint32_t next = half_at(s + i, len - i);
		if (is_high(half) && is_low(next)) {
			add_joined_pair(out, half, next);
			i += 3;
		} else {
			buf_puts(out, REPLACEMENT);
		}
		start = i;
	}
	text_add_utf8(out, s + start, len - start);
}

/* The value of four hexadecimal digits, or -1. */
static int32_t
hex4(const char *s, size_t len)
{
	int32_t v = 0;

	if (len < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = s[i];
		int d = c >= '0' && c <= '9' ? c - '0'
		    : c >= 'a' && c <= 'f'   ? c - 'a' + 10
		    : c >= 'A' && c <= 'F'   ? c - 'A' + 10
					     : -1;
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

/* Handles the escape "\u…" at s; returns how many bytes it took. */
static size_t
scrub_escape(struct buf *out, const char *s, size_t len, bool keep_halves)
{
	int32_t v = hex4(s + 2, len - 2);

	if (v <= 0) {
		buf_puts(out, "\\ufffd");
		return v == 0 ? 6 : 2;
	}
	bool surrogate = v >= 0xd800 && v <= 0xdfff;
	if (surrogate && is_high((uint32_t)v) && len >= 12 && s[6] == '\\' &&
	    s[7] == 'u' && is_low((uint32_t)hex4(s + 8, len - 8))) {
		buf_add(out, s, 12);
		return 12;
	}
	if (!surrogate) {
		buf_add(out, s, 6);
	} else if (keep_halves) {
		char bytes[3] = { (char)0xed, (char)(0x80 | (v >> 6 & 63)),
			(char)(0x80 | (v & 63)) };
		buf_add(out, bytes, sizeof bytes);
	} else {
		buf_puts(out, "\\ufffd");
	}
	return 6;
}

void
text_scrub_json(struct buf *out, const char *s, size_t len, bool keep_halves)
{
	bool in_string = false;

	for (size_t i = 0; i < len;) {
		if (in_string && s[i] == '\\' && i + 1 < len) {
			if (s[i + 1] == 'u') {
				i += scrub_escape(out, s + i, len - i,
				    keep_halves);
			} else {
				buf_add(out, s + i, 2);
				i += 2;
			}
			continue;
		}
		if (s[i] == '"')
			in_string = !in_string;
		buf_putc(out, s[i++]);
	}
}
