/*
 * The server's glue; see http.h. libmicrohttpd's own decoding of paths and
 * queries is not used: the relay needs the URI as sent, and the toolbox the
 * rules of Go's net/url.
 */
#include "agent/box/http.h"

#include "agent/box/query.h"
#include "agent/box/uuid.h"

/* Header fields and one read of a body: a path of 4 KiB, encoded, fits. */
#define CONNECTION_MEMORY 262144
#define IDLE_SECONDS      70
#define CHUNKED_FROM      2048

struct http_server {
	/* immutable */
	struct MHD_Daemon *daemon;
	http_route route;
	void *arg;
	bool request_ids;
};

static size_t
keep_escaped(void *cls, struct MHD_Connection *c, char *s)
{
	(void)cls, (void)c;
	return strlen(s);
}

/* First of all for a request; what it returns becomes *context. */
static void *
on_uri(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct http_request *r = xcalloc(1, sizeof *r);

	r->connection = connection;
	r->request_ids_ = ((struct http_server *)cls)->request_ids;
	r->uri_ = xstrdup(uri);
	r->path = r->uri_;
	char *q = strchr(r->uri_, '?');
	if (q)
		*q++ = '\0';
	r->query = q ? q : "";
	return r;
}

static void
on_completed(void *cls, struct MHD_Connection *connection, void **context,
    enum MHD_RequestTerminationCode code)
{
	struct http_request *r = *context;

	(void)cls, (void)code;
	if (!r)
		return;
	if (r->handler && r->handler->close)
		r->handler->close(r);
	buf_finish(&r->body);
	free(r->uri_);
	free(r);
	*context = NULL;
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
	    (unsigned)IDLE_SECONDS);
}

static void
begin(struct http_server *s, struct http_request *r, const char *method)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(r->connection,
		MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	snprintf(r->method, sizeof r->method, "%s", method);
	r->server = s->arg;
	r->local = !info || !info->client_addr ||
	    info->client_addr->sa_family == AF_UNIX;
	r->handler = s->route(r);
	buf_init(&r->body, r->handler->body_max);
	if (r->handler->begin)
		r->handler->begin(r);
}

static enum MHD_Result
on_access(void *cls, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *bytes, size_t *len,
    void **context)
{
	struct http_server *s = cls;
	struct http_request *r = *context;

	(void)url, (void)version;
	if (!r)
		return MHD_NO;
	if (!r->seen_) {
		r->seen_ = true;
		begin(s, r, method);
		return MHD_YES;
	}
	if (*len > 0) {
		if (r->handler->chunk)
			r->handler->chunk(r, bytes, *len);
		else
			buf_add(&r->body, bytes, *len);
		*len = 0;
		return MHD_YES;
	}
	/* From here a command may run for an hour without a byte on the line,
	 * and libmicrohttpd compares its idle time when finish returns. */
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
	    0U);
	return r->handler->finish(r);
}

struct http_server *
http_server_start(int listen_fd, http_route route, void *arg, bool request_ids)
{
	struct http_server *s = xcalloc(1, sizeof *s);

	s->route = route;
	s->arg = arg;
	s->request_ids = request_ids;
	s->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION |
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
	    0, NULL, NULL, on_access, s, MHD_OPTION_LISTEN_SOCKET, listen_fd,
	    MHD_OPTION_URI_LOG_CALLBACK, on_uri, s,
	    MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, NULL,
	    MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
	    MHD_OPTION_THREAD_STACK_SIZE, (size_t)(512 << 10), MHD_OPTION_END);
	if (!s->daemon) {
		close(listen_fd);
		free(s);
		return NULL;
	}
	return s;
}

void
http_server_stop(struct http_server *s)
{
	if (!s)
		return;
	MHD_stop_daemon(s->daemon);
	free(s);
}

const char *
http_header(const struct http_request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND,
	    name);
}

int
http_client_fd(const struct http_request *r)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(r->connection,
		MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

char *
http_param(const struct http_request *r, const char *name)
{
	bool nul = false;
	char *value = query_get(r->query, name, &nul);

	if (nul) {
		free(value);
		return NULL;
	}
	return value ? value : xstrdup("");
}

enum MHD_Result
http_reply_response(struct http_request *r, unsigned status,
    struct MHD_Response *response)
{
	if (!response) {
		status = MHD_HTTP_INTERNAL_SERVER_ERROR;
		response = MHD_create_response_from_buffer(0, NULL,
		    MHD_RESPMEM_PERSISTENT);
	}
	if (!response)
		return MHD_NO;
	if (r->request_ids_) {
		char id[UUID_SIZE];
		uuid_make(id);
		MHD_add_response_header(response, "X-Request-Id", id);
	}
	enum MHD_Result result =
	    MHD_queue_response(r->connection, status, response);
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result
http_reply(struct http_request *r, unsigned status, const char *type,
    const void *bytes, size_t len)
{
	/* The cast is what the interface wants: it copies. */
	struct MHD_Response *response = MHD_create_response_from_buffer(len,
	    (void *)(uintptr_t)bytes, MHD_RESPMEM_MUST_COPY);

	if (response && type)
		MHD_add_response_header(response, "Content-Type", type);
	return http_reply_response(r, status, response);
}

enum MHD_Result
http_empty(struct http_request *r, unsigned status)
{
	return http_reply(r, status, NULL, "", 0);
}

struct pending {
	struct buf bytes;
};

static ssize_t
read_pending(void *cls, uint64_t pos, char *out, size_t max)
{
	struct pending *p = cls;

	if (pos >= p->bytes.len)
		return MHD_CONTENT_READER_END_OF_STREAM;
	size_t n = MIN(max, p->bytes.len - (size_t)pos);
	memcpy(out, p->bytes.bytes + pos, n);
	return (ssize_t)n;
}

static void
free_pending(void *cls)
{
	struct pending *p = cls;

	buf_finish(&p->bytes);
	free(p);
}

enum MHD_Result
http_reply_buf(struct http_request *r, unsigned status, const char *type,
    struct buf *body)
{
	if (body->failed) {
		buf_finish(body);
		return http_empty(r, MHD_HTTP_INTERNAL_SERVER_ERROR);
	}
	if (body->len <= CHUNKED_FROM) {
		enum MHD_Result result =
		    http_reply(r, status, type, body->bytes, body->len);
		buf_finish(body);
		return result;
	}
	struct pending *p = xcalloc(1, sizeof *p);
	p->bytes = *body;
	buf_init(body, body->max);
	struct MHD_Response *response =
	    MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536,
		read_pending, p, free_pending);
	if (!response)
		free_pending(p);
	else if (type)
		MHD_add_response_header(response, "Content-Type", type);
	return http_reply_response(r, status, response);
}
