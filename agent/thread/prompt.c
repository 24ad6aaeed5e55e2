/*
 * Prompts: what is refused and in which words, the place in the queue, and the
 * moment from which a text is durable. A secret value in a text is masked
 * before anything keeps it: from here it could reach log, model and sandbox.
 */
#include "agent/base/path.h"
#include "agent/thread/internal.h"

static const char bom[] = "\xef\xbb\xbf";

/* Bytes at the end that begin a character which is not whole, 0 if none do. */
static size_t
cut_character(const char *text, size_t len)
{
	for (size_t n = 1; n <= 3 && n <= len; n++) {
		unsigned char c = (unsigned char)text[len - n];
		if ((c & 0xc0) == 0x80)
			continue;
		size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
		return c >= 0xc2 && c <= 0xf4 && need > n ? n : 0;
	}
	return 0;
}

/* Can these bytes become a character? Their range is limited by the first
 * continuation byte alone, so the ends of the range tell. */
static bool
may_become_character(const char *bytes, size_t have)
{
	unsigned char lead = (unsigned char)bytes[0];
	size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	char low[4], high[4];

	memset(low, 0x80, sizeof low);
	memset(high, 0xbf, sizeof high);
	memcpy(low, bytes, have);
	memcpy(high, bytes, have);
	return utf8_valid(low, need) || utf8_valid(high, need);
}

int
thread_prompt_text_check(const char *text, size_t len, bool whole,
    struct status *st)
{
	if (len > THREAD_PROMPT_MAX)
		return status_set(st, STATUS_TOO_BIG,
		    "the prompt is longer than 1 MiB: put the text into a file "
		    "in workspace/ and name it in the prompt");
	if (memchr(text, '\0', len))
		return status_set(st, STATUS_INVALID,
		    "the prompt has a NUL byte: prompts are UTF-8 text");
	size_t cut = whole ? 0 : cut_character(text, len);
	if (utf8_valid(text, len - cut) &&
	    (cut == 0 || may_become_character(text + len - cut, cut)))
		return 0;
	return status_set(st, STATUS_INVALID,
	    "the prompt is no valid UTF-8 text: convert it (iconv)");
}

static int
check_alive(struct thread *t, struct status *st)
{
	if (atomic_load(&t->ended))
		return status_set(st, STATUS_NOT_FOUND,
		    "the thread is being removed");
	if (atomic_load(&t->threads->stopping))
		return status_set(st, STATUS_UNAVAILABLE,
		    "the mount is ending: mount again and repeat the prompt");
	return 0;
}

static int
check_place_locked(struct thread *t, struct status *st)
{
	unsigned taken = t->reserved + t->waiting + (t->running != NULL);

	lock_assert_held(&t->lock);
	if (taken < QUEUE_MAX + 1)
		return 0;
	return status_set(st, STATUS_BUSY,
	    "%d prompts wait already: wait for a turn to end, or write cancel "
	    "to ctl",
	    QUEUE_MAX);
}

int
thread_prompt_check(struct thread *t, struct status *st)
{
	if (check_alive(t, st) < 0 || thread_model_check(t, st) < 0)
		return -1;
	lock_acquire(&t->lock);
	int rc = check_place_locked(t, st);
	lock_release(&t->lock);
	return rc;
}

int
thread_prompt_reserve(struct thread *t, struct status *st)
{
	if (check_alive(t, st) < 0)
		return -1;
	lock_acquire(&t->lock);
	int rc = check_place_locked(t, st);
	if (rc == 0) {
		t->reserved++;
		thread_rephase_locked(t);
	}
	lock_release(&t->lock);
	if (rc == 0)
		thread_notify(t);
	return rc;
}

void
thread_prompt_release(struct thread *t, const char *why)
{
	if (why)
		thread_log(t, "turn", why);
	lock_acquire(&t->lock);
	if (t->reserved > 0)
		t->reserved--;
	thread_rephase_locked(t);
	lock_release(&t->lock);
	thread_notify(t);
}

/* Without BOM and one final line end. */
static void
trim(const char **text, size_t *len)
{
	if (*len >= 3 && memcmp(*text, bom, 3) == 0) {
		*text += 3;
		*len -= 3;
	}
	if (*len == 0 || (*text)[*len - 1] != '\n')
		return;
	--*len;
	if (*len > 0 && (*text)[*len - 1] == '\r')
		--*len;
}

static bool
is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!strchr(" \t\n\v\f\r", text[i]))
			return false;
	return true;
}

/* On success the place is the turn's. */
static int
accept(struct thread *t, const char *text, size_t len, struct status *st)
{
	auto_buf masked = BUF_INIT((size_t)THREAD_PROMPT_MAX * 2);
	int64_t number;

	secrets_mask(&t->threads->secrets, &masked, text, len);
	if (check_alive(t, st) < 0 ||
	    store_turn_accept(t->threads->settings.store, t->number,
		masked.bytes, &number, st) < 0)
		return -1;
	struct turn *turn = turn_create(t, number);
	lock_acquire(&t->lock);
	t->reserved -= t->reserved > 0;
	t->turns = number;
	free(t->prompt);
	t->prompt = buf_take(&masked);
	if (!phase_is_busy(t->phase))
		thread_trouble_locked(t, STATUS_OK, "");
	queue_add_locked(t, turn);
	thread_rephase_locked(t);
	lock_release(&t->lock);
	queue_run(t);
	thread_use(t);
	return 0;
}

int
thread_prompt_accept(struct thread *t, const char *text, size_t len,
    struct status *st)
{
	wait_point();
	trim(&text, &len);
	if (is_blank(text, len)) {
		thread_prompt_release(t, NULL);
		return 0;
	}
	if (accept(t, text, len, st) < 0) {
		thread_prompt_release(t, NULL);
		return -1;
	}
	thread_notify(t);
	return 0;
}

void
thread_refused(struct thread *t, const struct status *st)
{
	lock_acquire(&t->lock);
	thread_trouble_locked(t, st->code, st->text);
	lock_release(&t->lock);
	thread_logf(t, "turn", "refused: %s", st->text);
}

void
thread_prompt_text(struct thread *t, struct buf *out)
{
	lock_acquire(&t->lock);
	if (*t->prompt) {
		buf_puts(out, t->prompt);
		buf_putc(out, '\n');
	}
	lock_release(&t->lock);
}
