/* See outside.h: who may ask, and which handler answers. */
#include "agent/box/outside.h"

#include "agent/box/query.h"

#define JSON_MAX ((size_t)256 << 20)

struct registry *
outside_registry(const struct http_request *r)
{
	return ((const struct outside *)r->server)->registry;
}

char *
outside_base(const struct http_request *r)
{
	const char *host = http_header(r, "Host");
	const char *proto = http_header(r, "X-Forwarded-Proto");
	bool secure = proto && strcmp(proto, "https") == 0;

	for (const char *p = host; p && *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
			    "XYZ0123456789-._~:[]",
			*p))
			host = NULL;
	return xasprintf("%s://%s", secure ? "https" : "http",
	    host && *host ? host : "localhost");
}

enum MHD_Result
outside_json(struct http_request *r, unsigned status, const cJSON *json)
{
	struct buf body = BUF_INIT(JSON_MAX);

	json_print(&body, json);
	buf_putc(&body, '\n');
	return http_reply_buf(r, status, HTTP_JSON, &body);
}

char *
outside_segment(const struct http_request *r, const char *prefix, size_t n)
{
	size_t skip = strlen(prefix), got = 0;

	if (strncmp(r->path, prefix, skip) != 0)
		return NULL;
	const char *at = r->path + skip;
	for (; n > 0; n--) {
		at += strcspn(at, "/");
		if (!*at)
			return NULL;
		at++;
	}
	size_t len = strcspn(at, "/");
	char *out = xcalloc(len + 1, 1);
	if (len == 0 || query_unescape(at, len, false, out, &got) < 0) {
		free(out);
		return NULL;
	}
	return out;
}

/* In time that does not depend on where they differ. */
static bool
same_secret(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned differ = n != m;

	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)(a[i] ^ b[m ? i % m : 0]);
	return !differ;
}

static bool
has_key(const struct http_request *r)
{
	const struct outside *out = r->server;
	const char *v = http_header(r, "Authorization");

	if (r->local)
		return true;
	return out->token && v && strncasecmp(v, "Bearer ", 7) == 0 &&
	    same_secret(v + 7, out->token);
}

static bool
below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(path, prefix, n) == 0 &&
	    (path[n] == '/' || path[n] == '\0');
}

const struct http_handler *
outside_route(struct http_request *r)
{
	if (strcmp(r->path, "/api/health") == 0 ||
	    strcmp(r->path, "/health") == 0)
		return &control_health_handler;
	if (strcmp(r->path, "/api/config") == 0)
		return &control_config_handler;
	bool toolbox =
	    below(r->path, "/toolbox") || below(r->path, "/api/toolbox");
	if (!has_key(r))
		return toolbox ? &relay_denied_handler
			       : &control_denied_handler;
	if (toolbox)
		return &relay_handler;
	return below(r->path, "/api/sandbox") ? &control_handler
					      : &control_unknown_handler;
}
