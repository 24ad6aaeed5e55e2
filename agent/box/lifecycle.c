/* See lifecycle.h. */
#include "agent/box/lifecycle.h"

#include "agent/base/clock.h"
#include "agent/box/execute.h"

#define PATIENCE_MS 30000
#define INSIDE_PATH                                                   \
	"PATH=/opt/venv/bin:/home/daytona/.local/bin:/usr/local/bin:" \
	"/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"

/* Waits for the end of another change, then marks this one. */
static int
begin_locked(struct registry *r, struct guest *g, const char *transition,
    struct status *st)
{
	int64_t deadline = clock_mono_ms() + PATIENCE_MS;
	bool in_time = true;

	lock_assert_held(&r->lock);
	while (g->transition && in_time)
		in_time = cond_wait(&r->change, &r->lock, deadline);
	if (g->transition)
		return status_set(st, STATUS_BUSY,
		    "Sandbox state change in progress");
	if (g->state == GUEST_DESTROYED || r->stopping)
		return status_set(st, STATUS_NOT_FOUND,
		    "Sandbox with ID or name %s not found", g->id);
	g->transition = transition;
	return 0;
}

static void
end_locked(struct registry *r, struct guest *g, enum guest_state state)
{
	lock_assert_held(&r->lock);
	g->transition = NULL;
	g->state = state;
	g->updated_ms = clock_wall_ms();
	cond_broadcast(&r->change);
}

static void
on_cage_end(void *arg)
{
	registry_wake(arg);
}

/* Gives the environment of a sandbox; strings and array are the caller's. */
static char **
make_env(const struct registry *r, const struct guest *g)
{
	const struct hostenv *h = r->settings.hostenv;
	size_t n = 0, most = h->var_count + 4;

	for (const cJSON *e = g->env->child; e; e = e->next)
		most++;
	char **env = xcalloc(most, sizeof *env);
	env[n++] = xstrdup("HOME=/home/daytona");
	env[n++] = xstrdup(INSIDE_PATH);
	env[n++] = xstrdup("VIRTUAL_ENV=/opt/venv");
	for (size_t i = 0; i < h->var_count; i++)
		env[n++] = xstrdup(h->vars[i]);
	size_t own = n;
	for (const cJSON *e = g->env->child; e; e = e->next)
		if (*e->string && !strchr(e->string, '='))
			env[n++] =
			    xasprintf("%s=%s", e->string, e->valuestring);
	/* The sandbox's own win over ours. */
	char **all = xcalloc(own + 1, sizeof *all);
	memcpy(all, env, own * sizeof *all);
	char **merged = execute_env(all, env + own, n - own);
	for (size_t i = 0; merged[i]; i++)
		merged[i] = xstrdup(merged[i]);
	for (size_t i = 0; i < n; i++)
		free(env[i]);
	free(env);
	free(all);
	return merged;
}

static struct cage *
start_cage(struct registry *r, struct guest *g, struct status *st)
{
	char **env = make_env(r, g);
	const struct cage_request request = { .id = g->id,
		.env = env,
		.network = !g->network_off,
		.ended = on_cage_end,
		.arg = r };
	struct cage *cage = cage_start(&r->settings, &request, st);

	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
	return cage;
}

/* Ends its processes; the transition is ours. */
static void
stop_cage(struct registry *r, struct guest *g, bool gentle)
{
	lock_acquire(&r->lock);
	struct cage *cage = g->cage;
	g->cage = NULL;
	lock_release(&r->lock);
	cage_stop(cage, gentle);
}

int
lifecycle_start(struct registry *r, struct guest *g, struct status *st)
{
	wait_point();
	lock_acquire(&r->lock);
	int result = begin_locked(r, g,
	    g->state == GUEST_CREATING ? "creating" : "starting", st);
	const char *why;
	if (result == 0 && g->cage && !cage_has_ended(g->cage, &why)) {
		end_locked(r, g, GUEST_STARTED);
		lock_release(&r->lock);
		return 0;
	}
	lock_release(&r->lock);
	if (result < 0)
		return -1;
	stop_cage(r, g, false);
	struct cage *cage = start_cage(r, g, st);
	lock_acquire(&r->lock);
	g->cage = cage;
	g->active_ms = clock_wall_ms();
	g->error[0] = '\0';
	if (!cage) {
		snprintf(g->error, sizeof g->error, "%.190s", st->text);
		g->stopped_ms = g->active_ms;
	}
	end_locked(r, g, cage ? GUEST_STARTED : GUEST_STOPPED);
	lock_release(&r->lock);
	registry_save(r, g);
	return cage ? 0 : -1;
}

static void
remove_stopped(struct registry *r, struct guest *g)
{
	lock_acquire(&r->lock);
	end_locked(r, g, GUEST_DESTROYED);
	lock_release(&r->lock);
	registry_remove(r, g);
}

int
lifecycle_stop(struct registry *r, struct guest *g, bool gentle,
    struct status *st)
{
	wait_point();
	lock_acquire(&r->lock);
	int result = begin_locked(r, g, "stopping", st);
	if (result == 0 && g->state != GUEST_STARTED) {
		end_locked(r, g, g->state);
		result = status_set(st, STATUS_INVALID,
		    "Sandbox is not in a stoppable state");
	}
	bool ephemeral = g->delete_minutes == 0;
	lock_release(&r->lock);
	if (result < 0)
		return -1;
	stop_cage(r, g, gentle);
	if (ephemeral) {
		remove_stopped(r, g);
		return 0;
	}
	lock_acquire(&r->lock);
	g->stopped_ms = clock_wall_ms();
	g->error[0] = '\0';
	end_locked(r, g, GUEST_STOPPED);
	lock_release(&r->lock);
	registry_save(r, g);
	return 0;
}

int
lifecycle_archive(struct registry *r, struct guest *g, struct status *st)
{
	wait_point();
	lock_acquire(&r->lock);
	int result = begin_locked(r, g, "archiving", st);
	if (result == 0) {
		bool stopped =
		    g->state == GUEST_STOPPED || g->state == GUEST_ARCHIVED;
		if (!stopped || g->delete_minutes == 0)
			result = status_set(st, STATUS_INVALID,
			    "Sandbox is not stopped");
		end_locked(r, g, result == 0 ? GUEST_ARCHIVED : g->state);
	}
	lock_release(&r->lock);
	if (result == 0)
		registry_save(r, g);
	return result;
}

int
lifecycle_remove(struct registry *r, struct guest *g, struct status *st)
{
	wait_point();
	lock_acquire(&r->lock);
	int result = begin_locked(r, g, "destroying", st);
	lock_release(&r->lock);
	if (result < 0)
		return -1;
	stop_cage(r, g, false);
	remove_stopped(r, g);
	return 0;
}

int
lifecycle_enter(struct registry *r, struct guest *g, bool counts,
    char socket[64], struct status *st)
{
	lock_acquire(&r->lock);
	bool runs = g->cage && g->state == GUEST_STARTED;
	if (runs) {
		snprintf(socket, 64, "%s", cage_socket(g->cage));
		if (counts) {
			g->under_way++;
			g->active_ms = clock_wall_ms();
		}
	}
	lock_release(&r->lock);
	return runs ? 0
		    : status_set(st, STATUS_UNAVAILABLE,
			  "no IP address found. Is the Sandbox started?");
}

void
lifecycle_leave(struct registry *r, struct guest *g, bool counts)
{
	if (!counts)
		return;
	lock_acquire(&r->lock);
	g->under_way--;
	g->active_ms = clock_wall_ms();
	lock_release(&r->lock);
}

void
lifecycle_touch(struct registry *r, struct guest *g)
{
	lock_acquire(&r->lock);
	g->active_ms = clock_wall_ms();
	lock_release(&r->lock);
	registry_save(r, g);
}
