/* The control plane's and the toolbox's JSON; see wire.h. */
#include "agent/sandbox/wire.h"

#include <strings.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/base/text.h"

static bool
id_valid(const char *id)
{
	size_t n = strlen(id);

	if (n == 0 || n >= sizeof((struct wire_sandbox *)0)->id || id[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++) {
		char c = id[i];
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			(c >= '0' && c <= '9') || strchr("-_.", c)))
			return false;
	}
	return true;
}

static void
copy_line(char *out, size_t size, const cJSON *json, const char *name)
{
	const char *s = json_string_or(json, name, "");

	escape_line(out, size, s, strlen(s));
}

int
wire_sandbox(const char *body, size_t len, struct wire_sandbox *out,
    struct status *st)
{
	auto_json *json = json_parse(body, len, st);
	const char *id, *state;

	*out = (struct wire_sandbox){ 0 };
	if (!json || json_string(json, "id", &id, st) < 0)
		return -1;
	if (!id_valid(id))
		return status_set(st, STATUS_INVALID, "field id: not an id");
	snprintf(out->id, sizeof out->id, "%s", id);
	state = json_string_or(json, "state", "unknown");
	escape_line(out->state, sizeof out->state, state, strlen(state));
	copy_line(out->expires_at, sizeof out->expires_at, json,
	    "autoDestroyAt");
	copy_line(out->reason, sizeof out->reason, json, "errorReason");
	out->recoverable = json_bool_or(json, "recoverable", false);
	const cJSON *labels = cJSON_GetObjectItemCaseSensitive(json, "labels");
	out->marked =
	    strcmp(json_string_or(labels, "sandagentfs", ""), "1") == 0;
	copy_line(out->store, sizeof out->store, labels, "sandagentfs.store");
	const char *url = json_string_or(json, "toolboxProxyUrl", "");
	size_t n = strlen(url);
	while (n > 0 && url[n - 1] == '/')
		n--;
	if (n < sizeof out->toolbox)
		snprintf(out->toolbox, sizeof out->toolbox, "%.*s", (int)n,
		    url);
	return 0;
}

enum wire_move
wire_move(const struct wire_sandbox *s)
{
	static const struct {
		const char *state;
		enum wire_move move;
	} table[] = {
		{ "started", MOVE_USE },
		{ "stopped", MOVE_START },
		{ "archived", MOVE_START },
		{ "paused", MOVE_START },
		{ "destroyed", MOVE_GONE },
		{ "destroying", MOVE_GONE },
		{ "build_failed", MOVE_DEAD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strcmp(s->state, table[i].state) == 0)
			return table[i].move;
	if (strcmp(s->state, "error") == 0)
		return s->recoverable ? MOVE_RECOVER : MOVE_DEAD;
	/* creating, starting, restoring … and words that we do not know yet */
	return MOVE_WAIT;
}

void
wire_create(struct buf *out, const struct wire_create *c)
{
	auto_json *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "name", c->name);
	cJSON *env = cJSON_AddObjectToObject(json, "env");
	for (size_t i = 0; c->env && c->env[i] && c->env[i + 1]; i += 2)
		cJSON_AddStringToObject(env, c->env[i], c->env[i + 1]);
	cJSON *labels = cJSON_AddObjectToObject(json, "labels");
	cJSON_AddStringToObject(labels, "code-toolbox-language", "python");
	cJSON_AddStringToObject(labels, "sandagentfs", "1");
	if (c->owner)
		cJSON_AddStringToObject(labels, "sandagentfs.store", c->owner);
	if (c->snapshot)
		cJSON_AddStringToObject(json, "snapshot", c->snapshot);
	if (c->target)
		cJSON_AddStringToObject(json, "target", c->target);
	cJSON_AddNumberToObject(json, "autoStopInterval", c->stop_minutes);
	if (c->ttl_minutes > 0)
		cJSON_AddNumberToObject(json, "ttlMinutes", c->ttl_minutes);
	if (c->network_off)
		cJSON_AddBoolToObject(json, "networkBlockAll", true);
	json_print(out, json);
}

void
wire_execute(struct buf *out, const char *script, size_t len, int timeout_s)
{
	buf_puts(out, "{\"command\":");
	json_print_string(out, script, len);
	/* The daemon's own directory may have been removed: that would fail
	 * every call. Texts of errors are read in the C locale; a start-up
	 * file of zsh must not run. */
	buf_puts(out,
	    ",\"cwd\":\"/\",\"envs\":{\"LC_ALL\":\"C\","
	    "\"ZDOTDIR\":\"/nonexistent\"}");
	if (timeout_s > 0)
		buf_printf(out, ",\"timeout\":%d", timeout_s);
	buf_putc(out, '}');
}

/* cJSON cuts strings at an escaped NUL: rare, so only then a copy. */
static cJSON *
parse_body(const struct buf *body, struct status *st)
{
	if (!memmem(body->bytes, body->len, "\\u0000", 6))
		return json_parse(body->bytes, body->len, st);
	auto_buf clean = BUF_INIT(body->len * 2 + 64);
	text_scrub_json(&clean, body->bytes, body->len, false);
	return json_parse(clean.bytes, clean.len, st);
}

int
wire_executed(const struct buf *body, int *exit_code, char **output,
    struct status *st)
{
	auto_json *json = parse_body(body, st);
	const char *result;
	int64_t code;

	if (!json || json_int(json, "exitCode", &code, st) < 0 ||
	    json_string(json, "result", &result, st) < 0)
		return -1;
	*exit_code = (int)MAX(MIN(code, 255), -1);
	*output = xstrdup(result);
	return 0;
}

void
wire_message(const struct buf *body, char *out, size_t size)
{
	struct status ignored;
	auto_json *json =
	    body->len > 0 ? json_parse(body->bytes, body->len, &ignored) : NULL;
	const char *text =
	    json_string_or(json, "message", json_string_or(json, "error", ""));
	const cJSON *errors = cJSON_GetObjectItemCaseSensitive(json, "errors");

	if (cJSON_IsArray(errors) && cJSON_IsString(errors->child))
		text = errors->child->valuestring;
	escape_line(out, size, text, strlen(text));
}

static bool
has(const char *text, const char *words)
{
	return strcasestr(text, words) != NULL;
}

enum wire_fault
wire_fault(const struct http_response *r)
{
	char message[400];

	if (r->status < 400)
		return FAULT_NONE;
	if (r->status == 502 || r->status == 503 || r->status == 504)
		return FAULT_DOWN;
	if (r->status == 429)
		return FAULT_BUSY;
	if (r->status == 401)
		return FAULT_GONE;
	if (r->status != 400 && r->status != 404)
		return FAULT_NONE;
	/* The proxy speaks JSON; the old daemon's file errors are empty or
	 * short text, the new one names itself. */
	if (memmem(r->body.bytes, r->body.len, "DAYTONA_DAEMON", 14))
		return FAULT_NONE;
	wire_message(&r->body, message, sizeof message);
	if (has(message, "container not found") ||
	    has(message, "sandbox not found"))
		return FAULT_GONE;
	if (has(message, "failed to resolve container IP") ||
	    has(message, "Is the Sandbox started") ||
	    has(message, "failed to get runner info") ||
	    has(message, "public status"))
		return FAULT_STOPPED;
	return FAULT_NONE;
}
