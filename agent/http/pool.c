/*
 * Idle curl handles; see pool.h. A connection lives in the multi handle that
 * made it, so the list is searched for one that leads to the right place.
 */
#include "agent/http/pool.h"

#include "agent/base/lock.h"

#define IDLE_MAX 8

static void
global_init(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		abort();
}

struct http_client *
http_client_create(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http_client *client = xcalloc(1, sizeof *client);

	pthread_once(&once, global_init);
	client->lock = xcalloc(1, sizeof *client->lock);
	lock_init(client->lock, RANK_HTTP);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody calls setenv. */
	client->ca_file = getenv("SSL_CERT_FILE");
	if (client->ca_file && access(client->ca_file, R_OK) != 0)
		client->ca_file = NULL;
	return client;
}

static void
slot_destroy(struct http_slot *slot)
{
	curl_easy_cleanup(slot->easy);
	curl_multi_cleanup(slot->multi);
	free(slot);
}

void
http_client_destroy(struct http_client *client)
{
	if (!client)
		return;
	while (client->idle) {
		struct http_slot *slot = client->idle;
		client->idle = slot->next;
		slot_destroy(slot);
	}
	lock_finish(client->lock);
	free(client->lock);
	free(client);
}

static struct http_slot *
slot_create(void)
{
	struct http_slot *slot = xcalloc(1, sizeof *slot);

	slot->multi = curl_multi_init();
	slot->easy = curl_easy_init();
	if (slot->multi && slot->easy) {
		curl_multi_setopt(slot->multi, CURLMOPT_MAXCONNECTS, 2L);
		return slot;
	}
	slot_destroy(slot);
	return NULL;
}

struct http_slot *
http_slot_get(struct http_client *client, const char *origin)
{
	struct http_slot *found = NULL;

	lock_acquire(client->lock);
	for (struct http_slot **p = &client->idle; *p; p = &(*p)->next) {
		if (strcmp((*p)->origin, origin) == 0) {
			found = *p;
			*p = found->next;
			break;
		}
	}
	lock_release(client->lock);
	if (!found)
		found = slot_create();
	if (found)
		snprintf(found->origin, sizeof found->origin, "%s", origin);
	return found;
}

void
http_slot_put(struct http_client *client, struct http_slot *slot)
{
	struct http_slot *old = NULL;
	unsigned n = 0;

	curl_easy_reset(slot->easy);
	lock_acquire(client->lock);
	slot->next = client->idle;
	client->idle = slot;
	for (struct http_slot **p = &client->idle; *p; p = &(*p)->next) {
		if (++n > IDLE_MAX) {
			old = *p;
			*p = NULL;
			break;
		}
	}
	lock_release(client->lock);
	if (old)
		slot_destroy(old);
}

void
http_counters(struct http_client *client, struct http_counters *out)
{
	out->exchanges = atomic_load(&client->exchanges);
	out->bytes_sent = atomic_load(&client->bytes_sent);
	out->bytes_received = atomic_load(&client->bytes_received);
	out->connections = atomic_load(&client->connections);
}
