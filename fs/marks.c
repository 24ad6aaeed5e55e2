/* Marks of removal; see marks.h. Few threads carry any: a list does. */
#include "fs/marks.h"

#include "agent/base/clock.h"
#include "fs/reaper.h"

struct marked {
	struct marked *next;
	int64_t thread;
	unsigned bits;
	int64_t last; /* clock_mono_ms() of the last removal */
};

struct marks {
	unsigned needed; /* immutable */
	struct lock lock;
	/* under lock */
	struct marked *first;
};

struct marks *
marks_create(void)
{
	struct marks *m = xcalloc(1, sizeof *m);

	lock_init(&m->lock, RANK_INODES);
	return m;
}

void
marks_destroy(struct marks *m)
{
	if (!m)
		return;
	while (m->first) {
		struct marked *e = m->first;
		m->first = e->next;
		free(e);
	}
	lock_finish(&m->lock);
	free(m);
}

void
marks_set_needed(struct marks *m, unsigned needed)
{
	m->needed = needed;
}

static struct marked **
find_locked(struct marks *m, int64_t thread)
{
	struct marked **at = &m->first;

	lock_assert_held(&m->lock);
	while (*at && (*at)->thread != thread)
		at = &(*at)->next;
	return at;
}

static bool
is_marked(struct marks *m, int64_t thread)
{
	lock_acquire(&m->lock);
	bool yes = *find_locked(m, thread) != NULL;
	lock_release(&m->lock);
	return yes;
}

/* The mirror is told without our lock: again, if meanwhile it changed. */
static void
tell_mirror(struct marks *m, struct thread *t)
{
	int64_t number = thread_number(t);
	bool told;

	do {
		told = is_marked(m, number);
		mirror_set_marked(thread_mirror(t), told);
	} while (told != is_marked(m, number));
}

static bool
remove_entry(struct marks *m, int64_t thread)
{
	lock_acquire(&m->lock);
	struct marked **at = find_locked(m, thread);
	struct marked *e = *at;
	if (e)
		*at = e->next;
	lock_release(&m->lock);
	free(e);
	return e != NULL;
}

void
marks_add(struct session *s, struct thread *t, unsigned mark)
{
	struct marks *m = s->marks;
	int64_t number = thread_number(t);

	lock_acquire(&m->lock);
	struct marked **at = find_locked(m, number);
	bool first = !*at;
	if (first) {
		*at = xcalloc(1, sizeof **at);
		(*at)->thread = number;
	}
	(*at)->bits |= 1U << mark;
	(*at)->last = clock_mono_ms();
	lock_release(&m->lock);
	if (first) {
		tell_mirror(m, t);
		reaper_poke(s->reaper);
	}
}

void
marks_touch(struct session *s, int64_t thread)
{
	struct marks *m = s->marks;

	lock_acquire(&m->lock);
	struct marked *e = *find_locked(m, thread);
	if (e)
		e->last = clock_mono_ms();
	lock_release(&m->lock);
}

void
marks_clear(struct session *s, struct thread *t)
{
	if (remove_entry(s->marks, thread_number(t)))
		tell_mirror(s->marks, t);
}

bool
marks_whole(struct session *s, int64_t thread)
{
	struct marks *m = s->marks;

	lock_acquire(&m->lock);
	const struct marked *e = *find_locked(m, thread);
	bool whole = e && (e->bits & m->needed) == m->needed &&
	    clock_mono_ms() - e->last < MARKS_MS;
	lock_release(&m->lock);
	return whole;
}

void
marks_forget(struct session *s, int64_t thread)
{
	remove_entry(s->marks, thread);
}

/* Unlinks one that is too old, and gives its thread; 0 if none is. */
static int64_t
take_old(struct marks *m, int64_t now, int64_t *next)
{
	int64_t thread = 0;

	lock_acquire(&m->lock);
	for (struct marked **at = &m->first; *at && !thread;) {
		struct marked *e = *at;
		if (e->last + MARKS_MS <= now) {
			thread = e->thread;
			*at = e->next;
			free(e);
		} else {
			*next = clock_sooner(*next, e->last + MARKS_MS);
			at = &e->next;
		}
	}
	lock_release(&m->lock);
	return thread;
}

int64_t
marks_expire(struct session *s, int64_t now)
{
	int64_t next = 0, number;

	while ((number = take_old(s->marks, now, &next))) {
		struct thread *t = thread_by_number(s->threads, number);
		if (t)
			tell_mirror(s->marks, t);
		thread_put(t);
	}
	return next;
}
