/* Open directories: snapshots, built once and shared until a name changes. */
#include "agent/mirror/internal.h"

void
snapshot_put(struct snapshot *s)
{
	if (--s->refs > 0)
		return;
	free(s->entries);
	free(s->names);
	free(s);
}

static struct snapshot *
snapshot_make(const struct dir *d)
{
	struct snapshot *snap = xcalloc(1, sizeof *snap);
	size_t bytes = 0;

	for (const struct slot *s = d->first; s; s = s->next)
		bytes += strlen(s->name) + 1;
	snap->refs = 1;
	snap->names = xcalloc(bytes + 1, 1);
	snap->entries = xcalloc(d->count + 1, sizeof *snap->entries);
	char *at = snap->names;
	for (const struct slot *s = d->first; s; s = s->next) {
		size_t len = strlen(s->name) + 1;
		memcpy(at, s->name, len);
		snap->entries[snap->count++] = (struct snapshot_entry){
			.name = at,
			.node = s->node->number,
			.ino = s->node->ino,
			.mode = s->node->mode,
		};
		at += len;
	}
	return snap;
}

struct mirror_dir *
dir_open_locked(struct mirror *m, struct node *n)
{
	struct mirror_dir *dir = xcalloc(1, sizeof *dir);

	if (!n->dir->snapshot)
		n->dir->snapshot = snapshot_make(n->dir);
	dir->m = m;
	dir->snapshot = n->dir->snapshot;
	dir->snapshot->refs++;
	return dir;
}

bool
step_opendir(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call_dir(call);

	if (!n)
		return true;
	enum look look = refresh_locked(m, n, call);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	n = call_dir(call);
	if (!n)
		return true;
	call->dir = dir_open_locked(m, n);
	node_attr(m, n, true, &call->attr);
	return true;
}

void
mirror_opendir(struct mirror *m, uint32_t node, struct mirror_call *call)
{
	call_reset(m, call);
	call->node = node;
	call_start(call, CALL_WAIT_MS, step_opendir);
}

bool
mirror_dir_entry(struct mirror_dir *dir, size_t i, const char **name,
    struct mirror_attr *attr)
{
	const struct snapshot *s = dir->snapshot;

	if (i >= s->count)
		return false;
	*name = s->entries[i].name;
	*attr = (struct mirror_attr){ .node = s->entries[i].node,
		.ino = s->entries[i].ino,
		.mode = s->entries[i].mode,
		.nlink = 1 };
	mirror_lock(dir->m);
	const struct node *n = node_find(dir->m, attr->node);
	if (n)
		node_attr(dir->m, n,
		    !n->behind &&
			(!n->names || dir_fresh(dir->m, n->names->dir, NULL)),
		    attr);
	mirror_unlock(dir->m);
	return true;
}

void
mirror_closedir(struct mirror_dir *dir)
{
	struct mirror *m = dir->m;

	mirror_lock(m);
	snapshot_put(dir->snapshot);
	mirror_unlock(m);
	free(dir);
}
