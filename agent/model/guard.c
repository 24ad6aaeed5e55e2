/* Guards around "lc" objects; see guard.h. One recursive walk over the text;
 * its depth is bounded, what lies deeper is replaced by null. */
#include "agent/model/guard.h"

#include <errno.h>

#include "agent/base/json.h"

#define DEPTH_MAX 1000
#define WRAPPER   "{\"__lc_escaped__\":"
#define TEXT_KEY  "{\"lc_text\":"

struct walk {
	const char *p, *end;
	struct buf *out;
	bool remove;
	unsigned depth;
};

static void walk_value(struct walk *w);

static void
skip_blanks(struct walk *w)
{
	while (w->p < w->end && *w->p && strchr(" \t\r\n", *w->p))
		w->p++;
}

static struct buf
cut_from(struct buf *out, size_t start)
{
	struct buf text = BUF_INIT(out->max);

	if (out->failed || start > out->len)
		return text;
	buf_add(&text, out->bytes + start, out->len - start);
	out->len = start;
	if (out->cap > 0)
		out->bytes[start] = '\0';
	return text;
}

/* Copies the string at w->p with its quotes. */
static void
walk_string(struct walk *w)
{
	const char *from = w->p++;

	while (w->p < w->end && *w->p != '"')
		w->p += *w->p == '\\' && w->p + 1 < w->end ? 2 : 1;
	if (w->p < w->end)
		w->p++;
	buf_add(w->out, from, (size_t)(w->p - from));
}

static bool
fits_64_bits(const char *number)
{
	char *end;

	errno = 0;
	if (number[0] == '-')
		(void)strtoll(number, &end, 10);
	else
		(void)strtoull(number, &end, 10);
	return errno != ERANGE;
}

static void
walk_scalar(struct walk *w)
{
	const char *from = w->p;
	bool whole = true;

	while (w->p < w->end && !strchr(",]}: \t\r\n", *w->p)) {
		whole =
		    whole && (*w->p == '-' || (*w->p >= '0' && *w->p <= '9'));
		w->p++;
	}
	size_t len = (size_t)(w->p - from);
	if (len == 0 && w->p < w->end)
		w->p++; /* not JSON: go on */
	buf_add(w->out, from, len);
	if (w->remove || !whole || len < 19)
		return;
	auto_free char *number = xstrndup(from, len);
	if (!fits_64_bits(number))
		buf_puts(w->out, ".0");
}

/* Is the key, a JSON string with its quotes, this word? */
static bool
key_is(const char *key, size_t len, const char *word)
{
	if (!memchr(key, '\\', len))
		return len == strlen(word) + 2 &&
		    memcmp(key + 1, word, len - 2) == 0;
	auto_json *string = cJSON_ParseWithLength(key, len);
	return cJSON_IsString(string) && strcmp(string->valuestring, word) == 0;
}

struct object_shape {
	size_t start; /* of the object in the output */
	size_t inner; /* of the value of "__lc_escaped__" */
	size_t members;
	bool lc, type, escaped;
};

/* Leaves of {"__lc_escaped__": value} only the value. */
static void
unwrap(struct walk *w, const struct object_shape *o)
{
	auto_buf inner = cut_from(w->out, o->inner);
	struct buf wrapper = cut_from(w->out, o->start);

	buf_finish(&wrapper);
	if (inner.len > 0)
		buf_add(w->out, inner.bytes, inner.len - 1);
}

static void
wrap(struct walk *w, const struct object_shape *o)
{
	auto_buf object = cut_from(w->out, o->start);

	buf_puts(w->out, o->type ? TEXT_KEY : WRAPPER);
	if (o->type)
		json_print_string(w->out, object.bytes, object.len);
	else
		buf_add(w->out, object.bytes, object.len);
	buf_putc(w->out, '}');
}

static bool
has_wrapper_inside(const struct walk *w, const struct object_shape *o)
{
	size_t n = strlen(WRAPPER);

	return w->out->len - o->inner > n &&
	    memcmp(w->out->bytes + o->inner, WRAPPER, n) == 0;
}

static void
close_object(struct walk *w, const struct object_shape *o)
{
	bool wrapper = o->members == 1 && o->escaped;

	if (w->out->failed)
		return;
	/* Not twice: Python hands a wrapped object on as it is. */
	if (wrapper && (w->remove || has_wrapper_inside(w, o)))
		unwrap(w, o);
	else if (!w->remove && o->lc)
		wrap(w, o);
}

/* The key at w->p and its colon. */
static void
walk_key(struct walk *w, struct object_shape *o)
{
	const char *key = w->p;

	walk_string(w);
	size_t len = (size_t)(w->p - key);
	if (len >= 2) {
		o->lc |= key_is(key, len, "lc");
		o->type |= key_is(key, len, "type");
		o->escaped |= key_is(key, len, "__lc_escaped__");
	}
	o->members++;
	skip_blanks(w);
	if (w->p < w->end && *w->p == ':')
		w->p++;
	buf_putc(w->out, ':');
	o->inner = w->out->len;
}

// NOLINTNEXTLINE(misc-no-recursion)
static void
walk_container(struct walk *w)
{
	struct object_shape o = { .start = w->out->len };
	bool object = *w->p++ == '{', first = true;
	char close = object ? '}' : ']';

	buf_putc(w->out, object ? '{' : '[');
	for (;;) {
		skip_blanks(w);
		if (w->p >= w->end)
			break;
		if (*w->p == close) {
			w->p++;
			break;
		}
		if (*w->p == ',') {
			w->p++;
			continue;
		}
		if (!first)
			buf_putc(w->out, ',');
		first = false;
		if (object && *w->p == '"')
			walk_key(w, &o);
		walk_value(w);
	}
	buf_putc(w->out, close);
	if (object)
		close_object(w, &o);
}

// NOLINTNEXTLINE(misc-no-recursion)
static void
walk_value(struct walk *w)
{
	skip_blanks(w);
	if (w->p >= w->end)
		return;
	if (*w->p == '"') {
		walk_string(w);
	} else if (*w->p != '{' && *w->p != '[') {
		walk_scalar(w);
	} else if (w->depth >= DEPTH_MAX) {
		buf_puts(w->out, "null");
		w->p = w->end;
	} else {
		w->depth++;
		walk_container(w);
		w->depth--;
	}
}

void
guard_add(struct buf *out, const char *json, size_t len)
{
	struct walk w = { .p = json, .end = json + len, .out = out };

	walk_value(&w);
}

void
guard_remove(struct buf *out, const char *json, size_t len)
{
	struct walk w = { .p = json,
		.end = json + len,
		.out = out,
		.remove = true };

	walk_value(&w);
}
