/* Loop workers; see loop.h. */
#include "fs/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "agent/base/diag.h"
#include "fs/handle.h"
#include "fs/mountinfo.h"
#include "fs/mountpoint.h"

#define WORKERS_MAX 16

struct loop_worker {
	pthread_t worker;
	struct session *session;
	struct fuse_buf buf; /* freed by loop_stop(): the worker is cancelled */
};

struct loop {
	struct session *session;
	unsigned count;
	struct loop_worker workers[WORKERS_MAX];
};

static void *
work(void *arg)
{
	struct loop_worker *w = arg;
	struct fuse_session *fuse = w->session->fuse;

	wait_forbid(true);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!fuse_session_exited(fuse)) {
		/* loop_stop() ends a worker here and nowhere else. */
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
		int n = fuse_session_receive_buf(fuse, &w->buf);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
		if (n == -EINTR)
			continue;
		if (n <= 0) {
			if (n < 0)
				diag_err("receive: %s", strerrorname_np(-n));
			break;
		}
		fuse_session_process_buf(fuse, &w->buf);
	}
	fuse_session_exit(fuse);
	eventfd_write(w->session->end_fd, 1);
	eventfd_write(w->session->ready_fd, 1);
	return NULL;
}

struct loop *
loop_start(struct session *s, unsigned workers)
{
	struct loop *l = xcalloc(1, sizeof *l);

	l->session = s;
	l->count = MIN(workers, WORKERS_MAX);
	for (unsigned i = 0; i < l->count; i++) {
		l->workers[i].session = s;
		l->workers[i].worker =
		    worker_start(work, &l->workers[i], "loop");
	}
	return l;
}

static bool
is_mounted(const char *mountpoint)
{
	auto_free char *table = mountpoint_table();

	return mountinfo_at(table, mountpoint) == MOUNTINFO_OURS;
}

void
loop_wait(struct loop *l, int signal_fd, const char *mountpoint)
{
	struct session *s = l->session;
	/* Polled, it tells of each change of the mount table. */
	auto_fd int table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	struct pollfd p[3] = { { .fd = signal_fd, .events = POLLIN },
		{ .fd = s->end_fd, .events = POLLIN },
		{ .fd = table, .events = POLLPRI } };

	for (;;) {
		if (!atomic_load(&s->orphaned) && !is_mounted(mountpoint)) {
			atomic_store(&s->orphaned, true);
			p[2].fd = -1;
			if (!handles_any(s->handles))
				return;
		}
		if (poll(p, 3, -1) < 0 && errno != EINTR)
			return;
		if (p[0].revents || p[1].revents)
			return;
	}
}

void
loop_stop(struct loop *l)
{
	fuse_session_exit(l->session->fuse);
	for (unsigned i = 0; i < l->count; i++) {
		pthread_cancel(l->workers[i].worker);
		worker_join(l->workers[i].worker);
		free(l->workers[i].buf.mem);
	}
	free(l);
}
