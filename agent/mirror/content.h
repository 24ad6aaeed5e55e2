/*
 * Contents: local files with bytes of nodes, and which bytes of one are there
 * (extent.c, staging.c). Within the mirror only, under its lock.
 */
#ifndef AGENT_MIRROR_CONTENT_H
#define AGENT_MIRROR_CONTENT_H

#include "agent/mirror/mirror.h"

/* Bytes [from, to) that are there; sorted, disjoint, not touching. */
struct extent {
	int64_t from, to;
};

struct extents {
	struct extent *list;
	size_t count, cap;
};

void extents_add(struct extents *e, int64_t from, int64_t to);
/* First byte >= `from` that is missing. */
int64_t extents_missing(const struct extents *e, int64_t from);
/* First byte >= `from` that is there, or `end`. */
int64_t extents_present(const struct extents *e, int64_t from, int64_t end);
void extents_finish(struct extents *e);

/*
 * A local file with bytes of one node: a clean copy (of `version`), or what was
 * written here. Counted; the file goes with the last reference. Its name is the
 * thread's number and a serial, below staging_dir, or below queue_dir from
 * the first write on (a rename: both are on one file system, or all is in
 * queue_dir).
 */
struct content {
	struct mirror *m;
	unsigned refs;  /* node, operations, fetches, reads */
	unsigned users; /* of them, those that need fd */
	int fd;         /* open while users > 0 */
	uint64_t serial;
	bool in_queue;
	bool whole;     /* all bytes are there */
	bool want_sync; /* has bytes that the next commit syncs */
	bool syncing;
	unsigned sent; /* batches under way that read it */
	int64_t size;
	int64_t read_to; /* where the last direct read ended */
	uint64_t writes; /* grows with each local change */
	bool have_version;
	struct file_version version;
	struct extents extents; /* while !whole */
	int64_t window, last_to;
	uint32_t node; /* whose it is, for eviction */
	bool keep;     /* the file outlives this process: its row is queued */
	/* without users, least recently used first */
	struct content *next, **back;
	bool in_lru;
	int64_t lru_size;
};

struct content *content_make_locked(struct mirror *m, uint32_t node,
    bool in_queue,
    struct status *st); /* empty file, open: one reference, one user */
/* A file of an earlier run below queue_dir; NULL if it is missing. */
struct content *content_recover_locked(struct mirror *m, const char *file);
struct content *content_get(struct content *c);
void content_put_locked(struct content *c);
int content_open_locked(struct content *c, struct status *st); /* a user */
void content_close_locked(struct content *c);
/* Below queue_dir from now on. */
int content_to_queue_locked(struct content *c, struct status *st);
/* A copy for writing while the other is being sent. */
struct content *content_copy_locked(struct content *c, struct status *st);
void content_name(const struct content *c, char out[64]);
#define CONTENT_PATH_MAX 4200
void content_path(const struct content *c, char out[CONTENT_PATH_MAX]);
/* Evicts what nobody uses down to cache_max bytes. */
void cache_trim_locked(struct mirror *m);
/* Makes the directories, removes stale copies of this thread. */
void staging_open(struct mirror *m, bool leftovers);
/* Removes files of this thread below queue_dir that are not `kept`. */
void staging_sweep(struct mirror *m, bool (*kept)(void *arg, uint64_t serial),
    void *arg);

#endif
