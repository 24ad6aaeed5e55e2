/* Which implementation a model's name stands for; see model.h. */
#include "agent/model/model.h"

#include "agent/model/remote.h"
#include "agent/model/script.h"
#include "agent/model/shell.h"
#include "agent/model/spec.h"

struct model {
	enum dialect dialect;
	struct script *script;
	struct remote *remote;
};

static int
check_dialect(const struct model_spec *spec, struct status *st)
{
	switch (spec->provider->dialect) {
	case DIALECT_SHELL:
	case DIALECT_SCRIPT:
	case DIALECT_OPENAI:
	case DIALECT_ANTHROPIC:
		return 0;
	case DIALECT_NONE:
		break;
	}
	return status_set(st, STATUS_NOT_SUPPORTED,
	    "models of %s need its cloud's own credentials, which are not "
	    "supported: set another model in config",
	    spec->provider->name);
}

static int
check_key(const struct model_spec *spec,
    bool (*have_key)(void *arg, const char *name), void *arg, struct status *st)
{
	const struct model_provider *p = spec->provider;
	bool needs = p->keys[0] && !p->key_optional;

	for (size_t i = 0; i < ARRAY_SIZE(p->keys); i++)
		if (p->keys[i] && have_key && have_key(arg, p->keys[i]))
			return 0;
	if (!needs)
		return 0;
	return status_set(st, STATUS_DENIED,
	    "no key for %s: set %s in the environment or .env and mount again",
	    p->name, p->keys[0]);
}

enum model_check
model_check(const char *spec, bool (*have_key)(void *arg, const char *name),
    void *arg, struct status *st)
{
	struct model_spec s;

	if (model_spec_read(&s, spec, st) < 0)
		return MODEL_UNKNOWN;
	if (check_dialect(&s, st) < 0)
		return MODEL_NOT_YET;
	if (check_key(&s, have_key, arg, st) < 0)
		return MODEL_NEEDS_KEY;
	if (s.provider->dialect == DIALECT_SCRIPT) {
		struct script *script = script_open(s.name, st);
		if (!script)
			return MODEL_BAD_FILE;
		script_close(script);
	}
	return MODEL_OK;
}

char *
model_full_spec(const char *spec)
{
	struct model_spec s;
	struct status st;

	if (model_spec_read(&s, spec, &st) < 0)
		return NULL;
	return xasprintf("%s:%s", s.provider->name, s.name);
}

const char *
model_key_name(const char *spec)
{
	struct model_spec s;
	struct status st;

	return model_spec_read(&s, spec, &st) < 0 ? NULL : s.provider->keys[0];
}

static const char *
first_set(const struct model_settings *settings, const char *const names[2])
{
	for (size_t i = 0; i < 2 && names[i] && settings->env; i++) {
		const char *value = settings->env(settings->env_arg, names[i]);
		if (value && *value)
			return value;
	}
	return NULL;
}

/* Ollama's variable may be a bare host, with or without a port. */
static char *
complete_url(const struct model_provider *provider, const char *url)
{
	const char *rest = strstr(url, "://");

	if (strcmp(provider->name, "ollama") != 0)
		return xstrdup(url);
	rest = rest ? rest + 3 : url;
	return xasprintf("%s%s%s%s", rest == url ? "http://" : "", url,
	    strchr(rest, ':') ? "" : ":11434",
	    strstr(rest, "/v1") ? "" : "/v1");
}

static struct remote *
open_remote(const struct model_spec *spec,
    const struct model_settings *settings, struct status *st)
{
	const struct model_provider *p = spec->provider;
	const char *named = first_set(settings, p->url_variables);
	const char *key = settings->api_key ? settings->api_key
					    : first_set(settings, p->keys);
	auto_free char *url = NULL;

	if (settings->base_url)
		url = xstrdup(settings->base_url);
	else if (named)
		url = complete_url(p, named);
	else if (p->base_url)
		url = xstrdup(p->base_url);
	if (!url) {
		status_set(st, STATUS_INVALID,
		    "%s has no address of its own: set base_url in config",
		    p->name);
		return NULL;
	}
	return remote_create(&(struct remote_settings){ .provider = p->name,
	    .model = spec->name,
	    .base_url = url,
	    .api_key = key });
}

struct model *
model_open(const struct model_settings *settings, struct status *st)
{
	struct model_spec spec;

	if (model_spec_read(&spec, settings->spec, st) < 0 ||
	    check_dialect(&spec, st) < 0)
		return NULL;
	struct model *model = xcalloc(1, sizeof *model);
	model->dialect = spec.provider->dialect;
	bool remote = model->dialect == DIALECT_OPENAI ||
	    model->dialect == DIALECT_ANTHROPIC;
	if (model->dialect == DIALECT_SCRIPT)
		model->script = script_open(spec.name, st);
	else if (remote)
		model->remote = open_remote(&spec, settings, st);
	if (model->script || model->remote || model->dialect == DIALECT_SHELL)
		return model;
	free(model);
	return NULL;
}

void
model_close(struct model *model)
{
	if (!model)
		return;
	script_close(model->script);
	remote_destroy(model->remote);
	free(model);
}

int
model_complete(struct model *model, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st)
{
	if (cancel_fired(cancel))
		return status_set(st, STATUS_CANCELED, "cancelled");
	if (model->dialect == DIALECT_SCRIPT)
		return script_complete(model->script, request, sink, reply,
		    cancel, st);
	if (model->remote)
		return remote_complete(model->remote, request, sink, reply,
		    cancel, st);
	return shell_complete(request, sink, reply, st);
}
