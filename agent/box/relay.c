/*
 * The way from a client to the inside of its sandbox: /toolbox/{id}/…, and the
 * older /api/toolbox/{id}/toolbox/…. Bodies stream in both directions. The key
 * stays here.
 */
#include "agent/base/clock.h"
#include "agent/box/lifecycle.h"
#include "agent/box/outside.h"
#include "agent/box/peer.h"

/* Without a byte from the inside: a command may be silent for long. */
#define COMMAND_MS 0
#define FILES_MS   600000

struct relay {
	struct guest *guest; /* NULL: refused */
	unsigned refusal;    /* a status, with a message */
	char message[400];
	bool counts, entered, chunked, broken;
	struct peer peer;
};

static enum MHD_Result
refuse(struct http_request *r, unsigned status, const char *code,
    const char *message)
{
	auto_json *json = cJSON_CreateObject();
	char now[32];

	clock_rfc3339(now, clock_wall_ms(), true);
	cJSON_AddStringToObject(json, "code", code);
	cJSON_AddStringToObject(json, "message", message);
	cJSON_AddStringToObject(json, "method", r->method);
	cJSON_AddStringToObject(json, "path", r->path);
	cJSON_AddNumberToObject(json, "statusCode", status);
	cJSON_AddStringToObject(json, "timestamp", now);
	return outside_json(r, status, json);
}

static enum MHD_Result
denied(struct http_request *r)
{
	return refuse(r, MHD_HTTP_UNAUTHORIZED, "UNAUTHORIZED",
	    "unauthorized: missing authentication: provide a preview access "
	    "token (via header, query parameter, or cookie) or an API key or "
	    "JWT");
}

static bool
hop_by_hop(const char *name)
{
	static const char *const names[] = { "Connection", "Keep-Alive",
		"Transfer-Encoding", "Content-Length", "Host", "Upgrade",
		"Expect", "TE", "Trailer", "Authorization",
		"Proxy-Authorization", "Proxy-Connection", "Cookie", "Date",
		"X-Daytona-Preview-Token" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

static enum MHD_Result
add_header(void *cls, enum MHD_ValueKind kind, const char *name,
    const char *value)
{
	(void)kind;
	if (!hop_by_hop(name) && value)
		buf_printf(cls, "%s: %s\r\n", name, value);
	return MHD_YES;
}

/* The path below the sandbox's id, as sent; "" if there is none. */
static const char *
path_inside(const struct http_request *r)
{
	bool old = strncmp(r->path, "/api/toolbox/", 13) == 0;
	const char *at = strchr(r->path + (old ? 13 : 9), '/');

	if (old && at)
		at = strncmp(at, "/toolbox/", 9) == 0 ? at + 8 : NULL;
	return at ? at : "";
}

static int
send_head(struct http_request *r, struct relay *relay)
{
	auto_buf head = BUF_INIT((size_t)1 << 20);
	const char *path = path_inside(r);
	const char *length = http_header(r, "Content-Length");
	const char *coding = http_header(r, "Transfer-Encoding");

	buf_printf(&head,
	    "%s %s%s%s HTTP/1.1\r\nHost: inside\r\n"
	    "Connection: close\r\n",
	    r->method, *path ? path : "/", *r->query ? "?" : "", r->query);
	MHD_get_connection_values(r->connection, MHD_HEADER_KIND, add_header,
	    &head);
	relay->chunked = coding != NULL;
	if (relay->chunked)
		buf_puts(&head, "Transfer-Encoding: chunked\r\n");
	else if (length)
		buf_printf(&head, "Content-Length: %s\r\n", length);
	buf_puts(&head, "\r\n");
	return head.failed ? -1
			   : peer_write(&relay->peer, head.bytes, head.len);
}

static void
begin(struct http_request *r)
{
	struct registry *reg = outside_registry(r);
	struct relay *relay = xcalloc(1, sizeof *relay);
	bool old = strncmp(r->path, "/api/toolbox/", 13) == 0;
	auto_free char *id =
	    outside_segment(r, old ? "/api/toolbox/" : "/toolbox/", 0);
	const char *skip =
	    http_header(r, "X-Daytona-Skip-Last-Activity-Update");
	char socket[64];
	struct status st;

	r->data = relay;
	peer_init(&relay->peer);
	relay->counts = !skip || strcmp(skip, "true") != 0;
	struct guest *g = id && uuid_valid(id) ? registry_find(reg, id) : NULL;
	relay->guest = g;
	if (!g) {
		relay->refusal = MHD_HTTP_UNAUTHORIZED;
		snprintf(relay->message, sizeof relay->message,
		    "unauthorized: authentication failed: sandbox not found");
		return;
	}
	if (lifecycle_enter(reg, g, relay->counts, socket, &st) < 0) {
		relay->refusal = MHD_HTTP_BAD_REQUEST;
		snprintf(relay->message, sizeof relay->message,
		    "bad request: failed to resolve container IP after 3 "
		    "attempts: %s",
		    st.text);
		return;
	}
	relay->entered = true;
	relay->peer.client_fd = http_client_fd(r);
	relay->peer.patience = FILES_MS;
	relay->broken =
	    peer_connect(&relay->peer, socket) < 0 || send_head(r, relay) < 0;
}

static void
chunk(struct http_request *r, const char *bytes, size_t len)
{
	struct relay *relay = r->data;
	char size[24];

	/* An inside that answers before the end of the body is heard later. */
	if (relay->refusal || relay->broken)
		return;
	int n = snprintf(size, sizeof size, "%zx\r\n", len);
	struct peer *p = &relay->peer;
	relay->broken =
	    (relay->chunked && peer_write(p, size, (size_t)n) < 0) ||
	    peer_write(p, bytes, len) < 0 ||
	    (relay->chunked && peer_write(p, "\r\n", 2) < 0);
}

static ssize_t
read_body(void *cls, uint64_t pos, char *out, size_t max)
{
	struct relay *relay = cls;
	ssize_t n = peer_read(&relay->peer, out, max);

	(void)pos;
	if (n == 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	return n < 0 ? MHD_CONTENT_READER_END_WITH_ERROR : n;
}

static enum MHD_Result
pass_reply(struct http_request *r, struct relay *relay)
{
	struct peer *p = &relay->peer;
	uint64_t length = p->chunked || p->length < 0 ? MHD_SIZE_UNKNOWN
						      : (uint64_t)p->length;
	/* The relay lives until the request's end, which is after the body. */
	struct MHD_Response *response = length == 0
	    ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT)
	    : MHD_create_response_from_callback(length, 131072, read_body,
		  relay, NULL);

	for (size_t i = 0; response && i < p->header_count; i++)
		if (!hop_by_hop(p->headers[i].name))
			/* Refuses what is no header: then it is left out. */
			MHD_add_response_header(response, p->headers[i].name,
			    p->headers[i].value);
	return http_reply_response(r, p->status, response);
}

static enum MHD_Result
finish(struct http_request *r)
{
	struct relay *relay = r->data;
	bool command = strncmp(path_inside(r), "/process/", 9) == 0;

	if (relay->refusal)
		return refuse(r, relay->refusal,
		    relay->refusal == MHD_HTTP_UNAUTHORIZED ? "UNAUTHORIZED"
							    : "BAD_REQUEST",
		    relay->message);
	if (!relay->broken && relay->chunked &&
	    peer_write(&relay->peer, "0\r\n\r\n", 5) < 0)
		relay->broken = true;
	relay->peer.patience = command ? COMMAND_MS : FILES_MS;
	if (relay->peer.fd < 0 ||
	    peer_read_head(&relay->peer, strcmp(r->method, "HEAD") == 0) < 0)
		return http_empty(r, MHD_HTTP_BAD_GATEWAY);
	return pass_reply(r, relay);
}

static void
close_relay(struct http_request *r)
{
	struct relay *relay = r->data;

	if (!relay)
		return;
	if (relay->entered)
		lifecycle_leave(outside_registry(r), relay->guest,
		    relay->counts);
	registry_put(outside_registry(r), relay->guest);
	peer_finish(&relay->peer);
	free(relay);
}

const struct http_handler relay_handler = { .begin = begin,
	.chunk = chunk,
	.finish = finish,
	.close = close_relay };
const struct http_handler relay_denied_handler = { .finish = denied };
