/* The schema and its migrations; see schema.h. */
#include "agent/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/fault.h"
#include "agent/store/uuid.h"

#define HEADER "SQLite format 3"
/* Up to this size every page is checked at the start (under 10 ms). */
#define CHECK_WHOLE_MAX (4 << 20)

/*
 * Notes on the statements, for they are stored without comments:
 * - message: each message once, as its LangChain record; `line` is a branch of
 *   a conversation, seq counts from 1 within it.
 * - turn: `accepted` is the order over all threads, whatever the clock says.
 * - step: a checkpoint. Ours: the messages 1..upto of `line`. A foreign one has
 *   no line: raw and raw_metadata are what the other program wrote.
 * - The view must not be a UNION: that would build every row for the newest.
 * - Within the triggers the caller's OR REPLACE overrides every conflict
 *   clause, so they must not insert into other tables.
 * - `writes` must be a table: Python's saver alters it at every opening.
 */
static const char schema_1[] =
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE thread ("
    " number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " name TEXT NOT NULL UNIQUE,"
    " created_ms INTEGER NOT NULL,"
    " config TEXT NOT NULL DEFAULT '',"
    " sandbox_id TEXT NOT NULL DEFAULT '',"
    " sandbox_ours INTEGER NOT NULL DEFAULT 0,"
    " script_position INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE turn ("
    " accepted INTEGER PRIMARY KEY,"
    " thread INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE,"
    " turn INTEGER NOT NULL,"
    " phase INTEGER NOT NULL,"
    " prompt TEXT NOT NULL,"
    " model TEXT NOT NULL DEFAULT '',"
    " error_code TEXT NOT NULL DEFAULT '',"
    " error_text TEXT NOT NULL DEFAULT '',"
    " queued_ms INTEGER NOT NULL,"
    " started_ms INTEGER NOT NULL DEFAULT 0,"
    " ended_ms INTEGER NOT NULL DEFAULT 0,"
    " model_calls INTEGER NOT NULL DEFAULT 0,"
    " tool_calls INTEGER NOT NULL DEFAULT 0,"
    " input_tokens INTEGER NOT NULL DEFAULT -1,"
    " output_tokens INTEGER NOT NULL DEFAULT -1,"
    " UNIQUE (thread, turn));"
    "CREATE INDEX turn_open ON turn (phase) WHERE phase <= 1;"
    "CREATE TABLE call ("
    " thread INTEGER NOT NULL,"
    " turn INTEGER NOT NULL,"
    " reply INTEGER NOT NULL,"
    " position INTEGER NOT NULL,"
    " id TEXT NOT NULL,"
    " name TEXT NOT NULL,"
    " state INTEGER NOT NULL,"
    " PRIMARY KEY (thread, turn, reply, position),"
    " FOREIGN KEY (thread, turn) REFERENCES turn (thread, turn)"
    " ON DELETE CASCADE)"
    " WITHOUT ROWID;"
    "CREATE INDEX call_open ON call (thread, state) WHERE state <= 1;"
    "CREATE TABLE push ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " thread INTEGER NOT NULL REFERENCES thread ON DELETE CASCADE,"
    " kind INTEGER NOT NULL,"
    " path BLOB NOT NULL,"
    " path2 BLOB NOT NULL,"
    " file TEXT NOT NULL,"
    " detail TEXT NOT NULL);"
    "CREATE INDEX push_thread ON push (thread);"
    "CREATE TABLE line ("
    " line INTEGER PRIMARY KEY AUTOINCREMENT,"
    " thread_id TEXT NOT NULL);"
    "CREATE INDEX line_thread ON line (thread_id);"
    "CREATE TABLE message ("
    " line INTEGER NOT NULL,"
    " seq INTEGER NOT NULL,"
    " json TEXT NOT NULL,"
    " PRIMARY KEY (line, seq));"
    "CREATE TABLE step ("
    " thread_id TEXT NOT NULL,"
    " checkpoint_ns TEXT NOT NULL DEFAULT '',"
    " checkpoint_id TEXT NOT NULL,"
    " parent_checkpoint_id TEXT,"
    " type TEXT,"
    " ts TEXT,"
    " step INTEGER,"
    " turn INTEGER,"
    " line INTEGER,"
    " upto INTEGER,"
    " raw BLOB,"
    " raw_metadata BLOB,"
    " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));"
    "CREATE VIEW checkpoints (thread_id, checkpoint_ns, checkpoint_id,"
    " parent_checkpoint_id, type, checkpoint, metadata) AS"
    " SELECT thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,"
    " type,"
    " CASE WHEN line IS NULL THEN raw ELSE CAST("
    "'{\"v\":4,\"id\":\"' || checkpoint_id || '\",\"ts\":\"' || ts ||"
    " '\",\"channel_values\":{\"messages\":[' || coalesce(("
    "SELECT group_concat(json, ',') FROM (SELECT json FROM message"
    " WHERE message.line = step.line AND seq <= step.upto ORDER BY seq)), '')"
    " || ']},\"channel_versions\":{},\"versions_seen\":{}}' AS BLOB) END,"
    " CASE WHEN line IS NULL THEN raw_metadata ELSE CAST("
    "'{\"source\":\"loop\",\"step\":' || step || ',\"parents\":{}}'"
    " AS BLOB) END FROM step;"
    "CREATE TRIGGER checkpoints_insert INSTEAD OF INSERT ON checkpoints BEGIN"
    " INSERT INTO step (thread_id, checkpoint_ns, checkpoint_id,"
    " parent_checkpoint_id, type, raw, raw_metadata)"
    " VALUES (NEW.thread_id, coalesce(NEW.checkpoint_ns, ''),"
    " NEW.checkpoint_id, NEW.parent_checkpoint_id, NEW.type, NEW.checkpoint,"
    " NEW.metadata);"
    "END;"
    "CREATE TRIGGER checkpoints_update INSTEAD OF UPDATE ON checkpoints BEGIN"
    " UPDATE step SET thread_id = NEW.thread_id,"
    " checkpoint_ns = coalesce(NEW.checkpoint_ns, ''),"
    " checkpoint_id = NEW.checkpoint_id,"
    " parent_checkpoint_id = NEW.parent_checkpoint_id, type = NEW.type,"
    " ts = NULL, step = NULL, turn = NULL, line = NULL, upto = NULL,"
    " raw = NEW.checkpoint, raw_metadata = NEW.metadata"
    " WHERE thread_id = OLD.thread_id AND checkpoint_ns = OLD.checkpoint_ns"
    " AND checkpoint_id = OLD.checkpoint_id;"
    "END;"
    "CREATE TRIGGER checkpoints_delete INSTEAD OF DELETE ON checkpoints BEGIN"
    " DELETE FROM step WHERE thread_id = OLD.thread_id"
    " AND checkpoint_ns = OLD.checkpoint_ns"
    " AND checkpoint_id = OLD.checkpoint_id;"
    "END;"
    "CREATE TRIGGER step_gone AFTER DELETE ON step"
    " WHEN NOT EXISTS (SELECT 1 FROM step WHERE thread_id = OLD.thread_id)"
    " BEGIN"
    " DELETE FROM message WHERE line IN"
    " (SELECT line FROM line WHERE thread_id = OLD.thread_id);"
    " DELETE FROM line WHERE thread_id = OLD.thread_id;"
    "END;"
    "CREATE TABLE IF NOT EXISTS writes ("
    " thread_id TEXT NOT NULL,"
    " checkpoint_ns TEXT NOT NULL DEFAULT '',"
    " checkpoint_id TEXT NOT NULL,"
    " task_id TEXT NOT NULL,"
    " task_path TEXT NOT NULL DEFAULT '',"
    " idx INTEGER NOT NULL,"
    " channel TEXT NOT NULL,"
    " type TEXT,"
    " value BLOB,"
    " PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));";

static const char *const migrations[] = { schema_1 };
#define VERSION ((int64_t)ARRAY_SIZE(migrations))

/* What a database of the newest form must have. */
static const char *const required[] = { "meta", "thread", "turn", "call",
	"push", "line", "message", "step", "checkpoints", "writes" };

/* --- Looking -------------------------------------------------------------- */

static int
unfit(const char *path, const char *why, struct status *st)
{
	return status_set(st, STATUS_INVALID,
	    "%s: %s; it was left as it is: move it away to begin anew, or put "
	    "a good copy there",
	    path, why);
}

static int
look_header(const char *path, off_t *size, struct status *st)
{
	char header[sizeof HEADER];
	struct stat sb;
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT)
		return status_set(st, STATUS_NOT_FOUND, "%s: no file", path);
	if (fd < 0 || fstat(fd, &sb) < 0)
		return status_errno(st, errno, "open %s", path);
	if (!S_ISREG(sb.st_mode))
		return unfit(path, "not a regular file", st);
	if (sb.st_size == 0)
		return status_set(st, STATUS_NOT_FOUND, "%s: empty", path);
	ssize_t n = pread(fd, header, sizeof header, 0);
	if (n < 0)
		return status_errno(st, errno, "read %s", path);
	*size = sb.st_size;
	if ((size_t)n < sizeof header ||
	    memcmp(header, HEADER, sizeof header) != 0)
		return unfit(path, "damaged, or not a database", st);
	return 0;
}

static bool
has_bytes(const char *path, const char *suffix)
{
	auto_free char *name = xasprintf("%s%s", path, suffix);
	struct stat sb;

	return stat(name, &sb) == 0 && sb.st_size > 0;
}

/* 0: there is one; 1: none; -1. */
static int
find_object(struct db *db, const char *name, struct status *st)
{
	int64_t count = 0;

	if (db_number(db, st, 0, &count,
		"SELECT count(*) FROM sqlite_master WHERE name = ?",
		DB_TEXT(name)) < 0)
		return -1;
	return count > 0 ? 0 : 1;
}

static int
look_pages(struct db *db, const char *path, off_t size, struct status *st)
{
	auto_query *check = size <= CHECK_WHOLE_MAX
	    ? db_ask(db, st, "PRAGMA quick_check(1)")
	    : db_ask(db, st, "PRAGMA quick_check('sqlite_schema')");
	int row = check ? db_next(check, st) : -1;

	if (row < 0)
		return -1;
	const char *words = row == 1 ? db_text(check, 0) : "no answer";
	if (strcmp(words, "ok") == 0)
		return 0;
	char why[120];
	snprintf(why, sizeof why, "damaged (%s)", words);
	return unfit(path, why, st);
}

static int
look_schema(struct db *db, const char *path, struct status *st)
{
	int64_t version = 0, objects = 0;

	if (db_number(db, st, 0, &version, "PRAGMA user_version") < 0 ||
	    db_number(db, st, 0, &objects,
		"SELECT count(*) FROM sqlite_master") < 0)
		return -1;
	if (version > VERSION)
		return unfit(path, "made by a newer version of this program",
		    st);
	if (version < 0)
		return unfit(path, "damaged, or not ours", st);
	if (version == 0) {
		int langgraph = find_object(db, "checkpoints", st);
		if (langgraph < 0)
			return -1;
		return langgraph == 0 || objects == 0
		    ? 0
		    : unfit(path, "a database of another program", st);
	}
	for (size_t i = 0; i < ARRAY_SIZE(required); i++) {
		int missing = find_object(db, required[i], st);
		if (missing < 0)
			return -1;
		if (missing == 1)
			return unfit(path, "damaged: a table is missing", st);
	}
	return 0;
}

int
schema_look(const char *path, struct status *st)
{
	off_t size = 0;
	struct db db;

	if (look_header(path, &size, st) < 0)
		return -1;
	/* A log of changes beside it belongs to its content; without one,
	 * nothing is created by looking. */
	bool quiet = !has_bytes(path, "-wal") && !has_bytes(path, "-journal");
	if (db_open(&db, path, quiet ? DB_IMMUTABLE : DB_READ, st) < 0)
		return -1;
	int r = look_schema(&db, path, st);
	if (r == 0)
		r = look_pages(&db, path, size, st);
	int code = sqlite3_extended_errcode(db.handle);
	if (r < 0 && (code & 0xff) == SQLITE_CORRUPT) {
		char why[120];
		snprintf(why, sizeof why, "damaged (%s)",
		    sqlite3_errmsg(db.handle));
		r = unfit(path, why, st);
	}
	db_close(&db);
	/* Only a writer can undo another program's unfinished change. */
	if (code == SQLITE_READONLY_ROLLBACK)
		return 0;
	return r;
}

/* --- Migrating ------------------------------------------------------------ */

/* LangGraph's own tables make way: `checkpoints` is copied, `writes` stays,
 * with the column that newer savers add. */
static int
adopt_begin(struct db *db, bool *adopting, struct status *st)
{
	int checkpoints = find_object(db, "checkpoints", st);
	int writes = find_object(db, "writes", st);
	int64_t paths = 0;

	if (checkpoints < 0 || writes < 0)
		return -1;
	*adopting = checkpoints == 0;
	if (*adopting &&
	    db_script(db, "ALTER TABLE checkpoints RENAME TO langgraph;", st) <
		0)
		return -1;
	if (writes != 0)
		return 0;
	if (db_number(db, st, 0, &paths,
		"SELECT count(*) FROM pragma_table_info('writes')"
		" WHERE name = 'task_path'") < 0)
		return -1;
	return paths > 0 ? 0
			 : db_script(db,
			       "ALTER TABLE writes ADD COLUMN task_path"
			       " TEXT NOT NULL DEFAULT '';",
			       st);
}

static int
adopt_end(struct db *db, struct status *st)
{
	return db_script(db,
	    "INSERT INTO step (thread_id, checkpoint_ns, checkpoint_id,"
	    " parent_checkpoint_id, type, raw, raw_metadata)"
	    " SELECT thread_id, checkpoint_ns, checkpoint_id,"
	    " parent_checkpoint_id, type, checkpoint, metadata FROM langgraph"
	    " ORDER BY rowid;"
	    "DROP TABLE langgraph;",
	    st);
}

static int
migrate_locked(struct db *db, struct status *st)
{
	int64_t version = 0;
	bool adopting = false;
	char set_version[40], id[UUID_TEXT];

	if (db_number(db, st, 0, &version, "PRAGMA user_version") < 0)
		return -1;
	if (version == VERSION)
		return 0;
	if (version == 0 && adopt_begin(db, &adopting, st) < 0)
		return -1;
	for (int64_t v = version; v < VERSION; v++)
		if (db_script(db, migrations[v], st) < 0)
			return -1;
	if (adopting && adopt_end(db, st) < 0)
		return -1;
	uuid_random(id);
	if (version == 0 &&
	    db_run(db, st, "INSERT INTO meta VALUES ('store_id', ?)",
		DB_TEXT(id)) < 0)
		return -1;
	snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d;",
	    (int)VERSION);
	return db_script(db, set_version, st);
}

int
schema_migrate(struct db *db, struct status *st)
{
	if (db_script(db,
		"PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
		"BEGIN IMMEDIATE;",
		st) < 0)
		return -1;
	int r = migrate_locked(db, st);
	if (r == 0) {
		fault_point("store.migrate");
		r = db_script(db, "COMMIT;", st);
	}
	if (r < 0 && !sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
