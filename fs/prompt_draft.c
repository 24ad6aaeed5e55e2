/* Unsent prompts; see prompt_draft.h. */
#include "fs/prompt_draft.h"

#include <errno.h>

#include "agent/thread/thread.h"

/* PF_SIGNALED of the kernel, in field 9 of /proc/PID/stat (measured: INT,
 * TERM, KILL, timeout(1); never a plain exit). */
#define PF_SIGNALED 0x400

void
prompt_draft_init(struct prompt_draft *d, bool append)
{
	*d = (struct prompt_draft){ .append = append };
	buf_init(&d->text, THREAD_PROMPT_MAX);
}

void
prompt_draft_finish(struct prompt_draft *d)
{
	buf_finish(&d->text);
}

static void
empty(struct prompt_draft *d)
{
	buf_reset(&d->text);
	d->checked = 0;
	d->based = false;
	d->spoiled = 0;
}

static void
set_home(struct prompt_draft *d, uint64_t owner)
{
	if (!d->have_home)
		d->home = owner;
	d->have_home = true;
}

static int
spoil(struct prompt_draft *d, int err)
{
	buf_reset(&d->text);
	d->checked = 0;
	d->spoiled = err;
	return err;
}

static int
refuse(struct prompt_draft *d, const struct status *st)
{
	return spoil(d, st->code == STATUS_TOO_BIG ? -EFBIG : -EILSEQ);
}

/* The end of the last whole character at or before `at`, where everything
 * before is valid: a character has at most four bytes. */
static size_t
character_start(const struct buf *text, size_t at)
{
	size_t i = at;

	while (i > 0 && at - i < 4 &&
	    ((unsigned char)text->bytes[i - 1] >> 6) == 2)
		i--;
	if (i == 0 || (unsigned char)text->bytes[i - 1] < 0xc0)
		return at;
	unsigned char lead = (unsigned char)text->bytes[i - 1];
	size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	return i - 1 + need <= at ? at : i - 1;
}

int
prompt_draft_write(struct prompt_draft *d, uint64_t owner, const char *bytes,
    size_t len, int64_t off, struct status *st)
{
	set_home(d, owner);
	if (d->spoiled || len == 0)
		return d->spoiled;
	if (!d->append && !d->based) {
		d->based = true;
		d->base = off;
	}
	int64_t at = d->append ? (int64_t)d->text.len : off - d->base;
	if (at < 0 || at > (int64_t)d->text.len) {
		status_set(st, STATUS_INVALID,
		    "prompt: written out of order (a gap, or before its start)");
		return spoil(d, -EINVAL);
	}
	size_t pos = (size_t)at, end = pos + len;
	if (end > THREAD_PROMPT_MAX) {
		status_set(st, STATUS_TOO_BIG,
		    "prompt: longer than 1 MiB; put the text into a file of "
		    "workspace/ and name it");
		return spoil(d, -EFBIG);
	}
	size_t over = MIN(len, d->text.len - pos);
	memcpy(d->text.bytes + pos, bytes, over);
	buf_add(&d->text, bytes + over, len - over);
	if (d->text.failed) {
		status_set(st, STATUS_NO_MEMORY, "prompt: out of memory");
		return spoil(d, -ENOMEM);
	}
	if (pos < d->checked)
		d->checked = character_start(&d->text, pos);
	if (thread_prompt_text_check(d->text.bytes + d->checked,
		d->text.len - d->checked, false, st) < 0)
		return refuse(d, st);
	d->checked = character_start(&d->text, d->text.len);
	return 0;
}

void
prompt_draft_truncate(struct prompt_draft *d, int64_t size)
{
	int64_t at = d->append ? size : size - d->base;

	if (!d->append && !d->based)
		return;
	if (at <= 0) {
		empty(d);
	} else if (!d->spoiled && at < (int64_t)d->text.len) {
		d->text.len = (size_t)at;
		d->text.bytes[at] = '\0';
		d->checked =
		    MIN(d->checked, character_start(&d->text, (size_t)at));
	}
}

enum prompt_flush
prompt_draft_release(struct prompt_draft *d, int *err, struct status *st)
{
	*err = 0;
	if (d->spoiled) {
		empty(d);
		return PROMPT_FLUSH_REFUSED;
	}
	if (d->text.len == 0)
		return PROMPT_FLUSH_NOTHING;
	if (thread_prompt_text_check(d->text.bytes + d->checked,
		d->text.len - d->checked, true, st) == 0)
		return PROMPT_FLUSH_COMMIT;
	/* A character that was never finished: known only now. */
	*err = refuse(d, st);
	empty(d);
	return PROMPT_FLUSH_REFUSED;
}

enum prompt_flush
prompt_draft_flush(struct prompt_draft *d, uint64_t owner, int *err,
    struct status *st)
{
	*err = 0;
	set_home(d, owner);
	if (d->home != owner)
		return PROMPT_FLUSH_NOTHING;
	return prompt_draft_release(d, err, st);
}

void
prompt_draft_take(struct prompt_draft *d, struct buf *out)
{
	*out = d->text;
	buf_init(&d->text, THREAD_PROMPT_MAX);
	empty(d);
}

bool
prompt_killed(const char *stat)
{
	/* The name, in parentheses, may hold anything. */
	const char *p = strrchr(stat, ')');

	for (int field = 2; p && field < 9; field++)
		p = strchr(p + 1, ' ');
	return p && (strtoul(p + 1, NULL, 10) & PF_SIGNALED);
}
