/*
 * One HTTP exchange at a time, over TLS, TCP or a unix socket: request out,
 * answer in, cancellable at every moment, with deadlines. Redirects are never
 * followed, so no token goes to a host that was not named. Retrying is the
 * caller's business.
 *
 * A client keeps connections for reuse (none that was idle for 25 s: load
 * balancers and Daytona's servers drop them soon after). Many workers may use
 * one client at once; each exchange has a curl multi handle for itself, waits
 * in curl_multi_poll() and is woken by its cancel token. libcurl itself sends a
 * request again on a fresh connection when a kept one turns out to be dead
 * before any byte of an answer.
 */
#ifndef AGENT_HTTP_EXCHANGE_H
#define AGENT_HTTP_EXCHANGE_H

#include "agent/base/buf.h"
#include "agent/base/cancel.h"
#include "agent/base/status.h"

struct http_client;

/* No network. */
struct http_client *http_client_create(void);
/* Closes the kept connections; no exchange is under way. Accepts NULL. */
void http_client_destroy(struct http_client *client);

/* A piece of a request's body: memory, or bytes [off, off+len) of a file (NULs
 * where it has become shorter). */
struct http_segment {
	const void *bytes; /* NULL: from fd, by pread */
	size_t len;
	int fd;
	int64_t off;
};

/* Milliseconds, 0 = none. */
struct http_deadlines {
	int connect; /* until the connection stands, TLS included */
	int first;   /* from the last byte sent to the first received */
	int idle;    /* between two pieces of the answer */
	int total;
};

struct http_response {
	int status;
	char content_type[96];  /* lower case, with its parameters */
	int64_t content_length; /* -1 = unknown */
	/* Content-Range; -1 = absent or "*". "bytes 0--1/0" of an empty file
	 * gives first 0, last -1, size 0. */
	int64_t range_first, range_last, range_size;
	int64_t retry_after_ms; /* -1 = absent; Retry-After or -<name> */
	/* The caller's, made with its maximum before; the body of an answer
	 * that no sink took. The body of an error is cut to it silently. */
	struct buf body;
	/* Some of the request was sent: the server may have acted. */
	bool begun;
};

/* Takes a piece of the body; -1 (st set) ends the exchange with that status. */
typedef int (
    *http_sink)(void *arg, const void *bytes, size_t len, struct status *st);

struct http_request { /* borrowed until http_exchange returns */
	const char *method;
	const char *url;
	const char *unix_path;      /* connect there instead, or NULL */
	const char *token;          /* Authorization: Bearer …, or NULL */
	const char *const *headers; /* "Name: value", …, NULL; may be NULL */
	const struct http_segment *body;
	size_t body_count;
	struct http_deadlines deadlines;
	/* Before the first piece of a 2xx body; -1 (st set) ends it. Optional. */
	int (*begin)(void *arg, const struct http_response *r,
	    struct status *st);
	http_sink sink; /* the body of 2xx; NULL: response->body */
	void *arg;
};

/* [waits] 0: a whole answer came, whatever its status. -1: CANCELED, TIMEOUT,
 * UNAVAILABLE (no connection, or it broke), TOO_BIG (the body passed its
 * maximum), or what the sink said. The texts hold no token and no query. */
int http_exchange(struct http_client *client, const struct http_request *rq,
    struct http_response *response, struct cancel *c, struct status *st);

struct http_counters {
	uint64_t exchanges, bytes_sent, bytes_received, connections;
};

void http_counters(struct http_client *client, struct http_counters *out);

#endif
