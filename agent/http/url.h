/* Building and comparing URLs. Pure. */
#ifndef AGENT_HTTP_URL_H
#define AGENT_HTTP_URL_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

struct url_origin {
	char scheme[8]; /* "http" or "https" */
	char host[256]; /* lower case */
	int port;       /* the scheme's own if none is written */
};

/* Absolute http and https URLs only, without user name and password. */
int url_origin(const char *url, struct url_origin *out, struct status *st);
/* Appends "?name=value" or "&name=value"; the value is bytes, all but letters,
 * digits and -._~/ percent-encoded. */
void url_add_query(struct buf *url, const char *name, const char *value,
    size_t len);
/* Appends "/segment", all but letters, digits and -._~ percent-encoded. */
void url_add_segment(struct buf *url, const char *segment);
/* May a secret meant for `home` be sent to `url`? Over TLS, or, where `home`
 * is plain HTTP itself, to the same host. */
bool url_may_carry_secret(const char *url, const char *home);

#endif
