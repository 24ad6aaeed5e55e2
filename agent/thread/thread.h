/*
 * Threads: the conversations that the mount shows as directories, and what
 * their control files say. The one interface between fs/ and the agent besides
 * mirror.h. A thread is the conversation; a pthread is called a worker.
 *
 * Functions marked [memory] never wait (loop workers may call them), [disk]
 * wait for SQLite or a local file (call them on threads_disk_lane()), [waits]
 * may wait for the sandbox (call them on thread_lane()).
 */
#ifndef AGENT_THREAD_THREAD_H
#define AGENT_THREAD_THREAD_H

#include "agent/base/buf.h"
#include "agent/base/cancel.h"
#include "agent/base/lane.h"
#include "agent/base/status.h"
#include "agent/mirror/mirror.h"
#include "agent/sandbox/sandbox.h"
#include "agent/store/store.h"

struct threads; /* all of a mount */
struct thread;  /* one conversation; counted */

enum thread_exit { THREAD_EXIT_STOP, THREAD_EXIT_KEEP, THREAD_EXIT_DELETE };

struct threads_settings { /* borrowed until threads_destroy */
	struct store *store;
	struct provider *provider;
	const char *state_dir, *cache_dir;
	const char *model;    /* default spec */
	const char *base_url; /* or NULL */
	int ttl_minutes, stop_minutes;
	int max_turns; /* running at once */
	bool links_raw;
	enum thread_exit on_exit;
	/* Value of a key or other variable, or NULL. */
	const char *(*env)(void *arg, const char *name);
	/* fn for each secret value that must never be shown. */
	void (*secrets)(void *arg, void (*fn)(void *, const char *),
	    void *fn_arg);
	void *env_arg;
	/* Something of a thread changed: wake parked readers and polls. Any
	 * worker, no lock held, must not wait. */
	void (*changed)(void *arg, int64_t thread);
	void *changed_arg;
};

/* [disk] Loads the threads, starts queued turns again. */
int threads_create(const struct threads_settings *settings,
    struct threads **out, struct status *st);
/* [waits] Orderly stop: refuses new turns, cancels running ones (they become
 * interrupted), drains pushes for a bounded time, stops, keeps or deletes the
 * sandboxes that we started. `say` gets lines for stderr. */
void threads_destroy(struct threads *ts, void (*say)(const char *line));
/* One worker: SQLite and local files, never the network. */
struct lane *threads_disk_lane(struct threads *ts);

/* --- The directory of threads --------------------------------------------- */
/* [memory] Calls each() in creation order, on a snapshot, no lock held. */
void threads_list(struct threads *ts,
    void (*each)(void *arg, const char *name, int64_t number), void *arg);
/* [memory] Shares: thread_put() it. NULL if there is none. */
struct thread *thread_find(struct threads *ts, const char *name);
struct thread *thread_by_number(struct threads *ts, int64_t number);
struct thread *thread_put(struct thread *t); /* NULL accepted and returned */
/* [memory] */
int64_t thread_number(const struct thread *t);
/* [disk] INVALID: not a thread name; EXISTS. */
int thread_make(struct threads *ts, const char *name, int64_t *number,
    struct status *st);
/* [disk] Only while it never had a turn nor a sandbox: else DENIED. EXISTS. */
int thread_rename(struct threads *ts, struct thread *t, const char *name,
    struct status *st);
/* [disk] Ends the thread: cancels its turn, drops its queue, deletes rows,
 * transcript and (in the background) our sandbox. forced: the whole of
 * contract §1's marks holds; else only a thread without turn and sandbox:
 * NOT_EMPTY. */
int thread_end(struct threads *ts, struct thread *t, bool forced,
    struct status *st);
/* [memory] Wall clock: creation, and the last change of anything in it. */
int64_t thread_created_ms(const struct thread *t);
int64_t thread_changed_ms(const struct thread *t);
/* [memory] Never NULL; borrowed while the thread is held. No network. */
struct mirror *thread_mirror(struct thread *t);
/* [memory] This thread's lane for [waits] commands; several workers. */
struct lane *thread_lane(struct thread *t);

/* --- prompt --------------------------------------------------------------- */
/* [memory] May a prompt be written now? NOT_SUPPORTED, DENIED (no key), BUSY
 * (16 wait), NOT_FOUND (being deleted). */
int thread_prompt_check(struct thread *t, struct status *st);
/* [memory] Takes a place in the queue at the first write: BUSY when full.
 * Phase `receiving` from here. */
int thread_prompt_reserve(struct thread *t, struct status *st);
/* [memory] Gives the place back: nothing was committed. why: one line for the
 * log, or NULL. */
void thread_prompt_release(struct thread *t, const char *why);
/* [disk] The text (a place was reserved; it is used up) is durable when this
 * returns, and its turn is queued or running. White space only: no turn,
 * success. The text was checked by thread_prompt_text_check(). */
int thread_prompt_accept(struct thread *t, const char *text, size_t len,
    struct status *st);
/* [memory] A refusal (code and words) as a line in log and in state.error. */
void thread_refused(struct thread *t, const struct status *st);
/* Pure: is this chunk, with what came before, fit? NUL byte or bad UTF-8:
 * INVALID; over 1 MiB: TOO_BIG. `whole`: the text ends here. */
#define THREAD_PROMPT_MAX (1 << 20)
int thread_prompt_text_check(const char *text, size_t len, bool whole,
    struct status *st);
/* [memory] Newest accepted text and one LF ("" before any). */
void thread_prompt_text(struct thread *t, struct buf *out);

/* --- reply ---------------------------------------------------------------- */
struct reply; /* one open `reply`: belongs to the turn it was opened for */

/* [disk] Newest accepted prompt's turn, else the running, else the last. */
int reply_open(struct thread *t, struct reply **out, struct status *st);
void reply_close(struct reply *r);
/* [memory] Bytes [off, off+size) of the answer so far into out. *more: nothing
 * there yet but the turn goes on: wait for `changed` and read again. Returns
 * the count (0 and !*more: end of file) or -1 with `st`: the turn failed or
 * was cancelled and all text has been read. */
ssize_t reply_read(struct reply *r, int64_t off, char *out, size_t size,
    bool *more, struct status *st);
/* [memory] True size of the last turn's answer so far, for getattr; -1 when it
 * is not known without the disk. */
int64_t thread_reply_size(struct thread *t);
/* [disk] The same; -1 with `st`. */
int64_t thread_reply_size_load(struct thread *t, struct status *st);

/* --- log, messages, state, checkpoints ------------------------------------ */
/* [memory] Published size; whole entries only. */
int64_t thread_log_size(struct thread *t);
/* [memory] A pread of the local transcript file; bytes or -1. */
ssize_t thread_log_read(struct thread *t, char *out, size_t size, int64_t off);
/* [disk] The text of `messages`; shared cache, so repeated calls are cheap. */
int thread_messages_text(struct thread *t, struct buf *out, struct status *st);
/* [memory] Its size if known without the disk, else -1. */
int64_t thread_messages_size(struct thread *t);
/* [memory] One JSON object and LF, every key of contract §4. */
void thread_state_text(struct thread *t, struct buf *out);
/* [memory] Is a turn queued, running or being written? (poll on state: ready
 * when not.) */
bool thread_busy(struct thread *t);
/* [memory] Changes at every change of phase; for poll. */
uint64_t thread_generation(struct thread *t);
/* [disk] Oldest first; gives an array. */
int thread_checkpoints(struct thread *t, struct checkpoint **out, size_t *count,
    struct status *st);
/* [disk] */
int thread_checkpoint_text(struct thread *t, const char *id, struct buf *out,
    struct status *st);

/* --- config --------------------------------------------------------------- */
/* [memory] */
void thread_config_text(struct thread *t, struct buf *out);
/* [memory] One complete line: INVALID and what is wrong (also an unknown model
 * provider). */
int thread_config_check(struct thread *t, const char *line, size_t len,
    struct status *st);
/* [disk] Replaces the whole text; used from the next turn on. */
int thread_config_set(struct thread *t, const char *text, size_t len,
    struct status *st);

/* --- ctl ------------------------------------------------------------------ */
/* [memory] The commands, one a line with a line of help. */
void thread_ctl_help(struct buf *out);
/* [memory] INVALID for an unknown or malformed command. *waits: run it on
 * thread_lane(); else thread_ctl() is quick ([memory]). */
int thread_ctl_check(const char *line, size_t len, bool *waits,
    struct status *st);
/* Runs one line. `cancel` ends the waiting; the command goes on. */
int thread_ctl(struct thread *t, const char *line, size_t len, struct cancel *c,
    struct status *st);

/* --- .sandagentfs --------------------------------------------------------- */
/* [memory] `stats`: `name value` lines. */
void threads_stats(struct threads *ts, struct buf *out);

#endif
