/* Stopping, deleting, keeping alive; see sandbox.h. */
#include "agent/base/clock.h"
#include "agent/sandbox/internal.h"

#define CHANGE_WAIT_MS 60000
#define RENEW_MS       60000
#define APPEAR_MS      3000

/* The record by name into *s; 1 there, 0 absent. */
static int
find(struct sandbox *sb, struct wire_sandbox *s, struct cancel *c,
    struct status *st)
{
	if (control_call(sb->provider, "GET", sb->name, "", NULL, s, c, st) ==
	    0) {
		if (wire_move(s) == MOVE_GONE) {
			sandbox_note_absent(sb);
			return 0;
		}
		sandbox_note(sb, s);
		return 1;
	}
	if (st->code != STATUS_NOT_FOUND)
		return -1;
	sandbox_note_absent(sb);
	return 0;
}

static bool
is_down(const struct wire_sandbox *s)
{
	return wire_move(s) == MOVE_START || wire_move(s) == MOVE_DEAD ||
	    strcmp(s->state, "stopping") == 0 ||
	    strcmp(s->state, "archiving") == 0 ||
	    strcmp(s->state, "pausing") == 0;
}

int
sandbox_stop(struct sandbox *sb, struct cancel *c, struct status *st)
{
	struct provider *p = sb->provider;
	int64_t deadline = clock_mono_ms() + CHANGE_WAIT_MS;
	struct wire_sandbox s;

	wait_point();
	if (p->box && !box_running(p->box))
		return 0;
	for (unsigned n = 0;; n++) {
		int there = find(sb, &s, c, st);
		if (there < 0)
			return status_wrap(st, "stop %s", sb->name);
		if (there == 0 || is_down(&s))
			return 0;
		/* What is still coming up must first be up. */
		if (wire_move(&s) == MOVE_USE &&
		    control_call(p, "POST", s.id, "/stop?force=false", NULL, &s,
			c, st) == 0)
			break;
		if (clock_mono_ms() > deadline)
			return status_set(st, STATUS_TIMEOUT,
			    "stop %s: it is %s for too long", sb->name,
			    s.state);
		if (cancel_sleep(c, MIN(backoff_ms(n + 1), (int64_t)1000)))
			return status_set(st, STATUS_CANCELED, "canceled");
	}
	if (wire_move(&s) == MOVE_USE)
		snprintf(s.state, sizeof s.state, "stopping");
	sandbox_note(sb, &s);
	lock_acquire(&sb->lock);
	sb->started_here = false;
	lock_release(&sb->lock);
	sandbox_event(sb, "stopped %s", sb->name);
	return 0;
}

/* Lets a worker that finds or makes it come to its end. *until: how long one
 * that was asked for may still turn up. */
static int
let_settle(struct sandbox *sb, int64_t deadline, int64_t *until,
    struct cancel *c, struct status *st)
{
	int rc = 0;

	lock_acquire(&sb->lock);
	while (rc == 0 && sb->resolving)
		rc = waiters_wait(&sb->waiters, &sb->lock, deadline, c, st);
	*until = sb->unsure_created ? clock_mono_ms() + APPEAR_MS : 0;
	lock_release(&sb->lock);
	return rc;
}

int
sandbox_delete(struct sandbox *sb, struct cancel *c, struct status *st)
{
	int64_t deadline = clock_mono_ms() + CHANGE_WAIT_MS, until;
	struct wire_sandbox s;

	wait_point();
	if (let_settle(sb, deadline, &until, c, st) < 0)
		return status_wrap(st, "delete %s", sb->name);
	for (unsigned n = 0;; n++) {
		int there = find(sb, &s, c, st);
		if (there < 0)
			return status_wrap(st, "delete %s", sb->name);
		if (there == 0 && clock_mono_ms() < until) {
			if (cancel_sleep(c, backoff_ms(n + 1)))
				return status_set(st, STATUS_CANCELED,
				    "canceled");
			continue;
		}
		if (there == 0)
			return 0;
		if (!sandbox_is_ours(sb, &s))
			return status_set(st, STATUS_DENIED,
			    "%s belongs to somebody else: it is left",
			    sb->name);
		if (control_call(sb->provider, "DELETE", s.id, "", NULL, NULL,
			c, st) == 0)
			break;
		/* Right after another change it refuses (409). */
		bool later = st->code == STATUS_EXISTS ||
		    st->code == STATUS_BUSY || st->code == STATUS_NOT_FOUND;
		if (!later || clock_mono_ms() > deadline)
			return status_wrap(st, "delete %s", sb->name);
		if (cancel_sleep(c, MIN(backoff_ms(n + 1), (int64_t)1000)))
			return status_set(st, STATUS_CANCELED, "canceled");
	}
	sandbox_note_absent(sb);
	sandbox_event(sb, "deleted %s", sb->name);
	return 0;
}

int
sandbox_touch(struct sandbox *sb, struct cancel *c, struct status *st)
{
	struct provider *p = sb->provider;
	struct wire_sandbox s;
	char rest[32];

	wait_point();
	lock_acquire(&sb->lock);
	int64_t now = clock_mono_ms();
	bool due = sb->running && sandbox_is_ours(sb, &sb->known) &&
	    (sb->renewed_ms == 0 || now - sb->renewed_ms >= RENEW_MS);
	int ttl = sb->ttl_minutes;
	bool expires = sb->known.expires_at[0] != '\0';
	char id[sizeof sb->known.id];
	memcpy(id, sb->known.id, sizeof id);
	if (due)
		sb->renewed_ms = now;
	lock_release(&sb->lock);
	if (!due)
		return 0;
	/* 0 takes away what an earlier setting gave. */
	if (ttl > 0 || expires) {
		snprintf(rest, sizeof rest, "/ttl/%d", ttl);
		if (control_call(p, "POST", id, rest, NULL, &s, c, st) == 0)
			sandbox_note(sb, &s);
		else if (st->code != STATUS_NOT_FOUND)
			return status_wrap(st, "time to live of %s", sb->name);
	}
	if (control_call(p, "POST", id, "/last-activity", NULL, NULL, c, st) <
		0 &&
	    st->code != STATUS_NOT_FOUND)
		return status_wrap(st, "activity of %s", sb->name);
	return 0;
}
