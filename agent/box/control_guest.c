/* What is asked of one sandbox: /api/sandbox/{id or name}/…. */
#include "agent/base/clock.h"
#include "agent/box/control.h"
#include "agent/box/lifecycle.h"

#define MINUTES_MAX 52560000

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
	return result < 0 ? control_status(c->r, st)
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
	auto_json *body = control_body(c->r);
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

enum MHD_Result
control_on_guest(struct http_request *r, const char *name)
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
		return control_unknown(r);
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
