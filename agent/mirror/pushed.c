/* What a push changes in what we know: versions that are now ours, clashes. */
#include <sys/stat.h>

#include "agent/mirror/internal.h"

/* It exists there, but of its version only this is known. */
static void
know_loosely(struct mirror *m, struct node *n, const struct qop *op)
{
	struct file_version v = { .size = op->sent_size, .mtime = op->mtime };

	if (n->known && op->kind != PUSH_PUT) {
		n->loose = true;
		if (op->kind == PUSH_UTIMENS)
			n->remote.mtime = op->mtime;
		return;
	}
	if (n->target)
		v.size = (int64_t)strlen(n->target);
	node_set_remote_locked(m, n, &v, n->nlink);
	n->loose = true;
}

/* Did the operation find the content that we believe in? */
static bool
same_content(const struct node *n, const struct qop *op,
    const struct file_version *v)
{
	if (!n->known || node_is_dir(n) || op->kind == PUSH_PUT)
		return true;
	return (n->remote.ino == 0 || n->remote.ino == v->ino) &&
	    n->remote.size == v->size &&
	    (op->kind == PUSH_UTIMENS ||
		n->remote.mtime.tv_sec == v->mtime.tv_sec);
}

static void
know_locked(struct mirror *m, struct node *n, const struct qop *op,
    const struct push_op *p)
{
	const struct remote_entry *after = &p->after;
	bool clean = n->content && n->content->have_version;

	if (after->version.ino == 0 || op->kind == PUSH_EXCHANGE ||
	    (after->mode & S_IFMT) != (n->mode & S_IFMT)) {
		know_loosely(m, n, op);
	} else {
		bool same = same_content(n, op, &after->version);
		node_set_remote_locked(m, n, &after->version,
		    n->pending > 1 ? n->nlink : after->nlink);
		if (!same && clean && !n->changed)
			node_outdated_locked(m, n);
		clean = clean && same;
	}
	if (clean && n->content)
		n->content->version = n->remote;
}

/* What is queued behind starts from what is there now. */
static void
rebase_locked(struct mirror *m, const struct qop *done)
{
	struct node *n = done->node;
	unsigned left = n->pending;

	for (struct qop *op = done->next; op && left > 1; op = op->next) {
		if (op->node != n && op->other != n)
			continue;
		left--;
		if (op->node != n || op->state == OP_SENT)
			continue;
		op->have_base = n->known;
		op->base = n->remote;
		op->nlink = n->nlink;
		commit_rewrite_locked(m, op);
	}
}

static void
put_done_locked(struct mirror *m, struct qop *op, struct push_op *p)
{
	struct node *n = op->node;
	struct content *c = op->content;

	know_locked(m, n, op, p);
	if (!c || n->content != c)
		return;
	/* Written meanwhile: n->changed, or a newer PUT is queued. */
	if (c->writes != op->sent_writes || n->changed)
		return;
	n->error.code = STATUS_OK;
	/* Changed there before the batch had ended. */
	if (n->remote.size != op->sent_size ||
	    n->remote.mtime.tv_sec != op->mtime.tv_sec) {
		node_outdated_locked(m, n);
		return;
	}
	c->version = n->remote;
	c->have_version = true;
}

static void
dir_made_locked(struct node *n, const struct batch *b)
{
	n->dir->listed_at = b->began;
	n->dir->own_change = true;
}

/* Operations on the file that wait behind the clash go to its new name. */
static void
follow_locked(struct mirror *m, const struct qop *clash, struct slot *to,
    const char *path)
{
	for (struct qop *op = clash->next; op; op = op->next) {
		if (op->node != clash->node || op->slot != clash->slot ||
		    op->state == OP_SENT || op->path2)
			continue;
		free(op->path);
		op->path = xstrdup(path);
		slot_settle_locked(m, op->slot);
		op->slot = to;
		slot_pend(to);
	}
}

static void
clash_locked(struct mirror *m, struct batch *b, struct qop *op,
    struct push_op *p)
{
	const char *slash = strrchr(p->conflict, '/');
	const char *name = slash ? slash + 1 : p->conflict;
	struct slot *from = op->slot;
	struct node *dir = from->dir;

	batch_note(b, op->path,
	    ": changed in the sandbox too; ours is kept as ", name);
	dir_stale(dir);
	if (!name_valid(name, strlen(name)) || node_gone(dir))
		return;
	struct slot *to = slot_make_locked(m, dir, name);
	if (from->node != op->node || to->node)
		return;
	slot_attach_locked(m, to, op->node);
	slot_detach_locked(m, from);
	follow_locked(m, op, to, p->conflict);
	to->done_seq = ++m->seq;
}

static void
others_loose(const struct qop *op)
{
	if (op->other && op->other->known)
		op->other->loose = true;
	/* Another name of it went: its ctime moved. */
	if (op->kind == PUSH_UNLINK && op->node && op->node->known)
		op->node->loose = true;
}

void
op_pushed_locked(struct mirror *m, struct batch *b, struct qop *op,
    struct push_op *p)
{
	struct node *n = op->node;
	bool moves = op->slot2 != NULL;

	if (op->kind == PUSH_PUT) {
		put_done_locked(m, op, p);
		if (p->conflict)
			clash_locked(m, b, op, p);
	} else if (n && op->kind != PUSH_UNLINK && op->kind != PUSH_RMDIR) {
		know_locked(m, n, op, p);
		if (node_is_dir(n))
			n->dir->own_change = true;
		if (op->kind == PUSH_MKDIR)
			dir_made_locked(n, b);
	}
	others_loose(op);
	if (n)
		rebase_locked(m, op);
	op->slot->dir->dir->own_change = true;
	if (op->slot2)
		op->slot2->dir->dir->own_change = true;
	/* What it made is not shown before the next look (after a restart). */
	if (!n || op->unsure) {
		dir_stale(op->slot->dir);
		if (op->slot2)
			dir_stale(op->slot2->dir);
	}
	op_end_locked(m, op);
	if (moves)
		m->move_seq = m->seq;
}
