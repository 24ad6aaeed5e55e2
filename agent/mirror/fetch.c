/*
 * What is on its way from the sandbox: one job of the read lane each, with the
 * calls that wait for it. The last one who leaves ends it. A fetch that failed
 * answers those who waited for it; one that ended well lets them look again.
 */
#include "agent/base/diag.h"
#include "agent/mirror/internal.h"

uint64_t
fetch_oldest_seq(const struct mirror *m)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct fetch *f = m->fetches; f; f = f->next)
		oldest = MIN(oldest, f->seq);
	return oldest;
}

struct fetch *
fetch_find(struct mirror *m, enum fetch_kind kind, uint32_t node)
{
	struct fetch *f = m->fetches;

	while (f && (f->kind != kind || f->node != node || f->abandoned))
		f = f->next;
	return f;
}

void
fetch_abandon_locked(struct fetch *f)
{
	f->abandoned = true;
	cancel_fire(f->cancel);
}

void
fetch_end_locked(struct fetch *f, int err, const struct status *st)
{
	struct mirror *m = f->m;

	lock_assert_held(&m->lock);
	*f->back = f->next;
	if (f->next)
		f->next->back = f->back;
	/* Off the list first: who looks again must not join it. */
	if (err)
		waiters_fail_locked(m, &f->waiters, st);
	else
		waiters_step_locked(m, &f->waiters);
	if (f->kind == FETCH_LIST)
		tombs_sweep_locked(m);
	if (f->content)
		content_put_locked(f->content);
	cancel_put(f->cancel);
	free(f->path);
	free(f);
}

static void
lost_locked(struct fetch *f)
{
	struct mirror *m = f->m;
	struct node *n = node_find(m, f->node);

	/* Gone from where it was: what lies above is out of date. */
	dir_stale(m->root);
	if (!n || !n->names)
		return;
	dir_stale(n->names->dir);
	/* One of ours that has not arrived: what is here is all of it. */
	if (!slot_drop_tree_locked(m, n->names, f->seq) && node_is_dir(n)) {
		n->dir->listed = true;
		n->dir->listed_at = f->began;
		n->dir->listed_seq = f->seq;
		n->dir->list_root = n->number;
	}
}

/* Turns what a listing said into what is known; 0 if those who wait should
 * look again. */
static int
list_failed_locked(struct fetch *f, const struct status *st)
{
	struct mirror *m = f->m;
	struct moment at = { f->seq, f->began, f->seq };

	switch (st->code) {
	case STATUS_NOT_FOUND:
		if (*f->path)
			lost_locked(f);
		else
			listing_absent_locked(m, &at);
		return 0;
	case STATUS_NOT_DIR:
		if (*f->path)
			lost_locked(f);
		return *f->path ? 0 : -1;
	case STATUS_UNAVAILABLE:
		if (f->want != SANDBOX_LOOK)
			return -1;
		/* It is not running, so nothing in it changes. */
		m->still_until = clock_mono_ms() + FRESH_MS;
		return 0;
	default:
		return -1;
	}
}

static void
run_list(void *arg)
{
	struct fetch *f = arg;
	struct mirror *m = f->m;
	struct listing l = { 0 };
	struct status st = { 0 };
	struct moment at = { f->seq, f->began, f->seq };

	int err = sandbox_list(m->sandbox, f->want, f->path, f->deep, &l,
	    f->cancel, &st);
	mirror_lock(m);
	if (!err) {
		m->sandbox_known = true;
		m->absent = false;
		m->still_until = 0;
		listing_take_locked(m, &l, f->deep, &at);
	} else {
		diag_debug("list: %s", st.text);
		err = list_failed_locked(f, &st);
	}
	fetch_end_locked(f, err, &st);
	mirror_unlock(m);
	listing_finish(&l);
}

static void
run_space(void *arg)
{
	struct fetch *f = arg;
	struct mirror *m = f->m;
	struct sandbox_space space = { 0 };
	struct status st = { 0 };

	int err =
	    sandbox_space(m->sandbox, SANDBOX_LOOK, &space, f->cancel, &st);
	mirror_lock(m);
	if (!err)
		m->space = space;
	/* None that runs: the last figures hold. */
	if (err && st.code != STATUS_CANCELED && st.code != STATUS_TIMEOUT)
		err = 0;
	m->space_at = clock_mono_ms();
	fetch_end_locked(f, err, &st);
	mirror_unlock(m);
}

struct fetch *
fetch_make_locked(struct mirror *m, enum fetch_kind kind, uint32_t node,
    const char *path)
{
	struct fetch *f = xcalloc(1, sizeof *f);

	lock_assert_held(&m->lock);
	f->m = m;
	f->kind = kind;
	f->node = node;
	f->path = xstrdup(path);
	f->seq = m->seq;
	f->began = clock_mono_ms();
	f->cancel = cancel_create(m->cancel);
	waiters_init(&f->waiters, f);
	f->next = m->fetches;
	f->back = &m->fetches;
	if (f->next)
		f->next->back = &f->next;
	m->fetches = f;
	return f;
}

struct fetch *
fetch_go_locked(struct fetch *f)
{
	static void (*const run[])(void *arg) = {
		[FETCH_LIST] = run_list,
		[FETCH_CONTENT] = run_content,
		[FETCH_RANGE] = run_range,
		[FETCH_SPACE] = run_space,
	};

	lane_submit(f->m->read_lane, run[f->kind], f);
	return f;
}

struct fetch *
fetch_list_locked(struct mirror *m, struct node *dir, const char *path,
    enum sandbox_want want, bool deep)
{
	struct fetch *f = fetch_find(m, FETCH_LIST, dir->number);

	if (f && f->seq >= m->forget_seq)
		return f;
	f = fetch_make_locked(m, FETCH_LIST, dir->number, path);
	f->want = want;
	f->deep = deep;
	return fetch_go_locked(f);
}

struct fetch *
fetch_space_locked(struct mirror *m)
{
	struct fetch *f = fetch_find(m, FETCH_SPACE, MIRROR_ROOT);

	if (f)
		return f;
	f = fetch_make_locked(m, FETCH_SPACE, MIRROR_ROOT, "");
	return fetch_go_locked(f);
}
