/* `checkpoints/`: what the store knows, another program's rows too. */
#include "agent/thread/internal.h"

int
thread_checkpoints(struct thread *t, struct checkpoint **out, size_t *count,
    struct status *st)
{
	wait_point();
	threads_look(t->threads);
	return store_checkpoints(t->threads->settings.store, t->number, out,
	    count, st);
}

int
thread_checkpoint_text(struct thread *t, const char *id, struct buf *out,
    struct status *st)
{
	wait_point();
	return store_checkpoint_text(t->threads->settings.store, t->number, id,
	    out, st);
}
