/*
 * The durable memory of a mount: one SQLite file, threads.db, in the state
 * directory. One connection behind one lock (RANK_STORE): every function here
 * is one transaction, durable when it returns (WAL, synchronous=FULL), and
 * [waits] for the disk: call it from a lane or a turn, with no lock held.
 *
 * LangGraph's Python and JS SQLite savers can read and continue the file at
 * every moment: `checkpoints` is a view over our steps, `writes` their table.
 * What they add is noticed (store_foreign_changes) and shown.
 *
 * Numbers: a thread's is unique for ever; turns count from 1 within a thread.
 */
#ifndef AGENT_STORE_STORE_H
#define AGENT_STORE_STORE_H

#include "agent/base/buf.h"
#include "agent/base/status.h"
#include "agent/model/message.h"

struct store;

/* Opens or makes DIR/threads.db and takes DIR/lock. BUSY: another mount has
 * it. INVALID: damaged or not ours (left alone). `st` says what to do. The
 * connection is made at the first use: the process may fork in between, and
 * the child alone goes on. */
int store_open(const char *dir, struct store **out, struct status *st);
/* Checkpoints the WAL, gives up the lock. Accepts NULL. */
void store_close(struct store *s);
/* Random id of this store, made at its creation; borrowed for its life. */
const char *store_id(const struct store *s);
/* Turns that were running when the process ended become interrupted and their
 * started calls without a result `unknown`; called once after opening. */
int store_recover(struct store *s, struct status *st);

/* --- Threads -------------------------------------------------------------- */
struct stored_thread {
	int64_t number;
	char name[129];
	int64_t created_ms;
	char *config;        /* text of the `config` file, never NULL */
	char sandbox_id[64]; /* "" = never had one */
	bool sandbox_ours;
	int64_t turns; /* accepted so far */
	int64_t script_position;
	char *line;        /* conversation line of the newest step (internal
			     * name of a branch), never NULL */
	char *last_prompt; /* newest accepted text or "" */
};

void stored_thread_finish(struct stored_thread *t);

/* Calls each() for every thread, oldest first; the struct is borrowed. A
 * thread known only from LangGraph rows gets a number when first seen here if
 * its id is a valid name. each() runs with the store locked: copy and return. */
int store_threads(struct store *s,
    void (*each)(void *arg, const struct stored_thread *t), void *arg,
    struct status *st);
int store_thread_make(struct store *s, const char *name, int64_t *number,
    struct status *st); /* EXISTS */
int store_thread_rename(struct store *s, int64_t thread, const char *name,
    struct status *st); /* EXISTS */
/* Everything of it: rows, conversation, checkpoints, queue rows. */
int store_thread_delete(struct store *s, int64_t thread, struct status *st);
int store_thread_set_config(struct store *s, int64_t thread, const char *text,
    struct status *st);
int store_thread_set_sandbox(struct store *s, int64_t thread, const char *id,
    bool ours, struct status *st);

/* --- Turns ---------------------------------------------------------------- */
enum turn_phase {
	TURN_QUEUED,
	TURN_RUNNING,
	TURN_DONE,
	TURN_FAILED,
	TURN_CANCELED,
	TURN_INTERRUPTED, /* the process ended in the middle of it */
};

struct stored_turn {
	int64_t thread, turn;
	enum turn_phase phase;
	char *prompt;     /* never NULL */
	char *model;      /* full spec, "" until it started */
	char *error_code; /* "" unless failed */
	char *error_text;
	int64_t queued_ms, started_ms, ended_ms; /* wall clock, 0 = not yet */
	int64_t model_calls, tool_calls;
	struct usage usage;
};

void stored_turn_finish(struct stored_turn *t);

/* The prompt is durable when this returns: {turn queued}. */
int store_turn_accept(struct store *s, int64_t thread, const char *prompt,
    int64_t *turn, struct status *st);
/* {turn running, its human message appended, checkpoint}. human gets its seq. */
int store_turn_start(struct store *s, int64_t thread, int64_t turn,
    const char *model, const struct message *human, struct status *st);
/* A reply of the model: {message appended, its runnable calls `started`,
 * counters and script position, checkpoint}: intent before effect. */
int store_turn_reply(struct store *s, int64_t thread, int64_t turn,
    const struct message *ai, int64_t script_position, struct status *st);
/* Results of one AI message, in call order: {messages appended, calls ended,
 * checkpoint}. The turn is running, or was interrupted. */
int store_turn_results(struct store *s, int64_t thread, int64_t turn,
    const struct message *tools, size_t count, struct status *st);
/* {turn ended}; no message, so no new checkpoint. From running to DONE, FAILED,
 * CANCELED or INTERRUPTED, from queued to CANCELED or FAILED. */
int store_turn_end(struct store *s, int64_t thread, int64_t turn,
    enum turn_phase phase, const char *error_code, const char *error_text,
    struct status *st);
/* The turns with phase QUEUED of all threads, in order (after a restart). */
int store_turns_queued(struct store *s,
    void (*each)(void *arg, const struct stored_turn *t), void *arg,
    struct status *st);
/* One turn; turn 0 = the newest. NOT_FOUND. Owns on success. */
int store_turn_load(struct store *s, int64_t thread, int64_t turn,
    struct stored_turn *out, struct status *st);
/* Sums over all turns of the thread. */
int store_thread_usage(struct store *s, int64_t thread, struct usage *out,
    struct status *st);

/* --- Conversation --------------------------------------------------------- */
/* The conversation of the newest checkpoint in order, foreign rows merged in.
 * Gives an array of *count messages (message_finish each, then free). */
int store_messages(struct store *s, int64_t thread, struct message **out,
    size_t *count, struct status *st);
/* Calls of the newest AI message of the thread that were started and have no
 * result: their ids (of an interrupted turn). Gives NULL-terminated array. */
int store_calls_unknown(struct store *s, int64_t thread, char ***ids,
    struct status *st);

/* --- Checkpoints ---------------------------------------------------------- */
struct checkpoint {
	char id[40];     /* UUID version 6 */
	char parent[40]; /* or "" */
	int64_t step;
	int64_t ts_ms;
};

/* Newest; id "" when there is none. */
int store_checkpoint_newest(struct store *s, int64_t thread,
    struct checkpoint *out, struct status *st);
/* Oldest first, root namespace. Gives an array. */
int store_checkpoints(struct store *s, int64_t thread, struct checkpoint **out,
    size_t *count, struct status *st);
/* The state at that step as one JSON object with LF: {"id","parent","step",
 * "ts","thread_id","messages":[…lines of `messages`…]}. */
int store_checkpoint_text(struct store *s, int64_t thread, const char *id,
    struct buf *out, struct status *st);
/* True once after another program wrote to the file. */
bool store_foreign_changes(struct store *s);

/* --- Push queue ----------------------------------------------------------- */
struct queued_push {
	int64_t id; /* ascending = order */
	int64_t thread;
	int kind;                 /* enum push_kind of agent/sandbox */
	const char *path, *path2; /* bytes; "" if unused */
	const char *file;   /* name of the staged content below queue/, or "" */
	const char *detail; /* the mirror's own JSON: mode, times, base */
};

/* One group commit of all rows, or of none. New ones (id 0) get their ids; a row
 * that has an id already takes the place of the stored one and keeps its
 * order. With them `removed` rows (superseded) go. */
int store_queue_add(struct store *s, struct queued_push *rows, size_t count,
    const int64_t *removed, size_t removed_count, struct status *st);
int store_queue_done(struct store *s, const int64_t *ids, size_t count,
    struct status *st);
/* In order; the struct is borrowed, copy and return. */
int store_queue_load(struct store *s, int64_t thread,
    void (*each)(void *arg, const struct queued_push *row), void *arg,
    struct status *st);

#endif
