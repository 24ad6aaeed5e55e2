/*
 * Diagnostics for developers and operators: one line each, control bytes
 * escaped, no tokens, no prompt bodies, no queries of URLs. Any worker.
 * Two files of at most 1 MiB: PATH and PATH.1; before diag_open() stderr.
 */
#ifndef AGENT_BASE_DIAG_H
#define AGENT_BASE_DIAG_H

#include "agent/base/base.h"

enum diag_level { DIAG_ERROR, DIAG_WARN, DIAG_INFO, DIAG_DEBUG };

/* -1 with errno set; also_stderr: each line there too (-f -d). */
int diag_open(const char *path, enum diag_level level, bool also_stderr);
void diag_close(void);
/* -1 if the word is none of error, warn, info, debug. */
int diag_level_parse(const char *word, enum diag_level *level);
bool diag_enabled(enum diag_level level);
void diag(enum diag_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

#define diag_err(...)   diag(DIAG_ERROR, __VA_ARGS__)
#define diag_warn(...)  diag(DIAG_WARN, __VA_ARGS__)
#define diag_info(...)  diag(DIAG_INFO, __VA_ARGS__)
#define diag_debug(...) diag(DIAG_DEBUG, __VA_ARGS__)

#endif
