/*
 * Looking names up, making and removing them. Answered from memory as soon as
 * it is known whether the name exists; the operation is queued.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

struct node *
call_dir(struct mirror_call *call)
{
	struct node *dir = call_node(call);

	if (!dir || (node_is_dir(dir) && node_gone(dir)))
		status_set(&call->st, STATUS_NOT_FOUND, "no such directory");
	else if (!node_is_dir(dir))
		status_set(&call->st, STATUS_NOT_DIR, "not a directory");
	else
		return dir;
	return NULL;
}

enum look
name_look_locked(struct mirror *m, struct node *dir, const char *name,
    struct mirror_call *call, struct slot **out)
{
	struct slot *s = slot_find(m, dir, name);

	lock_assert_held(&m->lock);
	*out = s && s->node ? s : NULL;
	if (s && !s->node && s->unsure)
		return wait_for_push_locked(call);
	if (*out || (s && s->pending > 0) || name_hidden(dir, name))
		return LOOK_NOW;
	if (!name_valid(name, strlen(name))) {
		status_set(&call->st, STATUS_INVALID, "not a name");
		return LOOK_FAILED;
	}
	return refresh_locked(m, dir, call);
}

static void
answer_node_locked(struct mirror_call *call, struct node *n)
{
	struct mirror *m = call->mirror;
	bool ours = n->pending > 0 || n->changed;
	bool fresh = ours || !n->names || dir_fresh(m, n->names->dir, NULL);

	n->refs++;
	node_attr(m, n, fresh && !n->behind, &call->attr);
}

static void
names_free(struct mirror_call *call)
{
	free(call->name);
	free(call->name2);
	call->name = call->name2 = NULL;
}

static void
start_named(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call, bool (*step)(struct mirror_call *call))
{
	call->node = parent;
	call->name = xstrdup(name);
	call->finish = names_free;
	(void)m;
	call_start(call, LOOKUP_WAIT_MS, step);
}

static bool
step_lookup(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *dir = call_dir(call);
	struct slot *s;

	if (!dir)
		return true;
	enum look look = name_look_locked(m, dir, call->name, call, &s);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!s)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	answer_node_locked(call, s->node);
	return true;
}

void
mirror_lookup(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call)
{
	call_reset(m, call);
	start_named(m, parent, name, call, step_lookup);
}

void
mirror_forget(struct mirror *m, uint32_t node, uint64_t count)
{
	mirror_lock(m);
	struct node *n = node_find(m, node);
	if (n) {
		n->refs -= MIN(n->refs, count);
		node_check_alive_locked(m, n);
	}
	mirror_unlock(m);
}

bool
mirror_reference(struct mirror *m, uint32_t node, struct mirror_attr *attr)
{
	mirror_lock(m);
	struct node *n = node_find(m, node);
	if (n) {
		struct node *dir = n->names ? n->names->dir : NULL;
		n->refs++;
		node_attr(m, n, !n->behind && (!dir || dir_fresh(m, dir, NULL)),
		    attr);
	}
	mirror_unlock(m);
	return n != NULL;
}

/* --- Making --------------------------------------------------------------- */

struct slot *
name_new_locked(struct mirror *m, struct node *dir, const char *name,
    struct mirror_call *call)
{
	char buf[PATH_BYTES_MAX + 1];

	if (name_hidden(dir, name)) {
		status_set(&call->st, STATUS_DENIED, "the sandbox's own");
		return NULL;
	}
	struct slot *s = slot_make_locked(m, dir, name);
	if (!slot_path(s, buf)) {
		status_set(&call->st, STATUS_INVALID, "the path is too long");
		return NULL;
	}
	return s;
}

/* For steps: a slot without a file for call->name; NULL: see *answered. */
static struct slot *
free_name_locked(struct mirror_call *call, bool *answered)
{
	struct node *dir = call_dir(call);
	struct slot *s = NULL;

	*answered = true;
	if (!dir)
		return NULL;
	enum look look =
	    name_look_locked(call->mirror, dir, call->name, call, &s);
	*answered = look != LOOK_WAIT;
	if (look != LOOK_NOW)
		return NULL;
	if (s) {
		status_set(&call->st, STATUS_EXISTS, "it exists");
		return NULL;
	}
	return name_new_locked(call->mirror, dir, call->name, call);
}

static void
place_locked(struct mirror *m, struct slot *s, struct node *n)
{
	slot_attach_locked(m, s, n);
	node_touch(s->dir, true);
}

static bool
step_mkdir(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	bool answered;
	struct slot *s = free_name_locked(call, &answered);

	if (!s)
		return answered;
	struct node *n = node_make_locked(m, S_IFDIR | (call->mode & 07777));
	n->dir->listed = true;
	n->dir->list_root = n->number;
	place_locked(m, s, n);
	op_queue_locked(m, PUSH_MKDIR, n, NULL, s, NULL);
	answer_node_locked(call, n);
	return true;
}

void
mirror_mkdir(struct mirror *m, uint32_t parent, const char *name, mode_t mode,
    struct mirror_call *call)
{
	call_reset(m, call);
	call->mode = mode;
	start_named(m, parent, name, call, step_mkdir);
}

static bool
step_symlink(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	bool answered;
	struct slot *s = free_name_locked(call, &answered);

	if (!s)
		return answered;
	struct node *n = node_make_locked(m, S_IFLNK | 0777);
	n->target = xstrdup(call->name2);
	n->size = (int64_t)strlen(n->target);
	place_locked(m, s, n);
	struct qop *op = op_queue_locked(m, PUSH_SYMLINK, n, NULL, s, NULL);
	op->path2 = xstrdup(n->target);
	answer_node_locked(call, n);
	return true;
}

void
mirror_symlink(struct mirror *m, uint32_t parent, const char *name,
    const char *target, struct mirror_call *call)
{
	call_reset(m, call);
	call->name2 = xstrdup(target);
	start_named(m, parent, name, call, step_symlink);
}

static bool
step_link(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = node_find(m, call->node2);
	bool answered;

	if (!n || !n->names)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	if (node_is_dir(n))
		return call_fail(call, STATUS_DENIED, "a directory");
	struct slot *s = free_name_locked(call, &answered);
	if (!s)
		return answered;
	queue_put_locked(m, n);
	op_queue_locked(m, PUSH_LINK, n, NULL, n->names, s);
	place_locked(m, s, n);
	n->nlink++;
	node_touch(n, false);
	answer_node_locked(call, n);
	return true;
}

void
mirror_link(struct mirror *m, uint32_t node, uint32_t parent, const char *name,
    struct mirror_call *call)
{
	call_reset(m, call);
	call->node2 = node;
	start_named(m, parent, name, call, step_link);
}

static bool
create_locked(struct mirror_call *call, struct slot *s)
{
	struct mirror *m = call->mirror;
	struct node *n = node_make_locked(m, S_IFREG | (call->mode & 07777));

	place_locked(m, s, n);
	if (file_truncate_locked(m, n, 0, &call->st)) {
		slot_detach_locked(m, s);
		return true;
	}
	call->file = file_make_locked(m, n, call->flags, &call->st);
	if (!call->file) {
		slot_detach_locked(m, s);
		return true;
	}
	answer_node_locked(call, n);
	node_check(n);
	return true;
}

static bool
step_create(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *dir = call_dir(call);
	struct slot *s;

	if (!dir)
		return true;
	enum look look = name_look_locked(m, dir, call->name, call, &s);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!s) {
		s = name_new_locked(m, dir, call->name, call);
		return s ? create_locked(call, s) : true;
	}
	if (call->flags & O_EXCL)
		return call_fail(call, STATUS_EXISTS, "it exists");
	/* It came meanwhile: an ordinary open, by number from here on. */
	uint32_t parent = call->node;
	uint32_t number = s->node->number;
	call->node = number;
	bool answered = step_open(call);
	call->node = parent;
	struct node *n = node_find(m, number);
	if (answered && call->file && n)
		answer_node_locked(call, n);
	return answered;
}

void
mirror_file_create(struct mirror *m, uint32_t parent, const char *name,
    mode_t mode, int flags, struct mirror_call *call)
{
	call_reset(m, call);
	call->mode = mode;
	call->flags = flags;
	start_named(m, parent, name, call, step_create);
}

/* --- Removing ------------------------------------------------------------- */

void
name_gone_locked(struct mirror *m, struct slot *s)
{
	struct node *n = s->node;

	node_touch(s->dir, true);
	node_touch(n, false);
	if (n->nlink > 0)
		n->nlink--;
	n->pins++;
	slot_detach_locked(m, s);
	n->pins--;
	if (!n->names && n->opens == 0)
		node_drop_content_locked(m, n);
	node_check_alive_locked(m, n);
}

static bool
step_unlink(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *dir = call_dir(call);
	struct slot *s;

	if (!dir)
		return true;
	enum look look = name_look_locked(m, dir, call->name, call, &s);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!s)
		return call_fail(call, STATUS_NOT_FOUND, "no such file");
	if (node_is_dir(s->node))
		return call_fail(call, STATUS_IS_DIR, "a directory");
	if (!queue_unput_locked(m, s->node, s))
		op_queue_locked(m, PUSH_UNLINK, s->node, NULL, s, NULL);
	name_gone_locked(m, s);
	return true;
}

void
mirror_unlink(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call)
{
	call_reset(m, call);
	start_named(m, parent, name, call, step_unlink);
}

static bool
step_rmdir(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *dir = call_dir(call);
	struct slot *s;

	if (!dir)
		return true;
	enum look look = name_look_locked(m, dir, call->name, call, &s);
	if (look == LOOK_NOW && s && node_is_dir(s->node))
		look = refresh_locked(m, s->node, call);
	if (look != LOOK_NOW)
		return look == LOOK_FAILED;
	if (!s || !s->node)
		return call_fail(call, STATUS_NOT_FOUND, "no such directory");
	if (!node_is_dir(s->node))
		return call_fail(call, STATUS_NOT_DIR, "not a directory");
	if (s->node->dir->count > 0)
		return call_fail(call, STATUS_NOT_EMPTY, "not empty");
	op_queue_locked(m, PUSH_RMDIR, s->node, NULL, s, NULL);
	name_gone_locked(m, s);
	return true;
}

void
mirror_rmdir(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call)
{
	call_reset(m, call);
	start_named(m, parent, name, call, step_rmdir);
}
