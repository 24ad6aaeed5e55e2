/*
 * Having a running sandbox: find by name, create, start, wait through what
 * takes time. One worker at a time does it for a sandbox, the others wait for
 * its result and look again.
 *
 *   state       LOOK           START, CREATE
 *   started     use            use
 *   in change   UNAVAILABLE    wait
 *   stopped     UNAVAILABLE    start
 *   error       UNAVAILABLE    recover if it can be, else UNAVAILABLE
 *   absent      NOT_FOUND      NOT_FOUND; CREATE: create
 */
#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/http/url.h"
#include "agent/sandbox/internal.h"

/* A look at an absent sandbox is answered from memory for so long. */
#define ABSENT_MS 1000

struct resolve {
	struct sandbox *sb;
	enum sandbox_want want;
	struct cancel *c;
	struct wire_sandbox s;
	int64_t deadline;
	unsigned tries;
	bool creating; /* we asked for it: what turns up is our making */
	bool created, started;
};

static int
pause_for(struct resolve *r, const char *what, struct status *st)
{
	if (clock_mono_ms() > r->deadline)
		return status_set(st, STATUS_TIMEOUT, "%s is %s for too long",
		    r->sb->name, what);
	int64_t ms = MIN(backoff_ms(r->tries + 1), (int64_t)1000);
	r->tries++;
	return cancel_sleep(r->c, ms)
	    ? status_set(st, STATUS_CANCELED, "canceled")
	    : 0;
}

/* 1: it is there, 0: it is not. */
static int
look(struct resolve *r, struct status *st)
{
	struct sandbox *sb = r->sb;

	if (control_call(sb->provider, "GET", sb->name, "", NULL, &r->s, r->c,
		st) == 0) {
		if (wire_move(&r->s) == MOVE_GONE)
			return 0;
		sandbox_note(sb, &r->s);
		return 1;
	}
	return st->code == STATUS_NOT_FOUND ? 0 : -1;
}

static void
create_body(struct sandbox *sb, struct buf *body)
{
	lock_acquire(&sb->lock);
	wire_create(body,
	    &(struct wire_create){ .name = sb->name,
		.snapshot = sb->snapshot,
		.target = sb->provider->target,
		.owner = sb->provider->owner,
		.ttl_minutes = sb->ttl_minutes,
		.stop_minutes = sb->stop_minutes,
		.network_off = sb->network_off,
		.env = (const char *const *)sb->env });
	lock_release(&sb->lock);
}

static void
set_unsure(struct sandbox *sb, bool unsure)
{
	lock_acquire(&sb->lock);
	sb->unsure_created = unsure;
	lock_release(&sb->lock);
}

static bool
doomed(struct sandbox *sb)
{
	lock_acquire(&sb->lock);
	bool yes = sb->doomed;
	lock_release(&sb->lock);
	return yes;
}

/* 1: made, 0: look again. */
static int
create(struct resolve *r, struct status *st)
{
	struct sandbox *sb = r->sb;
	auto_buf body = BUF_INIT(CONTROL_MAX);

	create_body(sb, &body);
	r->creating = true;
	set_unsure(sb, true);
	if (control_call(sb->provider, "POST", NULL, "", &body, &r->s, r->c,
		st) == 0) {
		r->created = true;
		set_unsure(sb, false);
		sandbox_note(sb, &r->s);
		return 1;
	}
	set_unsure(sb,
	    st->code == STATUS_CANCELED || st->code == STATUS_TIMEOUT ||
		st->code == STATUS_UNAVAILABLE);
	/* The name was taken meanwhile, or the answer was lost. */
	if (st->code == STATUS_EXISTS || st->code == STATUS_BUSY ||
	    st->code == STATUS_TIMEOUT)
		return pause_for(r, "being created", st);
	return status_wrap(st, "create %s", sb->name);
}

/* POST start or recover; 0: look again. */
static int
kick(struct resolve *r, const char *rest, struct status *st)
{
	struct sandbox *sb = r->sb;

	if (control_call(sb->provider, "POST", r->s.id, rest, NULL, &r->s, r->c,
		st) == 0) {
		r->started = true;
		sandbox_note(sb, &r->s);
		return 0;
	}
	if (st->code == STATUS_BUSY || st->code == STATUS_EXISTS ||
	    st->code == STATUS_TIMEOUT || st->code == STATUS_NOT_FOUND)
		return pause_for(r, "changing", st);
	return status_wrap(st, "start %s", sb->name);
}

/* 1: it runs, 0: look again. */
static int
step(struct resolve *r, struct status *st)
{
	enum wire_move move = wire_move(&r->s);

	if (move == MOVE_USE)
		return 1;
	if (move == MOVE_DEAD)
		return status_set(st, STATUS_UNAVAILABLE,
		    "%s is in state %s%s%s", r->sb->name, r->s.state,
		    r->s.reason[0] ? ": " : "", r->s.reason);
	if (r->want == SANDBOX_LOOK || doomed(r->sb))
		return status_set(st, STATUS_UNAVAILABLE, "%s is %s",
		    r->sb->name, r->s.state);
	if (move == MOVE_START || move == MOVE_RECOVER) {
		if (kick(r, move == MOVE_START ? "/start" : "/recover", st) < 0)
			return -1;
		if (wire_move(&r->s) == MOVE_USE)
			return 1;
	}
	if (pause_for(r, r->s.state, st) < 0)
		return -1;
	int there = look(r, st);
	if (there == 0)
		r->s = (struct wire_sandbox){ 0 };
	return there < 0 ? -1 : 0;
}

/* Finds or makes it; r->s runs when it returns 0. */
static int
resolve(struct resolve *r, struct status *st)
{
	int there = look(r, st);

	while (true) {
		if (there < 0)
			return -1;
		if (there == 0) {
			sandbox_note_absent(r->sb);
			if (r->want != SANDBOX_CREATE || doomed(r->sb))
				return status_set(st, STATUS_NOT_FOUND,
				    "there is no sandbox %s", r->sb->name);
			there = create(r, st);
			if (there == 0)
				there = look(r, st);
			continue;
		}
		int done = step(r, st);
		if (done < 0)
			return -1;
		if (done > 0)
			return 0;
		there = r->s.id[0] != '\0';
	}
}

static void
tell(struct resolve *r)
{
	struct sandbox *sb = r->sb;
	bool ours = sandbox_is_ours(sb, &r->s);
	char ttl[24] = "none";

	r->created = r->created || (r->creating && ours);
	lock_acquire(&sb->lock);
	bool use = r->want != SANDBOX_LOOK;
	bool found = use && !r->created && !sb->found_said;
	bool foreign = use && !r->created && !ours && !sb->foreign_said;
	sb->found_said = sb->found_said || found || r->created;
	sb->foreign_said = sb->foreign_said || foreign;
	sb->created = sb->created || r->created;
	sb->started_here = sb->started_here || r->started || r->created;
	if (r->s.expires_at[0])
		snprintf(ttl, sizeof ttl, "%dmin", sb->ttl_minutes);
	lock_release(&sb->lock);

	if (r->created)
		sandbox_event(sb, "created %s (id=%s, ttl=%s)", sb->name,
		    r->s.id, ttl);
	if (found)
		sandbox_event(sb, "found %s (id=%s)", sb->name, r->s.id);
	if (r->started && !r->created)
		sandbox_event(sb, "started %s (id=%s)", sb->name, r->s.id);
	if (foreign)
		sandbox_event(sb,
		    "%s belongs to somebody else: it is used and left",
		    sb->name);
}

/* The toolbox's URL, checked: the key goes there. */
static int
publish(struct resolve *r, struct status *st)
{
	struct sandbox *sb = r->sb;
	struct provider *p = sb->provider;

	if (!r->s.toolbox[0] && control_toolbox_url(p, &r->s, r->c, st) < 0)
		return -1;
	if (!p->box && !url_may_carry_secret(r->s.toolbox, p->api_url))
		return status_set(st, STATUS_DENIED,
		    "the service names a toolbox without TLS: the key is "
		    "not sent there");
	auto_buf url = BUF_INIT(URL_MAX_BYTES);
	buf_puts(&url, r->s.toolbox);
	url_add_segment(&url, r->s.id);
	lock_acquire(&sb->lock);
	bool same = sb->base && strcmp(sb->base, url.bytes) == 0 &&
	    !r->started && !r->created;
	free(sb->base);
	sb->base = buf_take(&url);
	sb->running = true;
	sb->generation++;
	if (!same)
		sb->features = (struct features){ -1, -1 };
	lock_release(&sb->lock);
	tell(r);
	return 0;
}

static int
resolve_and_publish(struct sandbox *sb, enum sandbox_want want,
    struct cancel *c, struct status *st)
{
	struct resolve r = { .sb = sb,
		.want = want,
		.c = c,
		.deadline = clock_mono_ms() + READY_WAIT_MS };
	struct box *box = sb->provider->box;

	if (sandbox_name_wait(sb, c, st) < 0)
		return -1;
	lock_acquire(&sb->lock);
	bool known = sb->known.id[0] != '\0';
	lock_release(&sb->lock);
	/* Local sandboxes run within the server: without it none does. */
	if (want == SANDBOX_LOOK && box && known && !box_running(box)) {
		lock_acquire(&sb->lock);
		snprintf(sb->known.state, sizeof sb->known.state, "stopped");
		lock_release(&sb->lock);
		return status_set(st, STATUS_UNAVAILABLE, "%s is stopped",
		    sb->name);
	}
	if (resolve(&r, st) < 0)
		return -1;
	return publish(&r, st);
}

/* 1: *out is filled. 0: this worker has to find out. */
static int
from_memory(struct sandbox *sb, enum sandbox_want want, struct endpoint *out,
    struct cancel *c, struct status *st)
{
	int64_t deadline = clock_mono_ms() + READY_WAIT_MS;
	int rc = 0;

	lock_acquire(&sb->lock);
	while (rc == 0) {
		if (sb->running) {
			*out = (struct endpoint){ .base = xstrdup(sb->base),
				.generation = sb->generation,
				.features = sb->features };
			rc = 1;
		} else if (want == SANDBOX_LOOK && sb->absent_ms > 0 &&
		    clock_mono_ms() - sb->absent_ms < ABSENT_MS) {
			rc = status_set(st, STATUS_NOT_FOUND,
			    "there is no sandbox %s", sb->name);
		} else if (!sb->resolving) {
			sb->resolving = true;
			break;
		} else {
			rc = waiters_wait(&sb->waiters, &sb->lock, deadline, c,
			    st);
		}
	}
	lock_release(&sb->lock);
	return rc;
}

int
sandbox_endpoint(struct sandbox *sb, enum sandbox_want want,
    struct endpoint *out, struct cancel *c, struct status *st)
{
	wait_point();
	*out = (struct endpoint){ 0 };
	while (true) {
		int rc = from_memory(sb, want, out, c, st);
		if (rc != 0)
			return rc > 0 ? 0 : -1;
		rc = resolve_and_publish(sb, want, c, st);
		lock_acquire(&sb->lock);
		sb->resolving = false;
		waiters_wake(&sb->waiters);
		lock_release(&sb->lock);
		if (rc < 0)
			return -1;
	}
}

int
sandbox_ready(struct sandbox *sb, enum sandbox_want want, struct cancel *c,
    struct status *st)
{
	struct endpoint e;
	int rc = sandbox_endpoint(sb, want, &e, c, st);

	endpoint_finish(&e);
	return rc;
}
