/* Matching file names; see pattern.h. */
#include "agent/tools/pattern.h"

#include "agent/base/buf.h"

/* --- Braces --------------------------------------------------------------- */

/* s is at "{": its matching "}", with *comma whether there is one in between at
 * this level; NULL: none. */
static const char *
brace_end(const char *s, bool *comma)
{
	size_t depth = 0;

	*comma = false;
	for (; *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		else if (*s == '{')
			depth++;
		else if (*s == '}' && --depth == 0)
			return s;
		else if (*s == ',' && depth == 1)
			*comma = true;
	}
	return NULL;
}

/* The first group that means alternatives, or NULL. */
static const char *
find_group(const char *s, const char **end)
{
	for (; *s; s++) {
		bool comma;
		if (*s == '\\' && s[1]) {
			s++;
		} else if (*s == '{') {
			*end = brace_end(s, &comma);
			if (*end && comma)
				return s;
		}
	}
	return NULL;
}

static void
add(struct pattern *p, char *text)
{
	p->alternatives =
	    xrealloc(p->alternatives, p->count + 1, sizeof *p->alternatives);
	p->alternatives[p->count++] = text;
}

/* Replaces alternative i, whose first group is [open, close], by one for each
 * member of the group. */
static void
expand_group(struct pattern *p, size_t i, const char *open, const char *close)
{
	auto_free char *text = p->alternatives[i];
	size_t depth = 0;
	const char *from = open + 1;
	bool first = true;

	for (const char *s = from; s <= close; s++) {
		if (*s == '\\' && s < close) {
			s++;
			continue;
		}
		depth += *s == '{';
		if (*s == '}' && s < close)
			depth--;
		if (s < close && (*s != ',' || depth > 0))
			continue;
		char *member = xasprintf("%.*s%.*s%s", (int)(open - text), text,
		    (int)(s - from), from, close + 1);
		if (first)
			p->alternatives[i] = member;
		else
			add(p, member);
		first = false;
		from = s + 1;
	}
}

static const char *
expand_all(struct pattern *p)
{
	const char *close;

	for (size_t i = 0; i < p->count;) {
		const char *open = find_group(p->alternatives[i], &close);
		if (open)
			expand_group(p, i, open, close);
		else
			i++;
		if (p->count > PATTERN_ALTERNATIVES_MAX)
			return "pattern_too_broad";
	}
	return NULL;
}

/* --- One segment ---------------------------------------------------------- */

/* The character at *s, which moves behind it; a byte where it is no UTF-8. */
static uint32_t
next_char(const char **s, const char *end)
{
	const unsigned char *p = (const unsigned char *)*s;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 1;
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffU >> (n + 1));

	if ((size_t)(end - *s) < n)
		n = 1;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			n = 1;
			break;
		}
		c = c << 6 | (p[i] & 0x3fU);
	}
	*s += n;
	return n == 1 ? p[0] : c;
}

/* s is at "[": the closing "]", or NULL: then "[" is a letter. */
static const char *
class_end(const char *s, const char *end)
{
	s++;
	if (s < end && (*s == '!' || *s == '^'))
		s++;
	if (s < end && *s == ']')
		s++;
	for (; s < end; s++) {
		if (*s == '\\' && s + 1 < end)
			s++;
		else if (*s == ']')
			return s;
	}
	return NULL;
}

static uint32_t
class_char(const char **s, const char *end)
{
	if (**s == '\\' && *s + 1 < end)
		++*s;
	return next_char(s, end);
}

static bool
class_match(const char *s, const char *end, uint32_t c)
{
	bool negated = false, found = false;

	s++;
	if (*s == '!' || *s == '^') {
		negated = true;
		s++;
	}
	while (s < end) {
		uint32_t low = class_char(&s, end), high = low;
		if (end - s >= 2 && *s == '-') {
			s++;
			high = class_char(&s, end);
		}
		found = found || (c >= low && c <= high);
	}
	return found != negated;
}

/* Matches one character of the pattern that is no "*"; moves both. */
static bool
match_one(const char **p, const char *pend, const char **s, const char *send)
{
	const char *close;

	if (*p >= pend || *s >= send)
		return false;
	if (**p == '[' && (close = class_end(*p, pend)) != NULL) {
		const char *open = *p;
		*p = close + 1;
		return class_match(open, close, next_char(s, send));
	}
	if (**p == '?') {
		++*p;
		next_char(s, send);
		return true;
	}
	if (**p == '\\' && *p + 1 < pend)
		++*p;
	return next_char(p, pend) == next_char(s, send);
}

static bool
segment_match(const char *p, const char *pend, const char *s, const char *send)
{
	const char *star = NULL, *retry = NULL;

	if (s < send && *s == '.' && p < pend &&
	    (*p == '*' || *p == '?' || *p == '['))
		return false;
	while (s < send) {
		if (p < pend && *p == '*') {
			star = ++p;
			retry = s;
			continue;
		}
		const char *p2 = p, *s2 = s;
		if (match_one(&p2, pend, &s2, send)) {
			p = p2;
			s = s2;
		} else if (star) {
			p = star;
			next_char(&retry, send);
			s = retry;
		} else {
			return false;
		}
	}
	while (p < pend && *p == '*')
		p++;
	return p == pend;
}

/* --- Paths ---------------------------------------------------------------- */

static const char *
segment_end(const char *s)
{
	return s + strcspn(s, "/");
}

/* The segment after the one at s; NULL: that was the last. */
static const char *
next_segment(const char *s)
{
	const char *end = segment_end(s);

	return *end ? end + 1 : NULL;
}

static bool
is_globstar(const char *p)
{
	return segment_end(p) - p == 2 && p[0] == '*' && p[1] == '*';
}

static bool
has_hidden(const char *s)
{
	for (; s; s = next_segment(s))
		if (*s == '.')
			return true;
	return false;
}

/* As segment_match, with segments for characters and ** for *. */
static bool
path_match(const char *p, const char *s)
{
	const char *star = NULL, *retry = NULL;

	while (s) {
		if (p && is_globstar(p)) {
			star = next_segment(p);
			if (!star)
				return !has_hidden(s);
			p = star;
			retry = s;
		} else if (p &&
		    segment_match(p, segment_end(p), s, segment_end(s))) {
			p = next_segment(p);
			s = next_segment(s);
		} else if (star && *retry != '.') {
			retry = next_segment(retry);
			p = star;
			s = retry;
		} else {
			return false;
		}
	}
	return !p;
}

static bool
has_dotdot(const char *s)
{
	for (; s; s = next_segment(s))
		if (segment_end(s) - s == 2 && memcmp(s, "..", 2) == 0)
			return true;
	return false;
}

/* A leading "/" anchors and goes; without any "/" every depth is meant. Gives.
 */
static char *
rooted(const char *one)
{
	if (!strchr(one, '/'))
		return *one ? xasprintf("**/%s", one) : xstrdup("");
	return xstrdup(one + strspn(one, "/"));
}

const char *
pattern_read(struct pattern *p, const char *text)
{
	*p = (struct pattern){ 0 };
	add(p, xstrdup(text));
	const char *fault = expand_all(p);
	for (size_t i = 0; i < p->count && !fault; i++) {
		auto_free char *one = p->alternatives[i];
		p->alternatives[i] = rooted(one);
		if (!*p->alternatives[i] || has_dotdot(p->alternatives[i]))
			fault = "invalid_pattern";
	}
	return fault;
}

void
pattern_finish(struct pattern *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->alternatives[i]);
	free(p->alternatives);
	*p = (struct pattern){ 0 };
}

static bool
match(const char *one, const char *path, bool any_dot)
{
	if (!any_dot || !is_globstar(one) || strchr(one + 3, '/'))
		return path_match(one, path);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	return segment_match(one + 3, one + strlen(one), base,
	    base + strlen(base));
}

bool
pattern_match(const struct pattern *p, const char *path, bool any_dot)
{
	for (size_t i = 0; i < p->count; i++)
		if (match(p->alternatives[i], path, any_dot))
			return true;
	return false;
}

bool
pattern_wants_hidden(const struct pattern *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (has_hidden(p->alternatives[i]))
			return true;
	return false;
}

size_t
pattern_depth(const struct pattern *p)
{
	size_t deepest = 0;

	for (size_t i = 0; i < p->count; i++) {
		size_t depth = 0;
		for (const char *s = p->alternatives[i]; s;
		     s = next_segment(s), depth++)
			if (is_globstar(s))
				return 0;
		deepest = MAX(deepest, depth);
	}
	return deepest;
}

bool
pattern_base(const struct pattern *p, size_t i, const char **base)
{
	const char *one = p->alternatives[i], *slash = strrchr(one, '/');

	*base = slash ? slash + 1 : one;
	/* Classes differ in what "!" and ranges mean there, and "**" as a whole
	 * segment takes directories too. */
	return **base && !strpbrk(*base, "[]\\") && !strstr(*base, "**");
}
