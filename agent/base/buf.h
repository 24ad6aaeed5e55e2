/*
 * A growing byte buffer, born with its maximum. The bytes are always followed
 * by a NUL that is not counted. When an append would pass the maximum or
 * memory runs out, nothing is appended, `failed` is set and stays set: append
 * freely, ask once at the end. One worker at a time.
 */
#ifndef AGENT_BASE_BUF_H
#define AGENT_BASE_BUF_H

#include "agent/base/base.h"

struct buf {
	char *bytes; /* never NULL after init; bytes[len] is NUL */
	size_t len;
	size_t cap;
	size_t max;
	bool failed;
};

#define BUF_INIT(maximum) \
	((struct buf){ .bytes = buf_empty_, .max = (maximum) })
extern char buf_empty_[1];

/* Owns nothing yet. `max` in bytes, without the NUL. */
void buf_init(struct buf *b, size_t max);
/* Frees the bytes and empties it; may be used again. */
void buf_finish(struct buf *b);
/* Empties it and clears `failed`, keeps the memory. */
void buf_reset(struct buf *b);
void buf_add(struct buf *b, const void *bytes, size_t len);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for `len` more bytes; NULL (and failed) if that is too much.
 * The caller fills it and adds to b->len by buf_commit(). */
char *buf_reserve(struct buf *b, size_t len);
void buf_commit(struct buf *b, size_t len);
/* Drops the first `len` bytes. */
void buf_consume(struct buf *b, size_t len);
/* Gives the bytes (malloc'ed, NUL-terminated), leaves the buffer empty. */
char *buf_take(struct buf *b);

/* Appends `s` for a POSIX shell, single-quoted; bytes, not text. */
void buf_shell_quote(struct buf *b, const char *s, size_t len);
void buf_base64(struct buf *b, const void *bytes, size_t len);
/* Decodes base64, white space allowed; -1 if it is none. */
int buf_unbase64(struct buf *b, const char *text, size_t len) MUST_CHECK;
/* Percent-encodes all but letters, digits and -._~ (and '/' if asked). */
void buf_urlencode(struct buf *b, const char *s, size_t len, bool keep_slash);

#define auto_buf __attribute__((cleanup(buf_finish))) struct buf

#endif
