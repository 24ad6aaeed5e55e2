/*
 * All threads of a mount: loaded at its start, and its orderly stop. The order
 * of the stop: nothing new begins, turns are cancelled and end as interrupted,
 * commands end, mirrors bring home what they can in a bounded time, sandboxes
 * are stopped, kept or deleted, all threads beside each other.
 */
#include <errno.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

/* Threads that are taken apart or deleted at the same time. */
#define BACKGROUND_WORKERS 8
/* What is not in the sandbox by then stays queued for the next mount. */
#define DRAIN_MS 10000
/* Stopping or deleting one sandbox at the end. */
#define EXIT_MS 20000

struct load {
	struct threads *threads;
	struct stored_thread *list;
	size_t count;
};

/* The store is locked while this runs: copy and return. */
static void
copy_stored(void *arg, const struct stored_thread *s)
{
	struct load *l = arg;

	l->list = xrealloc(l->list, l->count + 1, sizeof *l->list);
	struct stored_thread *copy = &l->list[l->count++];
	*copy = *s;
	copy->config = xstrdup(s->config ? s->config : "");
	copy->line = xstrdup(s->line ? s->line : "");
	copy->last_prompt = xstrdup(s->last_prompt ? s->last_prompt : "");
}

static void
count_row(void *arg, const struct queued_push *row)
{
	(void)row;
	++*(unsigned *)arg;
}

/* Changes of files that are not in the sandbox yet. */
static unsigned
queued_rows(struct thread *t)
{
	struct status st;
	unsigned rows = 0;

	if (store_queue_load(t->threads->settings.store, t->number, count_row,
		&rows, &st) < 0)
		diag_err("thread %lld: %s", (long long)t->number, st.text);
	return rows;
}

static void
load_one(struct threads *ts, const struct stored_thread *s)
{
	bool log_missing;
	struct thread *t = thread_create(ts, s, &log_missing);

	if (queued_rows(t) > 0)
		workspace_recover(t);
	thread_recall(t, log_missing);
	/* Two workers may have noticed the same new thread. */
	if (!registry_add(ts, t))
		thread_put(t);
}

static int
load(struct threads *ts, bool all, struct status *st)
{
	struct load l = { .threads = ts };

	int rc = store_threads(ts->settings.store, copy_stored, &l, st);
	for (size_t i = 0; i < l.count; i++) {
		struct thread *known = rc < 0 || all
		    ? NULL
		    : thread_by_number(ts, l.list[i].number);
		if (rc == 0 && !known)
			load_one(ts, &l.list[i]);
		thread_put(known);
		stored_thread_finish(&l.list[i]);
	}
	free(l.list);
	return rc;
}

void
threads_look(struct threads *ts)
{
	struct status st;

	if (!store_foreign_changes(ts->settings.store))
		return;
	atomic_fetch_add(&ts->foreign, 1);
	if (load(ts, false, &st) < 0)
		diag_err("threads: %s", st.text);
}

static void
add_queued(void *arg, const struct stored_turn *s)
{
	struct threads *ts = arg;
	struct thread *t = thread_by_number(ts, s->thread);

	if (!t)
		return;
	struct turn *turn = turn_create(t, s->turn);
	lock_acquire(&t->lock);
	queue_add_locked(t, turn);
	thread_rephase_locked(t);
	lock_release(&t->lock);
	thread_put(t);
}

/* The queued turns start again, in the order in which they came. */
static int
start_queued(struct threads *ts, struct status *st)
{
	if (store_turns_queued(ts->settings.store, add_queued, ts, st) < 0)
		return -1;
	size_t count;
	struct thread **list = registry_snapshot(ts, &count);
	for (size_t i = 0; i < count; i++) {
		queue_run(list[i]);
		thread_put(list[i]);
	}
	free(list);
	return 0;
}

static void
make_dir(const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		diag_err("cannot make %s: %s", path, strerrorname_np(errno));
}

static void
free_all(struct threads *ts)
{
	free(ts->list);
	free(ts->heads);
	free(ts->log_dir);
	free(ts->queue_dir);
	free(ts->staging_dir);
	secrets_finish(&ts->secrets);
	cancel_put(ts->cancel);
	cancel_put(ts->give_up);
	cond_finish(&ts->freed);
	cond_finish(&ts->idle_cond);
	lock_finish(&ts->lock);
	free(ts);
}

int
threads_create(const struct threads_settings *settings, struct threads **out,
    struct status *st)
{
	struct threads *ts = xcalloc(1, sizeof *ts);

	wait_point();
	ts->settings = *settings;
	secrets_init(&ts->secrets, settings->secrets, settings->env_arg);
	ts->log_dir = xasprintf("%s/log", settings->state_dir);
	ts->queue_dir = xasprintf("%s/queue", settings->state_dir);
	ts->staging_dir = xasprintf("%s/staging", settings->cache_dir);
	make_dir(ts->log_dir);
	make_dir(ts->queue_dir);
	make_dir(settings->cache_dir);
	make_dir(ts->staging_dir);
	ts->cancel = cancel_create(NULL);
	ts->give_up = cancel_create(NULL);
	lock_init(&ts->lock, RANK_THREADS);
	cond_init(&ts->freed);
	cond_init(&ts->idle_cond);
	ts->disk_lane = lane_create("disk", 1);
	ts->turn_lane =
	    lane_create("turn", (unsigned)MAX(settings->max_turns, 1));
	ts->background = lane_create("background", BACKGROUND_WORKERS);
	idle_start(ts);
	/* What was there before is no news. */
	(void)store_foreign_changes(settings->store);
	if (load(ts, true, st) < 0) {
		threads_destroy(ts, NULL);
		return -1;
	}
	workspace_sweep(ts);
	if (start_queued(ts, st) < 0) {
		threads_destroy(ts, NULL);
		return -1;
	}
	*out = ts;
	return 0;
}

struct lane *
threads_disk_lane(struct threads *ts)
{
	return ts->disk_lane;
}

/* --- The end -------------------------------------------------------------- */

struct closing {
	struct thread *thread; /* shares */
	void (*say)(const char *line);
};

static void
say_line(const struct closing *c, const char *line)
{
	thread_log(c->thread, "sandbox", line);
	if (c->say) {
		auto_free char *named =
		    xasprintf("%s: %s", c->thread->name, line);
		c->say(named);
	}
}

/* What will be missing, and until when it can be had. */
static void
say_what_is_left(const struct closing *c, const struct sandbox_view *sandbox)
{
	unsigned left = queued_rows(c->thread);
	char line[320];

	if (left > 0) {
		snprintf(line, sizeof line,
		    "%u change%s not in the sandbox yet: kept here and sent "
		    "at the next mount",
		    left, left == 1 ? " is" : "s are");
		say_line(c, line);
	}
	if (sandbox->id[0] && sandbox->expires_at[0] &&
	    strcmp(sandbox->state, "absent") != 0) {
		snprintf(line, sizeof line,
		    "the files of workspace/ are in sandbox %s until %s",
		    sandbox->id, sandbox->expires_at);
		say_line(c, line);
	}
}

static int
leave_sandbox(struct thread *t, const struct sandbox_view *view,
    struct status *st)
{
	struct sandbox *sb = thread_sandbox(t);
	struct cancel *c = t->threads->give_up;
	enum thread_exit on_exit = t->threads->settings.on_exit;

	if (on_exit == THREAD_EXIT_DELETE && view->ours)
		return sandbox_delete(sb, c, st);
	if (on_exit != THREAD_EXIT_KEEP && view->started)
		return sandbox_stop(sb, c, st);
	return 0;
}

/* On the background lane. */
static void
close_thread(void *arg)
{
	struct closing *c = arg;
	struct thread *t = c->thread;
	struct sandbox_view view;
	struct mirror_view files;
	struct status st = { 0 };

	lock_acquire(&t->lock);
	struct lane *commands = t->lane;
	lock_release(&t->lock);
	if (commands)
		lane_drain(commands);
	workspace_close(t, DRAIN_MS);
	lock_acquire(&t->lock);
	bool used = t->was_started;
	lock_release(&t->lock);
	(void)workspace_view(t, &view, &files);
	if ((used || view.started) && leave_sandbox(t, &view, &st) < 0) {
		thread_log(t, "sandbox", st.text);
		diag_warn("thread %lld: %s", (long long)t->number, st.text);
	}
	(void)workspace_view(t, &view, &files);
	if (used || view.started)
		say_what_is_left(c, &view);
	thread_put(t);
	free(c);
}

/* False: some thread is still held by somebody, or its remote hangs. */
static bool
wait_until_freed(struct threads *ts, int64_t deadline)
{
	bool in_time = true;

	lock_acquire(&ts->lock);
	while (ts->alive > 0 && in_time)
		in_time = cond_wait(&ts->freed, &ts->lock, deadline);
	bool all = ts->alive == 0;
	lock_release(&ts->lock);
	return all;
}

static void
close_all(struct threads *ts, void (*say)(const char *line))
{
	size_t count;
	struct thread **list = registry_snapshot(ts, &count);

	for (size_t i = 0; i < count; i++) {
		struct closing *c = xcalloc(1, sizeof *c);
		c->thread = list[i];
		c->say = say;
		lane_submit(ts->background, close_thread, c);
		if (registry_remove(ts, list[i]))
			thread_put(list[i]);
	}
	free(list);
}

void
threads_destroy(struct threads *ts, void (*say)(const char *line))
{
	if (!ts)
		return;
	wait_point();
	atomic_store(&ts->stopping, true);
	cancel_fire(ts->cancel);
	lane_drain(ts->turn_lane);
	idle_stop(ts);
	close_all(ts, say);
	int64_t until = clock_mono_ms() + DRAIN_MS + EXIT_MS;
	bool all = wait_until_freed(ts, until);
	if (!all) {
		cancel_fire(ts->give_up);
		all = wait_until_freed(ts, clock_mono_ms() + 5000);
	}
	if (!all) {
		diag_err("a thread is still in use at the end");
		return;
	}
	lane_destroy(ts->turn_lane);
	lane_destroy(ts->background);
	lane_destroy(ts->disk_lane);
	free_all(ts);
}
