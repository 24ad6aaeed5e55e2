/* GET /sandbox with a cursor, and the older GET /sandbox/paginated. */
#include <errno.h>

#include "agent/box/control.h"
#include "agent/box/query.h"

#define LIMIT_DEFAULT 100
#define LIMIT_MAX     200
#define STATES_MAX    16

struct filter {
	char *id, *name; /* prefixes, case-insensitive */
	cJSON *labels;   /* that must be there, or NULL */
	char *states[STATES_MAX];
	size_t state_count;
	int64_t limit, offset;
};

static void
filter_finish(struct filter *f)
{
	free(f->id);
	free(f->name);
	cJSON_Delete(f->labels);
	for (size_t i = 0; i < f->state_count; i++)
		free(f->states[i]);
}

static int64_t
number(const struct http_request *r, const char *name, int64_t otherwise)
{
	auto_free char *text = http_param(r, name);
	char *end = NULL;

	if (!text || !*text)
		return otherwise;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	return errno || *end || n < 0 ? -1 : n;
}

static int
filter_init(struct filter *f, const struct http_request *r)
{
	struct status st;
	auto_free char *labels = http_param(r, "labels");

	*f = (struct filter){ 0 };
	f->id = http_param(r, "id");
	f->name = http_param(r, "name");
	f->limit = number(r, "limit", LIMIT_DEFAULT);
	if (!f->id || !f->name || !labels || f->limit < 1 ||
	    f->limit > LIMIT_MAX)
		return -1;
	if (*labels && !(f->labels = json_parse(labels, strlen(labels), &st)))
		return -1;
	while (f->state_count < STATES_MAX) {
		char *state =
		    query_get_nth(r->query, "states", f->state_count, NULL);
		if (!state)
			break;
		f->states[f->state_count++] = state;
	}
	return 0;
}

static bool
passes(const struct filter *f, const struct guest *g)
{
	bool state = f->state_count == 0;

	if (strncasecmp(g->id, f->id, strlen(f->id)) != 0 ||
	    strncasecmp(g->name, f->name, strlen(f->name)) != 0)
		return false;
	for (size_t i = 0; i < f->state_count; i++)
		state |= strcmp(f->states[i], guest_state_word(g)) == 0;
	const cJSON *want = f->labels ? f->labels->child : NULL;
	for (; want && state; want = want->next) {
		const char *have = json_string_or(g->labels,
		    want->string ? want->string : "", NULL);
		state = have && cJSON_IsString(want) &&
		    strcmp(have, want->valuestring) == 0;
	}
	return state;
}

/* Gives the page's items; *total of all that pass. */
static cJSON *
page(const struct http_request *r, const struct filter *f, bool short_form,
    int64_t *total)
{
	struct registry *reg = outside_registry(r);
	cJSON *items = cJSON_CreateArray();
	auto_free char *base = outside_base(r);

	*total = 0;
	lock_acquire(&reg->lock);
	for (const struct guest *g = reg->first; g; g = g->next) {
		if (!passes(f, g))
			continue;
		if (*total >= f->offset && *total < f->offset + f->limit)
			cJSON_AddItemToArray(items,
			    guest_describe(g, base, short_form,
				reg->settings.options));
		++*total;
	}
	lock_release(&reg->lock);
	return items;
}

enum MHD_Result
control_list(struct http_request *r)
{
	struct filter f;
	int64_t total = 0;
	auto_json *json = cJSON_CreateObject();

	int bad = filter_init(&f, r);
	f.offset = number(r, "cursor", 0);
	if (bad < 0 || f.offset < 0) {
		filter_finish(&f);
		return control_error(r, 400, "a query parameter is malformed");
	}
	cJSON_AddItemToObject(json, "items", page(r, &f, true, &total));
	if (f.offset + f.limit < total) {
		char next[24];
		int64_t after = f.offset + f.limit;
		snprintf(next, sizeof next, "%lld", (long long)after);
		cJSON_AddStringToObject(json, "nextCursor", next);
	} else {
		cJSON_AddNullToObject(json, "nextCursor");
	}
	filter_finish(&f);
	return outside_json(r, 200, json);
}

enum MHD_Result
control_list_paginated(struct http_request *r)
{
	struct filter f;
	int64_t total = 0;
	auto_json *json = cJSON_CreateObject();

	int bad = filter_init(&f, r);
	int64_t no = number(r, "page", 1);
	if (bad < 0 || no < 1 || no > INT32_MAX) {
		filter_finish(&f);
		return control_error(r, 400, "a query parameter is malformed");
	}
	f.offset = (no - 1) * f.limit;
	cJSON_AddItemToObject(json, "items", page(r, &f, false, &total));
	cJSON_AddNumberToObject(json, "total", (double)total);
	cJSON_AddNumberToObject(json, "page", (double)no);
	int64_t pages = (total + f.limit - 1) / f.limit;
	cJSON_AddNumberToObject(json, "totalPages", (double)pages);
	filter_finish(&f);
	return outside_json(r, 200, json);
}
