/*
 * What threads.db holds, how it comes about and whether a file is fit to be
 * opened. LangGraph's `checkpoints` is a view over `step`, `writes` is the
 * table that its savers make.
 */
#ifndef AGENT_STORE_SCHEMA_H
#define AGENT_STORE_SCHEMA_H

#include "agent/store/db.h"

/* Looks without writing: NOT_FOUND when there is no file or an empty one;
 * INVALID when it is damaged, newer than this program or not ours, with a line
 * that says what to do. */
int schema_look(const char *path, struct status *st);
/* Brings an open, looked-at database to the newest form, in one transaction:
 * a new one, an older one, or one made by LangGraph programs, whose rows are
 * kept byte for byte. */
int schema_migrate(struct db *db, struct status *st);

#endif
