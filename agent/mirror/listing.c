/*
 * Takes in what the sandbox told of a subtree. A listing speaks about the
 * moment when it was asked for: names and nodes with operations queued, or
 * ended since then, are left as they are (slot_guarded, node_guarded), and so
 * is all below such a name. Directories whose picture is not whole for that
 * reason stay stale, so the next look asks again. All under mirror.lock.
 */
#include <sys/stat.h>

#include "agent/mirror/internal.h"

struct take {
	struct mirror *m;
	bool deep;
	uint64_t seq, epoch, stamp;
	int64_t began;
	uint32_t root;
	size_t size;
	struct node **covered; /* pinned */
	size_t count, cap;
	/* parent of the entry before */
	const char *parent_path;
	size_t parent_len;
	struct node *parent;
};

void
node_show_locked(struct node *n)
{
	n->size = n->remote.size;
	n->mtime = n->remote.mtime;
	n->ctime = n->remote.ctime;
	n->atime = n->remote.mtime;
	n->behind = false;
}

void
node_outdated_locked(struct mirror *m, struct node *n)
{
	struct content *c = n->content;

	lock_assert_held(&m->lock);
	/* Who has it open goes on with the old bytes until the new ones are
	 * here: a size that outruns them would read as NULs. */
	if (c && c->whole && n->opens > 0) {
		n->behind = true;
		return;
	}
	node_drop_content_locked(m, n);
	n->serial++;
	node_show_locked(n);
}

/* Is the entry what our own operation left, with a ctime that we did not see?
 * The times that were asked for may have lost their nanoseconds. */
static bool
matches_loosely(const struct node *n, const struct remote_entry *e)
{
	return n->loose &&
	    (n->remote.ino == 0 || n->remote.ino == e->version.ino) &&
	    n->remote.size == e->version.size &&
	    n->remote.mtime.tv_sec == e->version.mtime.tv_sec;
}

static void
take_file(struct take *t, struct node *n, const struct remote_entry *e)
{
	struct mirror *m = t->m;

	n->mode = e->mode;
	if (n->known && !n->loose &&
	    file_version_equal(&n->remote, &e->version)) {
		node_set_remote_locked(m, n, &e->version, e->nlink);
		return;
	}
	if (n->known && matches_loosely(n, e)) {
		node_set_remote_locked(m, n, &e->version, e->nlink);
		if (n->content && n->content->have_version)
			n->content->version = e->version;
		return;
	}
	node_set_remote_locked(m, n, &e->version, e->nlink);
	if (e->target && (!n->target || strcmp(n->target, e->target) != 0)) {
		free(n->target);
		n->target = xstrdup(e->target);
	}
	if (n->content && n->content->have_version &&
	    file_version_equal(&n->content->version, &e->version))
		node_show_locked(n);
	else
		node_outdated_locked(m, n);
}

static void
take_node(struct take *t, struct node *n, const struct remote_entry *e)
{
	if (node_guarded(n, t->seq)) {
		if (n->pending == 0 && !n->changed && t->parent)
			t->parent->dir->take_stale = true;
		return;
	}
	if (!node_is_dir(n)) {
		take_file(t, n, e);
		return;
	}
	n->mode = e->mode;
	n->nlink = e->nlink;
	bool same = n->known && file_version_equal(&n->remote, &e->version);
	node_set_remote_locked(t->m, n, &e->version, e->nlink);
	if (!same && !n->dir->own_change)
		node_show_locked(n);
}

static void
cover(struct take *t, struct node *n)
{
	struct dir *d = n->dir;

	if (d->listed && d->taken_at > t->began)
		return;
	d->cover_epoch = t->epoch;
	d->moved = d->take_stale = false;
	if (t->count == t->cap) {
		t->cap = MAX(t->cap * 2, (size_t)16);
		t->covered =
		    xrealloc(t->covered, t->cap, sizeof(struct node *));
	}
	n->pins++;
	t->covered[t->count++] = n;
}

/* May the node go on as what the sandbox has under this name now? A file that
 * is open here, or has another name here, is not turned into another inode. */
static bool
same_node(const struct node *n, const struct remote_entry *e)
{
	if ((n->mode & S_IFMT) != (e->mode & S_IFMT))
		return false;
	if (node_is_dir(n) || !n->known || n->remote.ino == e->version.ino ||
	    n->remote.ino == 0)
		return true;
	return n->opens == 0 && !n->names->next_name;
}

/* Two nodes for one inode (a name met before the link was known) become one. */
static bool
splits_inode(struct mirror *m, const struct node *n,
    const struct remote_entry *e)
{
	if (node_is_dir(n) || e->nlink < 2 || n->opens > 0)
		return false;
	const struct node *other = node_by_link_locked(m, e->version.ino);
	return other && other != n &&
	    (other->mode & S_IFMT) == (e->mode & S_IFMT);
}

static struct node *
make_node(struct take *t, const struct remote_entry *e)
{
	struct node *n = NULL;

	if (!S_ISDIR(e->mode) && e->nlink > 1)
		n = node_by_link_locked(t->m, e->version.ino);
	if (n && (n->mode & S_IFMT) == (e->mode & S_IFMT))
		return n;
	n = node_make_locked(t->m, e->mode);
	n->ino = ino_shown(e->version.ino);
	if (e->target)
		n->target = xstrdup(e->target);
	return n;
}

static void
take_entry(struct take *t, const char *name, const struct remote_entry *e)
{
	struct mirror *m = t->m;
	struct slot *s = slot_find(m, t->parent, name);

	if (name_hidden(t->parent, name))
		return;
	if (s && slot_guarded(s, t->seq)) {
		s->epoch = t->epoch;
		if (s->pending == 0)
			t->parent->dir->take_stale = true;
		return;
	}
	if (s && s->node &&
	    (!same_node(s->node, e) || splits_inode(m, s->node, e)) &&
	    !slot_drop_tree_locked(m, s, t->seq)) {
		s->epoch = t->epoch;
		return;
	}
	if (!s || !s->node) {
		struct node *made = make_node(t, e);
		s = slot_make_locked(m, t->parent, name);
		slot_attach_locked(m, s, made);
	}
	s->epoch = t->epoch;
	take_node(t, s->node, e);
	if (node_is_dir(s->node) && t->deep && !e->unlisted)
		cover(t, s->node);
}

static struct node *
walk(struct mirror *m, const char *path, size_t len)
{
	struct node *n = m->root;
	char name[PATH_NAME_MAX + 1];

	for (size_t i = 0; i < len;) {
		size_t k = strcspn(path + i, "/");
		k = MIN(k, len - i);
		if (k == 0 || k > PATH_NAME_MAX || !node_is_dir(n))
			return NULL;
		memcpy(name, path + i, k);
		name[k] = '\0';
		struct slot *s = slot_find(m, n, name);
		if (!s || !s->node)
			return NULL;
		n = s->node;
		i += k + 1;
	}
	return n;
}

static void
find_parent(struct take *t, const struct remote_entry *e)
{
	const char *end = strrchr(e->path, '/');
	size_t len = end ? (size_t)(end - e->path) : 0;

	if (t->parent_path && len == t->parent_len &&
	    memcmp(t->parent_path, e->path, len) == 0)
		return;
	t->parent_path = e->path;
	t->parent_len = len;
	t->parent = walk(t->m, e->path, len);
	if (t->parent &&
	    (!node_is_dir(t->parent) ||
		t->parent->dir->cover_epoch != t->epoch))
		t->parent = NULL;
}

static void
finish_dir(struct take *t, struct node *n)
{
	struct dir *d = n->dir;

	for (struct slot *s = d->first, *next; s; s = next) {
		next = s->next;
		if (s->epoch == t->epoch)
			continue;
		if (slot_guarded(s, t->seq))
			d->take_stale |= s->pending == 0;
		else
			slot_drop_tree_locked(t->m, s, t->seq);
	}
	/* Its times are ours unless others changed it. */
	if (n->known && d->moved && !node_guarded(n, t->seq))
		node_show_locked(n);
	d->listed = true;
	d->taken_at = t->began;
	d->listed_seq = t->stamp;
	if (t->deep || d->list_root == 0)
		d->list_root = t->deep ? t->root : n->number;
	if (d->take_stale)
		return;
	d->listed_at = t->began;
	d->own_change = false;
}

void
listing_take_locked(struct mirror *m, const struct listing *l, bool deep,
    const struct moment *at)
{
	struct node *root = walk(m, l->root, strlen(l->root));
	struct take t = { .m = m,
		.deep = deep,
		.seq = at->seq,
		.stamp = at->stamp,
		.began = at->began };

	lock_assert_held(&m->lock);
	if (!root || !node_is_dir(root))
		return;
	t.epoch = ++m->epoch;
	t.root = root->number;
	cover(&t, root);
	root->dir->list_size = l->count;
	for (size_t i = 0; i < l->count; i++) {
		const struct remote_entry *e = &l->entries[i];
		if (strcmp(e->path, l->root) == 0) {
			t.parent = NULL;
			t.parent_path = NULL;
			if (S_ISDIR(e->mode))
				take_node(&t, root, e);
			continue;
		}
		find_parent(&t, e);
		if (!t.parent)
			continue;
		const char *name = strrchr(e->path, '/');
		take_entry(&t, name ? name + 1 : e->path, e);
	}
	for (size_t i = 0; i < t.count; i++)
		finish_dir(&t, t.covered[i]);
	for (size_t i = 0; i < t.count; i++) {
		t.covered[i]->pins--;
		node_check_alive_locked(m, t.covered[i]);
	}
	free(t.covered);
}

void
listing_absent_locked(struct mirror *m, const struct moment *at)
{
	char none[] = "";
	struct listing l = { .root = none };

	listing_take_locked(m, &l, true, at);
	m->root->known = false;
	m->absent = true;
	/* What stays is ours alone: a new sandbox has none of it. */
	for (size_t i = 0; i < m->node_size; i++)
		for (struct node *n = m->node_heads[i]; n; n = n->hash_next)
			if (n != m->root && n->known &&
			    n->done_seq <= at->seq) {
				n->known = false;
				n->loose = false;
			}
}
