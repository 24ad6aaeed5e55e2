/*
 * The pieces of a request's URI, decoded as Go's net/url does. Pure.
 */
#ifndef AGENT_BOX_QUERY_H
#define AGENT_BOX_QUERY_H

#include "agent/base/buf.h"

/* Decodes %XX (and '+' as a space if asked); -1 if a '%' is malformed. Never
 * longer than the text; `out` holds len + 1. NULs are kept: *out_len. */
int query_unescape(const char *s, size_t len, bool plus, char *out,
    size_t *out_len) MUST_CHECK;
/* Gives the first value of `name` in a query, or NULL. A parameter with a raw
 * ';' or a malformed escape does not count. *nul is set when the value holds a
 * NUL, after which it is cut. */
char *query_get(const char *query, const char *name, bool *nul);
/* The n-th value of a repeated parameter, from 0; NULL after the last. */
char *query_get_nth(const char *query, const char *name, size_t n, bool *nul);

#endif
