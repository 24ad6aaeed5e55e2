/* The connection; see db.h. */
#include "agent/store/db.h"

#include <errno.h>

#include "agent/base/buf.h"

#define BUSY_MS 5000

static bool
is_full(int code, int err)
{
	return code == SQLITE_FULL ||
	    (code == SQLITE_IOERR &&
		(err == ENOSPC || err == EDQUOT || err == EFBIG));
}

int
db_failed(sqlite3 *handle, struct status *st)
{
	int code = sqlite3_errcode(handle) & 0xff;
	const char *words = sqlite3_errmsg(handle);

	if (is_full(code, sqlite3_system_errno(handle)))
		return status_set(st, STATUS_NO_SPACE,
		    "threads.db: the disk of the state directory is full: make "
		    "room and try again");
	switch (code) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return status_set(st, STATUS_BUSY,
		    "threads.db is locked by another program: let it finish "
		    "and try again");
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return status_set(st, STATUS_INVALID,
		    "threads.db is damaged (%s)", words);
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_CANTOPEN:
		return status_set(st, STATUS_DENIED,
		    "threads.db cannot be opened or written (%s): check the "
		    "permissions of the state directory",
		    words);
	case SQLITE_NOMEM:
		return status_set(st, STATUS_NO_MEMORY,
		    "threads.db: out of memory");
	case SQLITE_TOOBIG:
		return status_set(st, STATUS_TOO_BIG,
		    "threads.db: a text is too big for the store");
	case SQLITE_IOERR:
		return status_set(st, STATUS_IO, "threads.db: %s", words);
	default:
		return status_set(st, STATUS_BUG, "threads.db: %s (%d)", words,
		    sqlite3_extended_errcode(handle));
	}
}

int
db_open(struct db *db, const char *path, enum db_mode mode, struct status *st)
{
	auto_buf uri = BUF_INIT(32768);
	int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
	    (mode == DB_WRITE ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);

	buf_puts(&uri, "file:");
	buf_urlencode(&uri, path, strlen(path), true);
	if (mode == DB_IMMUTABLE)
		buf_puts(&uri, "?immutable=1");
	*db = (struct db){ 0 };
	int code = sqlite3_open_v2(uri.bytes, &db->handle, flags, NULL);
	if (!db->handle)
		return status_set(st, STATUS_NO_MEMORY,
		    "threads.db: out of memory");
	if (code != SQLITE_OK) {
		db_failed(db->handle, st);
		db_close(db);
		return -1;
	}
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_timeout(db->handle, BUSY_MS);
	/* The file may come from anywhere: what its schema calls must be
	 * harmless. */
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	return 0;
}

void
db_close(struct db *db)
{
	for (size_t i = 0; i < db->kept_count; i++)
		sqlite3_finalize(db->kept[i].statement);
	sqlite3_close(db->handle);
	*db = (struct db){ 0 };
}

int
db_script(struct db *db, const char *sql, struct status *st)
{
	if (sqlite3_exec(db->handle, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_failed(db->handle, st);
	return 0;
}

static sqlite3_stmt *
prepare(struct db *db, const char *sql, struct status *st)
{
	sqlite3_stmt *statement = NULL;

	for (size_t i = 0; i < db->kept_count; i++)
		if (db->kept[i].sql == sql)
			return db->kept[i].statement;
	if (db->kept_count == DB_STATEMENTS_MAX) {
		status_set(st, STATUS_BUG, "too many statements");
		return NULL;
	}
	if (sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT,
		&statement, NULL) != SQLITE_OK) {
		db_failed(db->handle, st);
		return NULL;
	}
	db->kept[db->kept_count].sql = sql;
	db->kept[db->kept_count++].statement = statement;
	return statement;
}

static int
bind(sqlite3_stmt *query, int at, const struct db_value *v)
{
	switch (v->kind) {
	case DB_KIND_INT:
		return sqlite3_bind_int64(query, at, v->integer);
	case DB_KIND_TEXT:
		return sqlite3_bind_text(query, at, v->bytes, -1,
		    SQLITE_STATIC);
	case DB_KIND_BLOB:
		break;
	}
	return sqlite3_bind_blob64(query, at, v->bytes, v->len, SQLITE_STATIC);
}

sqlite3_stmt *
db_ask_values(struct db *db, struct status *st, const char *sql,
    const struct db_value *values, size_t count)
{
	sqlite3_stmt *query = prepare(db, sql, st);

	if (!query)
		return NULL;
	if (sqlite3_stmt_busy(query)) {
		status_set(st, STATUS_BUG, "statement in use: %.80s", sql);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (bind(query, (int)i + 1, &values[i]) != SQLITE_OK) {
			db_failed(db->handle, st);
			db_query_done(&query);
			return NULL;
		}
	}
	return query;
}

int
db_next(sqlite3_stmt *query, struct status *st)
{
	switch (sqlite3_step(query)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return db_failed(sqlite3_db_handle(query), st);
	}
}

int
db_run_values(struct db *db, struct status *st, const char *sql,
    const struct db_value *values, size_t count)
{
	auto_query *query = db_ask_values(db, st, sql, values, count);
	int more = query ? 1 : -1;

	while (more == 1)
		more = db_next(query, st);
	return more;
}

int
db_number_values(struct db *db, struct status *st, int64_t otherwise,
    int64_t *out, const char *sql, const struct db_value *values, size_t count)
{
	auto_query *query = db_ask_values(db, st, sql, values, count);
	int row = query ? db_next(query, st) : -1;

	if (row < 0)
		return -1;
	*out = row == 1 && sqlite3_column_type(query, 0) != SQLITE_NULL
	    ? sqlite3_column_int64(query, 0)
	    : otherwise;
	return 0;
}

int64_t
db_changed(struct db *db)
{
	return sqlite3_changes64(db->handle);
}

const char *
db_text(sqlite3_stmt *query, int column)
{
	const unsigned char *text = sqlite3_column_text(query, column);

	return text ? (const char *)text : "";
}

void
db_query_done(sqlite3_stmt **query)
{
	if (!*query)
		return;
	sqlite3_reset(*query);
	sqlite3_clear_bindings(*query);
}
