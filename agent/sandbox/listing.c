/* Listings; see listing.h. */
#include "agent/sandbox/listing.h"

bool
file_version_equal(const struct file_version *a, const struct file_version *b)
{
	return a->ino == b->ino && a->size == b->size &&
	    a->mtime.tv_sec == b->mtime.tv_sec &&
	    a->mtime.tv_nsec == b->mtime.tv_nsec &&
	    a->ctime.tv_sec == b->ctime.tv_sec &&
	    a->ctime.tv_nsec == b->ctime.tv_nsec;
}

struct remote_entry *
listing_add(struct listing *l, char *path, char *target)
{
	if (l->count == l->cap) {
		l->cap = l->cap > 0 ? l->cap * 2 : 32;
		l->entries = xrealloc(l->entries, l->cap, sizeof *l->entries);
	}
	struct remote_entry *e = &l->entries[l->count++];
	*e = (struct remote_entry){ .path = path, .target = target };
	return e;
}

void
listing_finish(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->entries[i].path);
		free(l->entries[i].target);
	}
	free(l->entries);
	free(l->root);
	*l = (struct listing){ 0 };
}
