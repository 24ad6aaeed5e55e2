/*
 * The batch that was under way when the process ended. Its rows carry its name
 * and their places in it; sent again under that name, the sandbox goes on where
 * it stopped, or only tells how it ended. If it is not whole any more, each of
 * its operations is looked at before it is sent (look.c).
 */
#include "agent/mirror/internal.h"

static const struct qop *
first_of(const struct mirror *m)
{
	const struct qop *op = m->queue;

	while (op && !op->batch[0])
		op = op->next;
	return op;
}

/* Its operations in their order; NULL if one is missing. */
static struct qop **
collect(struct mirror *m, const struct qop *first)
{
	size_t of = first->batch_of, found = 0;

	if (of == 0 || of > m->queued)
		return NULL;
	struct qop **ops = xcalloc(of, sizeof(struct qop *));
	for (struct qop *op = m->queue; op; op = op->next) {
		if (strcmp(op->batch, first->batch) != 0)
			continue;
		if (op->batch_of != of || op->batch_at >= of ||
		    ops[op->batch_at])
			break;
		ops[op->batch_at] = op;
		found++;
	}
	if (found == of)
		return ops;
	free(ops);
	return NULL;
}

static void
forget_locked(struct mirror *m)
{
	for (struct qop *op = m->queue; op; op = op->next) {
		if (!op->batch[0])
			continue;
		op->batch[0] = '\0';
		commit_rewrite_locked(m, op);
	}
}

void
batch_resume_locked(struct mirror *m)
{
	const struct qop *first = first_of(m);
	struct qop **ops = first ? collect(m, first) : NULL;

	lock_assert_held(&m->lock);
	if (!ops) {
		forget_locked(m);
		return;
	}
	struct batch *b = xcalloc(1, sizeof *b);
	size_t of = first->batch_of;
	memcpy(b->name, first->batch, sizeof b->name);
	b->began = clock_mono_ms();
	b->looked = true;
	b->ops = xcalloc(of, sizeof(struct qop *));
	b->push = xcalloc(of, sizeof *b->push);
	m->batch++;
	for (size_t i = 0; i < of; i++) {
		batch_prepare_locked(m, b, ops[i]);
		ops[i]->unsure = false;
	}
	free(ops);
	m->batch_out = b;
}
