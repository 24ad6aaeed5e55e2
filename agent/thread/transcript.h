/*
 * The transcript: the `log` file of a thread as a local file that only grows.
 * Whole entries are appended and then published; a torn end, left by a crash,
 * is never shown. Any worker, a short lock of its own (RANK_TRANSCRIPT); the
 * file is opened for each use, so a thousand idle threads hold no descriptor.
 */
#ifndef AGENT_THREAD_TRANSCRIPT_H
#define AGENT_THREAD_TRANSCRIPT_H

#include "agent/base/status.h"

struct transcript;

/* How far back an event is looked for. */
#define TRANSCRIPT_TAIL ((int64_t)1 << 20)

/* Looks at what is there. *missing: there is no file (it is made by the first
 * append). */
struct transcript *transcript_create(const char *path, bool *missing);
/* Accepts NULL; the file stays. */
void transcript_destroy(struct transcript *t);
/* What a reader may read. */
int64_t transcript_size(struct transcript *t);
/* Wall clock of the last append, 0 if there was none. */
int64_t transcript_changed_ms(struct transcript *t);
/* As pread(2), within the published size. -1 with errno set. */
ssize_t transcript_read(struct transcript *t, char *out, size_t size,
    int64_t off);
/* Whole entries, each ended by LF. A disk that is full loses the entry, not
 * those before it. */
int transcript_append(struct transcript *t, const char *entries, size_t len,
    struct status *st);
/* The file goes, and later appends do nothing. */
void transcript_remove(struct transcript *t);
/* The newest event (without its further lines) that begins with one of the
 * `count` prefixes, into line; "" when the tail has none. */
void transcript_find_last(struct transcript *t, const char *const *prefixes,
    size_t count, char *line, size_t size);

#endif
