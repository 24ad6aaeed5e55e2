/* The two workers of a registry: time, and the removal of deleted folders. */
#include <dirent.h>
#include <fcntl.h>

#include "agent/base/clock.h"
#include "agent/box/lifecycle.h"
#include "agent/box/tree.h"

/* Without an event the clock is looked at this often: it may be set. */
#define LOOK_MS 10000

static void *
keep_time(void *arg)
{
	struct registry *r = arg;

	lock_acquire(&r->lock);
	while (!r->stopping) {
		int64_t next = 0;
		lock_release(&r->lock);
		bool did = lifecycle_step(r, &next);
		lock_acquire(&r->lock);
		if (did || r->stopping)
			continue;
		int64_t wait = LOOK_MS;
		if (next)
			wait =
			    MIN(wait, MAX(next - clock_wall_ms(), (int64_t)1));
		cond_wait(&r->change, &r->lock, clock_mono_ms() + wait);
	}
	lock_release(&r->lock);
	return NULL;
}

static void
empty_trash(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *e;

	if (!dir)
		return;
	/* A stream of our own: no other worker reads it. */
	while ((e = readdir(dir))) /* NOLINT(concurrency-mt-unsafe) */
		if (uuid_valid(e->d_name))
			tree_remove(dirfd(dir), e->d_name, true);
	closedir(dir);
}

static void *
sweep(void *arg)
{
	struct registry *r = arg;
	auto_free char *trash = place_path(r->settings.place, "trash");

	lock_acquire(&r->lock);
	for (;;) {
		while (!r->trash_full && !r->stopping)
			cond_wait(&r->change, &r->lock, 0);
		if (r->stopping)
			break;
		r->trash_full = false;
		lock_release(&r->lock);
		empty_trash(trash);
		lock_acquire(&r->lock);
	}
	lock_release(&r->lock);
	return NULL;
}

void
registry_run(struct registry *r)
{
	r->timer = worker_start(keep_time, r, "timer");
	r->sweeper = worker_start(sweep, r, "sweeper");
}

static void *
stop_one(void *arg)
{
	struct guest *g = arg;

	/* Nobody else touches it any more: see registry_stop(). */
	cage_stop(g->cage, true);
	g->cage = NULL;
	return NULL;
}

void
registry_stop(struct registry *r)
{
	size_t count = 0;

	lock_acquire(&r->lock);
	r->stopping = true;
	cond_broadcast(&r->change);
	/* Changes under way come to their end; none begins. */
	for (bool busy = true; busy;) {
		busy = false;
		for (struct guest *g = r->first; g; g = g->next)
			busy |= g->transition != NULL;
		if (busy)
			cond_wait(&r->change, &r->lock, 0);
	}
	lock_release(&r->lock);
	worker_join(r->timer);
	worker_join(r->sweeper);
	struct guest **all = registry_all(r, &count);
	pthread_t *workers = xcalloc(count + 1, sizeof *workers);
	for (size_t i = 0; i < count; i++)
		workers[i] = worker_start(stop_one, all[i], "stop");
	for (size_t i = 0; i < count; i++) {
		worker_join(workers[i]);
		registry_put(r, all[i]);
	}
	free(workers);
	free(all);
}

void
registry_finish(struct registry *r)
{
	while (r->first) {
		struct guest *g = r->first;
		r->first = g->next;
		guest_destroy(g);
	}
	cond_finish(&r->change);
	lock_finish(&r->saving);
	lock_finish(&r->lock);
}
