/*
 * What time does to sandboxes, and what is found dead: lifecycle_step(). The
 * decision is made under the lock, the deed after it by the usual calls, which
 * look again.
 */
#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/box/lifecycle.h"

enum deed { NOTHING, COLLECT, STOP, ARCHIVE, REMOVE };

/* Notes an event at `when` if it is the next one. True when it is due. */
static bool
due(int64_t when, int64_t now, int64_t *next)
{
	if (when <= now)
		return true;
	if (*next == 0 || when < *next)
		*next = when;
	return false;
}

static enum deed
decide(const struct registry *r, struct guest *g, int64_t now, int64_t *next)
{
	const char *why;
	bool stopped = g->state == GUEST_STOPPED || g->state == GUEST_ARCHIVED;

	if (g->transition || g->state == GUEST_DESTROYED)
		return NOTHING;
	if (g->cage && cage_has_ended(g->cage, &why))
		return COLLECT;
	if (g->destroy_at_ms && due(g->destroy_at_ms, now, next))
		return REMOVE;
	if (g->state == GUEST_STARTED && g->stop_minutes > 0) {
		/* A request under way is an activity until it ends; the
		 * timer looks again soon. */
		int64_t since = g->under_way ? now : g->active_ms;
		if (due(since + registry_minutes(r, g->stop_minutes), now,
			next))
			return STOP;
	}
	if (stopped && g->delete_minutes >= 0 &&
	    due(g->stopped_ms + registry_minutes(r, g->delete_minutes), now,
		next))
		return REMOVE;
	if (g->state == GUEST_STOPPED && g->archive_minutes > 0 &&
	    g->delete_minutes != 0 &&
	    due(g->stopped_ms + registry_minutes(r, g->archive_minutes), now,
		next))
		return ARCHIVE;
	return NOTHING;
}

/* Its processes ended by themselves. */
static void
collect(struct registry *r, struct guest *g)
{
	const char *why = "";

	lock_acquire(&r->lock);
	struct cage *cage = g->transition ? NULL : g->cage;
	if (cage && cage_has_ended(cage, &why)) {
		g->cage = NULL;
		g->state = GUEST_STOPPED;
		g->stopped_ms = g->updated_ms = clock_wall_ms();
		snprintf(g->error, sizeof g->error, "%s",
		    *why ? why : "its processes ended");
	} else {
		cage = NULL;
	}
	cond_broadcast(&r->change);
	lock_release(&r->lock);
	if (!cage)
		return;
	diag_warn("sandbox %s ended: %s", g->id, *why ? why : "killed");
	cage_stop(cage, false);
	registry_save(r, g);
}

bool
lifecycle_step(struct registry *r, int64_t *next_ms)
{
	enum deed deed = NOTHING;
	struct guest *g;
	struct status st;
	int64_t now = clock_wall_ms();

	*next_ms = 0;
	lock_acquire(&r->lock);
	for (g = r->first; g; g = g->next) {
		deed = decide(r, g, now, next_ms);
		if (deed != NOTHING) {
			g->refs++;
			break;
		}
	}
	lock_release(&r->lock);
	int result = 0;
	switch (deed) {
	case NOTHING:
		return false;
	case COLLECT:
		collect(r, g);
		break;
	case STOP:
		result = lifecycle_stop(r, g, true, &st);
		break;
	case ARCHIVE:
		result = lifecycle_archive(r, g, &st);
		break;
	case REMOVE:
		result = lifecycle_remove(r, g, &st);
		break;
	}
	if (result < 0)
		diag_warn("sandbox %s: %s", g->id, st.text);
	registry_put(r, g);
	return true;
}
