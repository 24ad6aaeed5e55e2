/* See command.h. */
#include "agent/box/command.h"

#include "agent/base/text.h"

#define ENVS_MAX 4096

void
command_finish(struct command *c)
{
	cJSON_Delete(c->json);
	for (size_t i = 0; i < c->env_count; i++)
		free(c->envs[i]);
	free(c->envs);
}

/* Drops \u0000, which a shell would drop as well and cJSON stops at. */
static void
drop_nul_escapes(struct buf *out, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '\\' && len - i >= 6 &&
		    memcmp(s + i, "\\u0000", 6) == 0) {
			i += 5;
			continue;
		}
		buf_putc(out, s[i]);
		if (s[i] == '\\' && i + 1 < len)
			buf_putc(out, s[++i]);
	}
}

static int
invalid(struct buf *error, const char *what)
{
	buf_printf(error, "bad request: invalid request body: %s", what);
	return -1;
}

static const char *
type_word(const cJSON *v)
{
	return cJSON_IsString(v) ? "string"
	    : cJSON_IsNumber(v)  ? "number"
	    : cJSON_IsBool(v)    ? "bool"
	    : cJSON_IsArray(v)   ? "array"
				 : "object";
}

/* Go's complaint about a field of the wrong type. */
static int
wrong_type(struct buf *error, const cJSON *v, const char *field,
    const char *type)
{
	char what[160];

	snprintf(what, sizeof what,
	    "json: cannot unmarshal %s into Go struct field "
	    "ExecuteRequest.%s of type %s",
	    type_word(v), field, type);
	return invalid(error, what);
}

static int
parse_timeout(struct command *c, struct buf *error)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->json, "timeout");

	if (!v || cJSON_IsNull(v))
		return 0;
	if (!cJSON_IsNumber(v))
		return wrong_type(error, v, "timeout", "uint32");
	double n = v->valuedouble;
	if (n < 0 || n > UINT32_MAX || n != (double)(int64_t)n) {
		char what[160];
		snprintf(what, sizeof what,
		    "json: cannot unmarshal number %.17g into Go struct field "
		    "ExecuteRequest.timeout of type uint32",
		    n);
		return invalid(error, what);
	}
	c->timeout_s = (int64_t)n;
	return 0;
}

static bool
env_name_valid(const char *s)
{
	for (size_t i = 0; s[i]; i++) {
		bool letter = (s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= 'A' && s[i] <= 'Z') || s[i] == '_';
		if (!letter && (i == 0 || s[i] < '0' || s[i] > '9'))
			return false;
	}
	return *s;
}

static int
parse_envs(struct command *c, struct buf *error)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->json, "envs");

	if (!v || cJSON_IsNull(v))
		return 0;
	if (!cJSON_IsObject(v))
		return wrong_type(error, v, "envs", "map[string]string");
	size_t count = (size_t)cJSON_GetArraySize(v);
	if (count > ENVS_MAX)
		return invalid(error, "too many environment variables");
	c->envs = xcalloc(count + 1, sizeof *c->envs);
	for (const cJSON *e = v->child; e; e = e->next) {
		if (!cJSON_IsString(e))
			return wrong_type(error, e, "envs", "string");
		if (!env_name_valid(e->string)) {
			buf_printf(error,
			    "bad request: invalid environment variable name: "
			    "'%s'",
			    e->string);
			return -1;
		}
		c->envs[c->env_count++] =
		    xasprintf("%s=%s", e->string, e->valuestring);
	}
	return 0;
}

int
command_parse(struct command *c, const struct buf *body, struct buf *error)
{
	auto_buf text = BUF_INIT(COMMAND_MAX * 2);
	auto_buf clean = BUF_INIT(COMMAND_MAX * 2);
	struct status st;

	if (body->failed)
		return invalid(error, "http: request body too large");
	if (body->len == 0)
		return invalid(error, "EOF");
	drop_nul_escapes(&text, body->bytes, body->len);
	text_scrub_json(&clean, text.bytes, text.len, false);
	if (text.failed || clean.failed ||
	    !(c->json = json_parse(clean.bytes, clean.len, &st)))
		return invalid(error, "unexpected EOF");
	if (!cJSON_IsObject(c->json))
		return invalid(error,
		    "json: cannot unmarshal value into Go value of type "
		    "process.ExecuteRequest");
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(c->json, "command");
	if (v && !cJSON_IsNull(v) && !cJSON_IsString(v))
		return wrong_type(error, v, "command", "string");
	c->text = json_string_or(c->json, "command", "");
	v = cJSON_GetObjectItemCaseSensitive(c->json, "cwd");
	if (v && !cJSON_IsNull(v) && !cJSON_IsString(v))
		return wrong_type(error, v, "cwd", "string");
	c->cwd = json_string_or(c->json, "cwd", "");
	if (!*c->cwd)
		c->cwd = NULL;
	if (parse_timeout(c, error) < 0 || parse_envs(c, error) < 0)
		return -1;
	if (!*c->text)
		return invalid(error,
		    "Key: 'ExecuteRequest.Command' Error:Field validation for "
		    "'Command' failed on the 'required' tag");
	if (!c->text[strspn(c->text, " \t\r\n\v\f")]) {
		buf_puts(error, "bad request: empty command");
		return -1;
	}
	return 0;
}
