/* Parked requests; see op.h. */
#include "fs/op.h"

#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "fs/reaper.h"

static void
call_done(struct mirror_call *call)
{
	op_end((struct op *)call);
}

static void
abandon(struct op *op)
{
	if (op->work)
		cancel_fire(op->cancel);
	else if (op_thread(op))
		mirror_call_cancel(thread_mirror(op_thread(op)), &op->call);
}

struct thread *
op_thread(const struct op *op)
{
	if (op->thread || !op->handle)
		return op->thread;
	return op->handle->thread;
}

static struct op *
create(size_t size, fuse_req_t req, const char *word, struct thread *thread,
    struct handle *handle)
{
	struct op *op = xcalloc(1, size);

	op->session = session_of(req);
	reaper_owe(op->session->reaper);
	op->req = req;
	op->word = word;
	op->thread = thread;
	if (handle)
		op->handle = handle_get(handle);
	op->call.done = call_done;
	op->call.bytes = BUF_INIT(0);
	op->cancel = cancel_create(NULL);
	op->abandon = abandon;
	op->begun = clock_mono_ms();
	op->deadline = op->begun + REAPER_DEADLINE_MS;
	atomic_init(&op->refs, 2);
	return op;
}

struct op *
op_create(size_t size, fuse_req_t req, const char *word, struct thread *thread,
    struct handle *handle)
{
	struct op *op = create(size, req, word, thread, handle);

	/* May call back before it returns; op_park() looks at the flag. */
	fuse_req_interrupt_func(req, reaper_interrupt, op);
	return op;
}

struct op *
op_create_deaf(size_t size, fuse_req_t req, const char *word,
    struct thread *thread, struct handle *handle)
{
	struct op *op = create(size, req, word, thread, handle);

	op->deaf = true;
	return op;
}

static void
run(void *arg)
{
	struct op *op = arg;

	if (op->deaf || !cancel_fired(op->cancel))
		op->error = op->work(op);
	else
		op->error = -EINTR;
	op_end(op);
}

void
op_submit(struct op *op, struct lane *lane)
{
	lane_submit(lane, run, op);
}

void
op_park(struct op *op)
{
	if (!reaper_park(op->session->reaper, op))
		op_put(op);
}

static void
put_shares(struct op *op, unsigned count)
{
	if (atomic_fetch_sub(&op->refs, count) != count)
		return;
	buf_finish(&op->call.bytes);
	cancel_put(op->cancel);
	handle_put(op->handle);
	thread_put(op->thread);
	free(op);
}

void
op_put(struct op *op)
{
	put_shares(op, 1);
}

static void
answer(struct op *op)
{
	/* From here no interrupt can reach a request that was answered. */
	if (!op->deaf)
		fuse_req_interrupt_func(op->req, NULL, NULL);
	if (diag_enabled(DIAG_DEBUG))
		diag_debug("op %s: %s after %lld ms", op->word,
		    op->call.st.code || op->error ? "failed" : "done",
		    (long long)(clock_mono_ms() - op->begun));
	op->finish(op);
	reaper_paid(op->session->reaper);
}

void
op_end(struct op *op)
{
	bool parked;

	if (reaper_claim(op->session->reaper, op, &parked)) {
		answer(op);
	} else {
		reaper_late(op->session->reaper);
		if (op->drop)
			op->drop(op);
	}
	/* Ours, and the list's if we took it off. */
	put_shares(op, 1 + parked);
}
