/*
 * The inode table; see inode.h. Two hashes of chained records, by id and by
 * key. A record that was renewed, or made fresh, is in the first one only.
 */
#include "fs/inode.h"

#include "agent/base/lock.h"

#define BUCKETS_MIN 256

/* st_ino: bit 39 marks what is ours, not the sandbox's; a low part below 64 is
 * fixed, checkpoints have bit 38 too. */
#define OURS       ((uint64_t)1 << 39)
#define CHECKPOINT ((uint64_t)1 << 38)

enum {
	NUMBER_THREAD = 1,
	NUMBER_CHECKPOINTS = 2,
	NUMBER_WORKSPACE = 3,
	NUMBER_DIAGDIR = 4,
	NUMBER_CONTROL = 16, /* and up: control files, files of .sandagentfs */
};

struct record {
	struct inode inode;
	uint64_t lookups;
	int64_t size;
	bool keyed;
	struct record *next_id, *next_key;
};

struct inode_table {
	struct lock lock;
	/* under lock */
	struct record **by_id, **by_key;
	size_t buckets; /* a power of two */
	size_t count;
	uint64_t last_id;
};

struct inode_table *
inode_table_create(void)
{
	struct inode_table *t = xcalloc(1, sizeof *t);

	lock_init(&t->lock, RANK_INODES);
	t->buckets = BUCKETS_MIN;
	t->by_id = xcalloc(t->buckets, sizeof(struct record *));
	t->by_key = xcalloc(t->buckets, sizeof(struct record *));
	t->last_id = 1;
	return t;
}

void
inode_table_destroy(struct inode_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->buckets; i++)
		while (t->by_id[i]) {
			struct record *r = t->by_id[i];
			t->by_id[i] = r->next_id;
			free(r);
		}
	free((void *)t->by_id);
	free((void *)t->by_key);
	lock_finish(&t->lock);
	free(t);
}

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	return x;
}

static uint64_t
hash_text(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return h;
}

static uint64_t
hash_key(const struct inode *key)
{
	uint64_t h = mix((uint64_t)key->thread * INODE_KINDS + key->kind);

	return mix(h + key->node) ^ hash_text(key->name);
}

static bool
same_key(const struct inode *a, const struct inode *b)
{
	return a->kind == b->kind && a->thread == b->thread &&
	    a->node == b->node && strcmp(a->name, b->name) == 0;
}

static struct record **
find_id_locked(struct inode_table *t, uint64_t id)
{
	struct record **at = &t->by_id[mix(id) & (t->buckets - 1)];

	lock_assert_held(&t->lock);
	while (*at && (*at)->inode.id != id)
		at = &(*at)->next_id;
	return at;
}

static struct record **
find_key_locked(struct inode_table *t, const struct inode *key)
{
	struct record **at = &t->by_key[hash_key(key) & (t->buckets - 1)];

	lock_assert_held(&t->lock);
	while (*at && !same_key(&(*at)->inode, key))
		at = &(*at)->next_key;
	return at;
}

static void
grow_locked(struct inode_table *t)
{
	struct record **old = t->by_id;
	size_t n = t->buckets;

	lock_assert_held(&t->lock);
	free((void *)t->by_key);
	t->buckets = n * 2;
	t->by_id = xcalloc(t->buckets, sizeof(struct record *));
	t->by_key = xcalloc(t->buckets, sizeof(struct record *));
	for (size_t i = 0; i < n; i++)
		while (old[i]) {
			struct record *r = old[i];
			old[i] = r->next_id;
			size_t b = mix(r->inode.id) & (t->buckets - 1);
			r->next_id = t->by_id[b];
			t->by_id[b] = r;
			if (!r->keyed)
				continue;
			b = hash_key(&r->inode) & (t->buckets - 1);
			r->next_key = t->by_key[b];
			t->by_key[b] = r;
		}
	free((void *)old);
}

static struct record *
add_locked(struct inode_table *t, const struct inode *key, bool keyed)
{
	struct record *r = xcalloc(1, sizeof *r);

	if (t->count >= t->buckets)
		grow_locked(t);
	r->inode = *key;
	r->inode.id = ++t->last_id;
	r->keyed = keyed;
	size_t b = mix(r->inode.id) & (t->buckets - 1);
	r->next_id = t->by_id[b];
	t->by_id[b] = r;
	if (keyed) {
		b = hash_key(key) & (t->buckets - 1);
		r->next_key = t->by_key[b];
		t->by_key[b] = r;
	}
	t->count++;
	return r;
}

static void
drop_key_locked(struct inode_table *t, struct record *r)
{
	struct record **at = find_key_locked(t, &r->inode);

	if (*at == r)
		*at = r->next_key;
	r->keyed = false;
}

uint64_t
inode_get(struct inode_table *t, const struct inode *key, bool fresh)
{
	lock_acquire(&t->lock);
	struct record *r = fresh ? NULL : *find_key_locked(t, key);
	if (!r)
		r = add_locked(t, key, !fresh);
	r->lookups++;
	uint64_t id = r->inode.id;
	lock_release(&t->lock);
	return id;
}

bool
inode_find(struct inode_table *t, uint64_t id, struct inode *out)
{
	if (id == 1) {
		*out = (struct inode){ .id = 1, .kind = INODE_ROOT };
		return true;
	}
	lock_acquire(&t->lock);
	struct record *r = *find_id_locked(t, id);
	if (r)
		*out = r->inode;
	lock_release(&t->lock);
	return r != NULL;
}

bool
inode_forget(struct inode_table *t, uint64_t id, uint64_t count,
    struct inode *out)
{
	lock_acquire(&t->lock);
	struct record **at = find_id_locked(t, id);
	struct record *r = *at;
	if (r) {
		*out = r->inode;
		r->lookups -= MIN(count, r->lookups);
		if (r->lookups == 0) {
			*at = r->next_id;
			if (r->keyed)
				drop_key_locked(t, r);
			t->count--;
			free(r);
		}
	}
	lock_release(&t->lock);
	return r != NULL;
}

void
inode_renew(struct inode_table *t, const struct inode *key)
{
	lock_acquire(&t->lock);
	struct record *r = *find_key_locked(t, key);
	if (r)
		drop_key_locked(t, r);
	lock_release(&t->lock);
}

void
inode_set_size(struct inode_table *t, uint64_t id, int64_t size)
{
	lock_acquire(&t->lock);
	struct record *r = *find_id_locked(t, id);
	if (r)
		r->size = size;
	lock_release(&t->lock);
}

int64_t
inode_size(struct inode_table *t, uint64_t id)
{
	lock_acquire(&t->lock);
	struct record *r = *find_id_locked(t, id);
	int64_t size = r ? r->size : 0;
	lock_release(&t->lock);
	return size;
}

size_t
inode_count(struct inode_table *t)
{
	lock_acquire(&t->lock);
	size_t count = t->count;
	lock_release(&t->lock);
	return count;
}

uint64_t
inode_number_of(int64_t thread, uint64_t ino)
{
	return (uint64_t)thread << 40 | (ino & (((uint64_t)1 << 40) - 1));
}

uint64_t
inode_number(const struct inode *key)
{
	uint64_t low = 0;

	switch (key->kind) {
	case INODE_ROOT:
		return 1;
	case INODE_THREAD:
		low = NUMBER_THREAD;
		break;
	case INODE_CHECKPOINTS:
		low = NUMBER_CHECKPOINTS;
		break;
	case INODE_WORKSPACE:
		low = NUMBER_WORKSPACE;
		break;
	case INODE_DIAGDIR:
		low = NUMBER_DIAGDIR;
		break;
	case INODE_CONTROL:
	case INODE_DIAGFILE:
		low = NUMBER_CONTROL + key->node;
		break;
	case INODE_CHECKPOINT:
		low = CHECKPOINT | (mix(hash_text(key->name)) >> 26);
		break;
	case INODE_KINDS:
		break;
	}
	return inode_number_of(key->thread, OURS | low);
}
