/* The push queue of the store, in memory. */
#include "agent/base/lock.h"
#include "tests/agent/mirror/fake.h"

struct rows {
	struct queued_push *list;
	size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rows now, saved;
static int64_t next_id = 1;
static bool broken;

static char *
copy(const char *s)
{
	return xstrdup(s ? s : "");
}

static void
append(struct rows *r, const struct queued_push *row)
{
	r->list = xrealloc(r->list, r->count + 1, sizeof *r->list);
	struct queued_push *c = &r->list[r->count++];
	*c = *row;
	c->path = copy(row->path);
	c->path2 = copy(row->path2);
	c->file = copy(row->file);
	c->detail = copy(row->detail);
}

static void
drop(struct rows *r, size_t i)
{
	free((char *)(uintptr_t)r->list[i].path);
	free((char *)(uintptr_t)r->list[i].path2);
	free((char *)(uintptr_t)r->list[i].file);
	free((char *)(uintptr_t)r->list[i].detail);
	memmove(r->list + i, r->list + i + 1,
	    (r->count - i - 1) * sizeof *r->list);
	r->count--;
}

static void
clear(struct rows *r)
{
	while (r->count > 0)
		drop(r, r->count - 1);
	free(r->list);
	*r = (struct rows){ 0 };
}

static void
replace(const struct queued_push *row)
{
	struct queued_push last;

	for (size_t i = 0; i < now.count; i++) {
		if (now.list[i].id != row->id)
			continue;
		append(&now, row);
		last = now.list[now.count - 1];
		now.list[now.count - 1] = now.list[i];
		now.list[i] = last;
		drop(&now, now.count - 1);
		return;
	}
}

static void
remove_ids(const int64_t *ids, size_t count)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < now.count; i++)
			if (now.list[i].id == ids[k])
				drop(&now, i--);
}

int
store_queue_add(struct store *s, struct queued_push *rows, size_t count,
    const int64_t *removed, size_t removed_count, struct status *st)
{
	(void)s;
	wait_point();
	pthread_mutex_lock(&lock);
	if (broken) {
		pthread_mutex_unlock(&lock);
		return status_set(st, STATUS_NO_SPACE, "the disk is full");
	}
	for (size_t i = 0; i < count; i++) {
		if (rows[i].id) {
			replace(&rows[i]);
			continue;
		}
		rows[i].id = next_id++;
		append(&now, &rows[i]);
	}
	remove_ids(removed, removed_count);
	pthread_mutex_unlock(&lock);
	return 0;
}

int
store_queue_done(struct store *s, const int64_t *ids, size_t count,
    struct status *st)
{
	return store_queue_add(s, NULL, 0, ids, count, st);
}

int
store_queue_load(struct store *s, int64_t thread,
    void (*each)(void *arg, const struct queued_push *row), void *arg,
    struct status *st)
{
	(void)s;
	(void)st;
	wait_point();
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < now.count; i++)
		if (now.list[i].thread == thread)
			each(arg, &now.list[i]);
	pthread_mutex_unlock(&lock);
	return 0;
}

size_t
fake_store_rows(void)
{
	pthread_mutex_lock(&lock);
	size_t n = now.count;
	pthread_mutex_unlock(&lock);
	return n;
}

void
fake_store_reset(void)
{
	pthread_mutex_lock(&lock);
	clear(&now);
	clear(&saved);
	broken = false;
	pthread_mutex_unlock(&lock);
}

void
fake_store_break(bool is_broken)
{
	pthread_mutex_lock(&lock);
	broken = is_broken;
	pthread_mutex_unlock(&lock);
}

void
fake_store_save(void)
{
	pthread_mutex_lock(&lock);
	clear(&saved);
	for (size_t i = 0; i < now.count; i++)
		append(&saved, &now.list[i]);
	pthread_mutex_unlock(&lock);
}

void
fake_store_restore(void)
{
	pthread_mutex_lock(&lock);
	clear(&now);
	for (size_t i = 0; i < saved.count; i++)
		append(&now, &saved.list[i]);
	pthread_mutex_unlock(&lock);
}

void
fake_store_print(void)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < now.count; i++)
		fprintf(stderr, "  row %lld kind %d %s %s %s %s\n",
		    (long long)now.list[i].id, now.list[i].kind,
		    now.list[i].path, now.list[i].path2, now.list[i].file,
		    now.list[i].detail);
	pthread_mutex_unlock(&lock);
}
