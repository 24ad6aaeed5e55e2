/*
 * Sandboxes whose thread ends. A thread made anew under the name must not find
 * the old remote before that is deleted, so it waits for it here.
 */
#include "agent/base/clock.h"
#include "agent/sandbox/internal.h"

void
sandbox_doom(struct sandbox *sb)
{
	struct provider *p = sb->provider;

	lock_acquire(&sb->lock);
	bool already = sb->doomed;
	sb->doomed = true;
	lock_release(&sb->lock);
	if (already)
		return;
	lock_acquire(&p->lock);
	sb->next_doomed = p->doomed;
	p->doomed = sb;
	lock_release(&p->lock);
}

void
sandbox_free_name(struct sandbox *sb)
{
	struct provider *p = sb->provider;

	lock_acquire(&p->lock);
	struct sandbox **at = &p->doomed;
	while (*at && *at != sb)
		at = &(*at)->next_doomed;
	if (*at) {
		*at = sb->next_doomed;
		waiters_wake(&p->doomed_waiters);
	}
	lock_release(&p->lock);
}

static bool
is_taken_locked(const struct provider *p, const struct sandbox *sb)
{
	for (const struct sandbox *d = p->doomed; d; d = d->next_doomed)
		if (d != sb && strcmp(d->name, sb->name) == 0)
			return true;
	return false;
}

int
sandbox_name_wait(struct sandbox *sb, struct cancel *c, struct status *st)
{
	struct provider *p = sb->provider;
	int64_t deadline = clock_mono_ms() + READY_WAIT_MS;
	int rc = 0;

	lock_acquire(&sb->lock);
	bool doomed = sb->doomed; /* two of them would wait for each other */
	lock_release(&sb->lock);
	lock_acquire(&p->lock);
	while (rc == 0 && !doomed && is_taken_locked(p, sb))
		rc =
		    waiters_wait(&p->doomed_waiters, &p->lock, deadline, c, st);
	lock_release(&p->lock);
	return rc < 0 ? status_wrap(st, "the old %s is being deleted", sb->name)
		      : 0;
}
