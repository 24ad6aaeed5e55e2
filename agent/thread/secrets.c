/* Secret values; see secrets.h. */
#include "agent/thread/secrets.h"

#define MASK     "***"
#define HELD_MAX ((size_t)64 << 20)

static void
add(void *arg, const char *value)
{
	struct secrets *s = arg;

	if (!value || strlen(value) < SECRET_MIN)
		return;
	s->values = xrealloc(s->values, s->count + 1, sizeof *s->values);
	s->values[s->count++] = xstrdup(value);
}

void
secrets_init(struct secrets *s,
    void (*each)(void *arg, void (*fn)(void *, const char *), void *fn_arg),
    void *arg)
{
	*s = (struct secrets){ 0 };
	if (each)
		each(arg, add, s);
}

void
secrets_finish(struct secrets *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->values[i]);
	free(s->values);
	*s = (struct secrets){ 0 };
}

/* The longest value that stands at text, 0 if none does. */
static size_t
match(const struct secrets *s, const char *text, size_t len)
{
	size_t best = 0;

	for (size_t i = 0; i < s->count; i++) {
		size_t n = strlen(s->values[i]);
		if (n > best && n <= len && memcmp(text, s->values[i], n) == 0)
			best = n;
	}
	return best;
}

/* Could a value begin at text and go on behind its end? */
static bool
may_begin(const struct secrets *s, const char *text, size_t len)
{
	for (size_t i = 0; i < s->count; i++)
		if (len < strlen(s->values[i]) &&
		    memcmp(text, s->values[i], len) == 0)
			return true;
	return false;
}

static bool
is_first_byte(const struct secrets *s, char c)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->values[i][0] == c)
			return true;
	return false;
}

/* Masks from *at on; stops where a value may go on behind the end. */
static void
mask(const struct secrets *s, struct buf *out, const char *text, size_t len,
    bool end, size_t *at)
{
	size_t plain = 0, i = 0;

	while (i < len) {
		if (!is_first_byte(s, text[i])) {
			i++;
			continue;
		}
		if (!end && may_begin(s, text + i, len - i))
			break;
		size_t n = match(s, text + i, len - i);
		if (n == 0) {
			i++;
			continue;
		}
		buf_add(out, text + plain, i - plain);
		buf_puts(out, MASK);
		i += n;
		plain = i;
	}
	buf_add(out, text + plain, i - plain);
	*at = i;
}

void
secrets_mask(const struct secrets *s, struct buf *out, const char *text,
    size_t len)
{
	size_t at;

	mask(s, out, text, len, true, &at);
}

void
secrets_mask_string(const struct secrets *s, char **text)
{
	bool found = false;

	for (size_t i = 0; i < s->count && *text && !found; i++)
		found = strstr(*text, s->values[i]) != NULL;
	if (!found)
		return;
	auto_buf out = BUF_INIT((size_t)1 << 30);
	secrets_mask(s, &out, *text, strlen(*text));
	free(*text);
	*text = out.failed ? xstrdup(MASK) : buf_take(&out);
}

void
mask_stream_init(struct mask_stream *m, const struct secrets *s)
{
	m->secrets = s;
	buf_init(&m->held, HELD_MAX);
}

void
mask_stream_finish(struct mask_stream *m)
{
	buf_finish(&m->held);
}

void
mask_stream_add(struct mask_stream *m, const char *bytes, size_t len, bool end,
    struct buf *out)
{
	size_t at;

	buf_add(&m->held, bytes, len);
	mask(m->secrets, out, m->held.bytes, m->held.len, end, &at);
	buf_consume(&m->held, at);
}
