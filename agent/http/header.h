/* The headers of an answer that somebody here looks at. Pure. */
#ifndef AGENT_HTTP_HEADER_H
#define AGENT_HTTP_HEADER_H

#include "agent/http/exchange.h"

/* Sets all but the body to "absent". */
void http_header_reset(struct http_response *r);
/* One line as received, with or without its line end. A status line begins a
 * new answer (after a 1xx one). */
void http_header_line(struct http_response *r, const char *line, size_t len);

#endif
