/*
 * A multipart/form-data body, parsed as it comes. Pure: no I/O, bounded
 * memory. Events: a part begins (its field name), bytes of it, it ends.
 */
#ifndef AGENT_BOX_MULTIPART_H
#define AGENT_BOX_MULTIPART_H

#include "agent/base/buf.h"

struct multipart;

struct multipart_events {
	void (*part)(void *arg, const char *name, bool has_name);
	void (*bytes)(void *arg, const char *bytes, size_t len);
	void (*end)(void *arg);
};

/* NULL if the Content-Type is no multipart with a boundary. */
struct multipart *multipart_create(const char *content_type,
    const struct multipart_events *events, void *arg);
void multipart_destroy(struct multipart *m);
void multipart_feed(struct multipart *m, const char *bytes, size_t len);

enum multipart_end {
	MULTIPART_COMPLETE, /* the closing boundary came */
	MULTIPART_CUT,      /* the body ended within a part or its headers */
	MULTIPART_INVALID,  /* no boundary where one must be, huge headers */
};

/* After the last byte. */
enum multipart_end multipart_finish(struct multipart *m);

#endif
