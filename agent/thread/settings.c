/* What holds for a thread: its config over the mount's options (contract §6). */
#include "agent/model/model.h"
#include "agent/thread/internal.h"
#include "agent/tools/tool.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* Byte-identical from call to call, or no provider can cache it. */
static const char instructions[] =
    "You are an assistant that works in a Linux sandbox through tools. The "
    "working directory is " SANDBOX_HOME "; the user sees its files. Use "
    "absolute paths with the file tools. Do what was asked, then verify it "
    "(run it, list it, read it back) before you report. Say plainly what did "
    "not work. Be brief.";

static bool
have_key(void *arg, const char *name)
{
	const struct threads_settings *s = arg;
	const char *value = s->env ? s->env(s->env_arg, name) : NULL;

	return value && *value;
}

static const char *
spec_locked(const struct thread *t)
{
	return t->config.model ? t->config.model : t->threads->settings.model;
}

char *
thread_model_locked(const struct thread *t)
{
	const char *spec = spec_locked(t);
	char *full = model_full_spec(spec);

	lock_assert_held(&t->lock);
	return full ? full : xstrdup(spec);
}

int
thread_model_check(struct thread *t, struct status *st)
{
	lock_acquire(&t->lock);
	auto_free char *spec = thread_model_locked(t);
	lock_release(&t->lock);
	/* What is wrong with the file of a script is told when it is read. */
	if (strncmp(spec, "script:", 7) == 0)
		return 0;
	switch (model_check(spec, have_key, &t->threads->settings, st)) {
	case MODEL_OK:
		return 0;
	case MODEL_NOT_YET:
		st->code = STATUS_NOT_SUPPORTED;
		return -1;
	case MODEL_NEEDS_KEY:
		st->code = STATUS_DENIED;
		return -1;
	case MODEL_UNKNOWN:
	case MODEL_BAD_FILE:
		break;
	}
	st->code = STATUS_INVALID;
	return -1;
}

static char *
copy_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

void
turn_settings_load(struct thread *t, struct turn_settings *out)
{
	const struct threads_settings *s = &t->threads->settings;

	lock_acquire(&t->lock);
	const struct thread_config *c = &t->config;
	const char *own = c->system_prompt;
	*out = (struct turn_settings){
		.model = thread_model_locked(t),
		.base_url =
		    copy_or_null(c->base_url ? c->base_url : s->base_url),
		.system_prompt = xasprintf("%s%s%s", own ? own : "",
		    own ? "\n\n" : "", instructions),
		.tools = copy_or_null(c->tools),
		.temperature = c->temperature,
		.max_tokens = MAX(c->max_tokens, (int64_t)0),
		.steps =
		    c->recursion_limit > 0 ? c->recursion_limit : STEPS_MAX,
	};
	lock_release(&t->lock);
}

void
turn_settings_finish(struct turn_settings *s)
{
	free(s->model);
	free(s->base_url);
	free(s->system_prompt);
	free(s->tools);
}

void
thread_apply_options_locked(struct thread *t)
{
	const struct threads_settings *s = &t->threads->settings;
	const struct thread_config *c = &t->config;
	struct sandbox_options o = {
		.ttl_minutes =
		    c->ttl_minutes >= 0 ? c->ttl_minutes : s->ttl_minutes,
		.stop_minutes =
		    c->stop_minutes >= 0 ? c->stop_minutes : s->stop_minutes,
		.snapshot = c->snapshot,
		.network_off = c->network_off == 1,
		.env = (const char *const *)c->env,
	};

	lock_assert_held(&t->lock);
	if (t->sandbox)
		sandbox_set_options(t->sandbox, &o);
}

/* --- The file ------------------------------------------------------------- */

void
thread_config_text(struct thread *t, struct buf *out)
{
	lock_acquire(&t->lock);
	buf_puts(out, t->config_text);
	lock_release(&t->lock);
}

/* Names of tools that exist? */
static int
check_tools(const char *key, const char *names, struct status *st)
{
	for (const char *p = names; p && *p;) {
		size_t n = strcspn(p, ",");
		auto_free char *name = xstrndup(p, n);
		if (!tool_find(name))
			return status_set(st, STATUS_INVALID,
			    "%s: there is no tool named %s", key, name);
		p += n + (p[n] == ',');
	}
	return 0;
}

/* What only this layer knows: models and tools. */
static int
check_values(struct thread *t, const struct thread_config *c, struct status *st)
{
	auto_free char *full = c->model ? model_full_spec(c->model) : NULL;

	if (c->model && !full) {
		(void)model_check(c->model, have_key, &t->threads->settings,
		    st);
		st->code = STATUS_INVALID;
		return -1;
	}
	return check_tools("tools", c->tools, st) < 0 ||
		check_tools("approve", c->approve, st) < 0
	    ? -1
	    : 0;
}

int
thread_config_check(struct thread *t, const char *line, size_t len,
    struct status *st)
{
	struct thread_config c;

	thread_config_init(&c);
	int rc = thread_config_line(&c, line, len, st);
	if (rc == 0)
		rc = check_values(t, &c, st);
	thread_config_finish(&c);
	return rc;
}

int
thread_config_set(struct thread *t, const char *text, size_t len,
    struct status *st)
{
	auto_free char *copy = xstrndup(text, MIN(len, CONFIG_MAX));
	struct thread_config c;

	wait_point();
	if (len > CONFIG_MAX)
		return status_set(st, STATUS_TOO_BIG, "config: over 1 MiB");
	if (atomic_load(&t->ended))
		return status_set(st, STATUS_NOT_FOUND, "it was removed");
	thread_config_init(&c);
	if (thread_config_parse(&c, copy, st) < 0 ||
	    check_values(t, &c, st) < 0 ||
	    store_thread_set_config(t->threads->settings.store, t->number, copy,
		st) < 0) {
		thread_config_finish(&c);
		return -1;
	}
	lock_acquire(&t->lock);
	struct thread_config old = t->config;
	t->config = c;
	free(t->config_text);
	t->config_text = take(copy);
	thread_apply_options_locked(t);
	lock_release(&t->lock);
	thread_config_finish(&old);
	thread_notify(t);
	return 0;
}
