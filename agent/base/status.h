/*
 * The outcome of a call of agent/: a code and one line for a person. By value
 * in the caller's frame; no allocation, no thread-local. Filled by the one who
 * knows, wrapped once per layer.
 */
#ifndef AGENT_BASE_STATUS_H
#define AGENT_BASE_STATUS_H

#include "agent/base/base.h"

enum status_code {
	STATUS_OK = 0,
	STATUS_CANCELED, /* the caller's cancel token fired */
	STATUS_NOT_FOUND,
	STATUS_EXISTS,
	STATUS_DENIED, /* credentials or permissions */
	STATUS_BUSY,
	STATUS_TIMEOUT,
	STATUS_UNAVAILABLE, /* the remote cannot be reached or is not running */
	STATUS_INVALID,     /* the request makes no sense */
	STATUS_NOT_DIR,
	STATUS_IS_DIR,
	STATUS_NOT_EMPTY,
	STATUS_NOT_SUPPORTED,
	STATUS_TOO_BIG,
	STATUS_NO_MEMORY,
	STATUS_NO_SPACE,
	STATUS_IO,
	STATUS_BUG, /* a promise of our own code is broken */
};

struct status {
	enum status_code code;
	char text[240]; /* one line, control bytes escaped, no secrets */
};

/* Sets code and text and returns -1, so `return status_set(st, …);` */
int status_set(struct status *st, enum status_code code, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* The same from an errno value; the text gains ": " and the errno's words. */
int status_errno(struct status *st, int err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Puts "what: " before the text; returns -1. */
int status_wrap(struct status *st, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The word used in logs, such as "not-found". */
const char *status_word(enum status_code code);
/* The code that stands for an errno value of a file operation. */
enum status_code status_from_errno(int err);

#endif
