/*
 * Reading arguments; see arguments.h. One scanner reads JSON and what models
 * take for JSON, writes strict JSON, and counts what it had to repair: none
 * means that the text was strict. It never adds a missing quote, bracket or
 * value.
 */
#include "agent/model/arguments.h"

#include <ctype.h>

#include "agent/base/json.h"
#include "agent/base/text.h"

#define DEPTH_MAX 200

struct scanner {
	const char *p, *end;
	struct buf *out;
	unsigned repairs;
	unsigned depth;
};

static bool
starts(const struct scanner *s, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(s->end - s->p) >= n && memcmp(s->p, word, n) == 0;
}

static bool
skip_comment(struct scanner *s)
{
	if (starts(s, "//")) {
		while (s->p < s->end && *s->p != '\n')
			s->p++;
	} else if (starts(s, "/*")) {
		const char *stop =
		    memmem(s->p + 2, (size_t)(s->end - s->p) - 2, "*/", 2);
		if (!stop)
			return false;
		s->p = stop + 2;
	} else {
		return false;
	}
	s->repairs++;
	return true;
}

static void
skip_blanks(struct scanner *s)
{
	while (s->p < s->end) {
		if (strchr(" \t\r\n", *s->p) && *s->p) {
			s->p++;
		} else if (starts(s, "\xc2\xa0") || starts(s, "\xef\xbb\xbf")) {
			s->p += (unsigned char)*s->p == 0xc2 ? 2 : 3;
			s->repairs++;
		} else if (!skip_comment(s)) {
			return;
		}
	}
}

static bool
take_char(struct scanner *s, char c)
{
	skip_blanks(s);
	if (s->p >= s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

/* An escape at the backslash; false if the text ends in it. */
static bool
scan_escape(struct scanner *s)
{
	if (s->end - s->p < 2)
		return false;
	char c = s->p[1];

	if (c == 'u') {
		size_t n = MIN((size_t)(s->end - s->p), (size_t)6);
		buf_add(s->out, s->p, n);
		s->p += n;
		return true;
	}
	if (c && strchr("\"\\/bfnrt", c)) {
		buf_add(s->out, s->p, 2);
	} else if (c == '\'') {
		buf_putc(s->out, '\'');
		s->repairs++;
	} else {
		/* `C:\Work`: the backslash was meant. */
		buf_puts(s->out, "\\\\");
		s->repairs++;
		s->p++;
		return true;
	}
	s->p += 2;
	return true;
}

static bool
scan_string(struct scanner *s)
{
	char quote = *s->p++;

	s->repairs += quote == '\'';
	buf_putc(s->out, '"');
	while (s->p < s->end && *s->p != quote) {
		unsigned char c = (unsigned char)*s->p;
		if (c == '\\') {
			if (!scan_escape(s))
				return false;
			continue;
		}
		if (c < 0x20) {
			buf_printf(s->out, "\\u%04x", c);
			s->repairs++;
		} else if (c == '"') {
			buf_puts(s->out, "\\\"");
		} else {
			buf_putc(s->out, (char)c);
		}
		s->p++;
	}
	if (s->p >= s->end)
		return false;
	s->p++;
	buf_putc(s->out, '"');
	return true;
}

static bool
digits(const char **p, const char *end)
{
	const char *from = *p;

	while (*p < end && isdigit((unsigned char)**p))
		(*p)++;
	return *p > from;
}

/* RFC 8259 numbers only, copied as they are. */
static bool
scan_number(struct scanner *s)
{
	const char *p = s->p;

	if (p < s->end && *p == '-')
		p++;
	bool zero = p < s->end && *p == '0';
	const char *whole = p;
	if (!digits(&p, s->end) || (zero && p - whole > 1))
		return false;
	if (p < s->end && *p == '.') {
		p++;
		if (!digits(&p, s->end))
			return false;
	}
	if (p < s->end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < s->end && (*p == '+' || *p == '-'))
			p++;
		if (!digits(&p, s->end))
			return false;
	}
	buf_add(s->out, s->p, (size_t)(p - s->p));
	s->p = p;
	return true;
}

static bool
scan_word(struct scanner *s)
{
	static const struct {
		const char *word, *json;
	} words[] = {
		{ "true", "true" },
		{ "false", "false" },
		{ "null", "null" },
		{ "True", "true" },
		{ "False", "false" },
		{ "None", "null" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].word);
		if (!starts(s, words[i].word))
			continue;
		if (s->p + n < s->end &&
		    (isalnum((unsigned char)s->p[n]) || s->p[n] == '_'))
			return false;
		s->p += n;
		s->repairs += i >= 3;
		buf_puts(s->out, words[i].json);
		return true;
	}
	return false;
}

static bool
scan_key(struct scanner *s)
{
	skip_blanks(s);
	if (s->p >= s->end)
		return false;
	if (*s->p == '"' || *s->p == '\'')
		return scan_string(s);
	const char *from = s->p;
	while (s->p < s->end &&
	    (isalpha((unsigned char)*s->p) || *s->p == '_' || *s->p == '$' ||
		(s->p > from &&
		    (isdigit((unsigned char)*s->p) || *s->p == '-'))))
		s->p++;
	if (s->p == from)
		return false;
	s->repairs++;
	buf_putc(s->out, '"');
	buf_add(s->out, from, (size_t)(s->p - from));
	buf_putc(s->out, '"');
	return true;
}

static bool scan_value(struct scanner *s);

/* Members of an object or elements of an array, after the opening bracket.
 * Depth is bounded by DEPTH_MAX. */
// NOLINTNEXTLINE(misc-no-recursion)
static bool
scan_members(struct scanner *s, bool object)
{
	char close = object ? '}' : ']';
	bool first = true;

	if (++s->depth > DEPTH_MAX)
		return false;
	buf_putc(s->out, object ? '{' : '[');
	while (!take_char(s, close)) {
		if (!first) {
			if (!take_char(s, ','))
				return false;
			if (take_char(s, close)) {
				s->repairs++;
				break;
			}
			buf_putc(s->out, ',');
		}
		first = false;
		if (object) {
			if (!scan_key(s) || !take_char(s, ':'))
				return false;
			buf_putc(s->out, ':');
		}
		if (!scan_value(s))
			return false;
	}
	s->depth--;
	buf_putc(s->out, close);
	return true;
}

// NOLINTNEXTLINE(misc-no-recursion)
static bool
scan_value(struct scanner *s)
{
	skip_blanks(s);
	if (s->p >= s->end)
		return false;
	switch (*s->p) {
	case '{':
	case '[':
		s->p++;
		return scan_members(s, s->p[-1] == '{');
	case '"':
	case '\'':
		return scan_string(s);
	default:
		return scan_word(s) || scan_number(s);
	}
}

/* One surrounding code fence, with or without a language word. */
static void
strip_fence(struct scanner *s)
{
	skip_blanks(s);
	if (!starts(s, "```"))
		return;
	const char *p = s->p + 3;
	while (p < s->end && isalnum((unsigned char)*p))
		p++;
	s->p = p;
	s->repairs++;
}

/* Nothing of weight may follow the value. */
static bool
only_rubbish_left(struct scanner *s)
{
	for (;;) {
		skip_blanks(s);
		if (s->p >= s->end)
			return true;
		if (!strchr("}],;`", *s->p))
			return false;
		s->p++;
		s->repairs++;
	}
}

/* Reads one value into s->out. `{}` before a real object is a known habit. */
static bool
scan_text(struct scanner *s)
{
	strip_fence(s);
	if (!scan_value(s))
		return false;
	skip_blanks(s);
	if (s->out->len == 2 && memcmp(s->out->bytes, "{}", 2) == 0 &&
	    starts(s, "{")) {
		buf_reset(s->out);
		s->repairs++;
		if (!scan_value(s) || s->out->len == 2)
			return false;
	}
	return only_rubbish_left(s) && !s->out->failed;
}

static enum arguments_status
read_once(const char *text, size_t len, struct buf *json)
{
	struct scanner s = { .p = text, .end = text + len, .out = json };

	if (!scan_text(&s))
		return ARGUMENTS_INVALID;
	return s.repairs ? ARGUMENTS_REPAIRED : ARGUMENTS_OK;
}

enum arguments_status
arguments_read(const char *text, size_t len, bool complete, struct buf *object)
{
	auto_buf json = BUF_INIT((size_t)ARGUMENTS_MAX * 3);
	auto_buf inner = BUF_INIT((size_t)ARGUMENTS_MAX * 3);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		len--;
	while (len > 0 && isspace((unsigned char)*text))
		text++, len--;
	if (len == 0 || (len == 4 && memcmp(text, "null", 4) == 0)) {
		buf_puts(object, "{}");
		return ARGUMENTS_EMPTY;
	}
	if (len > ARGUMENTS_MAX)
		return ARGUMENTS_INVALID;
	enum arguments_status status = read_once(text, len, &json);
	if (status != ARGUMENTS_INVALID && json.bytes[0] == '"') {
		/* Encoded twice. */
		auto_json *string = cJSON_ParseWithLength(json.bytes, json.len);
		const char *once = cJSON_GetStringValue(string);
		if (!once ||
		    read_once(once, strlen(once), &inner) == ARGUMENTS_INVALID)
			return ARGUMENTS_INVALID;
		status = ARGUMENTS_REPAIRED;
		buf_reset(&json);
		buf_add(&json, inner.bytes, inner.len);
	}
	if (status == ARGUMENTS_INVALID || json.bytes[0] != '{' ||
	    (status == ARGUMENTS_REPAIRED && !complete))
		return ARGUMENTS_INVALID;
	text_scrub_json(object, json.bytes, json.len, false);
	return status;
}
