/*
 * A thread's sandbox and the mirror of its files. Both are objects in memory
 * that most threads of a mount never need: they are made when somebody first
 * asks, which waits for nothing, because what an earlier mount left in the
 * queue is taken up when the threads are loaded. Trap: what they report may
 * come while the thread is taken apart.
 */
#include <dirent.h>

#include "agent/base/diag.h"
#include "agent/thread/internal.h"

struct sandbox_fact {
	struct thread *thread;
	struct sandbox_view view;
};

static bool
is_there(const struct sandbox_view *view)
{
	return view->id[0] && strcmp(view->state, "absent") != 0;
}

/* On the disk lane: what the store keeps of the sandbox. */
static void
store_sandbox(void *arg)
{
	struct sandbox_fact *f = arg;
	struct thread *t = f->thread;
	struct status st = { 0 };

	if (!atomic_load(&t->ended) &&
	    store_thread_set_sandbox(t->threads->settings.store, t->number,
		is_there(&f->view) ? f->view.id : "", f->view.ours, &st) < 0 &&
	    st.code != STATUS_NOT_FOUND)
		diag_err("thread %lld: %s", (long long)t->number, st.text);
	thread_put(t);
	free(f);
}

static void
on_sandbox_event(void *arg, const char *line)
{
	struct thread *t = arg;

	if (atomic_load(&t->ended))
		return;
	struct sandbox_fact *f = xcalloc(1, sizeof *f);
	f->thread = thread_get(t);
	sandbox_view(thread_sandbox(t), &f->view);
	lock_acquire(&t->lock);
	snprintf(t->sandbox_id, sizeof t->sandbox_id, "%s",
	    is_there(&f->view) ? f->view.id : "");
	t->sandbox_ours = f->view.ours;
	t->was_started = t->was_started || f->view.started;
	lock_release(&t->lock);
	lane_submit(t->threads->disk_lane, store_sandbox, f);
	thread_log(t, "sandbox", line);
	thread_use(t);
}

static void
on_mirror_note(void *arg, const char *line)
{
	thread_log(arg, "file", line);
}

/* nothing_left: see struct mirror_settings; else [disk], without the lock. */
static struct workspace
make(struct thread *t, bool nothing_left)
{
	struct threads *ts = t->threads;
	struct sandbox_options none = { 0 };
	auto_free char *name = xasprintf("thread-%s", t->name);
	struct mirror_settings ms = { .thread = t->number,
		.staging_dir = ts->staging_dir,
		.queue_dir = ts->queue_dir,
		.links_raw = ts->settings.links_raw,
		.sandbox_known = t->sandbox_id[0] != '\0',
		.nothing_left = nothing_left,
		.note = on_mirror_note,
		.note_arg = t };
	struct workspace w = { 0 };

	w.sandbox = sandbox_create(ts->settings.provider, name, &none);
	sandbox_on_event(w.sandbox, on_sandbox_event, t);
	if (t->sandbox_id[0])
		sandbox_hint(w.sandbox, t->sandbox_id, t->sandbox_ours);
	w.mirror = mirror_create(w.sandbox, ts->settings.store, &ms);
	return w;
}

static void
set_locked(struct thread *t, const struct workspace *w)
{
	lock_assert_held(&t->lock);
	t->sandbox = w->sandbox;
	t->mirror = w->mirror;
	thread_apply_options_locked(t);
}

static void
need_locked(struct thread *t)
{
	lock_assert_held(&t->lock);
	if (t->sandbox)
		return;
	struct workspace w = make(t, true);
	set_locked(t, &w);
}

struct mirror *
thread_mirror(struct thread *t)
{
	lock_acquire(&t->lock);
	need_locked(t);
	struct mirror *m = t->mirror;
	lock_release(&t->lock);
	return m;
}

struct sandbox *
thread_sandbox(struct thread *t)
{
	lock_acquire(&t->lock);
	need_locked(t);
	struct sandbox *sb = t->sandbox;
	lock_release(&t->lock);
	return sb;
}

bool
workspace_view(struct thread *t, struct sandbox_view *sandbox,
    struct mirror_view *files)
{
	lock_acquire(&t->lock);
	struct sandbox *sb = t->sandbox;
	struct mirror *m = t->mirror;
	*sandbox = (struct sandbox_view){ .ours = t->sandbox_ours };
	snprintf(sandbox->id, sizeof sandbox->id, "%s", t->sandbox_id);
	*files = (struct mirror_view){ 0 };
	lock_release(&t->lock);
	if (sb)
		sandbox_view(sb, sandbox);
	if (m)
		mirror_view(m, files);
	return sb != NULL;
}

void
workspace_recover(struct thread *t)
{
	struct workspace w = make(t, false);

	lock_acquire(&t->lock);
	set_locked(t, &w);
	lock_release(&t->lock);
}

void
workspace_renew(struct thread *t)
{
	lock_acquire(&t->lock);
	if (t->sandbox) {
		struct workspace *w = xcalloc(1, sizeof *w);
		w->next = t->old;
		w->sandbox = take(t->sandbox);
		w->mirror = take(t->mirror);
		t->old = w;
	}
	lock_release(&t->lock);
}

void
workspace_close(struct thread *t, int64_t drain_ms)
{
	lock_acquire(&t->lock);
	struct mirror *m = take(t->mirror);
	lock_release(&t->lock);
	mirror_destroy(m, drain_ms);
}

void
workspace_destroy(struct thread *t)
{
	mirror_destroy(t->mirror, 0);
	sandbox_destroy(t->sandbox);
	while (t->old) {
		struct workspace *w = t->old;
		t->old = w->next;
		mirror_destroy(w->mirror, 0);
		sandbox_destroy(w->sandbox);
		free(w);
	}
}

/* --- Files that nobody knows ---------------------------------------------- */

/* Files are named by their thread: NUMBER-SERIAL. Those of a thread with a
 * queue were looked at when that was taken up; it may be making new ones. */
static bool
is_stray(struct threads *ts, const char *name)
{
	char *end;
	int64_t number = strtoll(name, &end, 10);

	if (end == name || *end != '-')
		return false;
	struct thread *t = thread_by_number(ts, number);
	bool known = false;
	if (t) {
		lock_acquire(&t->lock);
		known = t->mirror != NULL;
		lock_release(&t->lock);
	}
	thread_put(t);
	return !known;
}

static void
sweep(struct threads *ts, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return;
	// NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
	while ((e = readdir(dir)))
		if (is_stray(ts, e->d_name))
			unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
}

void
workspace_sweep(struct threads *ts)
{
	sweep(ts, ts->staging_dir);
	sweep(ts, ts->queue_dir);
}
