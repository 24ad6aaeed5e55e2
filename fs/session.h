/*
 * One mount: what all of fs/ shares, and the table of operations that libfuse
 * calls. A loop worker runs an operation to its end or parks it (op.h); it
 * never waits.
 *
 * The session owns the inode table, the reaper, the wake-ups and the marks; it
 * borrows settings and threads. Everything above the line is set before the
 * first loop worker starts.
 */
#ifndef FS_SESSION_H
#define FS_SESSION_H

#define FUSE_USE_VERSION 35
#include <stdatomic.h>

#include <fuse_lowlevel.h>

#include "agent/base/lock.h"
#include "agent/config/settings.h"
#include "agent/thread/thread.h"
#include "fs/gate.h"

struct handles;
struct inode_table;
struct marks;
struct reaper;
struct wakeups;

struct session {
	/* immutable */
	struct fuse_session *fuse;
	const struct settings *settings;
	struct threads *_Atomic threads; /* set while turns already run */
	uid_t uid; /* who mounted: the owner of everything */
	gid_t gid;
	int64_t started_ms; /* wall clock */
	struct inode_table *inodes;
	struct reaper *reaper;
	struct wakeups *wakeups;
	struct marks *marks;
	struct handles *handles;
	struct gate gate; /* before what is sent unasked */
	int ready_fd;     /* eventfd: INIT was answered, or the loop ended */
	int end_fd;       /* eventfd: time to stop */
	/* set by INIT, before any other request */
	bool epochs; /* the kernel knows INC_EPOCH */
	double keep; /* time-out of workspace names, seconds */
	/* any worker */
	atomic_bool joined; /* INIT was answered */
	/* Unmounted where we live: stop when the last open file is closed. */
	atomic_bool orphaned;
	struct epoch_seen *seen;
	_Atomic int64_t root_changed_ms; /* wall clock */
};

/* Makes the libfuse session of `settings` (not mounted yet). -1 with `st`. */
int session_create(const struct settings *settings, struct session **out,
    struct status *st);
/* All loop workers have ended. Answers what is still parked, closes what is
 * still open and unmounts; the threads still live. */
void session_close(struct session *s);
/* After threads_destroy(): nothing refers to it any more. Accepts NULL. */
void session_destroy(struct session *s);
/* `changed` of struct threads_settings. */
void session_changed(void *session, int64_t thread);

/* The session that a request belongs to. */
static inline struct session *
session_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

#endif
