/* See registry.h. Files of one sandbox: DIR/sandboxes/ID/{sandbox.json, home,
 * tmp, venv, etc, lock}; DIR/run/ID is its socket, DIR/trash what goes. */
#include "agent/box/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/box/gotext.h"
#include "agent/box/tree.h"

#define RECORD_MAX ((size_t)4 << 20)

static const struct place *
place(const struct registry *r)
{
	return r->settings.place;
}

int64_t
registry_minutes(const struct registry *r, int64_t minutes)
{
	return minutes * r->settings.options->minute_ms;
}

void
registry_wake(struct registry *r)
{
	lock_acquire(&r->lock);
	cond_broadcast(&r->change);
	lock_release(&r->lock);
}

static void
put_locked(struct guest *g)
{
	if (--g->refs == 0)
		guest_destroy(g);
}

void
registry_put(struct registry *r, struct guest *g)
{
	if (!g)
		return;
	lock_acquire(&r->lock);
	put_locked(g);
	lock_release(&r->lock);
}

struct guest *
registry_find_locked(struct registry *r, const char *id)
{
	struct guest *named = NULL;

	lock_assert_held(&r->lock);
	for (struct guest *g = r->first; g; g = g->next) {
		if (strcmp(g->id, id) == 0)
			return g;
		if (strcmp(g->name, id) == 0)
			named = g;
	}
	return named;
}

struct guest *
registry_find(struct registry *r, const char *id_or_name)
{
	lock_acquire(&r->lock);
	struct guest *g = registry_find_locked(r, id_or_name);
	if (g)
		g->refs++;
	lock_release(&r->lock);
	return g;
}

struct guest **
registry_all(struct registry *r, size_t *count)
{
	size_t n = 0;

	lock_acquire(&r->lock);
	for (struct guest *g = r->first; g; g = g->next)
		n++;
	struct guest **all = xcalloc(n + 1, sizeof(struct guest *));
	n = 0;
	for (struct guest *g = r->first; g; g = g->next) {
		g->refs++;
		all[n++] = g;
	}
	lock_release(&r->lock);
	*count = n;
	return all;
}

static int
make_folder(const struct registry *r, const struct guest *g, struct status *st)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = { { "", 0700 }, { "/home", 0755 }, { "/tmp", 01777 },
		{ "/venv", 0755 }, { "/etc", 0755 }, { "/shm", 01777 } };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		auto_free char *path =
		    place_path(place(r), "sandboxes/%s%s", g->id, dirs[i].name);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return status_errno(st, errno, "%s", path);
		if (chmod(path, dirs[i].mode) < 0)
			return status_errno(st, errno, "%s", path);
	}
	return 0;
}

int
registry_add(struct registry *r, struct guest *g, struct status *st)
{
	if (make_folder(r, g, st) < 0) {
		guest_destroy(g);
		return -1;
	}
	lock_acquire(&r->lock);
	bool taken = registry_find_locked(r, g->name);
	if (!taken) {
		g->refs = 2;
		g->next = r->first;
		r->first = g;
	}
	lock_release(&r->lock);
	if (!taken) {
		registry_save(r, g);
		return 0;
	}
	auto_free char *dir = place_path(place(r), "sandboxes/%s", g->id);
	tree_remove(AT_FDCWD, dir, false);
	status_set(st, STATUS_EXISTS, "Sandbox with name %s already exists",
	    g->name);
	guest_destroy(g);
	return -1;
}

/* Of errno. */
static void
complain(const char *path)
{
	char words[96];

	gotext_errno(words, errno);
	diag_err("%s: %s", path, words);
}

static int
write_record(const char *path, const char *text, size_t len)
{
	auto_free char *temporary = xasprintf("%s.new", path);
	auto_fd int fd =
	    open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write_all(fd, text, len) < 0 || fdatasync(fd) < 0)
		return -1;
	return rename(temporary, path);
}

void
registry_save(struct registry *r, struct guest *g)
{
	auto_buf text = BUF_INIT(RECORD_MAX);

	wait_point();
	lock_acquire(&r->saving);
	lock_acquire(&r->lock);
	bool gone = g->state == GUEST_DESTROYED;
	auto_json *json = gone ? NULL : guest_record(g);
	lock_release(&r->lock);
	if (!gone) {
		auto_free char *path =
		    place_path(place(r), "sandboxes/%s/sandbox.json", g->id);
		json_print(&text, json);
		if (text.failed || write_record(path, text.bytes, text.len) < 0)
			complain(path);
	}
	lock_release(&r->saving);
}

void
registry_remove(struct registry *r, struct guest *g)
{
	auto_free char *from = place_path(place(r), "sandboxes/%s", g->id);
	auto_free char *to = place_path(place(r), "trash/%s", g->id);

	lock_acquire(&r->saving);
	if (rename(from, to) < 0)
		complain(to);
	lock_release(&r->saving);
	lock_acquire(&r->lock);
	struct guest **at = &r->first;
	while (*at && *at != g)
		at = &(*at)->next;
	if (*at) {
		*at = g->next;
		put_locked(g);
	}
	r->trash_full = true;
	cond_broadcast(&r->change);
	lock_release(&r->lock);
}

static void
load_one(struct registry *r, const char *id)
{
	auto_free char *path =
	    place_path(place(r), "sandboxes/%s/sandbox.json", id);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_buf text = BUF_INIT(RECORD_MAX);
	struct status st = { .text = "no such file" };
	struct stat file;
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &file) == 0) {
		char *room = buf_reserve(&text, (size_t)file.st_size);
		n = room ? read(fd, room, (size_t)file.st_size) : -1;
	}
	struct guest *g =
	    n > 0 ? guest_parse(text.bytes, (size_t)n, &st) : NULL;
	if (!g || strcmp(g->id, id) != 0) {
		/* Left alone: its files are somebody's. */
		diag_err("%s is damaged: %s", path, st.text);
		guest_destroy(g);
		return;
	}
	g->refs = 1;
	g->next = r->first;
	r->first = g;
}

static int
by_age(const void *a, const void *b)
{
	const struct guest *const *x = a, *const *y = b;

	return ((*x)->created_ms > (*y)->created_ms) -
	    ((*x)->created_ms < (*y)->created_ms);
}

/* Newest first, as registry_add() keeps it. */
static void
sort(struct registry *r)
{
	size_t n = 0, i = 0;

	for (struct guest *g = r->first; g; g = g->next)
		n++;
	struct guest **all = xcalloc(n + 1, sizeof(struct guest *));
	for (struct guest *g = r->first; g; g = g->next)
		all[i++] = g;
	if (n > 1)
		qsort(all, n, sizeof(struct guest *), by_age);
	r->first = NULL;
	for (i = 0; i < n; i++) {
		all[i]->next = r->first;
		r->first = all[i];
	}
	free(all);
}

int
registry_init(struct registry *r, const struct cage_settings *settings,
    struct status *st)
{
	static const char *const dirs[] = { "sandboxes", "trash", "run" };

	*r = (struct registry){ .settings = *settings, .trash_full = true };
	lock_init(&r->lock, RANK_THREADS);
	lock_init(&r->saving, RANK_STORE);
	cond_init(&r->change);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		auto_free char *path = place_path(place(r), "%s", dirs[i]);
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return status_errno(st, errno, "--data: %s", path);
	}
	auto_free char *path = place_path(place(r), "sandboxes");
	DIR *dir = opendir(path);
	const struct dirent *e;
	if (!dir)
		return status_errno(st, errno, "--data: %s", path);
	/* No other worker yet. */
	while ((e = readdir(dir))) /* NOLINT(concurrency-mt-unsafe) */
		if (uuid_valid(e->d_name))
			load_one(r, e->d_name);
	closedir(dir);
	sort(r);
	return 0;
}
