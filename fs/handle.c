/* Open files and directories; see handle.h. */
#include "fs/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include "fs/wakeup.h"

struct handles {
	struct lock lock;
	/* under lock */
	struct handle *first;
};

struct handles *
handles_create(void)
{
	struct handles *hs = xcalloc(1, sizeof *hs);

	lock_init(&hs->lock, RANK_INODES);
	return hs;
}

void
handles_close_all(struct handles *hs)
{
	struct handle *h;

	do {
		lock_acquire(&hs->lock);
		h = hs->first;
		lock_release(&hs->lock);
		if (h)
			handle_release(h);
	} while (h);
}

bool
handles_any(struct handles *hs)
{
	lock_acquire(&hs->lock);
	bool any = hs->first != NULL;
	lock_release(&hs->lock);
	return any;
}

void
handles_destroy(struct handles *hs)
{
	if (!hs)
		return;
	lock_finish(&hs->lock);
	free(hs);
}

struct handle *
handle_create(size_t size, const struct handle_ops *ops, struct session *s,
    struct thread *thread, int flags)
{
	struct handle *h = xcalloc(1, size);
	struct handles *hs = s->handles;

	h->ops = ops;
	h->session = s;
	h->thread = thread;
	h->flags = flags;
	atomic_init(&h->refs, 1);
	lock_acquire(&hs->lock);
	h->next = hs->first;
	h->back = &hs->first;
	if (h->next)
		h->next->back = &h->next;
	hs->first = h;
	lock_release(&hs->lock);
	return h;
}

struct handle *
handle_get(struct handle *h)
{
	atomic_fetch_add(&h->refs, 1);
	return h;
}

void
handle_put(struct handle *h)
{
	if (!h || atomic_fetch_sub(&h->refs, 1) != 1)
		return;
	struct thread *thread = h->thread;
	if (h->ops->destroy)
		h->ops->destroy(h);
	free(h);
	thread_put(thread);
}

void
handle_release(struct handle *h)
{
	struct handles *hs = h->session->handles;

	lock_acquire(&hs->lock);
	*h->back = h->next;
	if (h->next)
		h->next->back = h->back;
	bool last = !hs->first;
	lock_release(&hs->lock);
	if (last && atomic_load(&h->session->orphaned))
		eventfd_write(h->session->end_fd, 1);
	wakeup_poll_end(h->session->wakeups, h);
	if (h->ops->close)
		h->ops->close(h);
	handle_put(h);
}

void
handle_reply_open(fuse_req_t req, struct handle *h, bool direct,
    bool keep_cache)
{
	struct fuse_file_info fi = { .flags = h->flags };

	fi.fh = (uintptr_t)h;
	fi.direct_io = direct;
	fi.keep_cache = keep_cache;
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 11)
	/* Nothing to say at the close of what was only read. */
	fi.noflush = (h->flags & O_ACCMODE) == O_RDONLY;
#endif
	if (fuse_reply_open(req, &fi) == -ENOENT)
		handle_release(h);
}
