/* Inline thinking; see thinking.h. */
#include "agent/model/thinking.h"

static const struct {
	const char *open, *close;
} tags[] = { { "<think>", "</think>" }, { "<thinking>", "</thinking>" } };

static size_t
blanks(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && s[n] && strchr(" \t\r\n", s[n]))
		n++;
	return n;
}

static void
add_trimmed(struct buf *out, const char *s, size_t len)
{
	size_t skip = blanks(s, len);

	s += skip;
	len -= skip;
	while (len > 0 && s[len - 1] && strchr(" \t\r\n", s[len - 1]))
		len--;
	buf_add(out, s, len);
}

static bool
begins(const struct buf *b, size_t at, const char *word)
{
	size_t n = strlen(word);

	return b->len - at >= n && memcmp(b->bytes + at, word, n) == 0;
}

void
thinking_split(struct buf *content, struct buf *reasoning)
{
	bool had_field = reasoning->len > 0;
	size_t at = blanks(content->bytes, content->len);

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		const char *close = tags[i].close;
		bool opened = begins(content, at, tags[i].open);
		if (had_field) {
			if (begins(content, at, close)) {
				buf_consume(content, at + strlen(close));
				return;
			}
			continue;
		}
		size_t from = opened ? at + strlen(tags[i].open) : 0;
		const char *end = memmem(content->bytes + from,
		    content->len - from, close, strlen(close));
		if (!opened && !end)
			continue;
		size_t stop =
		    end ? (size_t)(end - content->bytes) : content->len;
		add_trimmed(reasoning, content->bytes + from, stop - from);
		size_t rest = end ? stop + strlen(close) : content->len;
		rest += blanks(content->bytes + rest, content->len - rest);
		buf_consume(content, rest);
		return;
	}
}
