/* One sandbox as this side knows it; see sandbox.h. */
#include <stdarg.h>

#include "agent/base/clock.h"
#include "agent/sandbox/internal.h"

static void
free_options(struct sandbox *sb)
{
	free(sb->snapshot);
	for (size_t i = 0; sb->env && sb->env[i]; i++)
		free(sb->env[i]);
	free(sb->env);
}

void
sandbox_set_options(struct sandbox *sb, const struct sandbox_options *options)
{
	size_t n = 0;

	while (options->env && options->env[n])
		n++;
	char **env = n > 0 ? xcalloc(n + 1, sizeof *env) : NULL;
	for (size_t i = 0; i < n; i++)
		env[i] = xstrdup(options->env[i]);
	char *snapshot = options->snapshot ? xstrdup(options->snapshot) : NULL;
	lock_acquire(&sb->lock);
	free_options(sb);
	sb->env = env;
	sb->snapshot = snapshot;
	sb->ttl_minutes = options->ttl_minutes;
	sb->stop_minutes = options->stop_minutes;
	sb->network_off = options->network_off;
	lock_release(&sb->lock);
}

struct sandbox *
sandbox_create(struct provider *p, const char *name,
    const struct sandbox_options *options)
{
	struct sandbox *sb = xcalloc(1, sizeof *sb);

	sb->provider = p;
	sb->name = xstrdup(name);
	sb->features = (struct features){ -1, -1 };
	lock_init(&sb->lock, RANK_SANDBOX);
	sandbox_set_options(sb, options);
	return sb;
}

void
sandbox_destroy(struct sandbox *sb)
{
	if (!sb)
		return;
	sandbox_free_name(sb);
	free_options(sb);
	for (unsigned i = 0; i < sb->finished_count; i++)
		free(sb->finished[i]);
	free(sb->base);
	free(sb->name);
	lock_finish(&sb->lock);
	free(sb);
}

void
sandbox_on_event(struct sandbox *sb, void (*event)(void *arg, const char *line),
    void *arg)
{
	sb->event = event;
	sb->event_arg = arg;
}

void
sandbox_event(struct sandbox *sb, const char *fmt, ...)
{
	char line[400];
	va_list ap;

	if (!sb->event)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	sb->event(sb->event_arg, line);
}

bool
sandbox_is_ours(const struct sandbox *sb, const struct wire_sandbox *s)
{
	const char *owner = sb->provider->owner;

	return s->marked && strcmp(s->store, owner ? owner : "") == 0;
}

void
sandbox_view(struct sandbox *sb, struct sandbox_view *out)
{
	lock_acquire(&sb->lock);
	*out = (struct sandbox_view){
		.ours = sandbox_is_ours(sb, &sb->known),
		.created = sb->created,
		.started = sb->started_here,
		.used_ms = atomic_load(&sb->used_ms),
	};
	snprintf(out->id, sizeof out->id, "%s", sb->known.id);
	snprintf(out->state, sizeof out->state, "%s", sb->known.state);
	snprintf(out->expires_at, sizeof out->expires_at, "%s",
	    sb->known.expires_at);
	snprintf(out->reason, sizeof out->reason, "%s", sb->known.reason);
	lock_release(&sb->lock);
}

void
sandbox_hint(struct sandbox *sb, const char *id, bool ours)
{
	const char *owner = sb->provider->owner;

	lock_acquire(&sb->lock);
	if (!sb->known.id[0]) {
		snprintf(sb->known.id, sizeof sb->known.id, "%s", id);
		sb->known.marked = ours;
		snprintf(sb->known.store, sizeof sb->known.store, "%s",
		    ours && owner ? owner : "");
	}
	lock_release(&sb->lock);
}

void
sandbox_note(struct sandbox *sb, const struct wire_sandbox *now)
{
	lock_acquire(&sb->lock);
	if (strcmp(sb->known.id, now->id) != 0) {
		sb->running = false;
		sb->created = false;
	}
	sb->known = *now;
	if (wire_move(now) != MOVE_USE)
		sb->running = false;
	sb->absent_ms = 0;
	lock_release(&sb->lock);
}

void
sandbox_note_absent(struct sandbox *sb)
{
	lock_acquire(&sb->lock);
	sb->known = (struct wire_sandbox){ .state = "absent" };
	sb->running = sb->created = sb->started_here = false;
	sb->absent_ms = clock_mono_ms();
	lock_release(&sb->lock);
}

void
sandbox_doubt(struct sandbox *sb, unsigned generation)
{
	lock_acquire(&sb->lock);
	if (sb->generation == generation)
		sb->running = false;
	lock_release(&sb->lock);
}

void
sandbox_learn(struct sandbox *sb, unsigned generation, struct features features)
{
	lock_acquire(&sb->lock);
	if (sb->generation == generation && features.find_printf >= 0)
		sb->features.find_printf = features.find_printf;
	if (sb->generation == generation && features.env_signals >= 0)
		sb->features.env_signals = features.env_signals;
	lock_release(&sb->lock);
}

int
sandbox_features(struct sandbox *sb, enum sandbox_want want,
    struct features *out, struct cancel *c, struct status *st)
{
	struct endpoint e;

	if (sandbox_endpoint(sb, want, &e, c, st) < 0)
		return -1;
	*out = e.features;
	endpoint_finish(&e);
	return 0;
}

void
endpoint_finish(struct endpoint *e)
{
	free(e->base);
	e->base = NULL;
}

void
sandbox_finished(struct sandbox *sb, char *prefix)
{
	lock_acquire(&sb->lock);
	/* Too many: swept by age at the next start. */
	bool room = sb->finished_count < REMEMBERED_IDS;
	if (room)
		sb->finished[sb->finished_count++] = prefix;
	lock_release(&sb->lock);
	if (!room)
		free(prefix);
}

void
sandbox_sweep(struct sandbox *sb, struct buf *script, const char *keep)
{
	char *names[REMEMBERED_IDS];
	unsigned n = 0, kept = 0;

	lock_acquire(&sb->lock);
	for (unsigned i = 0; i < sb->finished_count; i++) {
		if (strcmp(sb->finished[i], keep) == 0)
			sb->finished[kept++] = sb->finished[i];
		else
			names[n++] = sb->finished[i];
	}
	sb->finished_count = kept;
	lock_release(&sb->lock);
	if (n == 0)
		return;
	buf_puts(script, "rm -rf");
	for (unsigned i = 0; i < n; i++) {
		buf_printf(script, " " SANDBOX_SCRATCH "/%s.*", names[i]);
		free(names[i]);
	}
	buf_puts(script, " </dev/null >/dev/null 2>&1 &\n");
}
