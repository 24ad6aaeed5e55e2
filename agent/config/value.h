/* Values as people type them: numbers, sizes, URLs. Pure. */
#ifndef AGENT_CONFIG_VALUE_H
#define AGENT_CONFIG_VALUE_H

#include "agent/base/base.h"

/* A whole decimal number within [low, high]: nothing before or after it. */
int value_number(const char *text, int64_t low, int64_t high,
    int64_t *out) MUST_CHECK;
/* Bytes: a whole number and an optional K, M, G or T (powers of 1024, also as
 * KB, KiB), within [low, high]. */
int value_size(const char *text, int64_t low, int64_t high,
    int64_t *out) MUST_CHECK;
/* A finite decimal fraction within [low, high]; the locale has no say. */
int value_real(const char *text, double low, double high,
    double *out) MUST_CHECK;
/* Begins with http:// or https:// and a host, and has no blanks or quotes. */
bool value_is_url(const char *text);

#endif
