/*
 * What a running command prints, as `..` lines: at most one a second, the
 * newest line, a bounded number a call. A program that redraws a line (a
 * progress bar) ends it with CR: that counts as a line too.
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
}

static void
show(struct live *l, int64_t now)
{
	auto_buf masked = BUF_INIT(ENTRY_MAX), entry = BUF_INIT(ENTRY_MAX);

	secrets_mask(&l->thread->threads->secrets, &masked, l->newest.bytes,
	    l->newest.len);
	entry_live(&entry, l->name, masked.bytes, masked.len);
	thread_log_entries(l->thread, &entry);
	buf_reset(&l->newest);
	l->shown_ms = now;
	l->shown++;
}

void
live_bytes(void *arg, const char *bytes, size_t len)
{
	struct live *l = arg;
	int64_t now = clock_mono_ms();

	take_bytes(l, bytes, len);
	/* A line that is not ended is better than none (a prompt). */
	if (l->newest.len == 0 && l->shown == 0 && !is_blank(&l->line)) {
		buf_add(&l->newest, l->line.bytes, l->line.len);
	}
	if (l->newest.len > 0 && l->shown < LINES_OF_A_CALL &&
	    (l->shown == 0 || now - l->shown_ms >= PAUSE_MS))
		show(l, now);
}
