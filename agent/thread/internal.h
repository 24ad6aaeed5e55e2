/*
 * What the files of a thread share.
 *
 *   threads.c     all of a mount: load, stop
 *   registry.c    find, list          directory.c   make, rename
 *   ending.c      end and delete      thread.c      one thread: its life
 *   phase.c       its phases          workspace.c   its sandbox and mirror
 *   settings.c    what holds for a turn: config over options
 *   prompt.c      prompts: refuse, take
 *   queue.c       whose turn runs     turn.c        the loop of a turn
 *   ask.c         a request to the model
 *   calls.c       tool calls          live.c        what a running one prints
 *   branch.c      who else went on with the conversation
 *   recover.c     what a crash left   rebuild.c     a lost transcript
 *   answer.c      `reply`             messages.c state.c ctl.c checkpoints.c
 *   idle.c        the clock: what happens when nobody uses a thread
 *   log.c transcript.c entry.c secrets.c
 *                 the log: lines, file, text, what it hides
 */
#ifndef AGENT_THREAD_INTERNAL_H
#define AGENT_THREAD_INTERNAL_H

#include <stdatomic.h>

#include "agent/base/lock.h"
#include "agent/config/thread_config.h"
#include "agent/thread/entry.h"
#include "agent/thread/phase.h"
#include "agent/thread/secrets.h"
#include "agent/thread/thread.h"
#include "agent/thread/transcript.h"

/* Waiting beside the running one. */
#define QUEUE_MAX 16
/* Model calls of a turn unless `recursion_limit` is set. */
#define STEPS_MAX 200
/* A conversation as text. */
#define MESSAGES_MAX ((size_t)1 << 30)

/* The text of one turn's answer, for its readers. Under its thread's lock. */
struct answer {
	unsigned refs;
	int64_t turn;
	bool ended;
	enum turn_phase outcome; /* when it ended */
	struct buf text;
};

/* A turn that waits or runs. */
struct turn {
	struct turn *next;
	int64_t number;
	struct cancel *cancel; /* of `ctl cancel`, the thread, the mount */
	struct answer *answer;
};

/* What went wrong last, for `state`. */
struct trouble {
	enum status_code code; /* OK: nothing */
	char text[240];
};

/* Lines of `messages`, as long as somebody asks for them. */
struct messages_cache {
	struct buf text;
	bool valid;
	int64_t size;     /* also when the text was dropped; -1 unknown */
	uint64_t version; /* counts what was written */
	uint64_t foreign; /* epoch of threads.foreign that it was made in */
	bool writing;     /* a transaction is under way */
	int64_t used_ms;  /* clock_mono_ms() */
};

struct workspace {
	struct workspace *next;
	struct sandbox *sandbox;
	struct mirror *mirror;
};

struct thread {
	/* immutable */
	struct threads *threads;
	int64_t number;
	int64_t created_ms;
	struct cancel *cancel; /* fires when the thread ends */
	struct transcript *transcript;
	/* any worker */
	atomic_uint refs;
	_Atomic int64_t changed_ms; /* wall clock */
	atomic_bool ended;          /* being deleted: nothing new begins */
	/* under threads->lock */
	struct thread *next; /* of the same hash */
	/* under lock */
	struct lock lock;
	char name[129]; /* written under both locks */
	enum phase phase;
	uint64_t generation;
	unsigned reserved; /* prompts being written */
	struct turn *running;
	struct turn *first, **last; /* waiting */
	unsigned waiting;
	bool scheduled;    /* a job on the turn lane will look */
	unsigned readying; /* jobs that make the sandbox ready for a turn */
	struct cond idle;  /* `running` became NULL, or `readying` 0 */
	int64_t turns;     /* accepted so far */
	int64_t turn;      /* the newest that began or ended */
	enum turn_phase outcome; /* of the newest that ended */
	struct trouble trouble;
	char *prompt; /* newest accepted */
	char *config_text;
	struct thread_config config;
	struct usage turn_usage, usage; /* newest turn, thread */
	struct checkpoint checkpoint;
	struct live *live; /* of the call that runs; borrows */
	char activity[256];
	int64_t activity_ms; /* wall clock, 0: nothing runs */
	int64_t script_position;
	char sandbox_id[64]; /* as the store knows, "" = it has none */
	bool sandbox_ours;
	bool was_started;      /* by this process, once */
	struct answer *answer; /* of the newest prompt, while it is kept */
	int64_t answer_size;   /* of the last ended turn; -1 unknown */
	int64_t answer_used_ms;
	struct messages_cache messages;
	/* made when first asked for, again after a rename */
	struct sandbox *sandbox;
	struct mirror *mirror;
	struct lane *lane;     /* made when first asked for */
	struct workspace *old; /* before renames: files may still be open */
	/* idle.c */
	int64_t used_ms;    /* clock_mono_ms() of the last use */
	int64_t check_ms;   /* when to look again, 0 never */
	int64_t touched_ms; /* when the remote was told of use */
	bool stopping;      /* a job to stop the sandbox is queued */
};

struct threads {
	/* immutable */
	struct threads_settings settings;
	struct secrets secrets;
	char *log_dir, *queue_dir, *staging_dir;
	struct cancel *cancel;  /* fires at the end of the mount */
	struct cancel *give_up; /* fires when its end takes too long */
	struct lane *disk_lane;
	struct lane *turn_lane;
	struct lane *background;
	/* any worker */
	atomic_bool stopping;
	_Atomic uint64_t foreign; /* times that another program wrote */
	_Atomic uint64_t turns, turns_running, model_calls, tool_calls;
	/* under lock */
	struct lock lock;     /* RANK_THREADS */
	struct thread **list; /* ascending numbers */
	size_t count, cap;
	struct thread **heads; /* by name, `buckets` of them */
	size_t buckets;
	size_t alive;      /* not freed yet */
	struct cond freed; /* a thread was */
	/* idle.c, under lock */
	struct cond idle_cond;
	bool idle_stop, idle_kick;
	pthread_t idle_worker;
};

/* --- threads.c, registry.c ------------------------------------------------ */
/* Takes the reference. False, and does not: it is there already. */
bool registry_add(struct threads *ts, struct thread *t);
/* False: it was not there. The registry's reference goes to the caller. */
bool registry_remove(struct threads *ts, struct thread *t);
void registry_rename(struct threads *ts, struct thread *t, const char *name);
/* All of them, each with a reference; free() the array. */
struct thread **registry_snapshot(struct threads *ts, size_t *count);
/* [disk] Did another program write? Then its threads are taken in. */
void threads_look(struct threads *ts);

/* --- thread.c ------------------------------------------------------------- */
struct thread *thread_get(struct thread *t);
/* [disk] With one reference, not registered. missing: it has no transcript. */
struct thread *thread_create(struct threads *ts, const struct stored_thread *s,
    bool *missing);

/* The phase follows from the other fields; notify after the release. */
void thread_rephase_locked(struct thread *t);
/* Something changed: wakes those who wait. No lock held. */
void thread_notify(struct thread *t);
/* "[label] text", masked. No lock of ours held. */
void thread_log(struct thread *t, const char *label, const char *text);
void thread_logf(struct thread *t, const char *label, const char *fmt, ...)
    PRINTF_LIKE(3, 4);
/* Entries that are ready. */
void thread_log_entries(struct thread *t, const struct buf *entries);
/* Remembered for `state`. */
void thread_trouble_locked(struct thread *t, enum status_code code,
    const char *text);
/* What runs now, masked; NULL: nothing. */
void thread_activity(struct thread *t, const char *what);
/* What to do about it, in words. Static. */
const char *trouble_advice(enum status_code code);

/* --- workspace.c ---------------------------------------------------------- */
/* [memory] Borrowed while the thread is held. */
struct sandbox *thread_sandbox(struct thread *t);
/* [memory] What is known without making them. False: they were never made. */
bool workspace_view(struct thread *t, struct sandbox_view *sandbox,
    struct mirror_view *files);
/* [disk] Takes up what the store's queue holds; before the thread is seen. */
void workspace_recover(struct thread *t);
/* The name changed: they are made anew when somebody asks. */
void workspace_renew(struct thread *t);
/* [waits] The mount ends, no turn runs: the mirror goes. */
void workspace_close(struct thread *t, int64_t drain_ms);
/* [waits] */
void workspace_destroy(struct thread *t);
/* [disk] Files of a crash that belong to no queue; all threads are loaded. */
void workspace_sweep(struct threads *ts);

/* --- settings.c ----------------------------------------------------------- */
struct turn_settings {                          /* owns */
	char *model;                            /* full spec */
	char *base_url, *system_prompt, *tools; /* tools: NULL = all */
	double temperature;
	int64_t max_tokens, steps;
};

void turn_settings_load(struct thread *t, struct turn_settings *out);
void turn_settings_finish(struct turn_settings *s);
/* The full name of the model that the next turn uses. Gives. */
char *thread_model_locked(const struct thread *t);
/* Gives the sandbox, if it is made, what config and options say. */
void thread_apply_options_locked(struct thread *t);
/* Can a turn with this model run? NOT_SUPPORTED, DENIED, INVALID. */
int thread_model_check(struct thread *t, struct status *st);

/* --- queue.c -------------------------------------------------------------- */
struct turn *turn_create(struct thread *t, int64_t number);
/* It waits from now on. */
void queue_add_locked(struct thread *t, struct turn *turn);
/* Sees to it that a worker takes up what waits. No lock held. */
void queue_run(struct thread *t);
/* `ctl cancel`. */
void queue_cancel(struct thread *t);

/* --- turn.c --------------------------------------------------------------- */
struct branch {
	uint64_t foreign;
	char since[40]; /* the checkpoint at the turn's start */
};

struct run { /* one worker's */
	struct thread *thread;
	struct turn *turn;
	struct turn_settings settings;
	struct model *model;
	char *tools;              /* schemas, as the model gets them */
	struct message *messages; /* the conversation so far */
	size_t count, cap;
	struct mask_stream mask;
	struct branch branch;
	bool shown; /* text of this reply */
	struct tally tally;
	int64_t began_ms; /* clock_mono_ms() */
};

/* [waits] From its start to its end; what it ended as. */
enum turn_phase turn_run(struct thread *t, struct turn *turn,
    struct trouble *trouble);
/* Takes the message into the conversation. */
void run_add(struct run *r, struct message *m);
/* A new message of this turn. */
void run_message(const struct run *r, struct message *m,
    enum message_type type);

/* --- branch.c ------------------------------------------------------------- */
/* [disk] Around a turn: did another program go on from the same place? */
void branch_begin(struct thread *t, struct branch *b);
void branch_end(struct thread *t, const struct branch *b);

/* --- ask.c ---------------------------------------------------------------- */
/* [waits] Asks the model once and stores what it said, also when it was cut. */
int run_ask(struct run *r, struct status *st);

/* --- calls.c -------------------------------------------------------------- */
/* [waits] Runs the calls of the newest message and stores their results. -1:
 * they could not be stored. A cancelled turn is success here. */
int calls_run(struct run *r, struct status *st);
/* The result of a call that has none. */
void call_result(const struct run *r, struct message *out,
    const struct tool_call *call, const char *text);

/* --- live.c --------------------------------------------------------------- */
struct live { /* output of one running call */
	/* immutable */
	struct thread *thread;
	const char *name; /* the tool's; borrows */
	/* under the thread's lock */
	struct buf line;   /* not ended yet */
	struct buf newest; /* the newest that was not shown */
	int64_t shown_ms;  /* clock_mono_ms() of the last one shown */
	unsigned shown;
	bool showing; /* one is being written */
};

void live_init(struct live *l, struct thread *t, const char *name);
void live_finish(struct live *l);
/* The `live` of a tool_context. */
void live_bytes(void *arg, const char *bytes, size_t len);
/* When a line waits to be shown, clock_mono_ms(), or 0. */
int64_t live_next_locked(struct thread *t);
/* Shows it if it is time. */
void live_tick(struct thread *t, int64_t now);

/* --- recover.c, rebuild.c ------------------------------------------------- */
/* [disk] What happened before this process: last outcome, usage, checkpoint,
 * and the lines that a crash took from the log. */
void thread_recall(struct thread *t, bool log_missing);
/* [disk] Calls that a crash left without result get one. */
int thread_answer_unknown(struct thread *t, struct status *st);
/* Entries of one turn as far as the store knows it: no live lines, no
 * durations of calls. */
void rebuild_turn(struct buf *out, const struct stored_turn *turn,
    const struct message *messages, size_t count);
/* Its last line; nothing for a turn that has not ended. */
void rebuild_end(struct buf *out, const struct stored_turn *turn);
/* Entries of one message. ms: how long its call took, < 0 unknown. */
void rebuild_message(struct buf *out, const struct message *m, int64_t ms);

/* --- answer.c ------------------------------------------------------------- */
struct answer *answer_create(int64_t turn);
void answer_put_locked(struct answer *a);
/* Adds what is safe to show. first: it begins another message of the turn. No
 * lock held; notifies. */
void answer_add(struct thread *t, struct answer *a, const char *bytes,
    size_t len, bool first);
void answer_end_locked(struct thread *t, struct answer *a,
    enum turn_phase outcome);
/* Drops what nobody reads. */
void answer_forget_locked(struct thread *t);

/* --- messages.c ----------------------------------------------------------- */
/* Around a transaction that appends `m` to the conversation. */
void messages_begin(struct thread *t);
void messages_end(struct thread *t, const struct message *m, size_t count,
    bool stored);
void messages_forget_locked(struct thread *t);
/* [disk] The newest checkpoint into memory. */
void thread_learn_checkpoint(struct thread *t);

/* --- idle.c --------------------------------------------------------------- */
void idle_start(struct threads *ts);
void idle_stop(struct threads *ts);
/* The thread's sandbox is used. Any worker, no lock held. */
void thread_use(struct thread *t);
/* A text was kept in memory, to be dropped when nobody reads it. */
void thread_use_memory(struct thread *t);
/* The idle worker looks at the thread then, clock_mono_ms(). */
void thread_look_at(struct thread *t, int64_t at);

#endif
