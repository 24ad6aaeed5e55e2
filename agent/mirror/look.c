/*
 * A closer look before a batch is sent, where we do not know exactly what is
 * there: files whose ctime moved with our own changes, and operations of an
 * earlier run, which may have arrived although nobody heard of it.
 */
#include "agent/mirror/internal.h"

#define LOOKS_MAX 32 /* listings before one batch */

static bool
moves(const struct qop *op)
{
	return op->kind == PUSH_RENAME || op->kind == PUSH_RENAME_NOREPLACE ||
	    op->kind == PUSH_EXCHANGE;
}

static bool
needs_look(const struct qop *op, const struct push_op *p)
{
	if (op->kind == PUSH_PUT)
		return !p->force &&
		    ((p->have_base && op->node->loose) || op->unsure);
	return op->unsure && moves(op) && op->have_base && op->base.ino != 0;
}

/* The sandbox may keep whole seconds only. */
static bool
same_time(const struct timespec *there, const struct timespec *ours)
{
	return there->tv_sec == ours->tv_sec &&
	    (there->tv_nsec == ours->tv_nsec || there->tv_nsec == 0);
}

static void
compare_put_locked(struct mirror *m, struct qop *op, struct push_op *p,
    const struct remote_entry *e)
{
	struct node *n = op->node;

	if (p->have_base &&
	    (p->base.ino == 0 || p->base.ino == e->version.ino) &&
	    e->version.size == p->base.size &&
	    same_time(&e->version.mtime, &p->base.mtime)) {
		node_set_remote_locked(m, n, &e->version, e->nlink);
		p->base = e->version;
	}
	/* What an earlier attempt left, whose answer was lost. */
	if (op->unsure && e->version.size == p->size &&
	    same_time(&e->version.mtime, &p->mtime)) {
		p->have_base = true;
		p->base = e->version;
	}
}

static void
compare_locked(struct mirror *m, struct batch *b, const struct remote_entry *e)
{
	for (size_t i = 0; i < b->count; i++) {
		struct qop *op = b->ops[i];
		if (!needs_look(op, &b->push[i]))
			continue;
		if (op->kind == PUSH_PUT && strcmp(e->path, op->path) == 0)
			compare_put_locked(m, op, &b->push[i], e);
		if (moves(op) && strcmp(e->path, op->path) == 0)
			op->at_path = e->version.ino;
		if (moves(op) && strcmp(e->path, op->path2) == 0)
			op->at_path2 = e->version.ino;
	}
}

/* Operations that moved one inode, in order: it lies where one of them put it,
 * so that one and those before have arrived. Where it lies at its first place
 * again, they have if nothing lies at their first target. */
static void
judge_moves_locked(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		struct qop *op = b->ops[i], *first = NULL;
		if (!moves(op) || !needs_look(op, &b->push[i]))
			continue;
		bool there = false;
		for (size_t k = 0; k < b->count; k++) {
			struct qop *o = b->ops[k];
			if (!moves(o) || !needs_look(o, &b->push[k]) ||
			    o->base.ino != op->base.ino)
				continue;
			first = first ? first : o;
			there |= k >= i && o->at_path2 == op->base.ino;
		}
		bool round = first->at_path == op->base.ino;
		op->arrived = there && (!round || first->at_path2 == 0);
	}
}

static void
look_at(struct mirror *m, struct batch *b, const char *dir)
{
	struct listing l = { 0 };
	struct status st;

	if (sandbox_list(m->sandbox, SANDBOX_CREATE, dir, false, &l,
		m->push_cancel, &st))
		return;
	mirror_lock(m);
	for (size_t i = 0; i < l.count; i++)
		compare_locked(m, b, &l.entries[i]);
	mirror_unlock(m);
	listing_finish(&l);
}

static size_t
directories_locked(const struct batch *b, char *dirs[LOOKS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < b->count && count < LOOKS_MAX; i++) {
		const struct qop *op = b->ops[i];
		size_t k = 0;
		if (!needs_look(op, &b->push[i]))
			continue;
		const char *path = moves(op) ? op->path2 : op->path;
		const char *slash = strrchr(path, '/');
		char *dir = xstrndup(path, slash ? (size_t)(slash - path) : 0);
		while (k < count && strcmp(dirs[k], dir) != 0)
			k++;
		if (k < count)
			free(dir);
		else
			dirs[count++] = dir;
	}
	return count;
}

void
batch_look(struct mirror *m, struct batch *b)
{
	char *dirs[LOOKS_MAX];

	mirror_lock(m);
	size_t count = directories_locked(b, dirs);
	mirror_unlock(m);
	for (size_t i = 0; i < count; i++) {
		look_at(m, b, dirs[i]);
		free(dirs[i]);
	}
	mirror_lock(m);
	for (size_t i = 0; i < b->count; i++) {
		struct push_op *p = &b->push[i];
		/* Ours, but not known to the nanosecond: no clash to see. */
		if (p->kind == PUSH_PUT && p->have_base &&
		    b->ops[i]->node->loose)
			p->force = true;
	}
	judge_moves_locked(b);
	batch_arrived_locked(m, b);
	mirror_unlock(m);
}
