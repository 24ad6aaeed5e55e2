/*
 * Server-sent events (WHATWG HTML, "parsing an event stream"), on bytes, with
 * the deviations that model servers force on a client (each named where it
 * is). Pure: feed any pieces, get the same events. One worker.
 */
#ifndef AGENT_HTTP_SSE_H
#define AGENT_HTTP_SSE_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

struct sse_event {
	const char *name; /* "message" unless the block named one */
	const char *data; /* its lines joined by LF; valid UTF-8 */
	size_t len;
	unsigned lines; /* data lines */
	/* The block's last comment: NVIDIA Dynamo puts the text of an error
	 * there, with `event: error` and no data line. */
	const char *comment;
	/* The body ended without the empty line: real servers end with
	 * "data: [DONE]" and no newline, so it is delivered all the same. */
	bool at_end;
};

struct sse {
	/* read-only for the caller */
	unsigned comments; /* so far: heartbeats */
	/* the parser's own */
	void (*event)(void *arg, const struct sse_event *e);
	void *arg;
	struct buf line, data, name, comment;
	unsigned data_lines;
	unsigned
	    bom; /* bytes of a byte order mark seen at the start; 3 = past */
	bool skip_lf;
};

void sse_init(struct sse *p, void (*event)(void *arg, const struct sse_event *),
    void *arg);
void sse_finish(struct sse *p);
/* TOO_BIG: a line over 16 MiB or an event over 32 MiB. */
int sse_feed(struct sse *p, const char *bytes, size_t len, struct status *st);
/* The body has ended: delivers what is left. */
void sse_end(struct sse *p);

#endif
