/*
 * `reply`: the text of one turn's answer. While the turn runs it grows in
 * memory and its readers share it; of an older turn it is put together from the
 * store, so that both give the same bytes: the texts of the turn's messages, an
 * empty line between two, one line end at the end.
 */
#include "agent/base/clock.h"
#include "agent/thread/internal.h"

#define ANSWER_MAX ((size_t)64 << 20)

struct reply {
	/* immutable */
	struct thread *thread; /* shares */
	int64_t after; /* while a prompt is being written: its turn is newer */
	/* under the thread's lock */
	struct answer *answer; /* shares */
	bool waits;            /* for the prompt that is being written */
};

struct answer *
answer_create(int64_t turn)
{
	struct answer *a = xcalloc(1, sizeof *a);

	a->refs = 1;
	a->turn = turn;
	buf_init(&a->text, ANSWER_MAX);
	return a;
}

void
answer_put_locked(struct answer *a)
{
	if (!a || --a->refs > 0)
		return;
	buf_finish(&a->text);
	free(a);
}

/* Between two messages of a turn. */
static void
separate(struct buf *text)
{
	if (text->len == 0)
		return;
	buf_puts(text, text->bytes[text->len - 1] == '\n' ? "\n" : "\n\n");
}

void
answer_add(struct thread *t, struct answer *a, const char *bytes, size_t len,
    bool first)
{
	lock_acquire(&t->lock);
	if (first)
		separate(&a->text);
	buf_add(&a->text, bytes, len);
	lock_release(&t->lock);
	thread_notify(t);
}

static void
finish_text(struct buf *text)
{
	if (text->len > 0 && text->bytes[text->len - 1] != '\n')
		buf_putc(text, '\n');
}

void
answer_end_locked(struct thread *t, struct answer *a, enum turn_phase outcome)
{
	lock_assert_held(&t->lock);
	finish_text(&a->text);
	a->ended = true;
	a->outcome = outcome;
	t->answer_size = (int64_t)a->text.len;
	t->answer_used_ms = clock_mono_ms();
}

void
answer_forget_locked(struct thread *t)
{
	lock_assert_held(&t->lock);
	answer_put_locked(take(t->answer));
}

/* --- From the store ------------------------------------------------------- */

static void
add_texts(struct buf *text, const struct message *list, size_t count,
    int64_t turn)
{
	for (size_t i = 0; i < count; i++) {
		const struct message *m = &list[i];
		if (m->type != MESSAGE_AI || m->turn != turn || !*m->content)
			continue;
		separate(text);
		buf_puts(text, m->content);
	}
	finish_text(text);
}

/* [disk] An answer that has ended. */
static struct answer *
load(struct thread *t, int64_t number, struct status *st)
{
	struct store *store = t->threads->settings.store;
	struct stored_turn turn;
	struct message *list;
	size_t count;

	if (store_turn_load(store, t->number, number, &turn, st) < 0)
		return NULL;
	enum turn_phase outcome = turn.phase;
	stored_turn_finish(&turn);
	if (store_messages(store, t->number, &list, &count, st) < 0)
		return NULL;
	struct answer *a = answer_create(number);
	add_texts(&a->text, list, count, number);
	a->ended = true;
	a->outcome = outcome;
	for (size_t i = 0; i < count; i++)
		message_finish(&list[i]);
	free(list);
	return a;
}

/* [disk] The last turn's answer, shared; an empty one before any turn. */
static struct answer *
last_answer(struct thread *t, struct status *st)
{
	lock_acquire(&t->lock);
	int64_t turn = t->turn;
	struct answer *a = t->answer;
	if (a)
		a->refs++;
	lock_release(&t->lock);
	if (a)
		return a;
	if (turn == 0) {
		a = answer_create(0);
		a->ended = true;
		a->outcome = TURN_DONE;
		return a;
	}
	a = load(t, turn, st);
	if (!a)
		return NULL;
	lock_acquire(&t->lock);
	if (!t->answer && t->turn == turn) {
		t->answer = a;
		a->refs++;
		t->answer_size = (int64_t)a->text.len;
		t->answer_used_ms = clock_mono_ms();
	}
	lock_release(&t->lock);
	thread_use_memory(t);
	return a;
}

/* --- Readers -------------------------------------------------------------- */

int
reply_open(struct thread *t, struct reply **out, struct status *st)
{
	wait_point();
	struct answer *a = last_answer(t, st);
	if (!a)
		return -1;
	struct reply *r = xcalloc(1, sizeof *r);
	r->thread = thread_get(t);
	r->answer = a;
	lock_acquire(&t->lock);
	r->after = t->turns;
	r->waits = t->reserved > 0 && !t->running && !t->first;
	lock_release(&t->lock);
	*out = r;
	return 0;
}

void
reply_close(struct reply *r)
{
	if (!r)
		return;
	lock_acquire(&r->thread->lock);
	answer_put_locked(r->answer);
	lock_release(&r->thread->lock);
	thread_put(r->thread);
	free(r);
}

/* Was the prompt sent that was being written at the open, or given up? */
static void
settle_locked(struct reply *r)
{
	struct thread *t = r->thread;

	lock_assert_held(&t->lock);
	if (!r->waits)
		return;
	if (t->turns > r->after && t->answer) {
		answer_put_locked(r->answer);
		r->answer = t->answer;
		r->answer->refs++;
		r->waits = false;
	} else if (t->reserved == 0 || atomic_load(&t->ended)) {
		r->waits = false;
	}
}

static int
why_it_ended(enum turn_phase outcome, int64_t turn, struct status *st)
{
	switch (outcome) {
	case TURN_FAILED:
		return status_set(st, STATUS_IO, "turn %lld failed: see log",
		    (long long)turn);
	case TURN_CANCELED:
		return status_set(st, STATUS_IO, "turn %lld was cancelled",
		    (long long)turn);
	case TURN_INTERRUPTED:
		return status_set(st, STATUS_IO, "turn %lld was interrupted",
		    (long long)turn);
	case TURN_QUEUED:
	case TURN_RUNNING:
	case TURN_DONE:
		break;
	}
	return 0;
}

ssize_t
reply_read(struct reply *r, int64_t off, char *out, size_t size, bool *more,
    struct status *st)
{
	struct thread *t = r->thread;
	ssize_t n = 0;

	*more = false;
	lock_acquire(&t->lock);
	settle_locked(r);
	const struct answer *a = r->answer;
	if (!r->waits && off >= 0 && (size_t)off < a->text.len) {
		size_t len = MIN(size, a->text.len - (size_t)off);
		memcpy(out, a->text.bytes + off, len);
		n = (ssize_t)len;
	} else if (!r->waits && a->ended) {
		n = why_it_ended(a->outcome, a->turn, st);
	} else {
		*more = true;
	}
	lock_release(&t->lock);
	return n;
}

int64_t
thread_reply_size(struct thread *t)
{
	lock_acquire(&t->lock);
	int64_t size =
	    t->answer ? (int64_t)t->answer->text.len : t->answer_size;
	lock_release(&t->lock);
	return size;
}

int64_t
thread_reply_size_load(struct thread *t, struct status *st)
{
	struct reply *r;
	int64_t size = thread_reply_size(t);

	if (size >= 0)
		return size;
	if (reply_open(t, &r, st) < 0)
		return -1;
	reply_close(r);
	return thread_reply_size(t);
}
