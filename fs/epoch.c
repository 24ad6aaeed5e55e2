/* The kernel's cached names; see epoch.h. */
#include "fs/epoch.h"

#include <errno.h>

#include "agent/base/diag.h"

#define SLOTS 256

/* Since libfuse 3.18; the number is the kernel's. */
#define NOTIFY_INC_EPOCH 8

/* As the kernel has it (fuse_out_header). */
struct notification {
	uint32_t len;
	int32_t code;
	uint64_t unique;
};

/* By thread number; two threads in one slot cost a message too many. */
struct epoch_seen {
	_Atomic uint64_t slots[SLOTS];
};

struct epoch_seen *
epoch_seen_create(void)
{
	return xcalloc(1, sizeof(struct epoch_seen));
}

void
epoch_seen_destroy(struct epoch_seen *seen)
{
	free(seen);
}

bool
epoch_supported(const struct fuse_conn_info *conn)
{
	return conn->proto_major > 7 ||
	    (conn->proto_major == 7 && conn->proto_minor >= 44);
}

void
epoch_bump(struct session *s)
{
	struct notification n = { sizeof n, NOTIFY_INC_EPOCH, 0 };

	if (!s->epochs || !gate_enter(&s->gate))
		return;
	if (write(fuse_session_fd(s->fuse), &n, sizeof n) < 0)
		diag_debug("INC_EPOCH: %s", strerrorname_np(errno));
	gate_leave(&s->gate);
}

void
epoch_changed(struct session *s, int64_t thread)
{
	struct thread *t =
	    s->threads ? thread_by_number(s->threads, thread) : NULL;

	if (!t)
		return;
	uint64_t now = thread_generation(t) ^
	    (uint64_t)thread_log_size(t) << 24 ^ (uint64_t)thread << 48;
	thread_put(t);
	_Atomic uint64_t *slot = &s->seen->slots[(uint64_t)thread % SLOTS];
	if (atomic_exchange(slot, now) != now)
		epoch_bump(s);
}
