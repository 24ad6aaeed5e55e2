/*
 * The push worker: one at a time, so the order is kept. It takes what is due
 * from the head of the queue as one batch, sends it and sorts the outcomes.
 *
 * A batch that failed as a whole goes again, after a while that doubles. An
 * operation that the sandbox refused is noted; what carries content (a file, a
 * directory, a link) is kept and tried again now and then, and what depends on
 * it waits behind it. A removal or a change of attributes that was refused is
 * dropped, and the sandbox's truth is shown again.
 */
#include <errno.h>
#include <fcntl.h>

#include "agent/base/diag.h"
#include "agent/mirror/internal.h"

#define BATCH_OPS     500
#define BATCH_BYTES   ((int64_t)64 << 20)
#define BACKOFF_FIRST 500
#define BACKOFF_MAX   30000
#define URGENT_MS     1000  /* between attempts while somebody waits */
#define RETRY_FIRST   30000 /* of an operation that was refused */
#define RETRY_MAX     600000

static bool
paths_meet(const char *a, const char *b)
{
	return path_below(a, b) || path_below(b, a);
}

/* Does it touch what a failed one before it touches? */
static bool
meets(const struct qop *op, const struct qop *failed)
{
	if (paths_meet(op->path, failed->path))
		return true;
	if (failed->path2 && failed->kind != PUSH_SYMLINK &&
	    paths_meet(op->path, failed->path2))
		return true;
	return op->path2 && op->kind != PUSH_SYMLINK &&
	    paths_meet(op->path2, failed->path);
}

static void
stand_behind_failed(struct qop *op, struct batch *b, int64_t now)
{
	if (op->state == OP_FAILED && op->retry_at <= now)
		op->state = OP_QUEUED;
	op->blocked = op->state == OP_FAILED;
	for (size_t i = 0; i < b->held_count && !op->blocked; i++) {
		op->blocked = meets(op, b->held[i]);
		if (op->blocked)
			op->error = b->held[i]->error;
	}
	if (!op->blocked)
		return;
	if (b->held_count == b->held_cap) {
		b->held_cap = MAX(b->held_cap * 2, (size_t)16);
		b->held = xrealloc(b->held, b->held_cap, sizeof(struct qop *));
	}
	b->held[b->held_count++] = op;
}

/* Opens the content to send; what went wrong is the operation's outcome. */
static void
prepare_put_locked(struct qop *op, struct push_op *p)
{
	struct content *c = op->content;
	struct node *n = op->node;

	p->result = (struct status){ 0 };
	if (!c || !n) {
		status_set(&p->result, STATUS_BUG, "a write without content");
		return;
	}
	if (content_open_locked(c, &p->result))
		return;
	c->sent++;
	op->sent_writes = c->writes;
	op->sent_size = c->size;
	p->fd = c->fd;
	p->size = c->size;
	p->mode = n->known ? (mode_t)-1 : op->mode & 07777;
	p->have_base = n->known;
	p->base = n->remote;
}

static bool
touched_in_batch(const struct qop *op, uint64_t batch)
{
	return (op->node && op->node->batch == batch) ||
	    op->slot->batch == batch;
}

static void
mark_touched(struct qop *op, uint64_t batch)
{
	if (op->node)
		op->node->batch = batch;
	if (op->other)
		op->other->batch = batch;
	op->slot->batch = batch;
	if (op->slot2)
		op->slot2->batch = batch;
}

static void
prepare_locked(struct mirror *m, struct qop *op, struct push_op *p)
{
	const struct node *n = op->node;

	*p = (struct push_op){ .kind = op->kind,
		.path = op->path,
		.path2 = op->path2,
		.fd = -1,
		.mode = op->mode & 07777,
		.mtime = op->mtime,
		.atime = op->atime };
	if (n && (op->kind == PUSH_PUT || op->kind == PUSH_UTIMENS)) {
		p->mtime = n->mtime;
		p->atime = n->atime;
	}
	if (n && op->kind == PUSH_CHMOD)
		p->mode = n->mode & 07777;
	if (op->kind == PUSH_PUT)
		prepare_put_locked(op, p);
	/* What the batch itself makes or moves cannot be compared. */
	p->force = touched_in_batch(op, m->batch);
	mark_touched(op, m->batch);
	op->mtime = p->mtime;
	op->state = OP_SENT;
}

void
batch_note(struct batch *b, const char *path, const char *what, const char *why)
{
	char safe[512];

	if (b->note_count == ARRAY_SIZE(b->notes))
		return;
	escape_line(safe, sizeof safe, path, strlen(path));
	b->notes[b->note_count++] =
	    xasprintf("push of %s%s%s", safe, what, why);
}

/* Says what there is to say; no lock held. */
static void
say_notes(struct mirror *m, struct batch *b)
{
	for (size_t i = 0; i < b->note_count; i++) {
		if (m->note)
			m->note(m->note_arg, b->notes[i]);
		free(b->notes[i]);
	}
	b->note_count = 0;
}

void
batch_free(struct batch *b)
{
	if (!b)
		return;
	free(b->ops);
	free(b->push);
	free(b->held);
	free(b);
}

static bool
passes(enum status_code code)
{
	return code == STATUS_UNAVAILABLE || code == STATUS_TIMEOUT ||
	    code == STATUS_CANCELED || code == STATUS_BUSY;
}

static bool
carries(enum push_kind kind)
{
	return kind == PUSH_PUT || kind == PUSH_MKDIR || kind == PUSH_SYMLINK ||
	    kind == PUSH_LINK;
}

/* Nobody knows how far it came: the same batch goes again, unchanged. */
static void
whole_failed_locked(struct mirror *m, struct batch *b, const struct status *st)
{
	for (size_t i = 0; i < b->count; i++)
		b->ops[i]->failures++;
	m->backoff_ms = m->backoff_ms == 0
	    ? BACKOFF_FIRST
	    : MIN(m->backoff_ms * 2, BACKOFF_MAX);
	m->push_at = clock_mono_ms() + m->backoff_ms;
	if (m->push_error.code == STATUS_OK && st->code != STATUS_CANCELED)
		batch_note(b, b->ops[0]->path,
		    " failed, will be retried: ", st->text);
	m->push_error = *st;
}

static void
op_refused_locked(struct mirror *m, struct batch *b, struct qop *op,
    const struct status *st)
{
	bool quiet = st->code == STATUS_NOT_FOUND && !carries(op->kind);

	bool first = op->failures++ == 0;

	if (first && !quiet)
		batch_note(b, op->path, " failed: ", st->text);
	if (!carries(op->kind)) {
		/* What is there is shown again. */
		dir_stale(op->slot->dir);
		if (op->slot2)
			dir_stale(op->slot2->dir);
		op_end_locked(m, op);
		return;
	}
	op->state = OP_FAILED;
	op->error = *st;
	op->retry_at = clock_mono_ms() +
	    MIN((int64_t)RETRY_FIRST << MIN(op->failures - 1, 5U),
		(int64_t)RETRY_MAX);
	if (op->node && first)
		op->node->error = *st;
}

static void
take_results_locked(struct mirror *m, struct batch *b)
{
	struct status again = { 0 };

	for (size_t i = 0; i < b->count; i++) {
		struct qop *op = b->ops[i];
		struct push_op *p = &b->push[i];
		if (p->result.code == STATUS_OK) {
			op_pushed_locked(m, b, op, p);
		} else if (passes(p->result.code)) {
			op->state = OP_QUEUED;
			again = p->result;
		} else {
			op_refused_locked(m, b, op, &p->result);
		}
		free(p->conflict);
	}
	m->push_error = again;
	m->backoff_ms = again.code == STATUS_OK
	    ? 0
	    : MAX(MIN(m->backoff_ms * 2, (unsigned)BACKOFF_MAX),
		  (unsigned)BACKOFF_FIRST);
	m->push_at = clock_mono_ms() + m->backoff_ms;
	m->sandbox_known = true;
	m->absent = false;
	m->still_until = 0;
}

static void
close_contents_locked(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (b->push[i].fd < 0)
			continue;
		b->ops[i]->content->sent--;
		content_close_locked(b->ops[i]->content);
	}
}

/* Content that cannot be read here: its outcome is known before. */
static void
drop_unreadable_locked(struct mirror *m, struct batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		struct push_op *p = &b->push[i];
		if (p->kind == PUSH_PUT && p->fd < 0) {
			op_refused_locked(m, b, b->ops[i], &p->result);
			continue;
		}
		b->ops[kept] = b->ops[i];
		b->push[kept++] = *p;
	}
	b->count = kept;
}

void
batch_arrived_locked(struct mirror *m, struct batch *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		if (b->ops[i]->arrived) {
			op_pushed_locked(m, b, b->ops[i], &b->push[i]);
			continue;
		}
		b->ops[kept] = b->ops[i];
		b->push[kept++] = b->push[i];
	}
	b->count = kept;
}

static struct batch *
gather_locked(struct mirror *m)
{
	struct batch *b = xcalloc(1, sizeof *b);
	int64_t now = clock_mono_ms(), bytes = 0;
	size_t room = MIN(m->queued, (unsigned)BATCH_OPS);

	b->began = now;
	m->batch++;
	b->ops = xcalloc(room + 1, sizeof(struct qop *));
	b->push = xcalloc(room + 1, sizeof *b->push);
	for (struct qop *op = m->queue; op && b->count < room; op = op->next) {
		stand_behind_failed(op, b, now);
		if (op->blocked)
			continue;
		if (b->count > 0 && op->content &&
		    bytes + op->content->size > BATCH_BYTES)
			break;
		bytes += op->content ? op->content->size : 0;
		b->ops[b->count] = op;
		prepare_locked(m, op, &b->push[b->count++]);
	}
	b->sync = m->push_sync;
	m->push_sync = false;
	drop_unreadable_locked(m, b);
	return b;
}

/* The thread ends: nothing of it counts any more. */
static void
batch_dropped_locked(struct mirror *m, struct batch *b)
{
	for (size_t i = 0; i < b->count; i++)
		b->ops[i]->state = OP_QUEUED;
	queue_clear_locked(m);
}

/* Gathers a batch, or takes the one whose outcome is unknown, and sends it. */
static void
push_batch(struct mirror *m)
{
	struct batch *b = m->batch_out ? m->batch_out : gather_locked(m);
	struct status st = { 0 };
	int err = 0;

	m->batch_out = b;
	m->push_urgent = false;
	bool send = b->count > 0 && !m->discarded;
	mirror_unlock(m);
	if (send) {
		if (!b->looked)
			batch_look(m, b);
		b->looked = true;
	}
	if (send && b->count > 0) {
		err = sandbox_push(m->sandbox, SANDBOX_CREATE, b->push,
		    b->count, b->sync, m->push_cancel, &st);
	}
	mirror_lock(m);
	m->pushed_at = clock_mono_ms();
	if (err && !m->discarded) {
		whole_failed_locked(m, b, &st);
	} else {
		close_contents_locked(b);
		if (m->discarded)
			batch_dropped_locked(m, b);
		else
			take_results_locked(m, b);
		m->batch_out = NULL;
		if (m->removed_count > 0 && !m->discarded)
			commit_kick_locked(m);
		tombs_sweep_locked(m);
		cache_trim_locked(m);
	}
	bool over = m->batch_out == NULL;
	mirror_unlock(m);
	/* The log has it before anybody goes on. */
	say_notes(m, b);
	if (over)
		batch_free(b);
	mirror_lock(m);
	if (over) {
		waiters_step_locked(m, &m->push_waiters);
	} else if (!passes(st.code)) {
		/* What will not pass by itself is told to those who wait. */
		waiters_fail_locked(m, &m->push_waiters, &st);
	}
	mirror_unlock(m);
	mirror_lock(m);
}

static int64_t
soonest(const struct mirror *m)
{
	if (!m->push_urgent)
		return m->push_at;
	if (m->backoff_ms == 0)
		return 0;
	return MIN(m->push_at, m->pushed_at + URGENT_MS);
}

/* When there is something to send; INT64_MAX: nothing that time brings. */
static int64_t
due_locked(const struct mirror *m)
{
	int64_t due = INT64_MAX;

	if (m->discarded)
		return m->batch_out ? 0 : due;
	if (m->marked && !m->push_waiters.first)
		return due;
	if (m->batch_out)
		return soonest(m);
	for (const struct qop *op = m->queue; op; op = op->next) {
		if (op->state == OP_FAILED)
			due = MIN(due, op->retry_at);
		else if (!op->blocked)
			return MIN(due, soonest(m));
	}
	return due;
}

static void
push(void *arg)
{
	struct mirror *m = arg;

	mirror_lock(m);
	while (!m->stopping) {
		int64_t due = due_locked(m);
		if (due == INT64_MAX)
			break;
		if (due > clock_mono_ms()) {
			cond_wait(&m->push_cond, &m->lock, due);
			continue;
		}
		push_batch(m);
	}
	m->push_running = false;
	mirror_unlock(m);
}

static void
start_locked(struct mirror *m)
{
	if (m->push_running) {
		cond_signal(&m->push_cond);
		return;
	}
	m->push_running = true;
	lane_submit(m->push_lane, push, m);
}

void
push_soon_locked(struct mirror *m)
{
	int64_t at = clock_mono_ms() + PUSH_DELAY_MS;

	lock_assert_held(&m->lock);
	/* The oldest that waits sets the time. */
	if (m->backoff_ms == 0 && (m->push_at < at - PUSH_DELAY_MS))
		m->push_at = at;
	if (!m->push_running)
		start_locked(m);
}

void
push_kick_locked(struct mirror *m)
{
	lock_assert_held(&m->lock);
	m->push_urgent = true;
	start_locked(m);
}
