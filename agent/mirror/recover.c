/*
 * Taking up what an earlier run left in the store's queue. The tree is not
 * known yet, so what the operations touch is put into it provisionally: files
 * with their staged content, directories above them; the names stay ours until
 * the pushes are done, and the first listing fills in the rest. Whether the
 * last batch arrived is unknown, so each PUT looks before it is sent.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "agent/base/diag.h"
#include "agent/base/json.h"
#include "agent/mirror/internal.h"

#define DETAIL_MAX 4096

/* Numbers travel as text: JSON's are doubles. */
static void
add_time(cJSON *obj, const char *name, struct timespec t)
{
	char text[64];

	snprintf(text, sizeof text, "%lld %ld", (long long)t.tv_sec, t.tv_nsec);
	cJSON_AddStringToObject(obj, name, text);
}

void
op_detail(struct buf *out, const struct qop *op)
{
	auto_json *obj = cJSON_CreateObject();
	char text[64];

	cJSON_AddNumberToObject(obj, "mode", (double)op->mode);
	cJSON_AddNumberToObject(obj, "nlink", (double)op->nlink);
	cJSON_AddBoolToObject(obj, "creates", op->creates);
	add_time(obj, "atime", op->atime);
	add_time(obj, "mtime", op->mtime);
	if (op->have_base) {
		cJSON *base = cJSON_AddObjectToObject(obj, "base");
		snprintf(text, sizeof text, "%" PRIu64 " %" PRId64,
		    op->base.ino, op->base.size);
		cJSON_AddStringToObject(base, "file", text);
		add_time(base, "mtime", op->base.mtime);
		add_time(base, "ctime", op->base.ctime);
	}
	json_print(out, obj);
}

static struct timespec
read_time(const cJSON *obj, const char *name)
{
	char *end;
	const char *text = json_string_or(obj, name, "0 0");
	struct timespec t = { .tv_sec = strtoll(text, &end, 10) };

	t.tv_nsec = strtol(end, NULL, 10);
	if (t.tv_nsec < 0 || t.tv_nsec > 999999999)
		t.tv_nsec = 0;
	return t;
}

static void
read_detail(struct qop *op, const char *detail)
{
	struct status st;
	auto_json *obj = json_parse(detail, strlen(detail), &st);
	char *end;

	if (!obj)
		return;
	op->mode = (mode_t)json_int_or(obj, "mode", 0644);
	op->nlink = (nlink_t)json_int_or(obj, "nlink", 1);
	op->creates = json_bool_or(obj, "creates", false);
	op->atime = read_time(obj, "atime");
	op->mtime = read_time(obj, "mtime");
	const cJSON *base = cJSON_GetObjectItemCaseSensitive(obj, "base");
	op->have_base = cJSON_IsObject(base);
	if (!op->have_base)
		return;
	const char *text = json_string_or(base, "file", "0 0");
	op->base.ino = strtoull(text, &end, 10);
	op->base.size = strtoll(end, NULL, 10);
	op->base.mtime = read_time(base, "mtime");
	op->base.ctime = read_time(base, "ctime");
}

/* The slot of a path; its directories are made as far as they are missing. */
static struct slot *
slot_of_path(struct mirror *m, const char *path)
{
	struct node *dir = m->root;

	if (!*path || !relpath_valid(path))
		return NULL;
	for (;;) {
		size_t len = strcspn(path, "/");
		auto_free char *name = xstrndup(path, len);
		struct slot *s = slot_make_locked(m, dir, name);
		if (!path[len])
			return s;
		if (!s->node)
			slot_attach_locked(m, s,
			    node_make_locked(m, S_IFDIR | 0755));
		if (!node_is_dir(s->node))
			return NULL;
		dir = s->node;
		path += len + 1;
	}
}

static struct node *
node_in(struct mirror *m, struct slot *s, mode_t mode)
{
	if (s->node && (s->node->mode & S_IFMT) == (mode & S_IFMT))
		return s->node;
	if (s->node)
		slot_detach_locked(m, s);
	struct node *n = node_make_locked(m, mode);
	slot_attach_locked(m, s, n);
	return n;
}

/* A link made since is not counted in the row: it is found by its inode all the
 * same. */
static void
set_base(struct mirror *m, struct node *n, const struct qop *op)
{
	node_set_remote_locked(m, n, &op->base, MAX(op->nlink, (nlink_t)2));
	n->nlink = op->nlink;
	n->ino = ino_shown(op->base.ino);
}

/* The file may have other names: they are met as links of the same inode. */
static struct node *
file_in(struct mirror *m, const struct qop *op)
{
	struct slot *s = op->slot;
	struct node *n = NULL;

	if (!s->node && op->have_base)
		n = node_by_link_locked(m, op->base.ino);
	if (n)
		slot_attach_locked(m, s, n);
	return node_in(m, s, S_IFREG | (op->mode & 07777));
}

/* Takes the content's reference. */
static void
recover_put(struct mirror *m, struct qop *op, struct content *c)
{
	struct node *n = file_in(m, op);
	char path[CONTENT_PATH_MAX];
	struct stat sb;

	op->node = n;
	op->content = c;
	if (op->have_base && !n->known) {
		set_base(m, n, op);
	}
	content_path(c, path);
	if (stat(path, &sb) == 0) {
		n->mtime = sb.st_mtim;
		n->atime = sb.st_atim;
		n->ctime = sb.st_ctim;
	}
	content_get(c);
	node_drop_content_locked(m, n);
	n->content = c;
	c->node = n->number;
	n->size = c->size;
}

/* What the operation is about, as its row describes it. */
static struct node *
described(struct mirror *m, const struct qop *op)
{
	struct slot *s = op->slot;
	struct node *n = NULL;

	if (s->node || !op->have_base || S_ISLNK(op->mode))
		return s->node;
	if (!S_ISDIR(op->mode))
		n = node_by_link_locked(m, op->base.ino);
	if (!n) {
		n = node_make_locked(m, op->mode);
		set_base(m, n, op);
		node_show_locked(n);
	}
	slot_attach_locked(m, s, n);
	return n;
}

static void
recover_move(struct mirror *m, struct qop *op)
{
	struct slot *src = op->slot, *dst = op->slot2;
	struct node *n = described(m, op), *over = dst->node;

	op->node = n;
	op->other = over;
	/* What it moves is not known before it is there. */
	if (!n)
		slot_unsure(dst);
	if (!n && op->kind != PUSH_RENAME && op->kind != PUSH_RENAME_NOREPLACE)
		slot_unsure(src);
	if (!over && op->kind == PUSH_EXCHANGE)
		slot_unsure(src);
	/* Both die with their names unless the operation holds them: it does
	 * so when it is appended, so pin them for the while. */
	if (n)
		n->pins++;
	if (over && over != n)
		over->pins++;
	if (over)
		slot_detach_locked(m, dst);
	if (n && op->kind != PUSH_LINK)
		slot_detach_locked(m, src);
	if (n)
		slot_attach_locked(m, dst, n);
	if (over && op->kind == PUSH_EXCHANGE && over != n)
		slot_attach_locked(m, src, over);
}

static void
recover_tree(struct mirror *m, struct qop *op)
{
	struct slot *s = op->slot;

	switch (op->kind) {
	case PUSH_MKDIR:
		op->node = node_in(m, s, S_IFDIR | (op->mode & 07777));
		break;
	case PUSH_SYMLINK:
		op->node = node_in(m, s, S_IFLNK | 0777);
		free(op->node->target);
		op->node->target = xstrdup(op->path2);
		break;
	case PUSH_UNLINK:
	case PUSH_RMDIR:
		if (s->node)
			slot_detach_locked(m, s);
		break;
	case PUSH_CHMOD:
	case PUSH_UTIMENS:
		op->node = described(m, op);
		if (!op->node)
			slot_unsure(s);
		if (op->node && op->kind == PUSH_CHMOD)
			op->node->mode =
			    (op->node->mode & S_IFMT) | (op->mode & 07777);
		if (op->node && op->kind == PUSH_UTIMENS) {
			op->node->atime = op->atime;
			op->node->mtime = op->mtime;
		}
		break;
	case PUSH_RENAME:
	case PUSH_RENAME_NOREPLACE:
	case PUSH_EXCHANGE:
	case PUSH_LINK:
		recover_move(m, op);
		break;
	case PUSH_PUT:
		break;
	}
}

static bool
two_paths(enum push_kind kind)
{
	return kind == PUSH_RENAME || kind == PUSH_RENAME_NOREPLACE ||
	    kind == PUSH_EXCHANGE || kind == PUSH_LINK;
}

static struct qop *
make_op(struct mirror *m, const struct queued_push *row)
{
	struct qop *op = xcalloc(1, sizeof *op);

	op->row = row->id;
	op->kind = (enum push_kind)row->kind;
	op->path = xstrdup(row->path);
	if (*row->path2)
		op->path2 = xstrdup(row->path2);
	op->unsure = true;
	read_detail(op, row->detail);
	if (op->kind > PUSH_UTIMENS)
		goto bad;
	op->slot = slot_of_path(m, op->path);
	if (!op->slot ||
	    ((two_paths(op->kind) || op->kind == PUSH_SYMLINK) && !op->path2))
		goto bad;
	if (two_paths(op->kind)) {
		op->slot2 = slot_of_path(m, op->path2);
		if (!op->slot2 || op->slot2 == op->slot)
			goto bad;
	}
	return op;
bad:
	diag_err("queue: row %lld is damaged", (long long)row->id);
	commit_remove_row_locked(m, row->id);
	op_free_locked(m, op);
	return NULL;
}

static void
recover_row(void *arg, const struct queued_push *row)
{
	struct mirror *m = arg;
	struct content *c = NULL;

	if (row->kind == PUSH_PUT) {
		c = content_recover_locked(m, row->file);
		if (!c) {
			diag_err("queue: file %s is missing", row->file);
			commit_remove_row_locked(m, row->id);
			return;
		}
	}
	struct qop *op = make_op(m, row);
	if (!op) {
		if (c) {
			c->keep = true;
			content_put_locked(c);
		}
		return;
	}
	if (c)
		recover_put(m, op, c);
	else
		recover_tree(m, op);
	op_append_locked(m, op);
	if (two_paths(op->kind)) {
		if (op->node)
			op->node->pins--;
		if (op->other && op->other != op->node)
			op->other->pins--;
	}
}

/* Rows are copied first: the store runs its callback under its own lock. */
struct rows {
	struct queued_push *list;
	size_t count, cap;
};

static void
copy_row(void *arg, const struct queued_push *row)
{
	struct rows *r = arg;

	if (r->count == r->cap) {
		r->cap = MAX(r->cap * 2, (size_t)16);
		r->list = xrealloc(r->list, r->cap, sizeof *r->list);
	}
	struct queued_push *copy = &r->list[r->count++];
	*copy = *row;
	copy->path = xstrdup(row->path);
	copy->path2 = xstrdup(row->path2 ? row->path2 : "");
	copy->file = xstrdup(row->file ? row->file : "");
	copy->detail = xstrdup(row->detail ? row->detail : "");
}

static void
rows_finish(struct rows *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free((char *)(uintptr_t)r->list[i].path);
		free((char *)(uintptr_t)r->list[i].path2);
		free((char *)(uintptr_t)r->list[i].file);
		free((char *)(uintptr_t)r->list[i].detail);
	}
	free(r->list);
}

static bool
row_keeps(void *arg, uint64_t serial)
{
	const struct rows *r = arg;

	for (size_t i = 0; i < r->count; i++) {
		const char *dash = strchr(r->list[i].file, '-');
		if (dash && strtoull(dash + 1, NULL, 10) == serial)
			return true;
	}
	return false;
}

void
queue_recover(struct mirror *m)
{
	struct rows rows = { 0 };
	struct status st;

	wait_point();
	if (store_queue_load(m->store, m->thread, copy_row, &rows, &st)) {
		diag_err("queue: %s", st.text);
		rows_finish(&rows);
		return;
	}
	mirror_lock(m);
	staging_sweep(m, row_keeps, &rows);
	for (size_t i = 0; i < rows.count; i++)
		recover_row(m, &rows.list[i]);
	if (m->queue)
		push_soon_locked(m);
	if (m->removed_count > 0)
		commit_kick_locked(m);
	mirror_unlock(m);
	rows_finish(&rows);
}
