/*
 * The client's side of one HTTP/1.1 exchange with the inside of a sandbox,
 * over a unix socket. What comes back is a stranger's: headers are bounded,
 * numbers checked, and every wait ends with the deadline or with the client on
 * whose behalf it is. One worker.
 */
#ifndef AGENT_BOX_PEER_H
#define AGENT_BOX_PEER_H

#include "agent/base/buf.h"

#define PEER_HEADERS_MAX 64

struct peer_header {
	char *name, *value;
};

struct peer {
	int fd;           /* -1 when closed */
	int client_fd;    /* whose going ends the waits, or -1 */
	int64_t patience; /* ms without a byte; 0 = for ever */
	struct buf in;    /* received, not yet used */
	/* of the reply, after peer_read_head() */
	unsigned status;
	struct peer_header headers[PEER_HEADERS_MAX];
	size_t header_count;
	int64_t length; /* of the body; -1 = unknown until its end */
	bool chunked;
	int64_t left; /* of the body, or of the chunk */
	bool ended;
};

void peer_init(struct peer *p);
void peer_finish(struct peer *p);
/* `path` as for bind(): at most 107 bytes. -1 with errno. */
int peer_connect(struct peer *p, const char *path);
/* -1 when the other side is gone or does not take it in time. [waits] */
int peer_write(struct peer *p, const void *bytes, size_t len) MUST_CHECK;
/* Status and headers, skipping 1xx; -1 when they are none or too long. no_body:
 * it answers a HEAD. [waits] */
int peer_read_head(struct peer *p, bool no_body) MUST_CHECK;
/* Bytes of the body; 0 at its end, -1 when it ended early. [waits] */
ssize_t peer_read(struct peer *p, char *out, size_t max) MUST_CHECK;
/* A header of the reply, or NULL. */
const char *peer_header(const struct peer *p, const char *name);

#endif
