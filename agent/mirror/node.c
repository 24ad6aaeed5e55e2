/*
 * Nodes: numbers, life, paths and the attributes that are shown. A node lives
 * while it has a name, a reference of fs, an open file, or a pin of a slot or
 * a queued operation. All under mirror.lock.
 */
#include <assert.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

static size_t
node_bucket(const struct mirror *m, uint32_t number)
{
	return ((size_t)number * 2654435761U) & (m->node_size - 1);
}

struct node *
node_find(struct mirror *m, uint32_t number)
{
	struct node *n = m->node_heads[node_bucket(m, number)];

	while (n && n->number != number)
		n = n->hash_next;
	return n;
}

static void
grow_table(struct mirror *m)
{
	struct node **old = m->node_heads;
	size_t size = m->node_size;

	m->node_size = size * 2;
	m->node_heads = xcalloc(m->node_size, sizeof(struct node *));
	for (size_t i = 0; i < size; i++) {
		while (old[i]) {
			struct node *n = old[i];
			size_t b = node_bucket(m, n->number);
			old[i] = n->hash_next;
			n->hash_next = m->node_heads[b];
			m->node_heads[b] = n;
		}
	}
	free(old);
}

struct node *
node_make_locked(struct mirror *m, mode_t mode)
{
	struct node *n = xcalloc(1, sizeof *n);

	lock_assert_held(&m->lock);
	if (m->node_count >= m->node_size)
		grow_table(m);
	n->number = m->next_number++;
	n->mode = mode;
	n->nlink = 1;
	/* Bits 32-38 are 1 for what was made here, 2… for inodes of the
	 * sandbox above 32 bits: no clash with its ordinary ones. */
	n->ino = (uint64_t)1 << 32 | n->number;
	n->mtime = clock_wall();
	n->atime = n->ctime = n->mtime;
	if (S_ISDIR(mode)) {
		n->dir = xcalloc(1, sizeof *n->dir);
		n->dir->last = &n->dir->first;
	}
	size_t b = node_bucket(m, n->number);
	n->hash_next = m->node_heads[b];
	m->node_heads[b] = n;
	m->node_count++;
	return n;
}

uint64_t
ino_shown(uint64_t remote)
{
	uint64_t high = remote >> 32;

	if (high == 0)
		return remote;
	return (2 + high % 125) << 32 | (remote & UINT32_MAX);
}

static struct node **
link_head(struct mirror *m, uint64_t ino)
{
	return &m->links[ino % LINK_HEADS];
}

static void
links_remove(struct mirror *m, struct node *n)
{
	struct node **p = link_head(m, n->remote.ino);

	while (*p != n)
		p = &(*p)->link_next;
	*p = n->link_next;
	n->in_links = false;
}

void
node_set_remote_locked(struct mirror *m, struct node *n,
    const struct file_version *version, nlink_t nlink)
{
	if (n->in_links)
		links_remove(m, n);
	n->known = true;
	n->loose = false;
	n->remote = *version;
	if (node_is_dir(n))
		return;
	n->nlink = nlink > 0 ? nlink : 1;
	if (nlink > 1) {
		struct node **head = link_head(m, version->ino);
		n->link_next = *head;
		*head = n;
		n->in_links = true;
	}
}

struct node *
node_by_link_locked(struct mirror *m, uint64_t ino)
{
	struct node *n = *link_head(m, ino);

	while (n && n->remote.ino != ino)
		n = n->link_next;
	return n;
}

static void
node_free(struct mirror *m, struct node *n)
{
	struct node **p = &m->node_heads[node_bucket(m, n->number)];

	while (*p != n)
		p = &(*p)->hash_next;
	*p = n->hash_next;
	m->node_count--;
	if (n->in_links)
		links_remove(m, n);
	node_set_changed_locked(m, n, false);
	if (n->content)
		content_put_locked(n->content);
	if (n->dir) {
		dir_changed(n);
		free(n->dir);
	}
	free(n->target);
	free(n);
}

void
node_check_alive_locked(struct mirror *m, struct node *n)
{
	lock_assert_held(&m->lock);
	if (!n->names && n->refs == 0 && n->opens == 0 && n->pins == 0 &&
	    n->number != MIRROR_ROOT)
		node_free(m, n);
}

void
nodes_free_locked(struct mirror *m)
{
	for (size_t i = 0; i < m->node_size; i++) {
		for (struct node *n = m->node_heads[i], *next; n; n = next) {
			next = n->hash_next;
			if (n->content)
				content_put_locked(n->content);
			if (n->dir)
				dir_changed(n);
			free(n->dir);
			free(n->target);
			free(n);
		}
	}
	free(m->node_heads);
}

bool
node_gone(const struct node *n)
{
	return !n->names && n->number != MIRROR_ROOT;
}

/* Builds from the end of buf backwards; NULL if it does not fit or hangs in
 * the air. */
static const char *
path_back(const struct node *dir, const char *name,
    char buf[PATH_BYTES_MAX + 1])
{
	char *p = buf + PATH_BYTES_MAX;

	*p = '\0';
	for (;;) {
		if (name) {
			size_t len = strlen(name);
			bool sep = *p != '\0';
			if ((size_t)(p - buf) < len + sep)
				return NULL;
			if (sep)
				*--p = '/';
			p -= len;
			memcpy(p, name, len);
		}
		if (dir->number == MIRROR_ROOT)
			return p;
		if (!dir->names)
			return NULL;
		name = dir->names->name;
		dir = dir->names->dir;
	}
}

const char *
node_path(const struct node *n, char buf[PATH_BYTES_MAX + 1])
{
	return path_back(n, NULL, buf);
}

const char *
slot_path(const struct slot *s, char buf[PATH_BYTES_MAX + 1])
{
	return path_back(s->dir, s->name, buf);
}

static unsigned
dir_depth(const struct node *n)
{
	unsigned depth = 0;

	for (; n->number != MIRROR_ROOT && n->names; n = n->names->dir)
		depth++;
	return depth;
}

/* A hard-linked symbolic link is as deep as its least deep name. */
unsigned
node_depth(const struct node *n)
{
	unsigned depth = n->names ? UINT32_MAX : 0;

	for (const struct slot *s = n->names; s; s = s->next_name)
		depth = MIN(depth, dir_depth(s->dir));
	return depth;
}

static int64_t
link_size(const struct mirror *m, const struct node *n)
{
	auto_buf text = BUF_INIT((size_t)1 << 16);

	link_text(&text, n->target, node_depth(n), m->links_raw);
	return (int64_t)text.len;
}

void
node_attr(struct mirror *m, const struct node *n, bool fresh,
    struct mirror_attr *out)
{
	*out = (struct mirror_attr){
		.node = n->number,
		.ino = n->ino,
		.mode = n->mode,
		.nlink = n->nlink,
		.size = n->size,
		.atime = n->atime,
		.mtime = n->mtime,
		.ctime = n->ctime,
		.fresh = fresh && m->commands == 0,
	};
	if (n->dir) {
		out->nlink = n->dir->listed || !n->known
		    ? 2 + n->dir->subdirs
		    : MAX(n->nlink, (nlink_t)2);
		out->size = 4096;
	} else if (n->target && n->names) {
		out->size = link_size(m, n);
	}
	out->blocks = ((uint64_t)MAX(out->size, (int64_t)0) + 511) / 512;
}

void
node_touch(struct node *n, bool content)
{
	n->ctime = clock_wall();
	if (content)
		n->mtime = n->ctime;
}

enum file_state
node_state(const struct node *n)
{
	bool put = false, sent = false;

	if (node_gone(n))
		return FILE_GONE;
	if (n->last_op && n->last_op->kind == PUSH_PUT) {
		put = n->last_op->state != OP_SENT;
		sent = n->last_op->state == OP_SENT;
	}
	if (sent)
		return n->changed ? FILE_PUSHING_DIRTY : FILE_PUSHING;
	if (n->changed || put)
		return FILE_DIRTY;
	return n->content && n->content->whole ? FILE_CLEAN : FILE_LISTED;
}

void
node_check(const struct node *n)
{
#ifdef SAF_DEBUG
	assert(!n->dir || !n->content);
	assert((n->pending == 0) == (n->last_op == NULL));
	assert(!n->changed || (n->content && n->content->whole));
	assert(!n->changed || n->content->in_queue);
	if (!S_ISREG(n->mode))
		return;
	switch (node_state(n)) {
	case FILE_LISTED:
		assert(!n->content || !n->content->whole);
		break;
	case FILE_CLEAN:
		assert(!n->changed);
		break;
	case FILE_DIRTY:
	case FILE_PUSHING:
	case FILE_PUSHING_DIRTY:
		assert(n->content && n->content->whole);
		break;
	case FILE_GONE:
		break;
	}
#else
	(void)n;
#endif
}
