/* Daytona's control plane, as far as one machine has one: routes, forms of
 * answers, and what is asked of one sandbox. */
#include "agent/box/control.h"

#include "agent/base/clock.h"
#include "agent/base/text.h"
#include "agent/box/lifecycle.h"

#define BODY_MAX    ((size_t)4 << 20)
#define MINUTES_MAX 52560000

enum MHD_Result
control_error(struct http_request *r, unsigned status, const char *message)
{
	static const struct {
		unsigned status;
		const char *word;
	} words[] = { { 400, "Bad Request" }, { 401, "Unauthorized" },
		{ 404, "Not Found" }, { 409, "Conflict" },
		{ 422, "Unprocessable Entity" },
		{ 500, "Internal Server Error" } };

	auto_json *json = cJSON_CreateObject();
	const char *word = "Error";
	char now[32];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (words[i].status == status)
			word = words[i].word;
	clock_rfc3339(now, clock_wall_ms(), true);
	cJSON_AddStringToObject(json, "error", word);
	cJSON_AddStringToObject(json, "message", message);
	cJSON_AddStringToObject(json, "path", r->path);
	cJSON_AddNumberToObject(json, "statusCode", status);
	cJSON_AddStringToObject(json, "timestamp", now);
	return outside_json(r, status, json);
}

static enum MHD_Result
error_of(struct http_request *r, const struct status *st)
{
	unsigned status = 400;

	if (st->code == STATUS_NOT_FOUND)
		status = 404;
	else if (st->code == STATUS_EXISTS || st->code == STATUS_BUSY)
		status = 409;
	return control_error(r, status, st->text);
}

enum MHD_Result
control_guest(struct http_request *r, unsigned status, struct guest *g)
{
	struct registry *reg = outside_registry(r);
	auto_free char *base = outside_base(r);

	lock_acquire(&reg->lock);
	auto_json *json = guest_describe(g, base, false, reg->settings.options);
	lock_release(&reg->lock);
	return outside_json(r, status, json);
}

/* Gives the body's object; an absent or empty body is one without fields. */
static cJSON *
parse_body(struct http_request *r)
{
	auto_buf text = BUF_INIT(BODY_MAX * 3);
	auto_buf clean = BUF_INIT(BODY_MAX * 3);
	struct status st;

	if (r->body.failed)
		return NULL;
	if (r->body.len == 0)
		return cJSON_CreateObject();
	text_add_utf8(&text, r->body.bytes, r->body.len);
	text_scrub_json(&clean, text.bytes, text.len, false);
	cJSON *json = json_parse(clean.bytes, clean.len, &st);
	if (!cJSON_IsObject(json)) {
		cJSON_Delete(json);
		return NULL;
	}
	return json;
}

static enum MHD_Result
create(struct http_request *r)
{
	struct registry *reg = outside_registry(r);
	auto_json *body = parse_body(r);
	struct status st;

	if (!body)
		return control_error(r, 400, "the body is not a JSON object");
	struct guest *g = guest_create(body, &st);
	if (!g)
		return error_of(r, &st);
	if (g->destroy_at_ms)
		g->destroy_at_ms =
		    g->created_ms + registry_minutes(reg, g->destroy_at_ms);
	if (registry_add(reg, g, &st) < 0)
		return error_of(r, &st);
	enum MHD_Result result;
	if (lifecycle_start(reg, g, &st) < 0) {
		struct status ignored;
		auto_free char *text =
		    xasprintf("Sandbox failed to start: %s", st.text);
		/* Nothing of it was used: its name must be free again. */
		lifecycle_remove(reg, g, &ignored);
		result = control_error(r, 400, text);
	} else {
		registry_wake(reg);
		result = control_guest(r, 200, g);
	}
	registry_put(reg, g);
	return result;
}

/* What is asked of one sandbox. */
struct call {
	struct http_request *r;
	struct registry *reg;
	struct guest *guest;
	const char *value; /* the path's last segment, or NULL */
};

static enum MHD_Result
outcome(struct call *c, int result, const struct status *st)
{
	return result < 0 ? error_of(c->r, st)
			  : control_guest(c->r, 200, c->guest);
}

static enum MHD_Result
get(struct call *c)
{
	return control_guest(c->r, 200, c->guest);
}

static enum MHD_Result
start(struct call *c)
{
	struct status st;
	int result = lifecycle_start(c->reg, c->guest, &st);

	registry_wake(c->reg);
	return outcome(c, result, &st);
}

static enum MHD_Result
stop(struct call *c)
{
	struct status st;
	auto_free char *force = http_param(c->r, "force");
	bool gentle = !force || strcmp(force, "true") != 0;
	int result = lifecycle_stop(c->reg, c->guest, gentle, &st);

	registry_wake(c->reg);
	return outcome(c, result, &st);
}

static enum MHD_Result
archive(struct call *c)
{
	struct status st;

	return outcome(c, lifecycle_archive(c->reg, c->guest, &st), &st);
}

static enum MHD_Result delete (struct call *c) {
	struct status st;

	return outcome(c, lifecycle_remove(c->reg, c->guest, &st), &st);
}

static enum MHD_Result
last_activity(struct call *c)
{
	lifecycle_touch(c->reg, c->guest);
	return http_empty(c->r, 201);
}

static enum MHD_Result
labels(struct call *c)
{
	auto_json *body = parse_body(c->r);
	cJSON *map = cJSON_DetachItemFromObjectCaseSensitive(body, "labels");
	bool good = cJSON_IsObject(map);

	for (const cJSON *e = good ? map->child : NULL; e; e = e->next)
		good &= cJSON_IsString(e);
	if (!good) {
		cJSON_Delete(map);
		return control_error(c->r, 400,
		    "labels must be an object of strings");
	}
	auto_json *answer = cJSON_CreateObject();
	cJSON_AddItemToObject(answer, "labels", cJSON_Duplicate(map, true));
	lock_acquire(&c->reg->lock);
	cJSON *old = c->guest->labels;
	c->guest->labels = map;
	lock_release(&c->reg->lock);
	cJSON_Delete(old);
	registry_save(c->reg, c->guest);
	return outside_json(c->r, 200, answer);
}

static enum MHD_Result
toolbox_url(struct call *c)
{
	auto_json *json = cJSON_CreateObject();
	auto_free char *base = outside_base(c->r);
	auto_free char *url = xasprintf("%s/toolbox", base);

	cJSON_AddStringToObject(json, "url", url);
	return outside_json(c->r, 200, json);
}

/* A setter took its value. */
static enum MHD_Result
changed(struct call *c)
{
	registry_save(c->reg, c->guest);
	registry_wake(c->reg);
	return control_guest(c->r, 201, c->guest);
}

static enum MHD_Result
set_public(struct call *c)
{
	lock_acquire(&c->reg->lock);
	c->guest->shared_ = strcmp(c->value, "true") == 0;
	lock_release(&c->reg->lock);
	return changed(c);
}

/* autostop, autoarchive, autodelete, ttl; others change nothing. */
static enum MHD_Result
set_minutes(struct call *c)
{
	auto_free char *what = outside_segment(c->r, "/api/sandbox/", 1);
	char *end = NULL;
	long long n = strtoll(c->value, &end, 10);
	struct guest *g = c->guest;
	bool deletes = strcmp(what, "autodelete") == 0;

	if (!*c->value || *end || n > MINUTES_MAX || n < -MINUTES_MAX ||
	    (n < 0 && !deletes))
		return control_error(c->r, 400,
		    "a whole number of minutes is wanted");
	lock_acquire(&c->reg->lock);
	if (deletes)
		g->delete_minutes = n;
	else if (strcmp(what, "autostop") == 0)
		g->stop_minutes = n;
	else if (strcmp(what, "autoarchive") == 0)
		g->archive_minutes = n;
	else if (strcmp(what, "ttl") == 0)
		g->destroy_at_ms =
		    n ? clock_wall_ms() + registry_minutes(c->reg, n) : 0;
	g->updated_ms = clock_wall_ms();
	lock_release(&c->reg->lock);
	return changed(c);
}

static const struct {
	const char *method, *word; /* of the path; NULL: none */
	bool value;                /* one more segment */
	enum MHD_Result (*run)(struct call *c);
} calls[] = {
	{ "GET", NULL, false, get },
	{ "DELETE", NULL, false, delete },
	{ "POST", "start", false, start },
	{ "POST", "stop", false, stop },
	{ "POST", "archive", false, archive },
	{ "POST", "last-activity", false, last_activity },
	{ "PUT", "labels", false, labels },
	{ "GET", "toolbox-proxy-url", false, toolbox_url },
	{ "POST", "public", true, set_public },
	{ "POST", "autostop", true, set_minutes },
	{ "POST", "autopause", true, set_minutes },
	{ "POST", "autoarchive", true, set_minutes },
	{ "POST", "autodelete", true, set_minutes },
	{ "POST", "ttl", true, set_minutes },
};

static enum MHD_Result
unknown(struct http_request *r)
{
	auto_free char *text = xasprintf("Cannot %s %s", r->method, r->path);

	return control_error(r, 404, text);
}

static enum MHD_Result
on_guest(struct http_request *r, const char *name)
{
	auto_free char *word = outside_segment(r, "/api/sandbox/", 1);
	auto_free char *value = outside_segment(r, "/api/sandbox/", 2);
	auto_free char *more = outside_segment(r, "/api/sandbox/", 3);
	struct call call = { .r = r,
		.reg = outside_registry(r),
		.value = value };
	size_t i = 0;

	for (; i < ARRAY_SIZE(calls); i++)
		if (strcmp(calls[i].method, r->method) == 0 &&
		    !calls[i].word == !word &&
		    (!word || strcmp(calls[i].word, word) == 0) &&
		    calls[i].value == (value != NULL))
			break;
	if (i == ARRAY_SIZE(calls) || more)
		return unknown(r);
	call.guest = registry_find(call.reg, name);
	if (!call.guest) {
		auto_free char *text =
		    xasprintf("Sandbox with ID or name %s not found", name);
		return control_error(r, 404, text);
	}
	enum MHD_Result result = calls[i].run(&call);
	registry_put(call.reg, call.guest);
	return result;
}

static enum MHD_Result
control(struct http_request *r)
{
	auto_free char *name = outside_segment(r, "/api/sandbox/", 0);
	bool get_it = strcmp(r->method, "GET") == 0;

	if (!name && get_it)
		return control_list(r);
	if (!name && strcmp(r->method, "POST") == 0)
		return create(r);
	if (!name)
		return unknown(r);
	if (strcmp(name, "paginated") == 0 && get_it)
		return control_list_paginated(r);
	return on_guest(r, name);
}

static enum MHD_Result
denied(struct http_request *r)
{
	return control_error(r, 401, "Invalid credentials");
}

static enum MHD_Result
health(struct http_request *r)
{
	auto_json *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "status", "ok");
	return outside_json(r, 200, json);
}

static enum MHD_Result
config(struct http_request *r)
{
	auto_json *json = cJSON_CreateObject();
	auto_free char *base = outside_base(r);
	auto_free char *url = xasprintf("%s/toolbox", base);

	cJSON_AddStringToObject(json, "version",
	    "sandagentfs-box " SAF_VERSION);
	cJSON_AddStringToObject(json, "proxyToolboxUrl", url);
	cJSON_AddStringToObject(json, "defaultSnapshot", "local");
	cJSON_AddNumberToObject(json, "maxAutoArchiveInterval", 43200);
	return outside_json(r, 200, json);
}

const struct http_handler control_handler = { .body_max = BODY_MAX,
	.finish = control };
const struct http_handler control_unknown_handler = { .finish = unknown };
const struct http_handler control_denied_handler = { .finish = denied };
const struct http_handler control_health_handler = { .finish = health };
const struct http_handler control_config_handler = { .finish = config };
