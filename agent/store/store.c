/*
 * Opening, locking, transactions; see store.h. A connection to SQLite must not
 * be carried over a fork, and the program forks between opening its store and
 * using it: so store_open() leaves only the descriptor of the lock file open,
 * and the connection is made at the first use.
 */
#include "agent/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/fault.h"
#include "agent/store/internal.h"
#include "agent/store/schema.h"

/* --- The state directory -------------------------------------------------- */

/* Like mkdir -p, 0700. */
static int
make_dir(const char *dir, struct status *st)
{
	auto_free char *path = xstrdup(dir);

	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return status_errno(st, errno, "mkdir %s", path);
		*p = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return status_errno(st, errno, "mkdir %s", path);
	return 0;
}

static void
write_pid(int fd)
{
	char text[24];
	int n = snprintf(text, sizeof text, "%d\n", (int)getpid());

	/* Only words of a message depend on it. */
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) < 0)
		diag_debug("store: the lock file takes no pid");
}

static int
in_use(int fd, const char *dir, struct status *st)
{
	char text[24] = "";
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;
	char who[64] = "another mount";

	if (pid > 0)
		snprintf(who, sizeof who, "the mount of process %ld", pid);
	return status_set(st, STATUS_BUSY,
	    "the state directory %s is in use by %s: unmount that, or give "
	    "this one its own with -o state_dir=DIR",
	    dir, who);
}

static int
take_lock(const char *dir, int *out, struct status *st)
{
	auto_free char *path = xasprintf("%s/lock", dir);
	auto_fd int fd =
	    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return status_errno(st, errno, "open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		    ? in_use(fd, dir, st)
		    : status_errno(st, errno, "lock %s", path);
	write_pid(fd);
	*out = take_fd(fd);
	return 0;
}

/* --- Opening -------------------------------------------------------------- */

/* An empty file of the right mode: SQLite's companions inherit it. */
static int
make_file(const char *path, struct status *st)
{
	auto_fd int fd =
	    open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? status_errno(st, errno, "create %s", path) : 0;
}

static int
load_id(struct store *s, struct db *db, struct status *st)
{
	auto_query *query =
	    db_ask(db, st, "SELECT value FROM meta WHERE key = 'store_id'");
	int row = query ? db_next(query, st) : -1;

	if (row < 0)
		return -1;
	if (row == 0)
		return status_set(st, STATUS_INVALID,
		    "%s is damaged: it has no id; move it away to begin anew",
		    s->path);
	snprintf(s->id, sizeof s->id, "%s", db_text(query, 0));
	return 0;
}

static int
prepare_file(struct store *s, struct status *st)
{
	struct db db;

	if (schema_look(s->path, st) < 0 &&
	    (st->code != STATUS_NOT_FOUND || make_file(s->path, st) < 0))
		return -1;
	if (db_open(&db, s->path, DB_WRITE, st) < 0)
		return -1;
	/* It may be one that LangGraph made, open to all. */
	int r = chmod(s->path, 0600);
	if (r < 0)
		status_errno(st, errno, "chmod %s", s->path);
	if (r == 0)
		r = schema_migrate(&db, st);
	if (r == 0)
		r = load_id(s, &db, st);
	db_close(&db);
	return r;
}

int
store_open(const char *dir, struct store **out, struct status *st)
{
	int fd = -1;

	wait_point();
	if (make_dir(dir, st) < 0 || take_lock(dir, &fd, st) < 0)
		return -1;
	struct store *s = xcalloc(1, sizeof *s);
	s->path = xasprintf("%s/threads.db", dir);
	s->lock_fd = fd;
	s->look_for_names = true;
	lock_init(&s->lock, RANK_STORE);
	if (prepare_file(s, st) < 0) {
		store_close(s);
		return -1;
	}
	*out = s;
	return 0;
}

void
store_close(struct store *s)
{
	if (!s)
		return;
	wait_point();
	if (s->db.handle) {
		sqlite3_wal_checkpoint_v2(s->db.handle, NULL,
		    SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
		db_close(&s->db);
	}
	close(s->lock_fd);
	lock_finish(&s->lock);
	free(s->path);
	free(s);
}

const char *
store_id(const struct store *s)
{
	return s->id;
}

/* --- Transactions --------------------------------------------------------- */

static int
read_data_version(struct store *s, int64_t *version, struct status *st)
{
	return db_number(&s->db, st, 0, version, "PRAGMA data_version");
}

static int
connect_locked(struct store *s, struct status *st)
{
	if (s->db.handle)
		return 0;
	if (db_open(&s->db, s->path, DB_WRITE, st) < 0)
		return -1;
	if (db_script(&s->db,
		"PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;",
		st) < 0 ||
	    read_data_version(s, &s->data_version, st) < 0) {
		db_close(&s->db);
		return -1;
	}
	write_pid(s->lock_fd);
	return 0;
}

int
store_begin(struct store *s, enum store_access access, struct status *st)
{
	wait_point();
	lock_acquire(&s->lock);
	if (connect_locked(s, st) < 0)
		return -1;
	return access == STORE_WRITE ? db_run(&s->db, st, "BEGIN IMMEDIATE")
				     : db_run(&s->db, st, "BEGIN");
}

int
store_end(struct store *s, int r, struct status *st)
{
	lock_assert_held(&s->lock);
	if (r == 0) {
		bool wrote =
		    sqlite3_txn_state(s->db.handle, NULL) == SQLITE_TXN_WRITE;
		if (wrote)
			fault_point("store.commit");
		r = db_run(&s->db, st, "COMMIT");
		if (wrote && r == 0)
			fault_point("store.committed");
	}
	if (s->db.handle && !sqlite3_get_autocommit(s->db.handle))
		sqlite3_exec(s->db.handle, "ROLLBACK", NULL, NULL, NULL);
	lock_release(&s->lock);
	return r;
}

bool
store_foreign_changes(struct store *s)
{
	struct status st;
	int64_t version = 0;
	bool changed = false;

	wait_point();
	lock_acquire(&s->lock);
	if (connect_locked(s, &st) == 0 &&
	    read_data_version(s, &version, &st) == 0) {
		changed = version != s->data_version;
		s->data_version = version;
		s->look_for_names |= changed;
	} else {
		diag_warn("store: %s", st.text);
	}
	lock_release(&s->lock);
	return changed;
}
