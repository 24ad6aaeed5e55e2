/* Opening: new, again, in use, damaged, of another program, on a full disk;
 * threads. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "tests/agent/store/fixture.h"

static char *
db_path(struct fixture *f)
{
	return xasprintf("%s/threads.db", f->dir);
}

static void
write_file(struct fixture *f, const char *bytes, size_t len)
{
	auto_free char *path = db_path(f);
	auto_fd int fd =
	    open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, bytes, len), 0);
}

static void
read_file(struct fixture *f, struct buf *out)
{
	auto_free char *path = db_path(f);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	assert_true(fd >= 0);
	while (n > 0) {
		char *p = buf_reserve(out, 65536);
		assert_non_null(p);
		n = read(fd, p, 65536);
		assert_true(n >= 0);
		buf_commit(out, (size_t)n);
	}
}

static void
assert_mode(const char *dir, const char *name, mode_t mode)
{
	auto_free char *path = xasprintf("%s/%s", dir, name);
	struct stat sb;

	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 07777, mode);
}

static void
test_new_and_again(void **state)
{
	struct fixture *f = *state;
	auto_free char *top = xstrdup(f->dir);

	snprintf(f->dir, sizeof f->dir, "%s/a/b", top);
	mode_t old = umask(0);
	fixture_open(f);
	umask(old);
	assert_mode(top, "a", 0700);
	assert_mode(top, "a/b", 0700);
	assert_mode(f->dir, "threads.db", 0600);
	assert_mode(f->dir, "threads.db-wal", 0600);
	assert_mode(f->dir, "lock", 0600);
	auto_free char *id = xstrdup(store_id(f->store));
	assert_int_equal(strlen(id), 36);
	int64_t number = make_thread(f, "t");
	fixture_reopen(f);
	assert_string_equal(store_id(f->store), id);
	int64_t again;
	REFUSED(f, STATUS_EXISTS,
	    store_thread_make(f->store, "t", &again, &f->st));
	SUCCEEDS(f, store_thread_delete(f->store, number, &f->st));
	assert_true(make_thread(f, "t") > number);
	store_close(f->store);
	f->store = NULL;
	snprintf(f->dir, sizeof f->dir, "%s", top);
}

static void
test_in_use(void **state)
{
	struct fixture *f = *state;
	struct store *second = NULL;
	auto_free char *pid = NULL;

	fixture_open(f);
	pid = xasprintf("process %d", (int)getpid());
	REFUSED(f, STATUS_BUSY, store_open(f->dir, &second, &f->st));
	assert_non_null(strstr(f->st.text, "in use"));
	assert_non_null(strstr(f->st.text, "state_dir"));
	assert_non_null(strstr(f->st.text, pid));
	store_close(f->store);
	f->store = NULL;
	SUCCEEDS(f, store_open(f->dir, &f->store, &f->st));
}

/* Opening is refused with words, and nothing in the directory is changed. */
static void
assert_left_alone(struct fixture *f, const char *words)
{
	auto_buf before = BUF_INIT(16 << 20), after = BUF_INIT(16 << 20);
	struct store *s = NULL;
	auto_free char *wal = xasprintf("%s/threads.db-wal", f->dir);

	read_file(f, &before);
	REFUSED(f, STATUS_INVALID, store_open(f->dir, &s, &f->st));
	if (!strstr(f->st.text, words))
		fail_msg("no \"%s\" in: %s", words, f->st.text);
	assert_non_null(strstr(f->st.text, "move it away"));
	read_file(f, &after);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.bytes, after.bytes, before.len);
	assert_int_equal(access(wal, F_OK), -1);
}

static void
make_good(struct fixture *f, struct buf *bytes)
{
	fixture_open(f);
	int64_t thread = make_thread(f, "t");
	int64_t turn = begin_turn(f, thread, "hello");
	end_turn(f, thread, turn);
	store_close(f->store);
	f->store = NULL;
	read_file(f, bytes);
}

static void
test_damaged_header(void **state)
{
	struct fixture *f = *state;
	auto_buf good = BUF_INIT(16 << 20);

	write_file(f, "hello", 5);
	assert_left_alone(f, "damaged");
	make_good(f, (write_file(f, "", 0), &good));
	good.bytes[3] ^= 1;
	write_file(f, good.bytes, good.len);
	assert_left_alone(f, "damaged");
}

static void
test_damaged_pages(void **state)
{
	struct fixture *f = *state;
	auto_buf good = BUF_INIT(16 << 20), bad = BUF_INIT(16 << 20);

	make_good(f, &good);
	/* The schema's own page, then others. */
	for (size_t page = 0; page < 3; page++) {
		buf_reset(&bad);
		buf_add(&bad, good.bytes, good.len);
		memset(bad.bytes + page * 4096 + (page ? 0 : 100), 0xa5, 700);
		write_file(f, bad.bytes, bad.len);
		assert_left_alone(f, "damaged");
	}
	write_file(f, good.bytes, good.len - 2 * 4096);
	assert_left_alone(f, "damaged");
	write_file(f, good.bytes, good.len);
	fixture_open(f);
}

static void
run_sql(struct fixture *f, const char *sql)
{
	sqlite3 *db = NULL;
	auto_free char *path = db_path(f);
	char *error = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s", error);
	sqlite3_close(db);
}

static void
test_damaged_schema(void **state)
{
	struct fixture *f = *state;
	auto_buf good = BUF_INIT(16 << 20);

	make_good(f, &good);
	run_sql(f,
	    "PRAGMA writable_schema = ON;"
	    "UPDATE sqlite_master SET sql = 'CREATE TABLE turn (x'"
	    " WHERE name = 'turn';");
	assert_left_alone(f, "damaged");
	write_file(f, good.bytes, good.len);
	run_sql(f, "DROP TABLE push;");
	assert_left_alone(f, "damaged");
	write_file(f, good.bytes, good.len);
	run_sql(f, "DELETE FROM meta;");
	struct store *s = NULL;
	REFUSED(f, STATUS_INVALID, store_open(f->dir, &s, &f->st));
}

static void
test_not_ours(void **state)
{
	struct fixture *f = *state;
	auto_buf good = BUF_INIT(16 << 20);

	run_sql(f, "CREATE TABLE bookmarks (url TEXT);");
	assert_left_alone(f, "another program");
	write_file(f, "", 0);
	make_good(f, &good);
	run_sql(f, "PRAGMA user_version = 99;");
	assert_left_alone(f, "newer");
	auto_free char *path = db_path(f);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	struct store *s = NULL;
	REFUSED(f, STATUS_INVALID, store_open(f->dir, &s, &f->st));
	assert_int_equal(rmdir(path), 0);
}

/* A migration that is cut off leaves what was there. */
static void
test_adoption_is_whole(void **state)
{
	struct fixture *f = *state;
	auto_free char *path = db_path(f);

	run_sql(f,
	    "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT,"
	    " checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT,"
	    " checkpoint BLOB, metadata BLOB);"
	    "INSERT INTO checkpoints VALUES ('x', '', '1', NULL, NULL,"
	    " 'text', NULL);"
	    "CREATE TABLE step (somebody TEXT);");
	struct store *s = NULL;
	assert_int_equal(store_open(f->dir, &s, &f->st), -1);
	run_sql(f,
	    "INSERT INTO checkpoints VALUES ('y', '', '1', NULL, NULL,"
	    " 'text', NULL); DROP TABLE step;");
	fixture_open(f);
	make_thread(f, "z");
	int64_t n;
	REFUSED(f, STATUS_EXISTS, store_thread_make(f->store, "x", &n, &f->st));
}

static void
keep_name(void *arg, const struct stored_thread *t)
{
	struct buf *out = arg;

	buf_printf(out, "%s:%s:%d:%s:%lld:%s;", t->name, t->sandbox_id,
	    t->sandbox_ours, t->config, (long long)t->turns, t->last_prompt);
}

static void
test_threads(void **state)
{
	struct fixture *f = *state;
	auto_buf names = BUF_INIT(4096);
	int64_t n = 0;

	int64_t a = make_thread(f, "논문-실험");
	int64_t b = make_thread(f, "b");
	REFUSED(f, STATUS_INVALID,
	    store_thread_make(f->store, "a/b", &n, &f->st));
	REFUSED(f, STATUS_EXISTS,
	    store_thread_rename(f->store, a, "b", &f->st));
	SUCCEEDS(f, store_thread_rename(f->store, a, "c", &f->st));
	SUCCEEDS(f, store_thread_set_config(f->store, a, "k = v\n", &f->st));
	SUCCEEDS(f,
	    store_thread_set_sandbox(f->store, b, "sb-1", true, &f->st));
	REFUSED(f, STATUS_NOT_FOUND,
	    store_thread_set_config(f->store, 99, "", &f->st));
	REFUSED(f, STATUS_NOT_FOUND,
	    store_thread_set_sandbox(f->store, 99, "", false, &f->st));
	REFUSED(f, STATUS_NOT_FOUND, store_thread_delete(f->store, 99, &f->st));
	int64_t turn = begin_turn(f, b, "one");
	end_turn(f, b, turn);
	SUCCEEDS(f, store_turn_accept(f->store, b, "two\n", &turn, &f->st));
	REFUSED(f, STATUS_DENIED,
	    store_thread_rename(f->store, b, "d", &f->st));
	SUCCEEDS(f, store_threads(f->store, keep_name, &names, &f->st));
	assert_string_equal(names.bytes, "c::0:k = v\n:0:;b:sb-1:1::2:two\n;");
}

/* Every row of it goes, and nobody else's. */
static void
test_delete(void **state)
{
	struct fixture *f = *state;
	int64_t threads[2] = { make_thread(f, "a"), make_thread(f, "b") };

	for (int i = 0; i < 2; i++) {
		int64_t turn = begin_turn(f, threads[i], "one");
		struct queued_push row = { .thread = threads[i],
			.path = "p",
			.path2 = "",
			.file = "1",
			.detail = "{}" };
		add_reply(f, threads[i], turn, "ok", "c1");
		SUCCEEDS(f,
		    store_queue_add(f->store, &row, 1, NULL, 0, &f->st));
	}
	SUCCEEDS(f, store_thread_delete(f->store, threads[0], &f->st));
	assert_contents(f, threads[1], "one|ok");
	SUCCEEDS(f, store_thread_delete(f->store, threads[1], &f->st));
	store_close(f->store);
	f->store = NULL;
	run_sql(f,
	    "CREATE TEMP TABLE empty (n CHECK (n = 0));"
	    "INSERT INTO empty SELECT count(*) FROM thread"
	    " UNION ALL SELECT count(*) FROM turn"
	    " UNION ALL SELECT count(*) FROM call"
	    " UNION ALL SELECT count(*) FROM push"
	    " UNION ALL SELECT count(*) FROM line"
	    " UNION ALL SELECT count(*) FROM message"
	    " UNION ALL SELECT count(*) FROM step;");
}

/* As root a small file system of its own is filled up. */
static void
run_on_full_disk(struct fixture *f)
{
	struct store *s = NULL;
	auto_free char *big = xcalloc(1, 400001);
	int64_t thread = 0, turn = 0, n = 0;

	memset(big, 'x', 400000);
	if (store_open(f->dir, &s, &f->st) < 0 ||
	    store_thread_make(s, "t", &thread, &f->st) < 0)
		_exit(10);
	while (store_turn_accept(s, thread, big, &turn, &f->st) == 0)
		if (++n > 100)
			_exit(11);
	if (f->st.code != STATUS_NO_SPACE || !strstr(f->st.text, "full"))
		_exit(12);
	/* What was accepted is there, and room is enough to go on. */
	struct stored_turn t;
	if (store_turn_load(s, thread, 0, &t, &f->st) < 0 || t.turn != n)
		_exit(13);
	stored_turn_finish(&t);
	store_close(s);
	if (store_open(f->dir, &s, &f->st) < 0)
		_exit(14);
	if (store_thread_delete(s, thread, &f->st) < 0 &&
	    f->st.code != STATUS_NO_SPACE)
		_exit(15);
	store_close(s);
	free(take(big));
	_exit(0);
}

static void
test_full_disk(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", f->dir, "tmpfs", 0, "size=3m") < 0)
			_exit(77);
		run_on_full_disk(f);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The program forks between opening its store and using it. */
static void
test_fork_after_open(void **state)
{
	struct fixture *f = *state;
	int64_t n = 0;

	SUCCEEDS(f, store_open(f->dir, &f->store, &f->st));
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int r = store_thread_make(f->store, "child", &n, &f->st);
		store_close(f->store);
		_exit(r == 0 ? 0 : 1);
	}
	int status = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	REFUSED(f, STATUS_EXISTS,
	    store_thread_make(f->store, "child", &n, &f->st));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_new_and_again,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_in_use, fixture_setup,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_header,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_pages,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_damaged_schema,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_not_ours, fixture_setup,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_adoption_is_whole,
		    fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_threads,
		    fixture_setup_open, fixture_teardown),
		cmocka_unit_test_setup_teardown(test_delete, fixture_setup_open,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, fixture_setup,
		    fixture_teardown),
		cmocka_unit_test_setup_teardown(test_fork_after_open,
		    fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
