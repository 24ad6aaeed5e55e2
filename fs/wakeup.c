/* Waiters and pollers; see wakeup.h. */
#include "fs/wakeup.h"

#include <poll.h>

struct wakeups {
	struct lock lock;
	/* under lock */
	uint64_t changes; /* of any thread */
	struct waiter *waiters;
	struct handle *polled; /* handles with a poll handle */
};

struct wakeups *
wakeups_create(void)
{
	struct wakeups *ws = xcalloc(1, sizeof *ws);

	lock_init(&ws->lock, RANK_INODES);
	return ws;
}

void
wakeups_destroy(struct wakeups *ws)
{
	if (!ws)
		return;
	lock_finish(&ws->lock);
	free(ws);
}

static void
unlink_locked(struct wakeups *ws, struct waiter *w)
{
	lock_assert_held(&ws->lock);
	*w->back = w->next;
	if (w->next)
		w->next->back = w->back;
	w->waiting = false;
}

/* The reaper answered it: the list's share goes. */
static void
abandon(struct op *op)
{
	struct waiter *w = (struct waiter *)op;
	struct wakeups *ws = op->session->wakeups;

	lock_acquire(&ws->lock);
	bool waiting = w->waiting;
	if (waiting)
		unlink_locked(ws, w);
	w->abandoned = true;
	lock_release(&ws->lock);
	if (waiting)
		op_put(op);
}

/* True if it is linked, having missed no change since `seen`. */
static bool
link_locked(struct wakeups *ws, struct waiter *w, uint64_t seen)
{
	lock_assert_held(&ws->lock);
	if (seen != ws->changes || w->abandoned)
		return false;
	w->next = ws->waiters;
	w->back = &ws->waiters;
	if (w->next)
		w->next->back = &w->next;
	ws->waiters = w;
	w->waiting = true;
	return true;
}

/* Tries until it has a result, nobody waits for it any more, or it is linked. */
static void
attempt_or_wait(struct wakeups *ws, struct waiter *w)
{
	bool linked = false, abandoned = false;

	while (!linked && !abandoned) {
		lock_acquire(&ws->lock);
		uint64_t seen = ws->changes;
		lock_release(&ws->lock);
		if (w->attempt(w)) {
			op_end(&w->op);
			return;
		}
		lock_acquire(&ws->lock);
		abandoned = w->abandoned;
		linked = link_locked(ws, w, seen);
		lock_release(&ws->lock);
	}
	if (abandoned)
		op_put(&w->op);
}

void
wakeup_wait(struct wakeups *ws, struct waiter *w)
{
	w->op.abandon = abandon;
	attempt_or_wait(ws, w);
}

static struct waiter *
take_waiters(struct wakeups *ws, int64_t thread)
{
	struct waiter *taken = NULL;

	lock_acquire(&ws->lock);
	ws->changes++;
	for (struct waiter *w = ws->waiters, *next; w; w = next) {
		next = w->next;
		if (w->thread != thread)
			continue;
		unlink_locked(ws, w);
		w->next = taken;
		taken = w;
	}
	lock_release(&ws->lock);
	return taken;
}

static void
link_polled_locked(struct wakeups *ws, struct handle *h)
{
	lock_assert_held(&ws->lock);
	h->poll_next = ws->polled;
	h->poll_back = &ws->polled;
	if (h->poll_next)
		h->poll_next->poll_back = &h->poll_next;
	ws->polled = h;
}

static void
unlink_polled_locked(struct wakeups *ws, struct handle *h)
{
	lock_assert_held(&ws->lock);
	*h->poll_back = h->poll_next;
	if (h->poll_next)
		h->poll_next->poll_back = h->poll_back;
	h->poll_back = NULL;
}

/* One round over the pollers of a thread: each is notified without the lock,
 * its poll handle meanwhile ours. Only `fresh` ones: not told in this round. */
static struct handle *
take_polled_locked(struct wakeups *ws, int64_t thread)
{
	lock_assert_held(&ws->lock);
	for (struct handle *h = ws->polled; h; h = h->poll_next) {
		if (!h->poll_again || thread_number(h->thread) != thread)
			continue;
		if (h->polling)
			continue; /* the other worker tells it again */
		h->poll_again = false;
		h->polling = true;
		return handle_get(h);
	}
	return NULL;
}

static void
notify_pollers(struct wakeups *ws, int64_t thread)
{
	struct handle *h;

	lock_acquire(&ws->lock);
	for (h = ws->polled; h; h = h->poll_next)
		if (thread_number(h->thread) == thread)
			h->poll_again = true;
	while ((h = take_polled_locked(ws, thread))) {
		struct fuse_pollhandle *ph = take(h->poll);
		lock_release(&ws->lock);
		if (gate_enter(&h->session->gate)) {
			fuse_lowlevel_notify_poll(ph);
			gate_leave(&h->session->gate);
		}
		lock_acquire(&ws->lock);
		h->polling = false;
		/* Released, or polled anew, meanwhile: ours is the old one. */
		bool keep = h->poll_back && !h->poll;
		if (keep)
			h->poll = ph;
		lock_release(&ws->lock);
		if (!keep)
			fuse_pollhandle_destroy(ph);
		handle_put(h);
		lock_acquire(&ws->lock);
	}
	lock_release(&ws->lock);
}

void
wakeup_changed(struct wakeups *ws, int64_t thread)
{
	struct waiter *w = take_waiters(ws, thread);

	while (w) {
		struct waiter *next = w->next;
		attempt_or_wait(ws, w);
		w = next;
	}
	notify_pollers(ws, thread);
}

void
wakeup_poll(fuse_req_t req, struct handle *h, struct fuse_pollhandle *ph)
{
	struct wakeups *ws = h->session->wakeups;

	if (!h->ops->ready) {
		if (ph)
			fuse_pollhandle_destroy(ph);
		fuse_reply_poll(req, POLLIN | POLLOUT);
		return;
	}
	if (ph) {
		lock_acquire(&ws->lock);
		struct fuse_pollhandle *old = h->poll;
		h->poll = ph;
		if (!h->poll_back)
			link_polled_locked(ws, h);
		lock_release(&ws->lock);
		if (old)
			fuse_pollhandle_destroy(old);
	}
	/* After the handle is there: a change from now on notifies it. */
	fuse_reply_poll(req, h->ops->ready(h) ? POLLIN | POLLRDNORM : 0);
}

void
wakeup_poll_end(struct wakeups *ws, struct handle *h)
{
	lock_acquire(&ws->lock);
	struct fuse_pollhandle *ph = take(h->poll);
	if (h->poll_back)
		unlink_polled_locked(ws, h);
	lock_release(&ws->lock);
	if (ph)
		fuse_pollhandle_destroy(ph);
}
