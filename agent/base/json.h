/*
 * cJSON read through typed getters whose error names the field. The remote's
 * JSON is untrusted: parse with a length, bound the size before, never by hand.
 */
#ifndef AGENT_BASE_JSON_H
#define AGENT_BASE_JSON_H

#include <cjson/cJSON.h>

#include "agent/base/buf.h"
#include "agent/base/status.h"

void auto_json_cleanup(cJSON **json);
#define auto_json __attribute__((cleanup(auto_json_cleanup))) cJSON

/* Gives a tree (cJSON_Delete it) or NULL with `st` set. The whole text must be
 * one JSON value. */
cJSON *json_parse(const char *text, size_t len, struct status *st);
/* 0 when the field is there and has the type, else -1 and `st`. The string is
 * borrowed until the tree dies. */
int json_string(const cJSON *obj, const char *name, const char **out,
    struct status *st);
/* Whole numbers that a double holds exactly (below 2^53). */
int json_int(const cJSON *obj, const char *name, int64_t *out,
    struct status *st);
/* The value, or `otherwise` when the field is absent or of another type. */
const char *json_string_or(const cJSON *obj, const char *name,
    const char *otherwise);
int64_t json_int_or(const cJSON *obj, const char *name, int64_t otherwise);
bool json_bool_or(const cJSON *obj, const char *name, bool otherwise);
/* Appends compact JSON text. */
void json_print(struct buf *out, const cJSON *json);
/* Appends `s` as a JSON string; invalid UTF-8 becomes U+FFFD. */
void json_print_string(struct buf *out, const char *s, size_t len);

#endif
