/*
 * Text as the real daemon, a Go program, writes it: JSON escapes, times, modes
 * of files, the words of an errno. Clients parse these. All pure.
 */
#ifndef AGENT_BOX_GOTEXT_H
#define AGENT_BOX_GOTEXT_H

#include <sys/stat.h>

#include "agent/base/buf.h"
#include "agent/base/json.h"

/* Appends `s` as a JSON string: <, >, & and the line separators escaped, bad
 * UTF-8 as \ufffd, NUL kept as \u0000. */
void gotext_string(struct buf *out, const char *s, size_t len);
/* Appends compact JSON with the same escapes. */
void gotext_json(struct buf *out, const cJSON *json);
/* Like "-rw-r--r--", "drwxr-xr-x", "urwxr-xr-x", "Dcrw-rw-rw-". */
void gotext_mode(char out[16], mode_t mode);
/* Like "2026-11-30 19:37:54.711395437 +0000 UTC". */
void gotext_time(char out[64], const struct timespec *t);
/* Like "2026-11-30T19:37:54.711395437Z"; up to nine digits, no zeros at the
 * end. */
void gotext_rfc3339(char out[64], const struct timespec *t);
/* Like "Sun, 30 Nov 2026 19:37:54 GMT". */
void gotext_http_time(char out[40], time_t t);
/* -1 if it is none of that form. */
int gotext_parse_http_time(const char *s, time_t *t) MUST_CHECK;
/* Like "no such file or directory". */
void gotext_errno(char out[96], int err);
/* The form of names in Content-Disposition: `filename="…"; filename*=…`. */
void gotext_disposition(struct buf *out, const char *name, size_t len);
/* By the name's extension, as Go's table; never NULL. */
const char *gotext_mime(const char *path);
/* Length of the valid UTF-8 sequence at s, 0 if there is none; len > 0. */
size_t gotext_rune(const char *s, size_t len);
/* Gives `s` without white space around it. */
char *gotext_trim(const char *s);

#endif
