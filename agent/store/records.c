/* Lists of records; see records.h. */
#include "agent/store/records.h"

#include "agent/base/diag.h"
#include "agent/base/span.h"
#include "agent/base/text.h"

#define RECORD_MAX (64U << 20)

void
records_add(struct records *list, char *json, size_t len)
{
	if (list->count == list->cap) {
		list->cap = list->cap ? list->cap * 2 : 32;
		list->items =
		    xrealloc(list->items, list->cap, sizeof *list->items);
	}
	list->items[list->count++] =
	    (struct record){ .json = json, .len = len };
}

void
records_add_copy(struct records *list, const char *json, size_t len)
{
	char *copy = xcalloc(len + 1, 1);

	memcpy(copy, json, len);
	records_add(list, copy, len);
}

static void
record_finish(struct record *r)
{
	free(r->json);
	free(r->id);
	*r = (struct record){ 0 };
}

void
records_finish(struct records *list)
{
	for (size_t i = 0; i < list->count; i++)
		record_finish(&list->items[i]);
	free(list->items);
	*list = (struct records){ 0 };
}

/* The string in a span, unescaped; NULL if it is none. */
static char *
string_of(struct span s)
{
	auto_json *json =
	    s.bytes ? cJSON_ParseWithLength(s.bytes, s.len) : NULL;

	const char *text = cJSON_GetStringValue(json);
	return text ? xstrdup(text) : NULL;
}

/* The class of a constructor record is the last element of its id. */
static char *
class_of(const struct record *r)
{
	struct span id = span_member((struct span){ r->json, r->len }, "id");
	struct span last = { 0 };

	while (span_next(id, &last))
		continue;
	return string_of(last);
}

static const char *
id_of(struct record *r)
{
	if (!r->id) {
		struct span record = { r->json, r->len };
		struct span kwargs = span_member(record, "kwargs");
		r->id = string_of(
		    span_member(kwargs.bytes ? kwargs : record, "id"));
	}
	if (!r->id)
		r->id = xstrdup("");
	return r->id;
}

void
records_add_json(struct records *list, const char *json, size_t len)
{
	struct span value = { json, len }, element = { 0 };
	auto_free char *type = string_of(span_member(value, "type"));

	/* JS's mark for the whole of a list that is kept as changes. */
	if (type && strcmp(type, "delta_snapshot") == 0)
		value = span_member(value, "value");
	if (value.bytes && value.len > 0 && value.bytes[0] == '{')
		records_add_copy(list, value.bytes, value.len);
	while (span_next(value, &element))
		records_add_copy(list, element.bytes, element.len);
}

static struct record *
find_id(struct records *list, const char *id)
{
	for (size_t i = 0; *id && i < list->count; i++)
		if (strcmp(id_of(&list->items[i]), id) == 0)
			return &list->items[i];
	return NULL;
}

static void
remove_record(struct records *list, struct record *r)
{
	size_t after = list->count - (size_t)(r - list->items) - 1;

	record_finish(r);
	memmove(r, r + 1, after * sizeof *r);
	list->count--;
}

void
records_apply(struct records *list, struct records *update)
{
	for (size_t i = 0; i < update->count; i++) {
		struct record *r = &update->items[i];
		auto_free char *class = class_of(r);
		bool removes = class && strcmp(class, "RemoveMessage") == 0;
		if (removes && strcmp(id_of(r), "__remove_all__") == 0) {
			records_finish(list);
			continue;
		}
		struct record *old = find_id(list, id_of(r));
		if (removes && old) {
			remove_record(list, old);
		} else if (!removes && old) {
			struct record replaced = *old;
			*old = *r;
			*r = replaced;
		} else if (!removes) {
			records_add(list, take(r->json), r->len);
		}
	}
	records_finish(update);
}

/* No record within it, no half of a surrogate pair, no NUL, no bad UTF-8. */
static bool
is_harmless(const struct record *r)
{
	auto_buf scrubbed = BUF_INIT(RECORD_MAX);
	auto_buf clean = BUF_INIT(RECORD_MAX);
	const char *lc = strstr(r->json, "\"lc\"");

	if (strlen(r->json) != r->len || !lc || strstr(lc + 1, "\"lc\"") ||
	    strstr(r->json, "\\u006"))
		return false;
	text_scrub_json(&scrubbed, r->json, r->len, false);
	text_add_utf8(&clean, scrubbed.bytes, scrubbed.len);
	return !clean.failed && strcmp(clean.bytes, r->json) == 0;
}

bool
record_is_plain(struct record *r)
{
	static const char *const classes[] = { "HumanMessage", "AIMessage",
		"ToolMessage", "SystemMessage" };
	auto_free char *class = class_of(r);

	if (!class || *id_of(r) == '\0' || !is_harmless(r))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (strcmp(classes[i], class) == 0)
			return true;
	return false;
}

bool
records_are_tools(const struct records *list)
{
	for (size_t i = 0; i < list->count; i++) {
		auto_free char *class = class_of(&list->items[i]);
		if (!class || strcmp(class, "ToolMessage") != 0)
			return false;
	}
	return true;
}

void
records_parse(const struct records *list, struct message **out, size_t *count)
{
	struct message *messages = xcalloc(list->count, sizeof *messages);
	size_t n = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct record *r = &list->items[i];
		struct status st;
		if (message_from_record(&messages[n], r->json, r->len, &st) ==
		    0)
			n++;
		else
			diag_warn("store: message left out: %s", st.text);
	}
	*out = messages;
	*count = n;
}
