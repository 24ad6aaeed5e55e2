/*
 * Makes what is queued durable here: one worker, and while it syncs and
 * writes, the next group gathers. Order: contents on disk, their names on
 * disk, then the rows in one transaction.
 */
#include <errno.h>
#include <fcntl.h>

#include "agent/base/diag.h"
#include "agent/mirror/internal.h"

#define ROWS_MAX  2000
#define SYNC_EACH 8 /* more files than this are synced by one syncfs */

struct group {
	struct queued_push *rows;
	struct qop **ops;
	struct buf *details;
	char (*files)[64];
	size_t count;
	struct content **contents;
	size_t content_count;
	int64_t *removed;
	size_t removed_count;
	uint64_t ticket;
};

void
commit_remove_row_locked(struct mirror *m, int64_t row)
{
	if (m->removed_count == m->removed_cap) {
		m->removed_cap = MAX(m->removed_cap * 2, (size_t)64);
		m->removed =
		    xrealloc(m->removed, m->removed_cap, sizeof *m->removed);
	}
	m->removed[m->removed_count++] = row;
}

void
commit_rewrite_locked(struct mirror *m, struct qop *op)
{
	if (op->row == 0 && !op->committing)
		return;
	op->rewrite = true;
	(void)commit_kick_locked(m);
}

static void
gather_row_locked(struct group *g, struct qop *op)
{
	struct queued_push *row = &g->rows[g->count];

	op->committing = true;
	op->rewrite = false;
	g->ops[g->count] = op;
	buf_init(&g->details[g->count], 4096);
	op_detail(&g->details[g->count], op);
	if (op->content)
		content_name(op->content, g->files[g->count]);
	*row = (struct queued_push){
		.id = op->row,
		.kind = (int)op->kind,
		.path = op->path,
		.path2 = op->path2 ? op->path2 : "",
		.file = g->files[g->count],
		.detail = g->details[g->count].bytes,
	};
	g->count++;
}

static void
gather_content_locked(struct group *g, struct content *c)
{
	struct status st;

	c->want_sync = false;
	c->syncing = true;
	if (content_open_locked(c, &st)) {
		diag_err("queue: %s", st.text);
		return;
	}
	g->contents[g->content_count++] = content_get(c);
}

static void
gather_locked(struct mirror *m, struct group *g)
{
	size_t room = MIN(m->queued, (unsigned)ROWS_MAX);

	*g = (struct group){ .ticket = m->commit_wanted };
	g->rows = xcalloc(room + 1, sizeof *g->rows);
	g->ops = xcalloc(room + 1, sizeof(struct qop *));
	g->details = xcalloc(room + 1, sizeof *g->details);
	g->files = xcalloc(room + 1, sizeof *g->files);
	g->contents = xcalloc(m->queued + 1, sizeof(struct content *));
	for (struct qop *op = m->queue; op; op = op->next) {
		if (op->content && op->content->want_sync)
			gather_content_locked(g, op->content);
		if ((op->row == 0 || op->rewrite) && !op->committing) {
			if (g->count == room) {
				m->commit_again = true;
				break;
			}
			gather_row_locked(g, op);
			g->rows[g->count - 1].thread = m->thread;
		}
	}
	/* A bound was hit: the tickets are for the group that has the rest. */
	if (m->commit_again)
		g->ticket = m->commit_done;
	g->removed = m->removed;
	g->removed_count = m->removed_count;
	m->removed = NULL;
	m->removed_count = m->removed_cap = 0;
}

static int
sync_contents(struct mirror *m, const struct group *g, struct status *st)
{
	auto_fd int dir = -1;

	if (g->content_count == 0)
		return 0;
	dir = open(m->queue_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return status_errno(st, errno, "%s", m->queue_dir);
	if (g->content_count > SYNC_EACH) {
		if (syncfs(dir))
			return status_errno(st, errno, "sync the queue");
		return 0;
	}
	for (size_t i = 0; i < g->content_count; i++)
		if (fdatasync(g->contents[i]->fd))
			return status_errno(st, errno, "sync a file");
	if (fsync(dir))
		return status_errno(st, errno, "sync the queue");
	return 0;
}

static int
write_group(struct mirror *m, struct group *g, struct status *st)
{
	wait_point();
	if (sync_contents(m, g, st))
		return -1;
	if (g->count == 0 && g->removed_count == 0)
		return 0;
	return store_queue_add(m->store, g->rows, g->count, g->removed,
	    g->removed_count, st);
}

static void
take_result_locked(struct mirror *m, struct group *g, int err,
    const struct status *st)
{
	for (size_t i = 0; i < g->count; i++) {
		struct qop *op = g->ops[i];
		op->committing = false;
		op->rewrite |= err && op->row != 0;
		/* Changed again while it was written. */
		if (op->rewrite && !op->finished)
			m->commit_again = true;
		if (!err)
			op->row = g->rows[i].id;
		if (!op->finished)
			continue;
		if (op->row)
			commit_remove_row_locked(m, op->row);
		op_free_locked(m, op);
	}
	for (size_t i = 0; i < g->content_count; i++) {
		g->contents[i]->syncing = false;
		g->contents[i]->want_sync |= err != 0;
		content_close_locked(g->contents[i]);
		content_put_locked(g->contents[i]);
	}
	for (size_t i = 0; err && i < g->removed_count; i++)
		commit_remove_row_locked(m, g->removed[i]);
	if (err) {
		/* Whoever waits hears it; the next flush tries again. */
		g->ticket = m->commit_wanted;
		m->commit_again = false;
		m->commit_error = *st;
		m->commit_error_ticket = g->ticket;
	}
	/* Rows of what ended while they were written. */
	if (!err && m->removed_count > 0)
		m->commit_again = true;
	m->commit_done = g->ticket;
	waiters_step_locked(m, &m->commit_waiters);
}

static void
group_finish(struct group *g)
{
	for (size_t i = 0; i < g->count; i++)
		buf_finish(&g->details[i]);
	free(g->rows);
	free(g->ops);
	free(g->details);
	free(g->files);
	free(g->contents);
	free(g->removed);
}

static void
commit(void *arg)
{
	struct mirror *m = arg;
	struct status st = { 0 };
	struct group g;

	mirror_lock(m);
	while (m->commit_again && !m->discarded) {
		m->commit_again = false;
		gather_locked(m, &g);
		mirror_unlock(m);
		int err = write_group(m, &g, &st);
		if (err)
			diag_err("queue: %s", st.text);
		mirror_lock(m);
		take_result_locked(m, &g, err, &st);
		group_finish(&g);
	}
	m->commit_running = false;
	mirror_unlock(m);
}

uint64_t
commit_kick_locked(struct mirror *m)
{
	lock_assert_held(&m->lock);
	m->commit_again = true;
	m->commit_wanted++;
	if (!m->commit_running) {
		m->commit_running = true;
		lane_submit(m->commit_lane, commit, m);
	}
	return m->commit_wanted;
}
