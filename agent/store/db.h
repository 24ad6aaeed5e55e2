/*
 * One SQLite connection with its prepared statements. Used under the store's
 * lock. Every value is bound; a statement is prepared once and kept by the
 * address of its text, which must be a string literal or static.
 */
#ifndef AGENT_STORE_DB_H
#define AGENT_STORE_DB_H

#include <sqlite3.h>

#include "agent/base/status.h"

#define DB_STATEMENTS_MAX 96

struct db { /* zero-initialised: not open */
	sqlite3 *handle;

	struct {
		const char *sql;
		sqlite3_stmt *statement;
	} kept[DB_STATEMENTS_MAX];

	size_t kept_count;
};

struct db_value {
	enum { DB_KIND_INT, DB_KIND_TEXT, DB_KIND_BLOB } kind;

	int64_t integer;
	const char *bytes; /* borrowed until the statement is done; or NULL */
	size_t len;
};

#define DB_INT(v) \
	((struct db_value){ .kind = DB_KIND_INT, .integer = (int64_t)(v) })
#define DB_TEXT(s) ((struct db_value){ .kind = DB_KIND_TEXT, .bytes = (s) })
#define DB_BLOB(b, n) \
	((struct db_value){ .kind = DB_KIND_BLOB, .bytes = (b), .len = (n) })
#define DB_VALUES(...)                                         \
	(const struct db_value[]){ __VA_ARGS__ },              \
	    sizeof((const struct db_value[]){ __VA_ARGS__ }) / \
	    sizeof(struct db_value)

enum db_mode {
	DB_READ,      /* changes nothing, but may make the WAL's index file */
	DB_IMMUTABLE, /* nobody writes to it: no lock, no file is made */
	DB_WRITE,     /* the file exists */
};

int db_open(struct db *db, const char *path, enum db_mode mode,
    struct status *st);
void db_close(struct db *db);
/* Several statements without values (schema, PRAGMA). */
int db_script(struct db *db, const char *sql, struct status *st);

/* A query with its values bound, before the first row; NULL with `st` set.
 * Declare it auto_query, or the next use of that text fails. */
#define db_ask(db, st, sql, ...) \
	db_ask_values(db, st, sql, DB_VALUES(__VA_ARGS__))
sqlite3_stmt *db_ask_values(struct db *db, struct status *st, const char *sql,
    const struct db_value *values, size_t count);
/* 1: a row; 0: no more; -1. */
int db_next(sqlite3_stmt *query, struct status *st);
/* Runs a statement to its end. */
#define db_run(db, st, sql, ...) \
	db_run_values(db, st, sql, DB_VALUES(__VA_ARGS__))
int db_run_values(struct db *db, struct status *st, const char *sql,
    const struct db_value *values, size_t count);
/* First column of the first row; `otherwise` when there is none or NULL. */
#define db_number(db, st, otherwise, out, sql, ...) \
	db_number_values(db, st, otherwise, out, sql, DB_VALUES(__VA_ARGS__))
int db_number_values(struct db *db, struct status *st, int64_t otherwise,
    int64_t *out, const char *sql, const struct db_value *values, size_t count);
/* Rows that the last statement changed. */
int64_t db_changed(struct db *db);
/* Text of a column, "" for NULL; borrowed until the next step. */
const char *db_text(sqlite3_stmt *query, int column);

void db_query_done(sqlite3_stmt **query);
#define auto_query __attribute__((cleanup(db_query_done))) sqlite3_stmt

/* Sets `st` from the connection's last error, in words; returns -1. */
int db_failed(sqlite3 *handle, struct status *st);

#endif
