/*
 * Content on its way here: whole files, and ranges of large ones into a sparse
 * copy. What arrives is taken only if the file is still the one that was asked
 * for: nothing renamed it meanwhile, and the newest listing shows the version
 * that was expected. A file that only grew gives its older length, whole.
 */
#include <errno.h>

#include "agent/mirror/internal.h"

#define WINDOW_MIN    ((int64_t)256 << 10)
#define WINDOW_MAX    ((int64_t)4 << 20)
#define SLOW_MS       2000 /* a range that takes longer was too large */
#define PROGRESS_STEP ((int64_t)256 << 10)

struct sink {
	struct fetch *f;
	struct content *content;
	int64_t at, end; /* of the file */
	int64_t told;
};

/* As long as bytes arrive, those who wait go on waiting. */
static void
progress(struct sink *k)
{
	struct fetch *f = k->f;

	if (k->at - k->told < PROGRESS_STEP)
		return;
	k->told = k->at;
	mirror_lock(f->m);
	waiters_extend_locked(&f->waiters, clock_mono_ms() + CALL_WAIT_MS);
	mirror_unlock(f->m);
}

static int
sink_bytes(void *arg, const void *bytes, size_t len, struct status *st)
{
	struct sink *k = arg;
	int64_t room = k->end - k->at;

	/* More than was asked for: the file grew. */
	if ((int64_t)len > room)
		len = (size_t)room;
	if (pwrite_all(k->content->fd, bytes, len, k->at))
		return status_errno(st, errno, "local copy");
	k->at += (int64_t)len;
	progress(k);
	return 0;
}

/* Is the path still the way to the node's bytes, and was it all the time? */
static bool
still_there_locked(const struct fetch *f, const struct node *n)
{
	char buf[PATH_BYTES_MAX + 1], path[PATH_BYTES_MAX + 1];
	const char *now = n ? node_path(n, buf) : NULL;

	if (!now || n->done_seq > f->seq || f->m->move_seq > f->seq)
		return false;
	snprintf(path, sizeof path, "%s", now);
	return path_remote_locked(f->m, path) && strcmp(path, f->path) == 0;
}

/* Makes those who wait look at the directory anew. */
static void
out_of_date_locked(struct node *n)
{
	if (n && n->names)
		dir_stale(n->names->dir);
}

void
node_set_content_locked(struct mirror *m, struct node *n, struct content *c)
{
	lock_assert_held(&m->lock);
	node_drop_content_locked(m, n);
	n->content = c;
	c->node = n->number;
	if (n->opens == 0)
		content_close_locked(c);
}

void
node_drop_content_locked(struct mirror *m, struct node *n)
{
	struct content *c = n->content;

	lock_assert_held(&m->lock);
	n->content = NULL;
	if (!c)
		return;
	if (n->opens > 0)
		content_close_locked(c);
	content_put_locked(c);
}

/* Takes the content's reference. */
static void
take_content_locked(struct fetch *f, struct content *c)
{
	struct mirror *m = f->m;
	struct node *n = node_find(m, f->node);

	if (!still_there_locked(f, n) || n->changed ||
	    !file_version_equal(&n->remote, &f->version) ||
	    (n->content && n->content->whole && !n->behind)) {
		content_close_locked(c);
		content_put_locked(c);
		return;
	}
	c->whole = true;
	c->size = f->version.size;
	c->version = f->version;
	c->have_version = true;
	if (n->content)
		n->serial++;
	node_set_content_locked(m, n, c);
	node_show_locked(n);
	cache_trim_locked(m);
}

/* Did it fail because the file is not there any more? Then look again. */
static bool
elsewhere_locked(const struct fetch *f, const struct status *st)
{
	if (st->code == STATUS_NOT_FOUND || st->code == STATUS_NOT_DIR)
		return true;
	return st->code != STATUS_OK && st->code != STATUS_CANCELED &&
	    !still_there_locked(f, node_find(f->m, f->node));
}

void
run_content(void *arg)
{
	struct fetch *f = arg;
	struct mirror *m = f->m;
	struct sink k = { .f = f, .end = f->version.size };
	struct status st = { 0 };
	int64_t total = 0;
	int err = -1;

	mirror_lock(m);
	k.content = content_make_locked(m, f->node, false, &st);
	mirror_unlock(m);
	if (k.content)
		err = sandbox_get(m->sandbox, SANDBOX_START, f->path, 0,
		    f->version.size, sink_bytes, &k, &total, f->cancel, &st);
	mirror_lock(m);
	if (!err && k.at < k.end)
		status_set(&st, STATUS_NOT_FOUND, "it became shorter");
	if (k.content && st.code == STATUS_OK) {
		take_content_locked(f, k.content);
	} else if (k.content) {
		content_close_locked(k.content);
		content_put_locked(k.content);
	}
	if (elsewhere_locked(f, &st)) {
		out_of_date_locked(node_find(m, f->node));
		st.code = STATUS_OK;
	}
	fetch_end_locked(f, st.code == STATUS_OK ? 0 : -1, &st);
	mirror_unlock(m);
}

struct fetch *
fetch_content_locked(struct mirror *m, struct node *n, const char *path)
{
	struct fetch *f = fetch_find(m, FETCH_CONTENT, n->number);

	if (f && file_version_equal(&f->version, &n->remote))
		return f;
	f = fetch_make_locked(m, FETCH_CONTENT, n->number, path);
	f->version = n->remote;
	return fetch_go_locked(f);
}

/* All ranges are here: one more look, and it is a clean copy. */
static void
complete(struct fetch *f)
{
	struct mirror *m = f->m;
	struct content *c = f->content;
	struct listing l = { 0 };
	struct status st = { 0 };
	auto_free char *parent = xstrdup(f->path);
	char *slash = strrchr(parent, '/');

	*(slash ? slash : parent) = '\0';
	mirror_lock(m);
	struct moment at = { m->seq, clock_mono_ms(), m->seq };
	mirror_unlock(m);
	int err = sandbox_list(m->sandbox, SANDBOX_LOOK, parent, false, &l,
	    f->cancel, &st);
	mirror_lock(m);
	if (!err)
		listing_take_locked(m, &l, false, &at);
	struct node *n = node_find(m, f->node);
	if (!err && n && n->content == c && still_there_locked(f, n) &&
	    file_version_equal(&n->remote, &c->version)) {
		c->whole = true;
		extents_finish(&c->extents);
	}
	mirror_unlock(m);
	listing_finish(&l);
}

void
run_range(void *arg)
{
	struct fetch *f = arg;
	struct mirror *m = f->m;
	struct content *c = f->content;
	struct sink k = { .f = f,
		.content = c,
		.at = f->from,
		.told = f->from,
		.end = f->to };
	struct status st = { 0 };
	int64_t total = 0;

	int err = sandbox_get(m->sandbox, SANDBOX_START, f->path, f->from,
	    f->to - f->from, sink_bytes, &k, &total, f->cancel, &st);
	mirror_lock(m);
	struct node *n = node_find(m, f->node);
	bool moved = st.code != STATUS_CANCELED && !still_there_locked(f, n);
	if (moved) {
		/* By us: they look where it is now. */
		err = 0;
	} else if ((err && elsewhere_locked(f, &st)) ||
	    (!err && (k.at < k.end || total < c->version.size))) {
		/* Other bytes than those before: nobody may mix them. */
		err = status_set(&st, STATUS_IO, "changed while it was read");
		if (n && n->content == c)
			node_outdated_locked(m, n);
		out_of_date_locked(n);
	} else if (!err) {
		extents_add(&c->extents, f->from, f->to);
		if (clock_mono_ms() - f->began > SLOW_MS)
			c->window = MAX(c->window / 4, WINDOW_MIN);
	}
	bool all = !err && !moved && !c->whole &&
	    extents_missing(&c->extents, 0) >= c->size;
	if (all) {
		mirror_unlock(m);
		complete(f);
		mirror_lock(m);
	}
	content_close_locked(c);
	fetch_end_locked(f, err, &st);
	cache_trim_locked(m);
	mirror_unlock(m);
}

static struct fetch *
range_under_way(struct mirror *m, const struct content *c, int64_t at)
{
	for (struct fetch *f = m->fetches; f; f = f->next)
		if (f->kind == FETCH_RANGE && f->content == c &&
		    !f->abandoned && f->from <= at && at < f->to)
			return f;
	return NULL;
}

struct fetch *
fetch_range_locked(struct mirror *m, struct node *n, const char *path,
    int64_t at, int64_t want)
{
	struct content *c = n->content;
	struct fetch *f = range_under_way(m, c, at);
	struct status st;

	if (f)
		return f;
	if (content_open_locked(c, &st))
		return NULL;
	c->window =
	    at == c->last_to ? MIN(c->window * 2, WINDOW_MAX) : WINDOW_MIN;
	f = fetch_make_locked(m, FETCH_RANGE, n->number, path);
	f->content = content_get(c);
	f->version = c->version;
	f->from = at;
	f->to = MIN(at + MAX(want, c->window), c->size);
	f->to = extents_present(&c->extents, at, f->to);
	c->last_to = f->to;
	return fetch_go_locked(f);
}
