/*
 * One remote sandbox and all that can be asked of it, over the Daytona HTTP
 * API: the cloud's or that of sandagentfs-box, which differ in the endpoint's
 * strings only. There is one implementation and no interface behind it.
 *
 * Every call marked [waits] blocks its worker until the answer, the deadline or
 * the cancel token; call it from a lane or a turn, never from a loop worker,
 * with no lock held. Everything about finding, starting, reconnecting and
 * retrying lives in here: callers see one answer. Calls of one sandbox may run
 * at the same time.
 */
#ifndef AGENT_SANDBOX_SANDBOX_H
#define AGENT_SANDBOX_SANDBOX_H

#include "agent/base/buf.h"
#include "agent/base/cancel.h"
#include "agent/base/status.h"
#include "agent/sandbox/listing.h"

/* The workspace: the directory that the mount shows. */
#define SANDBOX_HOME "/home/daytona"
/* Ours within the daemon's own folder, never shown: temporary names, runs. */
#define SANDBOX_SCRATCH SANDBOX_HOME "/.daytona/sandagentfs"

struct provider; /* where sandboxes come from; one a mount */
struct sandbox;  /* one a thread */

struct provider_settings { /* borrowed until provider_create returns */
	bool local;        /* run sandagentfs-box as a child at first use */
	const char *box_program; /* local: path of sandagentfs-box */
	const char *box_dir;     /* local: its data directory and socket */
	const char *api_url;     /* cloud: such as https://app.daytona.io/api */
	const char *api_key;     /* cloud */
	const char *target;      /* cloud region or NULL */
	const char *owner;       /* id of our store: label on what we make */
};

/* [waits] Can the local sandbox server work on this machine (bubblewrap, user
 * namespaces)? A short run of its program; `st` says what to do. */
int provider_check(const char *box_program, struct status *st);
/* No network, no child yet. */
struct provider *provider_create(const struct provider_settings *settings);
/* [waits] Ends the local server, which stops its sandboxes. Accepts NULL; all
 * sandboxes have been destroyed before. */
void provider_destroy(struct provider *p);
/* "daytona" or "local". */
const char *provider_word(const struct provider *p);

struct sandbox_options {      /* of one thread; copied */
	int ttl_minutes;      /* 0 = for ever */
	int stop_minutes;     /* 0 = never by itself */
	const char *snapshot; /* NULL = default */
	bool network_off;
	const char *const *env; /* NAME, VALUE, …, NULL; may be NULL */
};

/* name: "thread-<thread id>". No network. Shares the provider. */
struct sandbox *sandbox_create(struct provider *p, const char *name,
    const struct sandbox_options *options);
/* Frees it here; the remote stays. Accepts NULL. No call is under way. */
void sandbox_destroy(struct sandbox *sb);
void sandbox_set_options(struct sandbox *sb,
    const struct sandbox_options *options);

/* What is known now, from memory. */
struct sandbox_view {
	char id[64];         /* "" if unknown */
	char state[24];      /* Daytona's word, "absent" or "" if unknown */
	char expires_at[40]; /* RFC 3339 or "" */
	bool ours;           /* it carries our label and our store's id */
	bool created;        /* made by this process (for a log line) */
	bool started;        /* made or started by this process, not stopped */
	char reason[160];    /* of the state error, or "" */
	int64_t used_ms; /* clock_mono_ms() when a command, a push or content
			  * last went through it, or 0; listings do not count */
};

void sandbox_view(struct sandbox *sb, struct sandbox_view *out);
/* A line for the transcript ("created thread-x (id=…, ttl=60min)", "started
 * …", "stopped …"); set once, before workers use it; called on any worker. */
void sandbox_on_event(struct sandbox *sb,
    void (*event)(void *arg, const char *line), void *arg);
/* The id kept by the store from an earlier run, to name it without asking. */
void sandbox_hint(struct sandbox *sb, const char *id, bool ours);

/* How far a call may go to have a running sandbox. */
enum sandbox_want {
	SANDBOX_LOOK,   /* only if it runs: else NOT_FOUND or UNAVAILABLE */
	SANDBOX_START,  /* start an existing one; absent: NOT_FOUND */
	SANDBOX_CREATE, /* find or create, and start */
};

/* [waits] Find by name, create and start as `want` says. */
int sandbox_ready(struct sandbox *sb, enum sandbox_want want, struct cancel *c,
    struct status *st);
/* [waits] Absent or stopped already is success. */
int sandbox_stop(struct sandbox *sb, struct cancel *c, struct status *st);
/* Its thread ends: from now on no call creates or starts it (START and CREATE
 * do as LOOK does); sandbox_delete() sees to one that is just being made.
 * Another sandbox of the same name waits before it looks for its remote, until
 * sandbox_free_name() or sandbox_destroy(). */
void sandbox_doom(struct sandbox *sb);
void sandbox_free_name(struct sandbox *sb);
/* [waits] Deletes the remote one if it is ours; NOT_FOUND is success;
 * somebody else's: DENIED. */
int sandbox_delete(struct sandbox *sb, struct cancel *c, struct status *st);
/* [waits] Renews time to live and activity, at most once a minute. */
int sandbox_touch(struct sandbox *sb, struct cancel *c, struct status *st);

/* [waits] The subtree below `path` (relative to the workspace, "" = all), one
 * request. deep: all levels but heavy directories (.cache .venv node_modules
 * .git/objects …), which come back `unlisted`; else one level. Owns *out on
 * success (listing_finish). Missing: NOT_FOUND; a file: NOT_DIR. */
int sandbox_list(struct sandbox *sb, enum sandbox_want want, const char *path,
    bool deep, struct listing *out, struct cancel *c, struct status *st);

/* Takes content as it arrives; -1 stops the transfer (st set by the sink). */
typedef int (
    *sandbox_sink)(void *arg, const void *bytes, size_t len, struct status *st);

/* [waits] Bytes [off, off+len) of a regular file, len 0 = to its end. Path is
 * relative to the workspace or absolute. A server that ignores Range still
 * works. *total = the file's whole size as the server saw it. */
int sandbox_get(struct sandbox *sb, enum sandbox_want want, const char *path,
    int64_t off, int64_t len, sandbox_sink sink, void *arg, int64_t *total,
    struct cancel *c, struct status *st);

/* One operation on the sandbox's files, done in order within a batch. */
enum push_kind {
	PUSH_PUT,    /* whole content, atomically over what is there */
	PUSH_MKDIR,  /* EXISTS is success if it is a directory */
	PUSH_RMDIR,  /* only an empty one */
	PUSH_UNLINK, /* absent is success */
	PUSH_RENAME, /* path -> path2, over what is there */
	PUSH_RENAME_NOREPLACE,
	PUSH_EXCHANGE, /* of path and path2 */
	PUSH_SYMLINK,  /* path, pointing to the text path2 */
	PUSH_LINK,     /* path2 becomes a hard link to path */
	PUSH_CHMOD,
	PUSH_UTIMENS, /* not followed through a link */
};

struct push_op {
	enum push_kind kind;
	const char *path;  /* relative to the workspace; bytes */
	const char *path2; /* see kind */
	int fd;            /* PUT: content from its offset 0, `size` bytes */
	int64_t size;
	mode_t mode;           /* PUT, MKDIR, CHMOD; PUT: (mode_t)-1 = keep */
	struct timespec mtime; /* PUT, UTIMENS; tv_nsec UTIME_OMIT = now */
	struct timespec atime;
	/* PUT: what we believe is there. have_base false: no file. A version
	 * that differs is a clash: ours goes to NAME.conflict (-2 …), the
	 * result says so. force: no check. */
	bool have_base, force;
	struct file_version base;
	/* results, set when the batch returned 0 */
	struct status result;
	struct remote_entry after; /* PUT, MKDIR…: the entry made; paths NULL */
	char *conflict; /* PUT: path of ours beside it, or NULL; owned
				    * by the caller (free) */
};

/* [waits] Does the batch in order with as few requests as possible (content in
 * one bulk upload under temporary names, then one script). 0: each op has its
 * own result. -1: unknown how far it came; repeating the same batch is safe.
 * sync: returns after the sandbox's disk has it. */
int sandbox_push(struct sandbox *sb, enum sandbox_want want,
    struct push_op *ops, size_t count, bool sync, struct cancel *c,
    struct status *st);

/* A command of the agent. */
struct exec_request {
	const char *command;
	const char *id;    /* of the call: unique, [A-Za-z0-9_-]{1,64}; the same
			     * id is never started twice */
	const char *cwd;   /* NULL = SANDBOX_HOME */
	int timeout_s;     /* 0 = none */
	size_t output_max; /* bytes kept of the output (head and tail) */
	bool list;         /* a deep listing of the workspace with the answer */
	/* Newest output of a command that runs longer than 2 s; any time. */
	void (*live)(void *arg, const char *bytes, size_t len);
	void *live_arg;
};

enum exec_end {
	EXEC_EXITED,    /* exit_code holds: 0-255, 128+n for a signal */
	EXEC_TIMED_OUT, /* its process group was killed */
	EXEC_CANCELED,  /* likewise */
	EXEC_LOST,      /* the sandbox went away: outcome unknown */
};

struct exec_result {
	enum exec_end end;
	int exit_code;
	struct buf output; /* initialised by the caller with its maximum */
	bool truncated;
	int64_t output_bytes; /* all that the command wrote */
	bool have_listing;
	struct listing listing; /* owns, if have_listing */
};

/* [waits] Runs it; a command under 2 s costs one request. A non-zero exit is
 * success here. -1 only when it is sure that the command did not run.
 * Processes left in the background stay. Output so far is kept on time-out and
 * cancel, and the command's process group is gone when it returns. */
int sandbox_exec(struct sandbox *sb, enum sandbox_want want,
    const struct exec_request *request, struct exec_result *result,
    struct cancel *c, struct status *st);

/* [waits] Runs a POSIX sh script of ours (never the model's); its standard
 * output, NUL-safe, into `out`; *exit_code its status. */
int sandbox_script(struct sandbox *sb, enum sandbox_want want,
    const char *script, size_t len, struct buf *out, int *exit_code,
    struct cancel *c, struct status *st);

struct sandbox_space {
	uint64_t block_size, blocks, free, available, files, files_free;
};

/* [waits] Of the file system that holds the workspace. */
int sandbox_space(struct sandbox *sb, enum sandbox_want want,
    struct sandbox_space *out, struct cancel *c, struct status *st);

/* Requests sent since the start, for stats and tests. */
struct sandbox_counters {
	uint64_t control, toolbox;
};

void sandbox_counters(struct provider *p, struct sandbox_counters *out);

#endif
