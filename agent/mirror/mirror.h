/*
 * The mirror of one workspace: what the sandbox's /home/daytona holds, as far
 * as we know, plus what was written here and is on its way there.
 *
 * Two faces. For fs/: calls that never wait; each is a struct mirror_call that
 * is answered by its `done`, at once (before the function returns) or later on
 * any worker. For tools/ and thread/: blocking functions, marked [waits].
 *
 * Nodes are numbers: 1 is the workspace itself, 0 is none. A node keeps its
 * number over rename and over a push that replaced the sandbox's inode. It
 * lives while it has a name, an open handle or a reference of fs (lookup
 * count); numbers are not reused while the process runs.
 *
 * Writes are staged in a local file and queued in the store: durable when
 * mirror_flush() answers, pushed within 200 ms by the write lane (one worker,
 * in order, many files in one request), known to be in the sandbox when
 * mirror_fsync() or mirror_barrier() answers.
 */
#ifndef AGENT_MIRROR_MIRROR_H
#define AGENT_MIRROR_MIRROR_H

#include <sys/statvfs.h>

#include "agent/base/cancel.h"
#include "agent/base/status.h"
#include "agent/sandbox/sandbox.h"
#include "agent/store/store.h"

struct mirror;
struct mirror_dir;  /* an open directory: a counted snapshot */
struct mirror_file; /* an open file */

#define MIRROR_ROOT 1U

struct mirror_settings {         /* copied */
	int64_t thread;          /* number in the store */
	const char *staging_dir; /* cache: clean copies; made if missing */
	const char *queue_dir;   /* state: dirty files that are not pushed */
	bool links_raw;          /* readlink gives the text as it is */
	bool sandbox_known;      /* the store says that it has a sandbox */
	/* The store's queue and both directories (which are there) hold nothing
	 * of this thread: mirror_create() has nothing to wait for. */
	bool nothing_left;
	/* a line for the log ([file] …); any worker, no lock held */
	void (*note)(void *arg, const char *line);
	void *note_arg;
};

/* No network. Shares sandbox and store until mirror_destroy. Takes up what the
 * store's queue still holds for this thread. */
struct mirror *mirror_create(struct sandbox *sb, struct store *store,
    const struct mirror_settings *settings);
/* [waits] Up to `drain_ms` for the queue; then cancels all and joins. What is
 * not pushed stays in the store. All handles are closed. Accepts NULL. */
void mirror_destroy(struct mirror *m, int64_t drain_ms);
/* The thread is being deleted: drops the queue and its files. */
void mirror_discard(struct mirror *m);

struct mirror_attr {
	uint32_t node;
	uint64_t ino; /* st_ino's low 40 bits (design.md §6) */
	mode_t mode;
	nlink_t nlink;
	int64_t size;
	uint64_t blocks; /* of 512 bytes */
	struct timespec atime, mtime, ctime;
	bool fresh; /* false: give attr timeout 0, the kernel will ask */
};

/* One call of fs/. Embedded in an op; stays valid until done ran. */
struct mirror_call {
	/* set by the caller */
	void (*done)(struct mirror_call *call);
	int64_t deadline; /* clock_mono_ms(), 0 = the mirror's own */
	/* results, valid in done */
	struct status st; /* .code OK: the fields below that the call names */
	struct mirror_attr attr;
	struct mirror_dir *dir;
	struct mirror_file *file;
	bool direct_io, keep_cache; /* of open */
	struct buf bytes;           /* of read, readlink; the caller finishes */
	struct statvfs space;
	/* the mirror's own */
	struct mirror_call *next, **back;
	struct mirror *mirror;
	bool (*step)(struct mirror_call *call);
	uint32_t node, node2;
	char *name, *name2;
	int flags, what;
	mode_t mode;
	int64_t off;
	size_t len;
	struct timespec times[2];
	uint64_t seen;
	unsigned tries;
	int64_t began;
	struct waiters *on;
	struct content *content;
	struct mirror_file *handle;
	void (*finish)(struct mirror_call *call);
};

/* If it still waits: unlinks it and answers CANCELED (done runs before the
 * return); the last one that waited for a fetch cancels the fetch. Any worker
 * that holds no lock. Safe while done runs elsewhere: then does nothing. */
void mirror_call_cancel(struct mirror *m, struct mirror_call *call);

/* --- Names. Answer attr; a lookup adds one reference to the node. --------- */
void mirror_lookup(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call);
/* Drops `count` references; from any worker, never waits. */
void mirror_forget(struct mirror *m, uint32_t node, uint64_t count);
void mirror_getattr(struct mirror *m, uint32_t node, struct mirror_file *file,
    struct mirror_call *call);
void mirror_readlink(struct mirror *m, uint32_t node,
    struct mirror_call *call); /* bytes */

/* Answered from memory and queued, in order. mkdir, symlink, link and create
 * add a reference. flags of rename: RENAME_NOREPLACE, RENAME_EXCHANGE. */
void mirror_mkdir(struct mirror *m, uint32_t parent, const char *name,
    mode_t mode, struct mirror_call *call);
void mirror_rmdir(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call);
void mirror_unlink(struct mirror *m, uint32_t parent, const char *name,
    struct mirror_call *call);
void mirror_rename(struct mirror *m, uint32_t parent, const char *name,
    uint32_t parent2, const char *name2, unsigned flags,
    struct mirror_call *call);
void mirror_symlink(struct mirror *m, uint32_t parent, const char *name,
    const char *target, struct mirror_call *call);
void mirror_link(struct mirror *m, uint32_t node, uint32_t parent,
    const char *name, struct mirror_call *call);

/* What setattr changes; times with UTIME_OMIT are left. */
#define MIRROR_SET_MODE  1
#define MIRROR_SET_SIZE  2
#define MIRROR_SET_TIMES 4
void mirror_setattr(struct mirror *m, uint32_t node, struct mirror_file *file,
    int what, mode_t mode, int64_t size, const struct timespec times[2],
    struct mirror_call *call);

/* --- Directories. --------------------------------------------------------- */
void mirror_opendir(struct mirror *m, uint32_t node, struct mirror_call *call);
/* Entry number i of the snapshot (without . and ..), borrowed until close;
 * false past the end. attr holds the entry's node without a reference: add
 * one with mirror_reference() for readdirplus. */
bool mirror_dir_entry(struct mirror_dir *dir, size_t i, const char **name,
    struct mirror_attr *attr);
/* Adds a reference if the node is still alive; attr is made new. */
bool mirror_reference(struct mirror *m, uint32_t node,
    struct mirror_attr *attr);
void mirror_closedir(struct mirror_dir *dir);

/* --- Files. --------------------------------------------------------------- */
/* flags as of open(2). Answers file, direct_io, keep_cache, attr. */
void mirror_open(struct mirror *m, uint32_t node, int flags,
    struct mirror_call *call);
/* As O_CREAT (O_EXCL honoured); adds a reference; answers attr and file. */
void mirror_file_create(struct mirror *m, uint32_t parent, const char *name,
    mode_t mode, int flags, struct mirror_call *call);
/* bytes. Waits only where the handle is direct_io. */
void mirror_read(struct mirror_file *file, int64_t off, size_t len,
    struct mirror_call *call);
/* Local and at once: bytes written or a negative errno. append: at the end,
 * whatever off says. */
ssize_t mirror_write(struct mirror_file *file, const void *bytes, size_t len,
    int64_t off, bool append);
/* Durable here (group commit on the store's lane). Reports once an error of an
 * earlier push of this file. */
void mirror_flush(struct mirror_file *file, struct mirror_call *call);
/* In the sandbox, or its error. */
void mirror_fsync(struct mirror_file *file, struct mirror_call *call);
/* Everything queued before is in the sandbox: fsync of a directory. */
void mirror_sync(struct mirror *m, struct mirror_call *call);
/* Queues unsent data if flush did not; never waits. */
void mirror_release(struct mirror_file *file);
void mirror_statfs(struct mirror *m, struct mirror_call *call);

/* --- For tools and the turn, blocking. ------------------------------------ */
/* [waits] Every write made so far is in the sandbox. Dirty open files too. */
int mirror_barrier(struct mirror *m, struct cancel *c, struct status *st);
/* [waits] Barrier, sandbox_exec with a listing, listing taken in: what the
 * command did is visible when it returns. */
int mirror_exec(struct mirror *m, const struct exec_request *request,
    struct exec_result *result, struct cancel *c, struct status *st);
/* [waits] Barrier, then sandbox_script. Nothing is listed anew. */
int mirror_script(struct mirror *m, const char *script, size_t len,
    struct buf *out, int *exit_code, struct cancel *c, struct status *st);
/* [waits] Whole regular file, relative path, links inside followed. TOO_BIG
 * when it does not fit into `out`. */
int mirror_read_file(struct mirror *m, const char *path, struct buf *out,
    struct cancel *c, struct status *st);
/* [waits] Makes missing parents, replaces the content (mode kept), pushed when
 * it returns. */
int mirror_write_file(struct mirror *m, const char *path, const void *bytes,
    size_t len, struct cancel *c, struct status *st);
/* [waits] Attributes by path; NOT_FOUND. Links are not followed. */
int mirror_stat(struct mirror *m, const char *path, struct mirror_attr *attr,
    struct cancel *c, struct status *st);
/* [waits] Opens a snapshot by path. */
int mirror_list(struct mirror *m, const char *path, struct mirror_dir **dir,
    struct cancel *c, struct status *st);

/* Forget cached listings (ctl refresh); never waits. */
void mirror_forget_listings(struct mirror *m);
/* The thread carries removal marks (contract §1): removals are queued, start
 * nothing, and listings that nothing local answers are empty. Ending the marks
 * (false) lets the queue go on. */
void mirror_set_marked(struct mirror *m, bool marked);
/* The sandbox was deleted: the workspace is empty until there is another. */
void mirror_sandbox_gone(struct mirror *m);

struct mirror_view {           /* for `state`, from memory */
	unsigned queued;       /* operations not yet in the sandbox */
	unsigned failed;       /* of them, failed at least once */
	char failed_path[256]; /* the first of those, escaped; or "" */
};

void mirror_view(struct mirror *m, struct mirror_view *out);

#endif
