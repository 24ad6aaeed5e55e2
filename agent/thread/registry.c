/*
 * The threads of a mount in memory: by number (ascending, so a search by
 * halves) and by name (a hash). Each thread in it carries one reference.
 */
#include "agent/thread/internal.h"

#define BUCKETS_MIN 64

static size_t
bucket(const struct threads *ts, const char *name)
{
	uint32_t h = 2166136261U; /* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619U;
	return h & (ts->buckets - 1);
}

/* A thread's name changes under both locks only: either is enough to read. */
static void
link_locked(struct threads *ts, struct thread *t)
{
	struct thread **head = &ts->heads[bucket(ts, t->name)];

	lock_assert_held(&ts->lock);
	t->next = *head;
	*head = t;
}

static void
unlink_locked(struct threads *ts, struct thread *t, const char *name)
{
	struct thread **at = &ts->heads[bucket(ts, name)];

	lock_assert_held(&ts->lock);
	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

static void
grow_locked(struct threads *ts)
{
	if (ts->count == ts->cap) {
		ts->cap = ts->cap ? 2 * ts->cap : 16;
		ts->list = xrealloc(ts->list, ts->cap, sizeof(void *));
	}
	if (ts->count < ts->buckets)
		return;
	free(ts->heads);
	ts->buckets = ts->buckets ? 2 * ts->buckets : BUCKETS_MIN;
	ts->heads = xcalloc(ts->buckets, sizeof(void *));
	for (size_t i = 0; i < ts->count; i++)
		link_locked(ts, ts->list[i]);
}

/* Where the number is, or would be. */
static size_t
position_locked(const struct threads *ts, int64_t number)
{
	size_t low = 0, high = ts->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (ts->list[mid]->number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool
registry_add(struct threads *ts, struct thread *t)
{
	lock_acquire(&ts->lock);
	size_t at = position_locked(ts, t->number);
	if (at < ts->count && ts->list[at]->number == t->number) {
		lock_release(&ts->lock);
		return false;
	}
	grow_locked(ts);
	memmove(ts->list + at + 1, ts->list + at,
	    (ts->count - at) * sizeof(void *));
	ts->list[at] = t;
	ts->count++;
	link_locked(ts, t);
	lock_release(&ts->lock);
	return true;
}

bool
registry_remove(struct threads *ts, struct thread *t)
{
	lock_acquire(&ts->lock);
	size_t at = position_locked(ts, t->number);
	bool there = at < ts->count && ts->list[at] == t;
	if (there) {
		ts->count--;
		memmove(ts->list + at, ts->list + at + 1,
		    (ts->count - at) * sizeof(void *));
		unlink_locked(ts, t, t->name);
	}
	lock_release(&ts->lock);
	return there;
}

void
registry_rename(struct threads *ts, struct thread *t, const char *name)
{
	lock_acquire(&ts->lock);
	unlink_locked(ts, t, t->name);
	lock_acquire(&t->lock);
	snprintf(t->name, sizeof t->name, "%s", name);
	lock_release(&t->lock);
	if (!atomic_load(&t->ended))
		link_locked(ts, t);
	lock_release(&ts->lock);
}

struct thread **
registry_snapshot(struct threads *ts, size_t *count)
{
	lock_acquire(&ts->lock);
	struct thread **copy = xcalloc(ts->count, sizeof(void *));
	for (size_t i = 0; i < ts->count; i++)
		copy[i] = thread_get(ts->list[i]);
	*count = ts->count;
	lock_release(&ts->lock);
	return copy;
}

struct thread *
thread_find(struct threads *ts, const char *name)
{
	lock_acquire(&ts->lock);
	struct thread *t = ts->buckets ? ts->heads[bucket(ts, name)] : NULL;
	while (t && strcmp(t->name, name) != 0)
		t = t->next;
	if (t)
		thread_get(t);
	lock_release(&ts->lock);
	return t;
}

struct thread *
thread_by_number(struct threads *ts, int64_t number)
{
	struct thread *t = NULL;

	lock_acquire(&ts->lock);
	size_t at = position_locked(ts, number);
	if (at < ts->count && ts->list[at]->number == number)
		t = thread_get(ts->list[at]);
	lock_release(&ts->lock);
	return t;
}

void
threads_list(struct threads *ts,
    void (*each)(void *arg, const char *name, int64_t number), void *arg)
{
	struct entry {
		char name[129];
		int64_t number;
	} * copy;

	lock_acquire(&ts->lock);
	size_t count = ts->count;
	copy = xcalloc(count, sizeof *copy);
	for (size_t i = 0; i < count; i++) {
		memcpy(copy[i].name, ts->list[i]->name, sizeof copy[i].name);
		copy[i].number = ts->list[i]->number;
	}
	lock_release(&ts->lock);
	for (size_t i = 0; i < count; i++)
		each(arg, copy[i].name, copy[i].number);
	free(copy);
}
