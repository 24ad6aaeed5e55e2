/* Typed access to cJSON; see json.h. */
#include "agent/base/json.h"

#include <math.h>

#include "agent/base/path.h"

void
auto_json_cleanup(cJSON **json)
{
	cJSON_Delete(*json);
}

cJSON *
json_parse(const char *text, size_t len, struct status *st)
{
	const char *end = NULL;
	cJSON *json = cJSON_ParseWithLengthOpts(text, len, &end, false);

	if (json) {
		while (end < text + len && *end && strchr(" \t\r\n", *end))
			end++;
		if (end == text + len)
			return json;
		cJSON_Delete(json);
	}
	size_t at = end && end >= text ? (size_t)(end - text) : 0;
	status_set(st, STATUS_INVALID, "not JSON at byte %zu", at);
	return NULL;
}

int
json_string(const cJSON *obj, const char *name, const char **out,
    struct status *st)
{
	const cJSON *f = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (!cJSON_IsString(f))
		return status_set(st, STATUS_INVALID, "field %s: %s", name,
		    f ? "not a string" : "missing");
	*out = f->valuestring;
	return 0;
}

static bool
is_whole(const cJSON *f)
{
	return cJSON_IsNumber(f) && f->valuedouble == trunc(f->valuedouble) &&
	    fabs(f->valuedouble) <= 9007199254740991.0;
}

int
json_int(const cJSON *obj, const char *name, int64_t *out, struct status *st)
{
	const cJSON *f = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (!is_whole(f))
		return status_set(st, STATUS_INVALID, "field %s: %s", name,
		    f ? "not a whole number" : "missing");
	*out = (int64_t)f->valuedouble;
	return 0;
}

const char *
json_string_or(const cJSON *obj, const char *name, const char *otherwise)
{
	const cJSON *f = cJSON_GetObjectItemCaseSensitive(obj, name);

	return cJSON_IsString(f) ? f->valuestring : otherwise;
}

int64_t
json_int_or(const cJSON *obj, const char *name, int64_t otherwise)
{
	const cJSON *f = cJSON_GetObjectItemCaseSensitive(obj, name);

	return is_whole(f) ? (int64_t)f->valuedouble : otherwise;
}

bool
json_bool_or(const cJSON *obj, const char *name, bool otherwise)
{
	const cJSON *f = cJSON_GetObjectItemCaseSensitive(obj, name);

	return cJSON_IsBool(f) ? cJSON_IsTrue(f) : otherwise;
}

void
json_print(struct buf *out, const cJSON *json)
{
	char *text = cJSON_PrintUnformatted(json);

	if (!text) {
		out->failed = true;
		return;
	}
	buf_puts(out, text);
	cJSON_free(text);
}

void
json_print_string(struct buf *out, const char *s, size_t len)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)s[i];
		size_t n = c < 0x80 ? 1 : 2;

		while (
		    n > 1 && n <= 4 && (i + n > len || !utf8_valid(s + i, n)))
			n++;
		if (c == '"' || c == '\\') {
			buf_putc(out, '\\');
			buf_putc(out, (char)c);
		} else if (c == '\n' || c == '\t' || c == '\r') {
			buf_puts(out,
			    c == '\n'       ? "\\n"
				: c == '\t' ? "\\t"
					    : "\\r");
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(out, "\\u%04x", c);
		} else if (n > 4) {
			buf_puts(out, "\xef\xbf\xbd");
			n = 1;
		} else {
			buf_add(out, s + i, n);
		}
		i += n;
	}
	buf_putc(out, '"');
}
