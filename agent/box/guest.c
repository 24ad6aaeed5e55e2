/* See guest.h. */
#include "agent/box/guest.h"

#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "agent/box/toolbox.h"

#define MINUTES_MAX     52560000 /* a hundred years */
#define STOP_DEFAULT    15
#define ARCHIVE_DEFAULT 10080
#define ENTRIES_MAX     1024

bool
guest_name_valid(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > 255 || !utf8_valid(name, n) || strpbrk(name, "<>") ||
	    strstr(name, "://") || strcasestr(name, "www."))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	return true;
}

static int
minutes(const cJSON *body, const char *name, int64_t min, int64_t otherwise,
    int64_t *out, struct status *st)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(body, name);

	*out = otherwise;
	if (!v || cJSON_IsNull(v))
		return 0;
	if (json_int(body, name, out, st) < 0 || *out > MINUTES_MAX ||
	    *out < min)
		return status_set(st, STATUS_INVALID,
		    "%s must be a whole number of minutes", name);
	return 0;
}

/* Gives a copy of an object of strings; {} if absent. */
static cJSON *
strings(const cJSON *body, const char *name, struct status *st)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(body, name);
	size_t n = 0;

	if (!v || cJSON_IsNull(v))
		return cJSON_CreateObject();
	bool good = cJSON_IsObject(v);
	for (const cJSON *e = v->child; good && e; e = e->next)
		good = cJSON_IsString(e) && ++n <= ENTRIES_MAX;
	if (!good) {
		status_set(st, STATUS_INVALID,
		    "%s must be an object of strings", name);
		return NULL;
	}
	return cJSON_Duplicate(v, true);
}

static int
fill(struct guest *g, const cJSON *body, struct status *st)
{
	int64_t ttl = 0;
	const char *name = json_string_or(body, "name", g->id);

	if (!guest_name_valid(name))
		return status_set(st, STATUS_INVALID,
		    "name must not contain HTML tags, URLs, or control "
		    "characters");
	g->name = xstrdup(name);
	g->target = xstrdup(json_string_or(body, "target", "local"));
	g->snapshot = xstrdup(json_string_or(body, "snapshot", "local"));
	g->shared_ = json_bool_or(body, "public", false);
	g->network_off = json_bool_or(body, "networkBlockAll", false);
	g->env = strings(body, "env", st);
	g->labels = g->env ? strings(body, "labels", st) : NULL;
	if (!g->labels)
		return -1;
	if (minutes(body, "autoStopInterval", 0, STOP_DEFAULT, &g->stop_minutes,
		st) < 0 ||
	    minutes(body, "autoArchiveInterval", 0, ARCHIVE_DEFAULT,
		&g->archive_minutes, st) < 0 ||
	    minutes(body, "autoDeleteInterval", -MINUTES_MAX, -1,
		&g->delete_minutes, st) < 0 ||
	    minutes(body, "ttlMinutes", 0, 0, &ttl, st) < 0)
		return -1;
	g->destroy_at_ms = ttl; /* the registry knows a minute's length */
	return 0;
}

struct guest *
guest_create(const cJSON *body, struct status *st)
{
	struct guest *g = xcalloc(1, sizeof *g);

	uuid_make(g->id);
	g->created_ms = clock_wall_ms();
	g->updated_ms = g->active_ms = g->created_ms;
	g->state = GUEST_CREATING;
	if (fill(g, body, st) < 0) {
		guest_destroy(g);
		return NULL;
	}
	return g;
}

void
guest_destroy(struct guest *g)
{
	if (!g)
		return;
	free(g->name);
	free(g->target);
	free(g->snapshot);
	cJSON_Delete(g->env);
	cJSON_Delete(g->labels);
	free(g);
}

const char *
guest_state_word(const struct guest *g)
{
	static const char *const words[] = {
		[GUEST_CREATING] = "creating",
		[GUEST_STARTED] = "started",
		[GUEST_STOPPED] = "stopped",
		[GUEST_ARCHIVED] = "archived",
		[GUEST_DESTROYED] = "destroyed",
		[GUEST_ERROR] = "error",
	};

	return g->transition ? g->transition : words[g->state];
}

static const char *
desired_word(const struct guest *g)
{
	if (g->transition && strcmp(g->transition, "stopping") == 0)
		return "stopped";
	if (g->transition && strcmp(g->transition, "destroying") == 0)
		return "destroyed";
	if (g->transition || g->state == GUEST_CREATING)
		return "started";
	return g->state == GUEST_ERROR ? "started" : guest_state_word(g);
}

static void
add_time(cJSON *json, const char *name, int64_t ms)
{
	char text[32];

	clock_rfc3339(text, ms, true);
	cJSON_AddStringToObject(json, name, text);
}

static void
add_rest(cJSON *json, const struct guest *g)
{
	cJSON_AddItemToObject(json, "env", cJSON_Duplicate(g->env, true));
	cJSON_AddItemToObject(json, "volumes", cJSON_CreateArray());
}

cJSON *
guest_describe(const struct guest *g, const char *base, bool item,
    const struct options *o)
{
	cJSON *json = cJSON_CreateObject();
	auto_free char *url = xasprintf("%s/toolbox", base);
	/* Whole numbers above 0: clients insist on them. */
	int64_t memory_gb = MAX(o->memory_mb / 1024, (int64_t)1);
	int64_t disk_gb = MAX(o->file_mb / 1024, (int64_t)1);

	cJSON_AddStringToObject(json, "id", g->id);
	cJSON_AddStringToObject(json, "organizationId",
	    "00000000-0000-0000-0000-000000000001");
	cJSON_AddStringToObject(json, "name", g->name);
	cJSON_AddStringToObject(json, "user", "daytona");
	cJSON_AddItemToObject(json, "labels", cJSON_Duplicate(g->labels, true));
	cJSON_AddBoolToObject(json, "public", g->shared_);
	cJSON_AddBoolToObject(json, "networkBlockAll", g->network_off);
	cJSON_AddBoolToObject(json, "kvm", false);
	cJSON_AddStringToObject(json, "target", g->target);
	cJSON_AddStringToObject(json, "snapshot", g->snapshot);
	cJSON_AddNumberToObject(json, "cpu",
	    (double)sysconf(_SC_NPROCESSORS_ONLN));
	cJSON_AddNumberToObject(json, "gpu", 0);
	cJSON_AddNumberToObject(json, "memory", (double)memory_gb);
	cJSON_AddNumberToObject(json, "disk", (double)disk_gb);
	cJSON_AddStringToObject(json, "state", guest_state_word(g));
	cJSON_AddStringToObject(json, "desiredState", desired_word(g));
	if (*g->error)
		cJSON_AddStringToObject(json, "errorReason", g->error);
	cJSON_AddBoolToObject(json, "recoverable", false);
	cJSON_AddStringToObject(json, "backupState", "None");
	cJSON_AddNumberToObject(json, "autoStopInterval",
	    (double)g->stop_minutes);
	cJSON_AddNumberToObject(json, "autoArchiveInterval",
	    (double)g->archive_minutes);
	cJSON_AddNumberToObject(json, "autoDeleteInterval",
	    (double)g->delete_minutes);
	if (g->destroy_at_ms)
		add_time(json, "autoDestroyAt", g->destroy_at_ms);
	add_time(json, "createdAt", g->created_ms);
	add_time(json, "updatedAt", g->updated_ms);
	add_time(json, "lastActivityAt", g->active_ms);
	cJSON_AddStringToObject(json, "sandboxClass", "container");
	cJSON_AddStringToObject(json, "daemonVersion", TOOLBOX_VERSION);
	cJSON_AddStringToObject(json, "toolboxProxyUrl", url);
	if (!item)
		add_rest(json, g);
	return json;
}

cJSON *
guest_record(const struct guest *g)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "id", g->id);
	cJSON_AddStringToObject(json, "name", g->name);
	cJSON_AddStringToObject(json, "target", g->target);
	cJSON_AddStringToObject(json, "snapshot", g->snapshot);
	cJSON_AddBoolToObject(json, "public", g->shared_);
	cJSON_AddBoolToObject(json, "networkBlockAll", g->network_off);
	cJSON_AddItemToObject(json, "env", cJSON_Duplicate(g->env, true));
	cJSON_AddItemToObject(json, "labels", cJSON_Duplicate(g->labels, true));

	const struct {
		const char *name;
		int64_t value;
	} numbers[] = {
		{ "autoStopInterval", g->stop_minutes },
		{ "autoArchiveInterval", g->archive_minutes },
		{ "autoDeleteInterval", g->delete_minutes },
		{ "destroyAtMs", g->destroy_at_ms },
		{ "createdMs", g->created_ms },
		{ "updatedMs", g->updated_ms },
		{ "activeMs", g->active_ms },
		{ "stoppedMs", g->stopped_ms },
		{ "archived", g->state == GUEST_ARCHIVED },
		{ "running", g->state == GUEST_STARTED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		cJSON_AddNumberToObject(json, numbers[i].name,
		    (double)numbers[i].value);
	return json;
}

struct guest *
guest_parse(const char *text, size_t len, struct status *st)
{
	auto_json *json = json_parse(text, len, st);
	struct guest *g = xcalloc(1, sizeof *g);
	const char *id = json_string_or(json, "id", "");

	if (!json || !uuid_valid(id) || fill(g, json, st) < 0) {
		if (json && !uuid_valid(id))
			status_set(st, STATUS_INVALID, "field id: no UUID");
		guest_destroy(g);
		return NULL;
	}
	snprintf(g->id, sizeof g->id, "%s", id);
	g->destroy_at_ms = json_int_or(json, "destroyAtMs", 0);
	g->created_ms = json_int_or(json, "createdMs", 0);
	g->updated_ms = json_int_or(json, "updatedMs", g->created_ms);
	g->active_ms = json_int_or(json, "activeMs", g->created_ms);
	g->stopped_ms = json_int_or(json, "stoppedMs", 0);
	/* It ended with the server that ran it, nobody knows when. */
	if (json_int_or(json, "running", 0) || g->stopped_ms == 0)
		g->stopped_ms = clock_wall_ms();
	g->state =
	    json_int_or(json, "archived", 0) ? GUEST_ARCHIVED : GUEST_STOPPED;
	return g;
}
