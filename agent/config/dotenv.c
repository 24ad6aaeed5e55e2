/*
 * The grammar of .env files; see dotenv.h. A reader that steps over the text as
 * python-dotenv's does: each step takes a longest match at the place reached.
 */
#include "agent/config/dotenv.h"

#include "agent/base/buf.h"

struct reader {
	const char *at, *end;
	unsigned line; /* of `at`, from 1; CRLF, LF and CR end lines */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool
is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

static bool
has(const struct reader *r)
{
	return r->at < r->end;
}

static char
peek(const struct reader *r)
{
	if (!has(r))
		return '\0';
	return *r->at;
}

static void
skip_to(struct reader *r, const char *to)
{
	for (; r->at < to; r->at++)
		if (*r->at == '\n' ||
		    (*r->at == '\r' &&
			(r->at + 1 == r->end || r->at[1] != '\n')))
			r->line++;
}

static void
skip_blanks(struct reader *r)
{
	while (has(r) && is_blank(*r->at))
		r->at++;
}

static void
skip_space(struct reader *r)
{
	const char *p = r->at;

	while (p < r->end && (is_blank(*p) || is_line_end(*p)))
		p++;
	skip_to(r, p);
}

static const char *
line_end(const struct reader *r)
{
	const char *p = r->at;

	while (p < r->end && !is_line_end(*p))
		p++;
	return p;
}

static void
skip_line_end(struct reader *r)
{
	const char *p = r->at;

	if (p < r->end && *p == '\r')
		p++;
	if (p < r->end && *p == '\n' && (p == r->at || p[-1] == '\r'))
		p++;
	skip_to(r, p);
}

static void
skip_export(struct reader *r)
{
	static const char word[] = "export";
	size_t n = sizeof word - 1;

	if ((size_t)(r->end - r->at) > n && memcmp(r->at, word, n) == 0 &&
	    is_blank(r->at[n])) {
		r->at += n;
		skip_blanks(r);
	}
}

/*
 * The end of a quoted value that starts at `at`: the next quote without a
 * backslash before it, or, where there is none, the last quote with one
 * (python-dotenv's pattern gives back what it took). NULL: no end.
 */
static const char *
quote_end(const char *at, const char *end, char quote)
{
	const char *escaped = NULL;

	for (const char *p = at; p < end; p++) {
		if (*p == '\\' && p + 1 < end && p[1] == quote)
			escaped = ++p;
		else if (*p == quote)
			return p;
	}
	return escaped;
}

/* Gives the name; *name NULL for a comment. -1: none here. */
static int
read_name(struct reader *r, char **name)
{
	const char *from = r->at, *p = from;

	*name = NULL;
	if (peek(r) == '#')
		return 0;
	if (peek(r) == '\'') {
		from++;
		p = memchr(from, '\'', (size_t)(r->end - from));
		if (!p || p == from || memchr(from, '=', (size_t)(p - from)))
			return -1;
		*name = xstrndup(from, (size_t)(p - from));
		skip_to(r, p + 1);
		return 0;
	}
	while (p < r->end && *p != '=' && *p != '#' && !is_blank(*p) &&
	    !is_line_end(*p))
		p++;
	if (p == from)
		return -1;
	*name = xstrndup(from, (size_t)(p - from));
	r->at = p;
	return 0;
}

static void
add_unescaped(struct buf *out, const char *from, const char *to, char quote)
{
	static const char letters[] = "abfnrtv", bytes[] = "\a\b\f\n\r\t\v";

	for (const char *p = from; p < to; p++) {
		const char *letter = NULL;
		if (*p == '\\' && p + 1 < to) {
			if (p[1] == '\\' || p[1] == '\'' ||
			    (p[1] == '"' && quote == '"')) {
				buf_putc(out, *++p);
				continue;
			}
			if (quote == '"')
				letter = strchr(letters, p[1]);
		}
		if (letter) {
			buf_putc(out, bytes[letter - letters]);
			p++;
		} else {
			buf_putc(out, *p);
		}
	}
}

static void
read_bare(struct reader *r, struct buf *out)
{
	const char *end = line_end(r), *cut = end;

	for (const char *p = r->at; p + 1 < end; p++)
		if (is_blank(p[0]) && p[1] == '#') {
			cut = p;
			break;
		}
	while (cut > r->at && is_blank(cut[-1]))
		cut--;
	buf_add(out, r->at, (size_t)(cut - r->at));
	r->at = end;
}

static int
read_value(struct reader *r, struct buf *out)
{
	char quote = peek(r);

	if (quote != '\'' && quote != '"') {
		read_bare(r, out);
		return 0;
	}
	const char *from = r->at + 1;
	const char *to = quote_end(from, r->end, quote);
	if (!to)
		return -1;
	add_unescaped(out, from, to, quote);
	skip_to(r, to + 1);
	return 0;
}

/* One binding. *name NULL: a comment. *has_value: there was a "=". */
static int
read_binding(struct reader *r, char **name, struct buf *value, bool *has_value)
{
	*has_value = false;
	skip_export(r);
	if (read_name(r, name) < 0)
		return -1;
	skip_blanks(r);
	if (peek(r) == '=') {
		r->at++;
		skip_blanks(r);
		*has_value = true;
		if (read_value(r, value) < 0)
			return -1;
	}
	skip_blanks(r);
	if (peek(r) == '#')
		r->at = line_end(r);
	if (has(r) && !is_line_end(*r->at))
		return -1;
	skip_line_end(r);
	return 0;
}

static size_t
find(const struct dotenv *d, const char *name)
{
	size_t i = 0;

	while (i < d->count && strcmp(d->names[i], name) != 0)
		i++;
	return i;
}

/* Takes name and value. */
static void
set(struct dotenv *d, char *name, char *value)
{
	size_t i = find(d, name);

	if (i < d->count) {
		free(d->values[i]);
		d->values[i] = value;
		free(name);
		return;
	}
	d->names = xrealloc(d->names, d->count + 1, sizeof *d->names);
	d->values = xrealloc(d->values, d->count + 1, sizeof *d->values);
	d->names[d->count] = name;
	d->values[d->count++] = value;
}

struct scope {
	const struct dotenv *file;
	const char *(*outer)(void *arg, const char *name);
	void *arg;
};

/* The value of ${NAME}; NULL: unknown. One that is known without a value is
 * empty and takes no default. */
static const char *
resolve(const struct scope *scope, const char *name)
{
	const char *value =
	    scope->outer ? scope->outer(scope->arg, name) : NULL;
	size_t i = find(scope->file, name);

	if (value)
		return value;
	if (i == scope->file->count)
		return NULL;
	return scope->file->values[i] ? scope->file->values[i] : "";
}

/* Reads "${NAME}" or "${NAME:-default}" at s; its length, or 0 if it is none.
 */
static size_t
add_expansion(struct buf *out, const char *s, const struct scope *scope)
{
	const char *name = s + 2, *fallback = NULL;

	if (strncmp(s, "${", 2) != 0)
		return 0;
	size_t len = strcspn(name, "}:"), fallback_len = 0;
	const char *end = name + len;
	if (strncmp(end, ":-", 2) == 0) {
		fallback = end + 2;
		fallback_len = strcspn(fallback, "}");
		end = fallback + fallback_len;
	}
	if (*end != '}')
		return 0;
	auto_free char *key = xstrndup(name, len);
	const char *value = resolve(scope, key);
	if (value)
		buf_puts(out, value);
	else if (fallback)
		buf_add(out, fallback, fallback_len);
	return (size_t)(end + 1 - s);
}

static char *
interpolate(const char *text, const struct scope *scope)
{
	/* A bound: ${A}${A}… of earlier values doubles with every line. */
	auto_buf out = BUF_INIT(DOTENV_MAX);

	while (*text) {
		size_t n = add_expansion(&out, text, scope);
		if (n == 0)
			buf_putc(&out, *text++);
		text += n;
	}
	return out.failed ? NULL : buf_take(&out);
}

void
dotenv_parse(struct dotenv *d, const char *text, size_t len,
    const char *(*outer)(void *arg, const char *name), void *arg)
{
	struct reader r = { text, text + len, 1 };
	struct scope scope = { d, outer, arg };

	*d = (struct dotenv){ 0 };
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at += 3;
	for (skip_space(&r); has(&r); skip_space(&r)) {
		auto_buf value = BUF_INIT(DOTENV_MAX);
		auto_free char *name = NULL;
		struct reader start = r;
		bool has_value;
		char *result = NULL;

		if (read_binding(&r, &name, &value, &has_value) == 0) {
			if (name && has_value)
				result = interpolate(value.bytes, &scope);
			if (name && (result || !has_value)) {
				set(d, take(name), result);
				continue;
			}
			if (!name)
				continue;
		}
		if (d->bad_line == 0)
			d->bad_line = start.line;
		/* What was read of it may span lines: skip to the end of the
		 * line where reading stopped, as python-dotenv does. */
		skip_to(&r, line_end(&r));
		skip_line_end(&r);
	}
}

void
dotenv_finish(struct dotenv *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->names[i]);
		free(d->values[i]);
	}
	free(d->names);
	free(d->values);
	*d = (struct dotenv){ 0 };
}
