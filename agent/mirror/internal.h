/*
 * What the files of the mirror share. One lock (mirror.lock) guards all of it;
 * the only things done under it that touch a disk are local preads, pwrites
 * and renames of staging files. Nothing waits for the network or SQLite, and
 * no `done` runs, while it is held.
 *
 *   node.c    numbers, references, paths, attributes shown
 *   slot.c    names: (directory, name) -> node, and which names are ours
 *   call.c    parked calls: step, wait, answer once, deadlines, cancel
 *   fetch.c   what is on its way from the sandbox, one job each
 *   refresh.c which listing a call needs; listing.c takes one in
 *   staging.c contents: local files; extent.c which bytes of one are there
 *   queue.c   operations on their way to the sandbox; commit.c makes them
 *             durable, push.c sends them, recover.c takes them up again
 *
 * Everything that changed here wins over what a listing says until the push of
 * it ended before that listing began: slots and nodes carry a count of pending
 * operations and `done_seq`, the moment when the last of them ended; a listing
 * carries the moment when it began (`mirror.seq`).
 */
#ifndef AGENT_MIRROR_INTERNAL_H
#define AGENT_MIRROR_INTERNAL_H

#include "agent/base/clock.h"
#include "agent/base/lane.h"
#include "agent/base/lock.h"
#include "agent/base/path.h"
#include "agent/mirror/content.h"

#define FRESH_MS       1000
#define LOOKUP_WAIT_MS 10000
#define CALL_WAIT_MS   60000
#define WHOLE_MAX      ((int64_t)8 << 20) /* fetched whole at open */
#define CACHE_MAX      ((int64_t)1 << 30) /* clean bytes kept */
#define LIST_DEEP_MAX  20000              /* entries; above: one level */
#define PUSH_DELAY_MS  200

/* A name in a directory. Without a node it is a tombstone: removed here, and
 * kept until no listing that began before can bring the name back. */
struct slot {
	struct slot *hash_next;
	struct slot *next, **back; /* in the directory, oldest first */
	struct slot *next_name;    /* of the node's names */
	struct slot *tomb_next, **tomb_back;
	struct node *dir, *node;
	uint64_t epoch;    /* last listing that had it */
	uint64_t done_seq; /* when the last operation on it ended */
	uint64_t batch;    /* last batch that touched it */
	unsigned pending;  /* operations queued that touch it */
	bool unsure; /* an operation of an earlier run decides what it is */
	uint32_t hash;
	char name[];
};

/* A directory's entries at one moment, shared by its open directories. */
struct snapshot {
	unsigned refs;
	size_t count;

	struct snapshot_entry {
		const char *name; /* in names */
		uint32_t node;
		uint64_t ino;
		mode_t mode;
	} * entries;

	char *names;
};

struct dir {
	struct slot *first, **last;
	size_t count, subdirs, unsure;
	bool listed;
	int64_t listed_at;   /* clock_mono_ms() when that listing began */
	int64_t taken_at;    /* likewise, though it was not whole: no older one
			      * is taken in any more */
	uint64_t listed_seq; /* mirror.seq then */
	uint32_t list_root;  /* node whose deep listing brought it */
	size_t list_size;    /* entries of the last listing rooted here */
	uint64_t cover_epoch;
	bool own_change; /* times in the sandbox moved by our pushes */
	bool moved;      /* since it was covered: names came or went */
	bool take_stale; /* the listing could not speak about all of it */
	struct snapshot *snapshot; /* of now, or NULL */
};

struct node {
	uint32_t number;
	struct node *hash_next;
	struct node *link_next; /* in the table of hard-linked ones */
	bool in_links;
	struct slot *names;
	uint64_t refs;  /* fs's lookup count */
	unsigned opens; /* open files */
	unsigned pins;  /* slots and operations that point here */
	/* shown */
	mode_t mode;
	uint64_t ino;
	nlink_t nlink;
	int64_t size;
	struct timespec atime, mtime, ctime;
	/* the sandbox's */
	bool known; /* it exists there, as `remote` says */
	bool loose; /* our own push moved its ctime (or all, ino 0) */
	struct file_version remote;
	/* ours */
	unsigned pending; /* operations queued that touch it */
	uint64_t done_seq, batch;
	struct qop *last_op;
	bool changed; /* content has bytes that no queued PUT covers */
	bool behind;  /* open here and newer in the sandbox: not shown yet */
	bool opened;  /* before, with the content serial below */
	uint64_t opened_serial, serial;
	struct content *content;
	char *target;        /* symbolic link, raw */
	struct dir *dir;     /* directory */
	struct status error; /* of a failed push, not reported yet */
};

/* States of a file, derived: what is true in each is checked in debug builds
 * by node_check().
 *              content   changed  PUT queued  PUT sent  names
 * LISTED       no/part   no       no          no        yes
 * CLEAN        whole     no       no          no        yes
 * DIRTY        whole     or       or          no        yes
 * PUSHING      whole     no       no          yes       yes
 * PUSHING_DIRTY whole    or       or          yes       yes
 * GONE         any       any      no*         any       no
 * (FETCHING is LISTED with a fetch under way. *: but while an operation queued
 * before the removal waits.) */
enum file_state {
	FILE_LISTED,
	FILE_CLEAN,
	FILE_DIRTY,
	FILE_PUSHING,
	FILE_PUSHING_DIRTY,
	FILE_GONE,
};

enum op_state {
	OP_QUEUED,
	OP_SENT,   /* in the batch under way, or one that failed as a whole and
		    * goes again: nothing of it may change */
	OP_FAILED, /* refused by the sandbox: tried again at retry_at */
};

/* One operation on its way. Its paths are those of the moment when it was
 * queued; order makes them right. */
struct qop {
	struct qop *next, **back;
	uint64_t seq;
	int64_t row; /* in the store; 0: not there yet */
	enum push_kind kind;
	enum op_state state;
	bool committing; /* its row is being written */
	bool rewrite;    /* its row says what is not true any more */
	bool finished;   /* off the queue, freed when the commit ends */
	bool creates;    /* PUT of a file that the sandbox never had */
	bool unsure;     /* of an earlier run: it may have arrived */
	uint64_t at_path, at_path2; /* inodes found there, if unsure */
	bool arrived;               /* it had */
	bool blocked;               /* behind a failed one */
	struct node *node, *other;
	struct slot *slot, *slot2;
	char *path, *path2;
	struct content *content;
	uint64_t sent_writes;
	int64_t sent_size;
	mode_t mode;
	struct timespec atime, mtime;
	bool have_base;
	struct file_version base; /* for the row; live: node.remote */
	nlink_t nlink;            /* of it */
	int64_t retry_at;
	unsigned failures;
	struct status error;
};

struct waiters {
	struct mirror_call *first, **last;
	struct fetch *fetch; /* whose waiters these are, or NULL */
};

enum fetch_kind {
	FETCH_LIST,
	FETCH_CONTENT, /* the whole file */
	FETCH_RANGE,
	FETCH_SPACE,
	FETCH_COMMAND, /* not a job: a command that comes with a listing */
};

struct fetch {
	struct fetch *next, **back;
	struct mirror *m;
	enum fetch_kind kind;
	uint32_t node;
	struct content *content;     /* RANGE: into it */
	int64_t from, to;            /* RANGE */
	struct file_version version; /* CONTENT, RANGE: expected */
	char *path;
	enum sandbox_want want;
	bool deep;
	bool waited;    /* somebody waits or did: the last one out ends it */
	bool abandoned; /* cancelled: nobody joins it any more */
	uint64_t seq;
	int64_t began;
	struct cancel *cancel;
	struct waiters waiters;
};

#define LINK_HEADS 1024

struct mirror {
	/* immutable */
	int64_t thread;
	char *staging_dir, *queue_dir;
	bool links_raw;
	void (*note)(void *arg, const char *line);
	void *note_arg;
	struct sandbox *sandbox;
	struct store *store;
	struct lane *read_lane, *push_lane, *commit_lane, *timer_lane;
	struct cancel *cancel;      /* fetches */
	struct cancel *push_cancel; /* pushes */
	/* under lock */
	struct lock lock;
	uint64_t seq, epoch, forget_seq;
	uint32_t next_number;
	uint64_t next_serial;
	/* chained, sizes are powers of two */
	struct node **node_heads;
	size_t node_size, node_count;
	struct slot **slot_heads;
	size_t slot_size, slot_count;
	struct node *links[LINK_HEADS]; /* files with more than one link */
	struct slot *tombs;
	struct node *root;
	bool stopping, discarded, marked;
	bool sandbox_known;
	bool absent;         /* there was none at the last look */
	int64_t still_until; /* not running: listings count as fresh */
	struct mirror_call *ready, **ready_last;
	struct fetch *fetches;
	unsigned commands; /* of the agent, running: what is shown may change */
	uint64_t move_seq; /* when the last operation that moves names ended */
	/* the least recently used clean contents */
	struct content *lru, **lru_last;
	int64_t lru_bytes, cache_max;
	/* queue */
	struct qop *queue, **queue_last;
	unsigned queued;
	unsigned changed; /* nodes with `changed` */
	int64_t push_at;  /* when the oldest unsent one is due */
	bool push_running, push_urgent;
	struct batch *batch_out; /* sent, or to be sent again as it is */
	bool push_sync; /* somebody wants the sandbox's disk to have it */
	unsigned backoff_ms;
	uint64_t batch;           /* number of the newest one */
	int64_t pushed_at;        /* when it ended */
	struct status push_error; /* of the last batch that failed as a whole */
	struct cond push_cond;
	struct waiters push_waiters; /* for operations to end */
	/* commit */
	bool commit_running, commit_again;
	int64_t *removed; /* rows to delete with the next commit */
	size_t removed_count, removed_cap;
	uint64_t commit_wanted, commit_done; /* tickets */
	struct status commit_error;          /* of the newest commit */
	uint64_t commit_error_ticket;
	struct waiters commit_waiters;
	/* deadlines of calls */
	bool timer_running;
	int64_t timer_at; /* it sleeps until then */
	struct cond timer_cond;
	/* statfs */
	struct sandbox_space space;
	int64_t space_at;
};

struct mirror_file {
	struct mirror *m;
	struct node *node;
	int flags;
	bool direct;
};

struct mirror_dir {
	struct mirror *m;
	struct snapshot *snapshot;
};

/* --- call.c */
/* Takes the lock. */
void mirror_lock(struct mirror *m);
/* Releases it and answers what became ready meanwhile. */
void mirror_unlock(struct mirror *m);
/* Clears results and the mirror's own; the caller then stores the arguments. */
void call_reset(struct mirror *m, struct mirror_call *call);
/* Steps it, then answers it or leaves it parked. */
void call_start(struct mirror_call *call, int64_t wait_ms,
    bool (*step)(struct mirror_call *call));
/* For steps: answers with an error, returns true. */
bool call_fail(struct mirror_call *call, enum status_code code,
    const char *what) MUST_CHECK;
/* For steps: parks the call on a list, returns false. */
bool call_wait_locked(struct mirror_call *call, struct waiters *on) MUST_CHECK;
void waiters_init(struct waiters *w, struct fetch *fetch);
/* Steps all who wait there ("after waiting, look again"). */
void waiters_step_locked(struct mirror *m, struct waiters *w);
/* Answers all who wait there with `st`. */
void waiters_fail_locked(struct mirror *m, struct waiters *w,
    const struct status *st);
void waiters_extend_locked(struct waiters *w, int64_t deadline);
void calls_cancel_all_locked(struct mirror *m);
/* For steps: the node, or NULL. */
struct node *call_node(struct mirror_call *call);

/* --- node.c */
struct node *node_find(struct mirror *m, uint32_t number);
/* A node without a name; fresh ino. */
struct node *node_make_locked(struct mirror *m, mode_t mode);
/* Frees it when nothing holds it any more. */
void node_check_alive_locked(struct mirror *m, struct node *n);
/* Path relative to the workspace into buf[PATH_BYTES_MAX + 1]; NULL if the node
 * has no name (or it is too long). */
const char *node_path(const struct node *n, char buf[PATH_BYTES_MAX + 1]);
const char *slot_path(const struct slot *s, char buf[PATH_BYTES_MAX + 1]);
void node_attr(struct mirror *m, const struct node *n, bool fresh,
    struct mirror_attr *out);
enum file_state node_state(const struct node *n);
void node_check(const struct node *n);
void node_touch(struct node *n, bool content); /* times = now */
/* What the sandbox has from now on, as far as we know. */
void node_set_remote_locked(struct mirror *m, struct node *n,
    const struct file_version *version, nlink_t nlink);
bool node_gone(const struct node *n); /* no name and not the root */
struct node *node_by_link_locked(struct mirror *m, uint64_t ino);
/* The number shown for an inode of the sandbox. */
uint64_t ino_shown(uint64_t remote);
void nodes_free_locked(struct mirror *m);

static inline bool
node_is_dir(const struct node *n)
{
	return n->dir != NULL;
}

/* --- slot.c */
struct slot *slot_find(struct mirror *m, const struct node *dir,
    const char *name);
/* Finds or makes it (without a node). */
struct slot *slot_make_locked(struct mirror *m, struct node *dir,
    const char *name);
void slot_attach_locked(struct mirror *m, struct slot *s, struct node *n);
/* The name goes; the slot stays as a tombstone or is freed. The node may die:
 * hold a pin if it is used after. */
void slot_detach_locked(struct mirror *m, struct slot *s);
void slot_pend(struct slot *s);
void slot_unsure(struct slot *s);
void slot_settle_locked(struct mirror *m, struct slot *s);
void tombs_sweep_locked(struct mirror *m);
/* May a listing that began at `seq` not speak about this name? */
bool slot_guarded(const struct slot *s, uint64_t seq);
bool node_guarded(const struct node *n, uint64_t seq);
/* Takes a name and all below it out of the tree, but for what is ours. True
 * if it is gone. */
bool slot_drop_tree_locked(struct mirror *m, struct slot *s, uint64_t seq);
void dir_changed(struct node *dir); /* drops its snapshot */
void snapshot_put(struct snapshot *s);
void slots_free_locked(struct mirror *m);
bool name_hidden(const struct node *dir, const char *name);

/* --- refresh.c */
/* Is what we know of the directory at most 1 s old (seen from the call's
 * beginning; NULL: from now)? */
bool dir_fresh(struct mirror *m, const struct node *dir,
    const struct mirror_call *call);

enum look {
	LOOK_NOW,    /* it is there: look */
	LOOK_WAIT,   /* the call is parked and will look again */
	LOOK_FAILED, /* the call is answered */
};
/* For steps: sees to it that `dir` is fresh. */
enum look refresh_locked(struct mirror *m, struct node *dir,
    struct mirror_call *call);
/* Parks the call until operations have ended, and hurries them. */
enum look wait_for_push_locked(struct mirror_call *call);
void dir_stale(struct node *dir);
/* Where the sandbox has the path now, given what is queued; in place. False if
 * it has it not, or an operation under way makes that unsure. */
bool path_remote_locked(const struct mirror *m, char path[PATH_BYTES_MAX + 1]);
bool path_below(const char *path, const char *top); /* or equal */

/* --- listing.c */
/* When a listing was asked for, to judge what it can speak about. */
struct moment {
	uint64_t seq;   /* mirror.seq then: later operations are not in it */
	int64_t began;  /* clock_mono_ms() then: its age */
	uint64_t stamp; /* against forget_seq */
};

/* deep: what is not `unlisted` is complete. */
void listing_take_locked(struct mirror *m, const struct listing *l, bool deep,
    const struct moment *at);
/* There is no sandbox: the workspace is empty but for what is ours. */
void listing_absent_locked(struct mirror *m, const struct moment *at);
/* The bytes of `n` in the sandbox are others than those here. */
void node_outdated_locked(struct mirror *m, struct node *n);
/* All that is shown follows what the sandbox says. */
void node_show_locked(struct node *n);

/* --- fetch.c */
/* Each gives the fetch to wait for: one under way or a new one. */
struct fetch *fetch_list_locked(struct mirror *m, struct node *dir,
    const char *path, enum sandbox_want want, bool deep);
struct fetch *fetch_space_locked(struct mirror *m);
void fetch_abandon_locked(struct fetch *f);
/* The moment before which no listing under way began. */
uint64_t fetch_oldest_seq(const struct mirror *m);
struct fetch *fetch_find(struct mirror *m, enum fetch_kind kind, uint32_t node);
/* Made, then sent with the rest of its fields set. */
struct fetch *fetch_make_locked(struct mirror *m, enum fetch_kind kind,
    uint32_t node, const char *path);
struct fetch *fetch_go_locked(struct fetch *f);
void fetch_end_locked(struct fetch *f, int err, const struct status *st);

/* --- download.c */
struct fetch *fetch_content_locked(struct mirror *m, struct node *n,
    const char *path);
/* The fetch that brings byte `at` of a partial content. `want`: bytes wanted
 * from there on. */
struct fetch *fetch_range_locked(struct mirror *m, struct node *n,
    const char *path, int64_t at, int64_t want);
void run_content(void *arg);
void run_range(void *arg);

/* --- file.c */
/* Makes the content of `n` such that it can be written. */
int file_writable_locked(struct mirror *m, struct node *n, struct status *st);
int file_truncate_locked(struct mirror *m, struct node *n, int64_t size,
    struct status *st);
bool step_barrier(struct mirror_call *call);
bool step_open(struct mirror_call *call);
bool step_getattr(struct mirror_call *call);
/* The queued file carries the node's times over a crash. */
void content_stamp(const struct node *n);
/* For steps: the whole content of a regular file, fetched if needed. */
enum look file_have_locked(struct mirror *m, struct node *n,
    struct mirror_call *call);
/* The path to fetch the node from; false: answered or parked (`*look`). */
bool file_path_locked(struct mirror *m, struct node *n,
    struct mirror_call *call, char path[PATH_BYTES_MAX + 1], enum look *look);
/* A node with open files is one user of its content. Takes the reference and
 * the user of `c`. */
void node_set_content_locked(struct mirror *m, struct node *n,
    struct content *c);
void node_drop_content_locked(struct mirror *m, struct node *n);
struct mirror_file *file_make_locked(struct mirror *m, struct node *n,
    int flags, struct status *st);
bool step_opendir(struct mirror_call *call);

/* --- names.c */
/* For steps: the slot of a name if there is such a file; *out is NULL if it is
 * known that there is none. */
enum look name_look_locked(struct mirror *m, struct node *dir, const char *name,
    struct mirror_call *call, struct slot **out);
/* The directory call->node; NULL: answered. */
struct node *call_dir(struct mirror_call *call);
/* The slot of a name to be made: NULL: answered (DENIED, too long). */
struct slot *name_new_locked(struct mirror *m, struct node *dir,
    const char *name, struct mirror_call *call);
/* Content and name go from here; the removal was queued if need be. */
void name_gone_locked(struct mirror *m, struct slot *s);

/* --- walk.c */
/* For steps: resolves call->name from the workspace on. NOT_FOUND: *out is the
 * deepest directory that exists and call->name2 the rest of the path. */
enum look walk_locked(struct mirror_call *call, bool follow_last,
    struct node **out);

/* --- sync.c */
int barrier_for(struct mirror *m, int64_t ms, struct cancel *c,
    struct status *st);

/* --- queue.c */
/* An operation on the name `slot` of `n`, at the end of the queue. `other` and
 * `slot2` (may be NULL) are touched too. The paths are those of now. */
struct qop *op_queue_locked(struct mirror *m, enum push_kind kind,
    struct node *n, struct node *other, struct slot *slot, struct slot *slot2);
/* Puts a made operation at the end and counts what it touches. */
void op_append_locked(struct mirror *m, struct qop *op);
/* Off the queue: it is in the sandbox, or nothing need be done. Frees it, now
 * or when its row's commit ends. */
void op_end_locked(struct mirror *m, struct qop *op);
void op_free_locked(struct mirror *m, struct qop *op);
void node_set_changed_locked(struct mirror *m, struct node *n, bool changed);
/* Queues the content as it is, if it changed and has a name. */
void queue_put_locked(struct mirror *m, struct node *n);
/* All changed files. */
void queue_dirty_locked(struct mirror *m);
void queue_chmod_locked(struct mirror *m, struct node *n);
void queue_utimens_locked(struct mirror *m, struct node *n);
/* The last name of `n` (`slot`) is going: drops its unsent PUT; true if the
 * sandbox never heard of it, so nothing need be removed there. */
bool queue_unput_locked(struct mirror *m, struct node *n,
    const struct slot *slot);
/* Drops everything. */
void queue_clear_locked(struct mirror *m);
/* True while an operation up to `seq` is on its way (failed ones are not). */
bool queue_busy_locked(const struct mirror *m, uint64_t seq);

/* --- commit.c */
/* A ticket: commit_done reaches it when all that is queued now is durable. */
uint64_t commit_kick_locked(struct mirror *m);
/* The row is to be written again, in its place. */
void commit_rewrite_locked(struct mirror *m, struct qop *op);
void commit_remove_row_locked(struct mirror *m, int64_t row);

/* --- push.c, pushed.c */
struct batch {
	int64_t began;
	bool looked; /* batch_look() was done */
	struct qop **ops;
	struct push_op *push;
	size_t count;
	bool sync;
	struct qop **held; /* while gathering: failed ones, and who waits */
	size_t held_count, held_cap;
	char *notes[32]; /* lines for the log, said without the lock */
	size_t note_count;
};

/* A line for the log: "push of PATH", what, why. */
void batch_note(struct batch *b, const char *path, const char *what,
    const char *why);
void batch_free(struct batch *b); /* accepts NULL */
void op_pushed_locked(struct mirror *m, struct batch *b, struct qop *op,
    struct push_op *p);
/* No lock held: learns versions that are not known exactly. */
void batch_look(struct mirror *m, struct batch *b);
/* Operations that have arrived already leave the batch. */
void batch_arrived_locked(struct mirror *m, struct batch *b);
void push_kick_locked(struct mirror *m);
void push_soon_locked(struct mirror *m);

/* --- recover.c */
/* [disk] Takes up the store's rows, removes files that none of them names. */
void queue_recover(struct mirror *m);
/* What a row keeps of an operation, as JSON. */
void op_detail(struct buf *out, const struct qop *op);

/* --- link.c */
/* The text readlink shows for a link whose directory lies `depth` levels below
 * the workspace. */
void link_text(struct buf *out, const char *target, unsigned depth, bool raw);
/* Levels of the directory that has it, below the workspace. */
unsigned node_depth(const struct node *n);
/* --- dir.c */
struct mirror_dir *dir_open_locked(struct mirror *m, struct node *n);

#endif
