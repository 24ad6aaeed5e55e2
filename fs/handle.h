/*
 * Handles: what fh of an open file or directory points to. A handle is the
 * first member of a struct of its kind and counted: one share for the open
 * file, one for each op that uses it. RELEASE calls close(), the last share
 * destroy().
 */
#ifndef FS_HANDLE_H
#define FS_HANDLE_H

#include "fs/session.h"

struct handle;

struct handle_ops { /* NULL: as said */
	/* EINVAL */
	void (*read)(fuse_req_t req, struct handle *h, size_t size, off_t off,
	    int flags);
	/* EBADF */
	void (*write)(fuse_req_t req, struct handle *h, const char *bytes,
	    size_t size, off_t off, const struct fuse_file_info *fi);
	/* success */
	void (*flush)(fuse_req_t req, struct handle *h, uint64_t owner);
	/* success */
	void (*fsync)(fuse_req_t req, struct handle *h);
	/* SETATTR(size) through the handle: nothing. */
	void (*truncate)(struct handle *h, off_t size);
	/* for poll: would a read answer now? always */
	bool (*ready)(struct handle *h);
	/* ENOTDIR */
	void (*readdir)(fuse_req_t req, struct handle *h, size_t size,
	    off_t off, bool plus);
	/* Size to show while it is open, or -1: as the inode's */
	int64_t (*size)(struct handle *h);
	void (*close)(struct handle *h);
	void (*destroy)(struct handle *h);
};

struct handle {
	/* immutable */
	const struct handle_ops *ops;
	struct session *session;
	struct thread *thread; /* owns a share, or NULL */
	int flags;             /* of open */
	atomic_uint refs;
	/* under the lock of the open handles */
	struct handle *next, **back;
	/* under the lock of the wake-ups */
	struct fuse_pollhandle *poll;
	bool polling, poll_again;
	struct handle *poll_next, **poll_back;
};

struct handles;

struct handles *handles_create(void);
bool handles_any(struct handles *hs);
/* Closes those that the kernel will never release any more. */
void handles_close_all(struct handles *hs);
void handles_destroy(struct handles *hs);

/* `size` of the struct; takes the share of the thread (or NULL). */
struct handle *handle_create(size_t size, const struct handle_ops *ops,
    struct session *s, struct thread *thread, int flags);
struct handle *handle_get(struct handle *h);
/* Accepts NULL. */
void handle_put(struct handle *h);
/* RELEASE: closes it and drops the share of the open file. */
void handle_release(struct handle *h);

/* Answers OPEN or OPENDIR with it; takes it (released if nobody is there any
 * more). direct: no page cache. */
void handle_reply_open(fuse_req_t req, struct handle *h, bool direct,
    bool keep_cache);

static inline struct handle *
handle_of(const struct fuse_file_info *fi)
{
	// NOLINTNEXTLINE(performance-no-int-to-ptr): fh is a number
	return (struct handle *)(uintptr_t)fi->fh;
}

#endif
