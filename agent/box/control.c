/* Daytona's control plane, as far as one machine has one: routes, forms of
 * answers, creation. */
#include "agent/box/control.h"

#include "agent/base/clock.h"
#include "agent/base/text.h"
#include "agent/box/lifecycle.h"

#define BODY_MAX ((size_t)4 << 20)

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

enum MHD_Result
control_status(struct http_request *r, const struct status *st)
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

cJSON *
control_body(struct http_request *r)
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
	auto_json *body = control_body(r);
	struct status st;

	if (!body)
		return control_error(r, 400, "the body is not a JSON object");
	struct guest *g = guest_create(body, &st);
	if (!g)
		return control_status(r, &st);
	if (g->destroy_at_ms)
		g->destroy_at_ms =
		    g->created_ms + registry_minutes(reg, g->destroy_at_ms);
	if (registry_add(reg, g, &st) < 0)
		return control_status(r, &st);
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

enum MHD_Result
control_unknown(struct http_request *r)
{
	auto_free char *text = xasprintf("Cannot %s %s", r->method, r->path);

	return control_error(r, 404, text);
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
		return control_unknown(r);
	if (strcmp(name, "paginated") == 0 && get_it)
		return control_list_paginated(r);
	return control_on_guest(r, name);
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
const struct http_handler control_unknown_handler = { .finish =
							  control_unknown };
const struct http_handler control_denied_handler = { .finish = denied };
const struct http_handler control_health_handler = { .finish = health };
const struct http_handler control_config_handler = { .finish = config };
