/*
 * `messages`: the conversation as lines. The text is kept while somebody asks
 * for it, and what a turn appends to the store is appended here too. A reader
 * that read the store while a turn wrote to it does not keep what it saw: it
 * could hold the new lines already.
 */
#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

void
thread_learn_checkpoint(struct thread *t)
{
	struct checkpoint newest = { 0 };
	struct status st;

	if (store_checkpoint_newest(t->threads->settings.store, t->number,
		&newest, &st) < 0) {
		if (st.code != STATUS_NOT_FOUND)
			diag_err("thread %lld: %s", (long long)t->number,
			    st.text);
		return;
	}
	lock_acquire(&t->lock);
	t->checkpoint = newest;
	lock_release(&t->lock);
}

void
messages_begin(struct thread *t)
{
	lock_acquire(&t->lock);
	t->messages.writing = true;
	t->messages.version++;
	lock_release(&t->lock);
}

void
messages_end(struct thread *t, const struct message *m, size_t count,
    bool stored)
{
	struct messages_cache *c = &t->messages;
	auto_buf lines = BUF_INIT(MESSAGES_MAX);

	for (size_t i = 0; stored && i < count; i++)
		message_to_line(&m[i], &lines);
	lock_acquire(&t->lock);
	c->writing = false;
	c->version++;
	if (c->valid)
		buf_add(&c->text, lines.bytes, lines.len);
	if (c->text.failed || lines.failed)
		messages_forget_locked(t);
	else if (c->size >= 0)
		c->size += (int64_t)lines.len;
	lock_release(&t->lock);
	if (stored)
		thread_learn_checkpoint(t);
	thread_notify(t);
}

void
messages_forget_locked(struct thread *t)
{
	struct messages_cache *c = &t->messages;

	lock_assert_held(&t->lock);
	if (c->text.failed)
		c->size = -1;
	buf_finish(&c->text);
	c->valid = false;
}

static int
render(struct thread *t, struct buf *out, struct status *st)
{
	struct message *list;
	size_t count;

	if (store_messages(t->threads->settings.store, t->number, &list, &count,
		st) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		message_to_line(&list[i], out);
		message_finish(&list[i]);
	}
	free(list);
	if (out->failed)
		return status_set(st, STATUS_TOO_BIG, "messages: over %zu MiB",
		    MESSAGES_MAX >> 20);
	return 0;
}

/* True: it was in memory. */
static bool
from_memory(struct thread *t, struct buf *out, uint64_t *version)
{
	struct messages_cache *c = &t->messages;

	lock_acquire(&t->lock);
	bool known =
	    c->valid && c->foreign == atomic_load(&t->threads->foreign);
	if (known)
		buf_add(out, c->text.bytes, c->text.len);
	c->used_ms = clock_mono_ms();
	*version = c->version;
	lock_release(&t->lock);
	return known;
}

static void
keep(struct thread *t, const struct buf *text, uint64_t version,
    uint64_t foreign)
{
	struct messages_cache *c = &t->messages;

	lock_acquire(&t->lock);
	if (c->version == version && !c->writing) {
		buf_reset(&c->text);
		buf_add(&c->text, text->bytes, text->len);
		c->valid = !c->text.failed;
		c->size = (int64_t)text->len;
		c->foreign = foreign;
	}
	lock_release(&t->lock);
	thread_use_memory(t);
}

int
thread_messages_text(struct thread *t, struct buf *out, struct status *st)
{
	uint64_t version;

	wait_point();
	threads_look(t->threads);
	if (from_memory(t, out, &version))
		return out->failed ? status_set(st, STATUS_NO_MEMORY,
					 "messages: out of memory")
				   : 0;
	uint64_t foreign = atomic_load(&t->threads->foreign);
	if (render(t, out, st) < 0)
		return -1;
	keep(t, out, version, foreign);
	thread_learn_checkpoint(t);
	return 0;
}

int64_t
thread_messages_size(struct thread *t)
{
	struct messages_cache *c = &t->messages;

	lock_acquire(&t->lock);
	int64_t size =
	    c->foreign == atomic_load(&t->threads->foreign) ? c->size : -1;
	lock_release(&t->lock);
	return size;
}
