/* Directories of fixed names; see names.h. */
#include "fs/names.h"

#include <errno.h>
#include <sys/stat.h>

#include "fs/reply.h"

struct entry {
	char *name;
	uint64_t ino;
	mode_t mode;
};

struct names {
	struct handle handle;
	struct entry *entries;
	size_t count, cap;
};

static void
on_readdir(fuse_req_t req, struct handle *h, size_t size, off_t off, bool plus)
{
	struct names *n = (struct names *)h;
	char *out = malloc(size);
	size_t len = 0;

	if (!out) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	for (size_t i = off < 0 ? n->count : (size_t)off; i < n->count; i++) {
		struct entry *e = &n->entries[i];
		/* An entry without a node id is not looked up: no count. */
		struct fuse_entry_param p = { .attr = { .st_ino = e->ino,
						  .st_mode = e->mode } };
		off_t next = (off_t)i + 1;
		size_t used = plus ? fuse_add_direntry_plus(req, out + len,
					 size - len, e->name, &p, next)
				   : fuse_add_direntry(req, out + len,
					 size - len, e->name, &p.attr, next);
		if (used > size - len)
			break;
		len += used;
	}
	fuse_reply_buf(req, out, len);
	free(out);
}

static void
on_destroy(struct handle *h)
{
	struct names *n = (struct names *)h;

	for (size_t i = 0; i < n->count; i++)
		free(n->entries[i].name);
	free(n->entries);
}

static const struct handle_ops names_ops = {
	.readdir = on_readdir,
	.destroy = on_destroy,
};

struct names *
names_create(struct session *s, const struct inode *dir, struct thread *thread)
{
	struct names *n =
	    (struct names *)handle_create(sizeof *n, &names_ops, s, thread, 0);
	struct inode root = { .kind = INODE_ROOT };

	names_add(n, ".", dir, S_IFDIR);
	names_add(n, "..", &root, S_IFDIR);
	return n;
}

void
names_add(struct names *n, const char *name, const struct inode *key,
    mode_t mode)
{
	if (n->count == n->cap) {
		n->cap = n->cap ? 2 * n->cap : 16;
		n->entries = xrealloc(n->entries, n->cap, sizeof *n->entries);
	}
	n->entries[n->count++] = (struct entry){ .name = xstrdup(name),
		.ino = inode_number(key),
		.mode = mode };
}

void
names_reply(fuse_req_t req, struct names *n)
{
	handle_reply_open(req, &n->handle, false, false);
}

void
names_drop(struct names *n)
{
	handle_release(&n->handle);
}
