/* Making and renaming threads. Both run on the disk lane, one at a time. */
#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "agent/thread/internal.h"

int
thread_make(struct threads *ts, const char *name, int64_t *number,
    struct status *st)
{
	struct stored_thread s = { .config = (char *)"",
		.line = (char *)"",
		.last_prompt = (char *)"",
		.created_ms = clock_wall_ms() };
	bool missing;

	wait_point();
	if (!thread_name_valid(name))
		return status_set(st, STATUS_INVALID,
		    "\"%s\" cannot be the name of a thread", name);
	if (atomic_load(&ts->stopping))
		return status_set(st, STATUS_UNAVAILABLE,
		    "the mount is ending");
	if (store_thread_make(ts->settings.store, name, &s.number, st) < 0)
		return -1;
	snprintf(s.name, sizeof s.name, "%s", name);
	struct thread *t = thread_create(ts, &s, &missing);
	lock_acquire(&t->lock);
	t->messages.size = 0;
	lock_release(&t->lock);
	if (!registry_add(ts, t))
		thread_put(t);
	*number = s.number;
	thread_notify(t);
	return 0;
}

/* Nothing of it has its name for an identity yet. */
static bool
is_unused(struct thread *t)
{
	struct sandbox_view sandbox;
	struct mirror_view files;

	lock_acquire(&t->lock);
	bool unused = t->turns == 0 && !phase_is_busy(t->phase) &&
	    !t->sandbox_id[0] && !t->was_started;
	lock_release(&t->lock);
	(void)workspace_view(t, &sandbox, &files);
	bool there = sandbox.id[0] && strcmp(sandbox.state, "absent") != 0;
	return unused && !there && files.queued == 0;
}

int
thread_rename(struct threads *ts, struct thread *t, const char *name,
    struct status *st)
{
	wait_point();
	if (!thread_name_valid(name))
		return status_set(st, STATUS_INVALID,
		    "\"%s\" cannot be the name of a thread", name);
	if (atomic_load(&t->ended))
		return status_set(st, STATUS_NOT_FOUND, "it was removed");
	if (!is_unused(t))
		return status_set(st, STATUS_DENIED,
		    "%s has a conversation or a sandbox: its name is its "
		    "identity",
		    t->name);
	if (store_thread_rename(ts->settings.store, t->number, name, st) < 0)
		return -1;
	registry_rename(ts, t, name);
	workspace_renew(t);
	thread_notify(t);
	return 0;
}
