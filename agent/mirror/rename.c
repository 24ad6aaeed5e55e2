/* Renames: over, no-replace, exchange; in memory at once, then in the queue. */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1U << 0)
#define RENAME_EXCHANGE  (1U << 1)
#endif

static bool
inside(const struct node *n, const struct node *top)
{
	while (n != top && n->number != MIRROR_ROOT && n->names)
		n = n->names->dir;
	return n == top;
}

/* A file that the sandbox never heard of just gets another name. */
static bool
unheard(const struct node *n, const struct slot *src, const struct slot *dst)
{
	const struct qop *op = n->last_op;

	if (dst->node || dst->pending > 0 || n->known || !S_ISREG(n->mode))
		return false;
	if (n->pending == 0)
		return n->changed;
	return op && op->kind == PUSH_PUT && op->creates && !op->unsure &&
	    op->state != OP_SENT && n->pending == 1 && op->slot == src;
}

static void
move_locked(struct mirror *m, struct slot *src, struct slot *dst)
{
	struct node *n = src->node;

	if (dst->node)
		name_gone_locked(m, dst);
	slot_attach_locked(m, dst, n);
	slot_detach_locked(m, src);
	node_touch(n, false);
	node_touch(src->dir, true);
	node_touch(dst->dir, true);
}

static void
rename_locked(struct mirror *m, struct slot *src, struct slot *dst,
    bool noreplace)
{
	struct node *n = src->node, *over = dst->node;

	if (unheard(n, src, dst)) {
		if (n->last_op) {
			unsigned failures = n->last_op->failures;
			op_end_locked(m, n->last_op);
			node_set_changed_locked(m, n, true);
			move_locked(m, src, dst);
			queue_put_locked(m, n);
			/* Its failure was told: once. */
			n->last_op->failures = failures;
		} else {
			move_locked(m, src, dst);
		}
		return;
	}
	queue_put_locked(m, n);
	if (over && !node_is_dir(over))
		(void)queue_unput_locked(m, over, dst);
	op_queue_locked(m, noreplace ? PUSH_RENAME_NOREPLACE : PUSH_RENAME, n,
	    over, src, dst);
	move_locked(m, src, dst);
}

static void
exchange_locked(struct mirror *m, struct slot *a, struct slot *b)
{
	struct node *na = a->node, *nb = b->node;

	queue_put_locked(m, na);
	queue_put_locked(m, nb);
	op_queue_locked(m, PUSH_EXCHANGE, na, nb, a, b);
	slot_detach_locked(m, a);
	slot_detach_locked(m, b);
	slot_attach_locked(m, a, nb);
	slot_attach_locked(m, b, na);
	node_touch(na, false);
	node_touch(nb, false);
	node_touch(a->dir, true);
	node_touch(b->dir, true);
}

/* May src go where `over` is? */
static bool
refused(struct mirror_call *call, const struct node *n, const struct node *over)
{
	if (over && (call->flags & RENAME_NOREPLACE))
		return call_fail(call, STATUS_EXISTS, "it exists");
	if (!over && (call->flags & RENAME_EXCHANGE))
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	if (!over || (call->flags & RENAME_EXCHANGE))
		return false;
	if (node_is_dir(over) && !node_is_dir(n))
		return call_fail(call, STATUS_IS_DIR, "a directory");
	if (!node_is_dir(over) && node_is_dir(n))
		return call_fail(call, STATUS_NOT_DIR, "not a directory");
	if (node_is_dir(over) && over->dir->count > 0)
		return call_fail(call, STATUS_NOT_EMPTY, "not empty");
	return false;
}

static enum look
look_both(struct mirror_call *call, struct node *dir, struct node *dir2,
    struct slot **src, struct slot **dst)
{
	struct mirror *m = call->mirror;
	enum look look = name_look_locked(m, dir, call->name, call, src);

	if (look == LOOK_NOW)
		look = name_look_locked(m, dir2, call->name2, call, dst);
	if (look == LOOK_NOW && *src && *dst && node_is_dir((*src)->node) &&
	    node_is_dir((*dst)->node) && !(call->flags & RENAME_EXCHANGE))
		look = refresh_locked(m, (*dst)->node, call);
	return look;
}

static bool
step_rename(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *dir = call_dir(call), *dir2 = node_find(m, call->node2);
	struct slot *src, *dst;

	if (!dir)
		return true;
	if (!dir2 || !node_is_dir(dir2) || node_gone(dir2))
		return call_fail(call, STATUS_NOT_FOUND, "no such directory");
	enum look look = look_both(call, dir, dir2, &src, &dst);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!src || !src->node)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	struct node *n = src->node, *over = dst ? dst->node : NULL;
	if (n == over)
		return call->flags & RENAME_NOREPLACE
		    ? call_fail(call, STATUS_EXISTS, "it exists")
		    : true;
	if ((node_is_dir(n) && inside(dir2, n)) ||
	    (call->flags & RENAME_EXCHANGE && over && inside(dir, over)))
		return call_fail(call, STATUS_INVALID, "into itself");
	if (refused(call, n, over))
		return true;
	dst = name_new_locked(m, dir2, call->name2, call);
	if (!dst)
		return true;
	if (call->flags & RENAME_EXCHANGE)
		exchange_locked(m, src, dst);
	else
		rename_locked(m, src, dst, call->flags & RENAME_NOREPLACE);
	return true;
}

static void
names_free(struct mirror_call *call)
{
	free(call->name);
	free(call->name2);
	call->name = call->name2 = NULL;
}

void
mirror_rename(struct mirror *m, uint32_t parent, const char *name,
    uint32_t parent2, const char *name2, unsigned flags,
    struct mirror_call *call)
{
	call_reset(m, call);
	call->node = parent;
	call->node2 = parent2;
	call->name = xstrdup(name);
	call->name2 = xstrdup(name2);
	call->flags = (int)flags;
	call->finish = names_free;
	call_start(call, LOOKUP_WAIT_MS, step_rename);
}
