/* The gate before /dev/fuse; see gate.h. */
#include "fs/gate.h"

void
gate_init(struct gate *g)
{
	*g = (struct gate){ 0 };
	lock_init(&g->lock, RANK_OP);
	cond_init(&g->left);
}

void
gate_finish(struct gate *g)
{
	cond_finish(&g->left);
	lock_finish(&g->lock);
}

bool
gate_enter(struct gate *g)
{
	lock_acquire(&g->lock);
	bool open = !g->closed;
	g->inside += open;
	lock_release(&g->lock);
	return open;
}

void
gate_leave(struct gate *g)
{
	lock_acquire(&g->lock);
	g->inside--;
	cond_broadcast(&g->left);
	lock_release(&g->lock);
}

void
gate_close(struct gate *g)
{
	wait_point();
	lock_acquire(&g->lock);
	g->closed = true;
	while (g->inside > 0)
		cond_wait(&g->left, &g->lock, 0);
	lock_release(&g->lock);
}
