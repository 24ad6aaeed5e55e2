/*
 * What the files of the store share. Functions that end in _locked run within
 * a transaction: between store_begin() and store_end().
 */
#ifndef AGENT_STORE_INTERNAL_H
#define AGENT_STORE_INTERNAL_H

#include "agent/base/lock.h"
#include "agent/store/db.h"
#include "agent/store/records.h"
#include "agent/store/store.h"
#include "agent/store/uuid.h"

struct store {
	/* immutable */
	char *path; /* threads.db */
	int lock_fd;
	char id[UUID_TEXT];
	/* under lock */
	struct lock lock;
	struct db db; /* connected at first use */
	int64_t data_version;
	bool look_for_names; /* another program may have added threads */
};

enum store_access { STORE_READ, STORE_WRITE };

/* Takes the lock and opens a transaction. [waits] Also after a failure it must
 * be ended: `return store_end(s, r, st)` with what came out between. */
int store_begin(struct store *s, enum store_access access, struct status *st);
/* Commits (r == 0) or rolls back, gives the lock back; the final result. */
int store_end(struct store *s, int r, struct status *st);

/* The name of a thread, which is its thread_id: 0, or NOT_FOUND. */
int thread_name_locked(struct store *s, int64_t thread, char name[129],
    struct status *st);

/* --- Checkpoints ---------------------------------------------------------- */
/* A checkpoint row. Ours have a line. */
struct step_row {
	char id[40];
	char parent[40]; /* or "" */
	int64_t step;
	int64_t turn; /* 0 unknown */
	int64_t line, upto;
	bool ours;
	char *ts; /* RFC 3339, NULL in a foreign one */
};

void step_row_finish(struct step_row *row);
#define auto_step_row __attribute__((cleanup(step_row_finish))) struct step_row

/* 1: found; 0: there is none; -1. id NULL: the newest of all. */
int step_find_locked(struct store *s, const char *name, const char *id,
    struct step_row *row, struct status *st);
/* The newest that we wrote. */
int step_find_ours_locked(struct store *s, const char *name,
    struct step_row *row, struct status *st);
/* Appends messages after `base` (NULL: the newest) and makes their row. */
int step_append_locked(struct store *s, const char *name,
    const struct step_row *base, int64_t turn, const struct message *messages,
    size_t count, struct status *st);

/* The conversation at a row. pending: with results of tools that finished
 * under a foreign row but are in no later one. */
int conversation_locked(struct store *s, const char *name,
    const struct step_row *row, bool pending, struct records *out,
    struct status *st);
#endif
