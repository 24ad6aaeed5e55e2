/*
 * One sandbox as the server knows it, and the two forms in which it is written
 * down: Daytona's DTO for clients, and a file for the next start.
 */
#ifndef AGENT_BOX_GUEST_H
#define AGENT_BOX_GUEST_H

#include "agent/base/json.h"
#include "agent/box/cage.h"
#include "agent/box/uuid.h"

enum guest_state {
	GUEST_CREATING,
	GUEST_STARTED,
	GUEST_STOPPED,
	GUEST_ARCHIVED,
	GUEST_DESTROYED,
	GUEST_ERROR,
};

struct guest {
	/* immutable once it is in the registry */
	char id[UUID_SIZE];
	char *name;
	int64_t created_ms; /* wall clock, as all times here */
	bool network_off;
	cJSON *env; /* object of strings */
	char *target, *snapshot;
	/* under the registry's lock */
	struct guest *next;
	unsigned refs;
	enum guest_state state;
	const char *transition; /* "starting", "stopping", …; NULL: none */
	cJSON *labels;
	bool shared_; /* "public" */
	int64_t stop_minutes, archive_minutes, delete_minutes;
	int64_t destroy_at_ms; /* 0 = never */
	int64_t updated_ms, active_ms, stopped_ms;
	unsigned under_way; /* requests that count as activity */
	char error[200];    /* why it is not running, or "" */
	struct cage *cage;  /* while started */
};

/* From a create request, checked; NULL with `st` (INVALID). */
struct guest *guest_create(const cJSON *body, struct status *st);
/* From its file's text; NULL if that is damaged. */
struct guest *guest_parse(const char *text, size_t len, struct status *st);
void guest_destroy(struct guest *g);
/* Gives the DTO. base: "http://host". item: the shorter form of lists. The
 * caller holds the registry's lock, here and below. */
cJSON *guest_describe(const struct guest *g, const char *base, bool item,
    const struct options *o);
/* Gives the text of its file. */
cJSON *guest_record(const struct guest *g);
/* The word that clients see. */
const char *guest_state_word(const struct guest *g);
/* No markup, URL or control character; 1-255 bytes of UTF-8. */
bool guest_name_valid(const char *name);

#endif
