/*
 * Another program may add to a conversation while a turn of ours runs. The
 * store goes on from our own rows then, so both end on branches of their own;
 * the log says so.
 */
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* Do two rows behind `since` stand on the same one? Oldest first. */
static bool
forks(const struct checkpoint *list, size_t count, const char *since)
{
	size_t first = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].id, since) == 0)
			first = i + 1;
	for (size_t i = first; i < count; i++)
		for (size_t k = i + 1; k < count; k++)
			if (strcmp(list[i].parent, list[k].parent) == 0)
				return true;
	return false;
}

void
branch_begin(struct thread *t, struct branch *b)
{
	b->foreign = atomic_load(&t->threads->foreign);
	lock_acquire(&t->lock);
	memcpy(b->since, t->checkpoint.id, sizeof b->since);
	lock_release(&t->lock);
}

void
branch_end(struct thread *t, const struct branch *b)
{
	struct checkpoint *list;
	struct status st;
	size_t count;

	threads_look(t->threads);
	if (atomic_load(&t->threads->foreign) == b->foreign || !b->since[0])
		return;
	if (store_checkpoints(t->threads->settings.store, t->number, &list,
		&count, &st) < 0) {
		diag_err("thread %lld: %s", (long long)t->number, st.text);
		return;
	}
	if (forks(list, count, b->since))
		thread_log(t, "turn",
		    "another program added to this conversation meanwhile: "
		    "this turn is a branch of its own, see checkpoints/");
	free(list);
}
