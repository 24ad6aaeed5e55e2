/*
 * Messages as JSON text: LangChain records, or {role, content} objects. So
 * another program's messages pass through without loss. Pure.
 */
#ifndef AGENT_STORE_RECORDS_H
#define AGENT_STORE_RECORDS_H

#include "agent/model/message.h"

struct record {
	char *json; /* valid JSON, NUL-terminated */
	size_t len;
	char *id; /* found when first needed; "" for none */
};

struct records { /* zero-initialised: empty; owns */
	struct record *items;
	size_t count, cap;
};

/* Takes json. */
void records_add(struct records *list, char *json, size_t len);
void records_add_copy(struct records *list, const char *json, size_t len);
void records_finish(struct records *list);
#define auto_records __attribute__((cleanup(records_finish))) struct records

/* Adds the messages of a JSON value: an array of them, or one. */
void records_add_json(struct records *list, const char *json, size_t len);
/* Applies a change as LangGraph does: a known id is replaced, a RemoveMessage
 * drops its id or, as "__remove_all__", everything, others are appended.
 * Takes the update's items. */
void records_apply(struct records *list, struct records *update);
/* Is it a record that both LangGraphs read as it is? Else it must be written
 * anew (message_from_record, message_to_record). */
bool record_is_plain(struct record *r);
/* Are all of them results of tools? */
bool records_are_tools(const struct records *list);
/* Reads them; what is no message is left out, with a diagnostic. Gives. */
void records_parse(const struct records *list, struct message **out,
    size_t *count);

#endif
