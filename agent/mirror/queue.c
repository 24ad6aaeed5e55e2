/*
 * The queue: operations in the order in which they were made here, each on its
 * way to the sandbox. What can be joined is joined without bending the order:
 * a PUT takes up newer content while nothing after it touches the file, a file
 * that comes and goes before it was sent was never there. All under
 * mirror.lock.
 */
#include "agent/mirror/internal.h"

static char *
path_of(const struct slot *s)
{
	char buf[PATH_BYTES_MAX + 1];
	const char *path = slot_path(s, buf);

	/* Length was checked when the name was made. A directory that went
	 * with its names still ends somewhere: the sandbox says NOT_FOUND. */
	return xstrdup(path ? path : s->name);
}

static void
touch_node(struct qop *op, struct node *n)
{
	n->pins++;
	n->pending++;
	n->last_op = op;
}

void
op_append_locked(struct mirror *m, struct qop *op)
{
	lock_assert_held(&m->lock);
	op->seq = ++m->seq;
	op->next = NULL;
	op->back = m->queue_last;
	*m->queue_last = op;
	m->queue_last = &op->next;
	m->queued++;
	if (op->node)
		touch_node(op, op->node);
	if (op->other)
		touch_node(op, op->other);
	if (op->slot)
		slot_pend(op->slot);
	if (op->slot2)
		slot_pend(op->slot2);
}

struct qop *
op_queue_locked(struct mirror *m, enum push_kind kind, struct node *n,
    struct node *other, struct slot *slot, struct slot *slot2)
{
	struct qop *op = xcalloc(1, sizeof *op);

	op->kind = kind;
	op->node = n;
	op->other = other;
	op->slot = slot;
	op->slot2 = slot2;
	op->path = path_of(slot);
	if (slot2)
		op->path2 = path_of(slot2);
	if (n) {
		op->mode = n->mode;
		op->atime = n->atime;
		op->mtime = n->mtime;
		op->have_base = n->known;
		op->base = n->remote;
		op->nlink = n->nlink;
	}
	op_append_locked(m, op);
	commit_kick_locked(m);
	push_soon_locked(m);
	return op;
}

static void
untouch_node(struct mirror *m, const struct qop *op, struct node *n)
{
	n->pins--;
	n->pending--;
	n->done_seq = ++m->seq;
	if (n->last_op == op)
		n->last_op = NULL;
	node_check_alive_locked(m, n);
}

void
op_free_locked(struct mirror *m, struct qop *op)
{
	if (op->content)
		content_put_locked(op->content);
	lock_assert_held(&m->lock);
	free(op->path);
	free(op->path2);
	free(op);
}

/* What stood behind a failed one may go now. */
static void
unblock_locked(struct mirror *m)
{
	for (struct qop *op = m->queue; op; op = op->next)
		op->blocked = false;
	push_soon_locked(m);
}

void
op_end_locked(struct mirror *m, struct qop *op)
{
	bool failed = op->failures > 0;

	lock_assert_held(&m->lock);
	*op->back = op->next;
	if (op->next)
		op->next->back = op->back;
	else
		m->queue_last = op->back;
	m->queued--;
	if (op->slot)
		slot_settle_locked(m, op->slot);
	if (op->slot2)
		slot_settle_locked(m, op->slot2);
	if (op->node)
		untouch_node(m, op, op->node);
	if (op->other)
		untouch_node(m, op, op->other);
	op->node = op->other = NULL;
	op->slot = op->slot2 = NULL;
	if (op->row)
		commit_remove_row_locked(m, op->row);
	op->finished = true;
	if (!op->committing)
		op_free_locked(m, op);
	if (failed)
		unblock_locked(m);
}

void
node_set_changed_locked(struct mirror *m, struct node *n, bool changed)
{
	if (n->changed != changed)
		m->changed += changed ? 1U : -1U;
	n->changed = changed;
}

/* May new content go out with this PUT? */
static bool
put_joins(const struct qop *op, const struct content *c)
{
	return op && op->kind == PUSH_PUT && op->state != OP_SENT &&
	    (op->content == c || (op->row == 0 && !op->committing));
}

void
queue_put_locked(struct mirror *m, struct node *n)
{
	struct qop *op = n->last_op;

	if (!n->changed || !n->names)
		return;
	n->content->want_sync = true;
	content_stamp(n);
	if (put_joins(op, n->content)) {
		content_get(n->content);
		content_put_locked(op->content);
		op->content = n->content;
		if (op->state == OP_FAILED) {
			op->state = OP_QUEUED;
			unblock_locked(m);
		}
		node_set_changed_locked(m, n, false);
		commit_kick_locked(m);
		push_soon_locked(m);
		return;
	}
	bool creates = !n->known && n->pending == 0;
	op = op_queue_locked(m, PUSH_PUT, n, NULL, n->names, NULL);
	op->creates = creates;
	op->content = content_get(n->content);
	node_set_changed_locked(m, n, false);
}

void
queue_dirty_locked(struct mirror *m)
{
	if (m->changed == 0)
		return;
	for (size_t i = 0; i < m->node_size; i++)
		for (struct node *n = m->node_heads[i]; n; n = n->hash_next)
			queue_put_locked(m, n);
}

/* An operation that makes the node and whose row is not written yet takes
 * attributes along. */
static bool
takes_attributes(const struct qop *op)
{
	return op && op->state != OP_SENT && op->row == 0 && !op->committing &&
	    ((op->kind == PUSH_PUT && op->creates) || op->kind == PUSH_MKDIR);
}

void
queue_chmod_locked(struct mirror *m, struct node *n)
{
	struct qop *op = n->last_op;

	if (!n->names && n->number != MIRROR_ROOT)
		return;
	/* A new file that is not queued yet takes its mode along. */
	if (n->changed && !n->known && n->pending == 0)
		return;
	if (takes_attributes(op)) {
		op->mode = n->mode;
		return;
	}
	if (n->names)
		op_queue_locked(m, PUSH_CHMOD, n, NULL, n->names, NULL);
}

void
queue_utimens_locked(struct mirror *m, struct node *n)
{
	struct qop *op = n->last_op;

	if (!n->names)
		return;
	/* A PUT takes the times of the node when it goes out. */
	if (n->changed ||
	    (op && op->state != OP_SENT &&
		(op->kind == PUSH_UTIMENS ||
		    (op->kind == PUSH_PUT && op->content == n->content))))
		return;
	op_queue_locked(m, PUSH_UTIMENS, n, NULL, n->names, NULL);
}

bool
queue_unput_locked(struct mirror *m, struct node *n, const struct slot *slot)
{
	struct qop *op = n->last_op;

	if (n->names && (n->names != slot || n->names->next_name))
		return false;
	node_set_changed_locked(m, n, false);
	if (!n->known && n->pending == 0)
		return true;
	if (!op || op->kind != PUSH_PUT || op->state == OP_SENT)
		return false;
	bool unheard =
	    op->creates && !op->unsure && n->pending == 1 && op->slot == slot;
	op_end_locked(m, op);
	return unheard;
}

void
queue_clear_locked(struct mirror *m)
{
	for (struct qop *op = m->queue, *next; op; op = next) {
		next = op->next;
		if (op->state != OP_SENT)
			op_end_locked(m, op);
	}
}

bool
queue_busy_locked(const struct mirror *m, uint64_t seq)
{
	for (const struct qop *op = m->queue; op && op->seq <= seq;
	     op = op->next)
		if (op->state == OP_SENT ||
		    (op->state == OP_QUEUED && !op->blocked))
			return true;
	return false;
}

void
mirror_view(struct mirror *m, struct mirror_view *out)
{
	*out = (struct mirror_view){ 0 };
	mirror_lock(m);
	out->queued = m->queued;
	for (const struct qop *op = m->queue; op; op = op->next) {
		if (op->failures == 0)
			continue;
		if (out->failed++ == 0)
			escape_line(out->failed_path, sizeof out->failed_path,
			    op->path, strlen(op->path));
	}
	mirror_unlock(m);
}
