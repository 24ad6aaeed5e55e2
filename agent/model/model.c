/* Which implementation a model's name stands for; see model.h. */
#include "agent/model/model.h"

#include "agent/model/script.h"
#include "agent/model/shell.h"
#include "agent/model/spec.h"

struct model {
	enum dialect dialect;
	struct script *script;
};

static int
check_dialect(const struct model_spec *spec, struct status *st)
{
	switch (spec->provider->dialect) {
	case DIALECT_SHELL:
	case DIALECT_SCRIPT:
		return 0;
	case DIALECT_OPENAI:
	case DIALECT_ANTHROPIC:
	case DIALECT_NONE:
		break;
	}
	return status_set(st, STATUS_NOT_SUPPORTED,
	    "this version cannot talk to models of %s yet: set model = shell: "
	    "or model = script:FILE in config",
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

struct model *
model_open(const struct model_settings *settings, struct status *st)
{
	struct model_spec spec;
	struct script *script = NULL;

	if (model_spec_read(&spec, settings->spec, st) < 0 ||
	    check_dialect(&spec, st) < 0)
		return NULL;
	if (spec.provider->dialect == DIALECT_SCRIPT) {
		script = script_open(spec.name, st);
		if (!script)
			return NULL;
	}
	struct model *model = xcalloc(1, sizeof *model);
	model->dialect = spec.provider->dialect;
	model->script = script;
	return model;
}

void
model_close(struct model *model)
{
	if (!model)
		return;
	script_close(model->script);
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
	return shell_complete(request, sink, reply, st);
}
