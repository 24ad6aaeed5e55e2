/*
 * The values of the keys that this process holds, and their removal from text:
 * each becomes ***. Shorter values than SECRET_MIN are no keys: they would take
 * ordinary words out of the text. Immutable after secrets_init().
 */
#ifndef AGENT_THREAD_SECRETS_H
#define AGENT_THREAD_SECRETS_H

#include "agent/base/buf.h"

#define SECRET_MIN 8

struct secrets { /* owns */
	char **values;
	size_t count;
};

/* each: calls fn for every value (as struct threads_settings.secrets); may be
 * NULL. */
void secrets_init(struct secrets *s,
    void (*each)(void *arg, void (*fn)(void *, const char *), void *fn_arg),
    void *arg);
void secrets_finish(struct secrets *s);
/* Appends the text without them. */
void secrets_mask(const struct secrets *s, struct buf *out, const char *text,
    size_t len);
/* The same in place: *text is from malloc and may be replaced; NULL is left. */
void secrets_mask_string(const struct secrets *s, char **text);

/* Text that arrives in pieces: a value may lie across two of them. What could
 * be its beginning is held back. */
struct mask_stream {
	const struct secrets *secrets; /* borrows */
	struct buf held;
};

void mask_stream_init(struct mask_stream *m, const struct secrets *s);
void mask_stream_finish(struct mask_stream *m);
/* Appends to out what is safe to show. end: nothing follows. */
void mask_stream_add(struct mask_stream *m, const char *bytes, size_t len,
    bool end, struct buf *out);

#endif
