/*
 * What a running command prints, as `..` lines: at most one a second, the
 * newest line, a bounded number a call. A program that redraws a line (a
 * progress bar) ends it with CR: that counts as a line too. A line that came
 * too early is shown by the idle worker when its second is over. Under the
 * thread's lock but for the writing, which live_finish() waits for: no line
 * comes after the call's result.
 */
#include "agent/base/clock.h"
#include "agent/thread/internal.h"

#define LINE_MAX_BYTES  4096
#define PAUSE_MS        1000
#define LINES_OF_A_CALL 600

void
live_init(struct live *l, struct thread *t, const char *name)
{
	*l = (struct live){ .thread = t, .name = name };
	buf_init(&l->line, LINE_MAX_BYTES);
	buf_init(&l->newest, LINE_MAX_BYTES);
}

void
live_finish(struct live *l)
{
	struct thread *t = l->thread;

	lock_acquire(&t->lock);
	while (l->showing)
		cond_wait(&t->idle, &t->lock, 0);
	if (t->live == l)
		t->live = NULL;
	lock_release(&t->lock);
	buf_finish(&l->line);
	buf_finish(&l->newest);
}

static bool
is_blank(const struct buf *b)
{
	return strspn(b->bytes, " \t") == b->len;
}

static void
end_line(struct live *l)
{
	if (!is_blank(&l->line)) {
		struct buf old = l->newest;
		l->newest = l->line;
		l->line = old;
	}
	buf_reset(&l->line);
}

static void
take_bytes(struct live *l, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r')
			end_line(l);
		else if (l->line.len < LINE_MAX_BYTES)
			buf_add(&l->line, bytes + i, 1);
	}
	/* A line that is not ended is better than none (a question). */
	if (l->newest.len == 0 && l->shown == 0 && !is_blank(&l->line))
		buf_add(&l->newest, l->line.bytes, l->line.len);
}

/* When a line may be shown; 0: there is none. */
static int64_t
due_at(const struct live *l)
{
	if (l->newest.len == 0 || l->showing || l->shown >= LINES_OF_A_CALL)
		return 0;
	return l->shown == 0 ? 1 : l->shown_ms + PAUSE_MS;
}

/* The lock is released meanwhile. */
static void
show_locked(struct live *l, int64_t now)
{
	struct thread *t = l->thread;
	auto_buf masked = BUF_INIT(ENTRY_MAX), entry = BUF_INIT(ENTRY_MAX);

	lock_assert_held(&t->lock);
	secrets_mask(&t->threads->secrets, &masked, l->newest.bytes,
	    l->newest.len);
	buf_reset(&l->newest);
	l->shown_ms = now;
	l->shown++;
	l->showing = true;
	lock_release(&t->lock);
	entry_live(&entry, l->name, masked.bytes, masked.len);
	thread_log_entries(t, &entry);
	lock_acquire(&t->lock);
	l->showing = false;
	cond_broadcast(&t->idle);
}

int64_t
live_next_locked(struct thread *t)
{
	lock_assert_held(&t->lock);
	return t->live ? due_at(t->live) : 0;
}

void
live_tick(struct thread *t, int64_t now)
{
	lock_acquire(&t->lock);
	struct live *l = t->live;
	int64_t at = l ? due_at(l) : 0;
	if (at > 0 && at <= now)
		show_locked(l, now);
	lock_release(&t->lock);
}

void
live_bytes(void *arg, const char *bytes, size_t len)
{
	struct live *l = arg;
	struct thread *t = l->thread;
	int64_t now = clock_mono_ms();

	lock_acquire(&t->lock);
	t->live = l;
	take_bytes(l, bytes, len);
	int64_t at = due_at(l);
	if (at > 0 && at <= now) {
		show_locked(l, now);
		at = 0;
	}
	lock_release(&t->lock);
	if (at > 0)
		thread_look_at(t, at);
}
