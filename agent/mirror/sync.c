/*
 * The blocking face, for tools and the turn: each is a call like fs's, waited
 * for here. The waiter sleeps on an eventfd that the answer and the cancel
 * token write.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "agent/mirror/internal.h"

#define BARRIER_MS 120000
#define READ_PIECE ((size_t)1 << 20)
#define ANSWERED   ((uint64_t)1 << 32) /* what the answer adds; a token 1 */

struct wait {
	struct mirror_call call; /* first: done gets it back */
	int fd;
};

static void
add_up(const struct wait *w, uint64_t n)
{
	while (write(w->fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}

static void
on_cancel(void *arg)
{
	add_up(arg, 1);
}

/* The write is the last touch: the waiter goes when it sees it. */
static void
on_done(struct mirror_call *call)
{
	add_up((const struct wait *)call, ANSWERED);
}

static void
wait_init(struct wait *w, struct mirror *m, const char *path)
{
	wait_point();
	*w = (struct wait){ .fd = eventfd(0, EFD_CLOEXEC) };
	w->call.done = on_done;
	call_reset(m, &w->call);
	if (path)
		w->call.name = xstrdup(path);
}

static void
wait_finish(struct wait *w)
{
	free(w->call.name);
	free(w->call.name2);
	buf_finish(&w->call.bytes);
	close(w->fd);
}

/* Until the call is answered; a fired token answers it. */
static int
wait_for(struct wait *w, struct cancel *c, struct status *st)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	uint64_t got = 0, sum = 0;

	cancel_set_wake(c, on_cancel, w);
	while (sum < ANSWERED) {
		if (poll(&p, 1, -1) < 0 || read(w->fd, &got, sizeof got) < 0)
			continue;
		sum += got;
		if (sum < ANSWERED)
			mirror_call_cancel(w->call.mirror, &w->call);
	}
	cancel_clear_wake(c);
	*st = w->call.st;
	return st->code == STATUS_OK ? 0 : -1;
}

int
barrier_for(struct mirror *m, int64_t ms, struct cancel *c, struct status *st)
{
	struct wait w;

	wait_init(&w, m, NULL);
	call_start(&w.call, ms, step_barrier);
	int err = wait_for(&w, c, st);
	wait_finish(&w);
	if (!err)
		return 0;
	mirror_lock(m);
	if (st->code == STATUS_TIMEOUT && m->push_error.code != STATUS_OK)
		*st = m->push_error;
	mirror_unlock(m);
	return status_wrap(st, "push what was written here");
}

int
mirror_barrier(struct mirror *m, struct cancel *c, struct status *st)
{
	return barrier_for(m, BARRIER_MS, c, st);
}

static bool
step_list_all(struct mirror_call *call)
{
	struct mirror *m = call->mirror;

	return refresh_locked(m, m->root, call) != LOOK_WAIT;
}

/* The command changed who knows what: nothing known before counts. */
static bool
take_command_locked(struct mirror *m, const struct fetch *f,
    struct exec_result *result)
{
	m->forget_seq = ++m->seq;
	m->still_until = 0;
	m->sandbox_known = true;
	m->absent = false;
	if (!result->have_listing)
		return false;
	struct moment at = { .seq = f->seq,
		.began = clock_mono_ms(),
		.stamp = m->seq };
	listing_take_locked(m, &result->listing, true, &at);
	return true;
}

int
mirror_exec(struct mirror *m, const struct exec_request *request,
    struct exec_result *result, struct cancel *c, struct status *st)
{
	struct exec_request r = *request;
	struct status why = { 0 };

	if (mirror_barrier(m, c, st))
		return -1;
	mirror_lock(m);
	struct fetch *f = fetch_make_locked(m, FETCH_COMMAND, MIRROR_ROOT, "");
	m->commands++;
	mirror_unlock(m);
	r.list = true;
	int err = sandbox_exec(m->sandbox, SANDBOX_CREATE, &r, result, c, st);
	mirror_lock(m);
	m->commands--;
	bool taken = !err && take_command_locked(m, f, result);
	fetch_end_locked(f, 0, st);
	mirror_unlock(m);
	if (err)
		return -1;
	if (result->have_listing)
		listing_finish(&result->listing);
	result->have_listing = false;
	if (taken || result->end == EXEC_LOST)
		return 0;
	struct wait w;
	wait_init(&w, m, NULL);
	call_start(&w.call, CALL_WAIT_MS, step_list_all);
	/* The command ran: its result counts even if nobody can look. */
	(void)wait_for(&w, c, &why);
	wait_finish(&w);
	return 0;
}

int
mirror_script(struct mirror *m, const char *script, size_t len, struct buf *out,
    int *exit_code, struct cancel *c, struct status *st)
{
	if (mirror_barrier(m, c, st))
		return -1;
	return sandbox_script(m->sandbox, SANDBOX_CREATE, script, len, out,
	    exit_code, c, st);
}

/* --- By path -------------------------------------------------------------- */

static bool
step_stat_path(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n;
	enum look look = walk_locked(call, false, &n);

	if (look == LOOK_NOW && n->names && n->pending == 0 && !n->changed) {
		look = refresh_locked(m, n->names->dir, call);
		/* It may be gone or another since. */
		if (look == LOOK_NOW)
			look = walk_locked(call, false, &n);
	}
	if (look == LOOK_NOW)
		node_attr(m, n, true, &call->attr);
	return look != LOOK_WAIT;
}

int
mirror_stat(struct mirror *m, const char *path, struct mirror_attr *attr,
    struct cancel *c, struct status *st)
{
	struct wait w;

	wait_init(&w, m, path);
	call_start(&w.call, CALL_WAIT_MS, step_stat_path);
	int err = wait_for(&w, c, st);
	*attr = w.call.attr;
	wait_finish(&w);
	return err;
}

static bool
step_list_path(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n;
	enum look look = walk_locked(call, true, &n);

	if (look == LOOK_NOW && !node_is_dir(n))
		return call_fail(call, STATUS_NOT_DIR, "not a directory");
	if (look == LOOK_NOW)
		look = refresh_locked(m, n, call);
	if (look == LOOK_NOW)
		look = walk_locked(call, true, &n);
	if (look == LOOK_NOW && node_is_dir(n))
		call->dir = dir_open_locked(m, n);
	else if (look == LOOK_NOW)
		return call_fail(call, STATUS_NOT_DIR, "not a directory");
	return look != LOOK_WAIT;
}

int
mirror_list(struct mirror *m, const char *path, struct mirror_dir **dir,
    struct cancel *c, struct status *st)
{
	struct wait w;

	wait_init(&w, m, path);
	call_start(&w.call, CALL_WAIT_MS, step_list_path);
	int err = wait_for(&w, c, st);
	*dir = w.call.dir;
	wait_finish(&w);
	return err;
}

/* Answers node with a reference; NOT_FOUND: node2 is the deepest directory
 * that exists, with a reference, name2 what is missing below it. */
static bool
step_find_path(struct mirror_call *call)
{
	struct node *n;
	enum look look = walk_locked(call, true, &n);

	if (look == LOOK_WAIT)
		return false;
	if (look == LOOK_FAILED && call->st.code != STATUS_NOT_FOUND)
		return true;
	n->refs++;
	if (look == LOOK_NOW)
		call->node = n->number;
	else
		call->node2 = n->number;
	return true;
}

static int
open_path(struct mirror *m, const char *path, int flags,
    struct mirror_file **file, struct mirror_attr *attr, struct cancel *c,
    struct status *st)
{
	struct wait w;

	wait_init(&w, m, path);
	call_start(&w.call, CALL_WAIT_MS, step_find_path);
	int err = wait_for(&w, c, st);
	uint32_t node = err ? w.call.node2 : w.call.node;
	wait_finish(&w);
	if (!err) {
		wait_init(&w, m, NULL);
		mirror_open(m, node, flags, &w.call);
		err = wait_for(&w, c, st);
		*file = w.call.file;
		*attr = w.call.attr;
		wait_finish(&w);
	}
	if (node)
		mirror_forget(m, node, 1);
	return err;
}

static int
read_piece(struct mirror *m, struct mirror_file *file, int64_t off,
    struct buf *out, struct cancel *c, struct status *st, bool *end)
{
	struct wait w;

	wait_init(&w, m, NULL);
	mirror_read(file, off, READ_PIECE, &w.call);
	int err = wait_for(&w, c, st);
	buf_add(out, w.call.bytes.bytes, w.call.bytes.len);
	*end = w.call.bytes.len == 0;
	wait_finish(&w);
	if (!err && out->failed)
		err = status_set(st, STATUS_TOO_BIG, "the file is too big");
	return err;
}

int
mirror_read_file(struct mirror *m, const char *path, struct buf *out,
    struct cancel *c, struct status *st)
{
	struct mirror_file *file = NULL;
	struct mirror_attr attr = { 0 };
	size_t from = out->len;
	bool end = false;

	int err = open_path(m, path, O_RDONLY, &file, &attr, c, st);
	if (err)
		return -1;
	if ((uint64_t)attr.size > out->max - out->len)
		err = status_set(st, STATUS_TOO_BIG, "the file is too big");
	while (!err && !end)
		err = read_piece(m, file, (int64_t)(out->len - from), out, c,
		    st, &end);
	mirror_release(file);
	return err;
}

/* One of the names that are missing: a directory, or at last the file. */
static int
make_one(struct mirror *m, uint32_t *dir, const char *name, bool last,
    struct mirror_file **file, struct cancel *c, struct status *st)
{
	struct wait w;

	wait_init(&w, m, NULL);
	if (last)
		mirror_file_create(m, *dir, name, 0644, O_WRONLY | O_TRUNC,
		    &w.call);
	else
		mirror_mkdir(m, *dir, name, 0755, &w.call);
	int err = wait_for(&w, c, st);
	uint32_t made = w.call.attr.node;
	*file = w.call.file;
	wait_finish(&w);
	if (err)
		return -1;
	mirror_forget(m, *dir, 1);
	*dir = made;
	return 0;
}

/* Takes the reference of `dir`. */
static int
make_rest(struct mirror *m, uint32_t dir, const char *rest,
    struct mirror_file **file, struct cancel *c, struct status *st)
{
	int err = 0;
	bool last = false;

	while (!err && !last) {
		size_t len = strcspn(rest, "/");
		auto_free char *name = xstrndup(rest, len);
		rest += len + strspn(rest + len, "/");
		last = !*rest;
		if (strcmp(name, "..") == 0)
			err = status_set(st, STATUS_NOT_FOUND,
			    "no such directory");
		else if (strcmp(name, ".") != 0 || last)
			err = make_one(m, &dir, name, last, file, c, st);
	}
	mirror_forget(m, dir, 1);
	return err;
}

static int
open_for_writing(struct mirror *m, const char *path, struct mirror_file **file,
    struct cancel *c, struct status *st)
{
	struct mirror_attr attr;
	struct wait w;

	wait_init(&w, m, path);
	call_start(&w.call, CALL_WAIT_MS, step_find_path);
	int err = wait_for(&w, c, st);
	if (err && st->code == STATUS_NOT_FOUND && w.call.name2) {
		err = make_rest(m, w.call.node2, w.call.name2, file, c, st);
	} else if (!err) {
		mirror_forget(m, w.call.node, 1);
		err =
		    open_path(m, path, O_WRONLY | O_TRUNC, file, &attr, c, st);
	}
	wait_finish(&w);
	return err;
}

static int
write_bytes(struct mirror_file *file, const char *bytes, size_t len,
    struct status *st)
{
	for (size_t at = 0; at < len;) {
		size_t piece = MIN(len - at, READ_PIECE);
		ssize_t n =
		    mirror_write(file, bytes + at, piece, (int64_t)at, false);
		if (n < 0)
			return status_errno(st, (int)-n, "write");
		at += (size_t)n;
	}
	return 0;
}

int
mirror_write_file(struct mirror *m, const char *path, const void *bytes,
    size_t len, struct cancel *c, struct status *st)
{
	struct mirror_file *file = NULL;
	struct wait w;

	if (open_for_writing(m, path, &file, c, st))
		return -1;
	int err = write_bytes(file, bytes, len, st);
	if (!err) {
		wait_init(&w, m, NULL);
		mirror_fsync(file, &w.call);
		err = wait_for(&w, c, st);
		wait_finish(&w);
	}
	mirror_release(file);
	return err;
}
