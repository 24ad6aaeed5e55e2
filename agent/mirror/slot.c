/*
 * Slots: names in directories. A slot without a node is a tombstone: it keeps
 * a listing that began before the removal was pushed from bringing the name
 * back. Every slot pins its directory's node. All under mirror.lock.
 */
#include "agent/mirror/internal.h"

static uint32_t
slot_hash(uint32_t dir, const char *name)
{
	uint32_t h = 2166136261U ^ dir * 2654435761U;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619U;
	return h ^ h >> 15;
}

struct slot *
slot_find(struct mirror *m, const struct node *dir, const char *name)
{
	uint32_t h = slot_hash(dir->number, name);
	struct slot *s = m->slot_heads[h & (m->slot_size - 1)];

	while (
	    s && (s->hash != h || s->dir != dir || strcmp(s->name, name) != 0))
		s = s->hash_next;
	return s;
}

static void
grow_table(struct mirror *m)
{
	struct slot **old = m->slot_heads;
	size_t size = m->slot_size;

	m->slot_size = size * 2;
	m->slot_heads = xcalloc(m->slot_size, sizeof(struct slot *));
	for (size_t i = 0; i < size; i++) {
		while (old[i]) {
			struct slot *s = old[i];
			size_t b = s->hash & (m->slot_size - 1);
			old[i] = s->hash_next;
			s->hash_next = m->slot_heads[b];
			m->slot_heads[b] = s;
		}
	}
	free(old);
}

static void
tomb_add(struct mirror *m, struct slot *s)
{
	s->tomb_next = m->tombs;
	s->tomb_back = &m->tombs;
	if (s->tomb_next)
		s->tomb_next->tomb_back = &s->tomb_next;
	m->tombs = s;
}

static void
tomb_remove(struct slot *s)
{
	*s->tomb_back = s->tomb_next;
	if (s->tomb_next)
		s->tomb_next->tomb_back = s->tomb_back;
}

struct slot *
slot_make_locked(struct mirror *m, struct node *dir, const char *name)
{
	struct slot *s = slot_find(m, dir, name);

	lock_assert_held(&m->lock);
	if (s)
		return s;
	if (m->slot_count >= m->slot_size)
		grow_table(m);
	size_t len = strlen(name);
	s = xcalloc(1, sizeof *s + len + 1);
	memcpy(s->name, name, len);
	s->dir = dir;
	dir->pins++;
	s->hash = slot_hash(dir->number, name);
	size_t b = s->hash & (m->slot_size - 1);
	s->hash_next = m->slot_heads[b];
	m->slot_heads[b] = s;
	m->slot_count++;
	tomb_add(m, s);
	return s;
}

void
dir_changed(struct node *dir)
{
	if (dir->dir->snapshot)
		snapshot_put(dir->dir->snapshot);
	dir->dir->snapshot = NULL;
}

void
slot_attach_locked(struct mirror *m, struct slot *s, struct node *n)
{
	struct dir *d = s->dir->dir;

	lock_assert_held(&m->lock);
	tomb_remove(s);
	s->node = n;
	s->next_name = n->names;
	n->names = s;
	s->next = NULL;
	s->back = d->last;
	*d->last = s;
	d->last = &s->next;
	d->count++;
	d->subdirs += node_is_dir(n);
	d->moved = true;
	dir_changed(s->dir);
}

void
slot_detach_locked(struct mirror *m, struct slot *s)
{
	struct dir *d = s->dir->dir;
	struct node *n = s->node;

	lock_assert_held(&m->lock);
	struct slot **p = &n->names;
	while (*p != s)
		p = &(*p)->next_name;
	*p = s->next_name;
	*s->back = s->next;
	if (s->next)
		s->next->back = s->back;
	else
		d->last = s->back;
	d->count--;
	d->subdirs -= node_is_dir(n);
	d->moved = true;
	dir_changed(s->dir);
	s->node = NULL;
	tomb_add(m, s);
	node_check_alive_locked(m, n);
}

void
slot_pend(struct slot *s)
{
	s->pending++;
}

void
slot_unsure(struct slot *s)
{
	s->dir->dir->unsure += !s->unsure;
	s->unsure = true;
}

void
slot_settle_locked(struct mirror *m, struct slot *s)
{
	s->pending--;
	if (s->pending == 0 && s->unsure) {
		s->unsure = false;
		s->dir->dir->unsure--;
	}
	s->done_seq = ++m->seq;
}

static void
slot_free(struct mirror *m, struct slot *s)
{
	struct slot **p = &m->slot_heads[s->hash & (m->slot_size - 1)];
	struct node *dir = s->dir;

	while (*p != s)
		p = &(*p)->hash_next;
	*p = s->hash_next;
	m->slot_count--;
	tomb_remove(s);
	free(s);
	dir->pins--;
	node_check_alive_locked(m, dir);
}

void
tombs_sweep_locked(struct mirror *m)
{
	uint64_t oldest = fetch_oldest_seq(m);

	lock_assert_held(&m->lock);
	for (struct slot *s = m->tombs, *next; s; s = next) {
		next = s->tomb_next;
		if (s->pending == 0 && s->done_seq <= oldest)
			slot_free(m, s);
	}
}

bool
slot_guarded(const struct slot *s, uint64_t seq)
{
	return s->pending > 0 || s->done_seq > seq;
}

bool
node_guarded(const struct node *n, uint64_t seq)
{
	return n->pending > 0 || n->changed || n->done_seq > seq;
}

/* Depth is bounded by the longest path. */
// NOLINTNEXTLINE(misc-no-recursion)
bool
slot_drop_tree_locked(struct mirror *m, struct slot *s, uint64_t seq)
{
	struct node *n = s->node;
	bool stays = slot_guarded(s, seq) || (!n->dir && node_guarded(n, seq));

	if (n->dir) {
		for (struct slot *k = n->dir->first, *next; k; k = next) {
			next = k->next;
			if (!slot_drop_tree_locked(m, k, seq))
				stays = true;
		}
	}
	if (stays)
		return false;
	slot_detach_locked(m, s);
	return true;
}

bool
name_hidden(const struct node *dir, const char *name)
{
	return dir->number == MIRROR_ROOT && strcmp(name, ".daytona") == 0;
}

void
slots_free_locked(struct mirror *m)
{
	for (size_t i = 0; i < m->slot_size; i++) {
		for (struct slot *s = m->slot_heads[i], *next; s; s = next) {
			next = s->hash_next;
			free(s);
		}
	}
	free(m->slot_heads);
}
