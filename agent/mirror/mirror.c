/* Life of a mirror, and what a thread tells it. */
#include "agent/mirror/mirror.h"

#include <sys/stat.h>

#include "agent/mirror/internal.h"

#define TABLE_FIRST 64

struct mirror *
mirror_create(struct sandbox *sb, struct store *store,
    const struct mirror_settings *settings)
{
	struct mirror *m = xcalloc(1, sizeof *m);

	m->thread = settings->thread;
	m->staging_dir = xstrdup(settings->staging_dir);
	m->queue_dir = xstrdup(settings->queue_dir);
	m->links_raw = settings->links_raw;
	m->sandbox_known = settings->sandbox_known;
	m->note = settings->note;
	m->note_arg = settings->note_arg;
	m->sandbox = sb;
	m->store = store;
	lock_init(&m->lock, RANK_MIRROR);
	cond_init(&m->push_cond);
	cond_init(&m->timer_cond);
	m->read_lane = lane_create("fetch", 4);
	m->push_lane = lane_create("push", 1);
	m->commit_lane = lane_create("commit", 1);
	m->timer_lane = lane_create("deadline", 1);
	m->cancel = cancel_create(NULL);
	m->push_cancel = cancel_create(NULL);
	waiters_init(&m->push_waiters, NULL);
	waiters_init(&m->commit_waiters, NULL);
	m->ready_last = &m->ready;
	m->queue_last = &m->queue;
	m->lru_last = &m->lru;
	m->cache_max = CACHE_MAX;
	m->next_number = MIRROR_ROOT;
	m->next_serial = 1;
	m->space_at = INT64_MIN / 2;
	m->node_size = m->slot_size = TABLE_FIRST;
	m->node_heads = xcalloc(m->node_size, sizeof(struct node *));
	m->slot_heads = xcalloc(m->slot_size, sizeof(struct slot *));
	mirror_lock(m);
	m->root = node_make_locked(m, S_IFDIR | 0700);
	m->root->known = true;
	mirror_unlock(m);
	staging_open(m, !settings->nothing_left);
	if (!settings->nothing_left)
		queue_recover(m);
	return m;
}

static void
drain(struct mirror *m, int64_t drain_ms)
{
	struct status st = { 0 };
	struct cancel *none = NULL;

	if (drain_ms > 0)
		(void)barrier_for(m, drain_ms, none, &st);
	mirror_lock(m);
	queue_dirty_locked(m);
	commit_kick_locked(m);
	mirror_unlock(m);
	lane_drain(m->commit_lane);
}

static void
free_all(struct mirror *m)
{
	mirror_lock(m);
	/* Their rows are in the store: the files stay. */
	for (struct qop *op = m->queue; op; op = op->next)
		if (op->content && !m->discarded)
			op->content->keep = true;
	batch_free(m->batch_out);
	while (m->queue) {
		struct qop *op = m->queue;
		m->queue = op->next;
		op_free_locked(m, op);
	}
	nodes_free_locked(m);
	slots_free_locked(m);
	mirror_unlock(m);
}

void
mirror_destroy(struct mirror *m, int64_t drain_ms)
{
	if (!m)
		return;
	wait_point();
	if (!m->discarded)
		drain(m, drain_ms);
	mirror_lock(m);
	m->stopping = true;
	calls_cancel_all_locked(m);
	cond_broadcast(&m->push_cond);
	mirror_unlock(m);
	cancel_fire(m->cancel);
	cancel_fire(m->push_cancel);
	lane_destroy(m->read_lane);
	lane_destroy(m->push_lane);
	lane_destroy(m->commit_lane);
	lane_destroy(m->timer_lane);
	free_all(m);
	cancel_put(m->cancel);
	cancel_put(m->push_cancel);
	cond_finish(&m->push_cond);
	cond_finish(&m->timer_cond);
	lock_finish(&m->lock);
	free(m->removed);
	free(m->staging_dir);
	free(m->queue_dir);
	free(m);
}

void
mirror_discard(struct mirror *m)
{
	struct status st = { 0 };

	status_set(&st, STATUS_CANCELED, "the thread is being deleted");
	mirror_lock(m);
	m->discarded = true;
	queue_clear_locked(m);
	waiters_fail_locked(m, &m->push_waiters, &st);
	waiters_step_locked(m, &m->commit_waiters);
	if (m->batch_out)
		push_kick_locked(m);
	mirror_unlock(m);
	cancel_fire(m->push_cancel);
}

void
mirror_forget_listings(struct mirror *m)
{
	mirror_lock(m);
	m->forget_seq = ++m->seq;
	m->still_until = 0;
	mirror_unlock(m);
}

void
mirror_set_marked(struct mirror *m, bool marked)
{
	mirror_lock(m);
	m->marked = marked;
	if (!marked)
		push_soon_locked(m);
	mirror_unlock(m);
}

static bool
is_removal(enum push_kind kind)
{
	return kind == PUSH_UNLINK || kind == PUSH_RMDIR ||
	    kind == PUSH_CHMOD || kind == PUSH_UTIMENS;
}

void
mirror_sandbox_gone(struct mirror *m)
{
	mirror_lock(m);
	/* What takes away or changes has nothing left to act upon. */
	for (struct qop *op = m->queue, *next; op; op = next) {
		next = op->next;
		if (op->state != OP_SENT && is_removal(op->kind))
			op_end_locked(m, op);
	}
	m->sandbox_known = false;
	m->still_until = 0;
	m->space_at = INT64_MIN / 2;
	m->seq++;
	struct moment at = { m->seq, clock_mono_ms(), m->seq };
	listing_absent_locked(m, &at);
	if (m->removed_count > 0)
		commit_kick_locked(m);
	mirror_unlock(m);
}
