/* Foreign rows in JSON; see foreign.h. */
#include "agent/store/foreign.h"

#include "agent/base/span.h"
#include "agent/base/text.h"

#define VALUE_MAX (256U << 20)

static bool
has_type(const struct foreign_value *value, const char *type)
{
	return value->type && strcmp(value->type, type) == 0;
}

static bool
is_json(const struct foreign_value *value)
{
	return !value->type || !*value->type || has_type(value, "json");
}

/* Spans are taken from the text itself; the tree only proves that it is
 * JSON, and scrubbing that, for cJSON refuses halves of surrogate pairs. */
static int
check_json(const struct foreign_value *value, struct status *st)
{
	auto_buf scrubbed = BUF_INIT(VALUE_MAX);

	if (memchr(value->bytes, '\0', value->len))
		return status_set(st, STATUS_INVALID, "a NUL byte in JSON");
	text_scrub_json(&scrubbed, value->bytes, value->len, false);
	if (scrubbed.failed)
		return status_set(st, STATUS_TOO_BIG, "a row is too big");
	auto_json *json = json_parse(scrubbed.bytes, scrubbed.len, st);
	return json ? 0 : -1;
}

static int
unknown_type(const struct foreign_value *value, struct status *st)
{
	return status_set(st, STATUS_INVALID,
	    "a row of LangGraph has the unknown type %s", value->type);
}

int
foreign_checkpoint(const struct foreign_value *value, bool *found,
    struct records *out, struct status *st)
{
	*found = false;
	if (has_type(value, "msgpack"))
		return foreign_msgpack_checkpoint(value->bytes, value->len,
		    found, out, st);
	if (!is_json(value))
		return unknown_type(value, st);
	if (check_json(value, st) < 0)
		return -1;
	struct span channels =
	    span_member((struct span){ value->bytes, value->len },
		"channel_values");
	struct span messages = span_member(channels, "messages");
	*found = messages.bytes != NULL;
	if (*found)
		records_add_json(out, messages.bytes, messages.len);
	return 0;
}

int
foreign_write(const struct foreign_value *value, bool *overwrite,
    struct records *out, struct status *st)
{
	*overwrite = false;
	if (has_type(value, "null") || has_type(value, "bytes") ||
	    has_type(value, "bytearray"))
		return 0;
	if (has_type(value, "msgpack"))
		return foreign_msgpack_write(value->bytes, value->len,
		    overwrite, out, st);
	if (!is_json(value))
		return unknown_type(value, st);
	if (check_json(value, st) < 0)
		return -1;
	struct span whole = { value->bytes, value->len };
	struct span inner = span_member(whole, "__overwrite__");
	struct span type = span_member(whole, "type");
	if (!inner.bytes && type.len == strlen("\"__overwrite__\"") &&
	    memcmp(type.bytes, "\"__overwrite__\"", type.len) == 0)
		inner = span_member(whole, "value");
	*overwrite = inner.bytes != NULL;
	if (*overwrite)
		whole = inner;
	records_add_json(out, whole.bytes, whole.len);
	return 0;
}

int64_t
foreign_step(const char *metadata, size_t len)
{
	auto_json *json = cJSON_ParseWithLength(metadata, len);

	return json_int_or(json, "step", -2);
}
