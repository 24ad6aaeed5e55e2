/*
 * Curl handles between exchanges, with the connections, TLS sessions and
 * resolved names that they keep. Within agent/http only.
 */
#ifndef AGENT_HTTP_POOL_H
#define AGENT_HTTP_POOL_H

#include <stdatomic.h>

#include <curl/curl.h>

#include "agent/http/exchange.h"

/* One exchange's; between two of them in the client's list. */
struct http_slot {
	struct http_slot *next;
	CURLM *multi;
	CURL *easy;
	char origin[280]; /* where its newest connection leads */
};

struct http_client {
	_Atomic uint64_t exchanges, bytes_sent, bytes_received, connections;
	/* for TLS: a bundle named by the environment, or NULL */
	const char *ca_file;
	struct lock *lock;
	/* under lock: idle, the last used first */
	struct http_slot *idle;
};

/* Gives one, with a connection to `origin` if there is one; NULL without
 * memory. */
struct http_slot *http_slot_get(struct http_client *client, const char *origin);
/* Takes it back. */
void http_slot_put(struct http_client *client, struct http_slot *slot);

#endif
