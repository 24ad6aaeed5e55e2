/*
 * An HTTP/1.1 server on libmicrohttpd, for both roles of the box: one worker a
 * connection, so that a handler may wait. A handler sees a request in steps:
 * begin (headers), chunk (body as it comes) or the whole body gathered, finish
 * (gives exactly one reply), close (frees what it kept). All steps of one
 * request are on one worker, except that close may be on another.
 */
#ifndef AGENT_BOX_HTTP_H
#define AGENT_BOX_HTTP_H

#include <microhttpd.h>

#include "agent/base/buf.h"
#include "agent/base/json.h"

struct http_request;

struct http_handler {
	size_t body_max;                       /* gathered at most */
	void (*begin)(struct http_request *r); /* may be NULL */
	void (*chunk)(struct http_request *r, const char *bytes, size_t len);
	enum MHD_Result (*finish)(struct http_request *r);
	void (*close)(struct http_request *r); /* may be NULL */
};

struct http_request {
	struct MHD_Connection *connection;
	char method[16];
	char *path;        /* as sent, percent-encoded, without the query */
	const char *query; /* what follows '?', or "" */
	struct buf body;   /* failed: it was longer than body_max */
	void *data;        /* the handler's own */
	void *server;      /* `arg` of http_server_start() */
	const struct http_handler *handler;
	bool local; /* came by a unix socket */
	char *uri_;
	bool seen_, request_ids_;
};

struct http_server;

/* Chooses the handler from method, path and headers; never NULL. */
typedef const struct http_handler *(*http_route)(struct http_request *r);

/* Takes listen_fd. request_ids: each reply has an X-Request-Id. */
struct http_server *http_server_start(int listen_fd, http_route route,
    void *arg, bool request_ids);
/* Ends connections and waits for their workers; accepts NULL. */
void http_server_stop(struct http_server *s);

/* The value of a request header, or NULL; borrowed until the reply. */
const char *http_header(const struct http_request *r, const char *name);
/* The client's socket, to see it go. */
int http_client_fd(const struct http_request *r);
/* Gives the first value of a query parameter, decoded; "" if absent. A value
 * with a NUL gives NULL: no path has one. */
char *http_param(const struct http_request *r, const char *name);

/* Each queues the reply and returns what finish must return. Bytes are copied;
 * type NULL: no Content-Type. */
enum MHD_Result http_reply(struct http_request *r, unsigned status,
    const char *type, const void *bytes, size_t len);
enum MHD_Result http_empty(struct http_request *r, unsigned status);
/* Takes the bytes of `body`; one over 2 KiB goes chunked, as Go's do. */
enum MHD_Result http_reply_buf(struct http_request *r, unsigned status,
    const char *type, struct buf *body);
/* A reply made by hand: takes (destroys) `response`, NULL answers 500. */
enum MHD_Result http_reply_response(struct http_request *r, unsigned status,
    struct MHD_Response *response);

#define HTTP_JSON "application/json; charset=utf-8"

#endif
