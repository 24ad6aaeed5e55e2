/* Changes of files in a real sandbox: batches, clashes, replays. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "tests/agent/sandbox/fixture.h"
#include "tests/test.h"

static const struct timespec now = { .tv_nsec = UTIME_OMIT };

static int
content(const char *text, size_t len)
{
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, len), 0);
	return fd;
}

static struct push_op
put(const char *path, const char *text)
{
	return (struct push_op){ .kind = PUSH_PUT,
		.path = path,
		.fd = content(text, strlen(text)),
		.size = (int64_t)strlen(text),
		.mode = 0644,
		.mtime = now };
}

static void
push(struct push_op *ops, size_t count)
{
	struct status st = { 0 };

	if (sandbox_push(fx.sb, SANDBOX_START, ops, count, false, NULL, &st) <
	    0)
		fail_msg("%s", st.text);
}

static void
push_ok(struct push_op *ops, size_t count)
{
	push(ops, count);
	for (size_t i = 0; i < count; i++)
		if (ops[i].result.code != STATUS_OK)
			fail_msg("%zu: %s", i, ops[i].result.text);
}

static void
close_all(struct push_op *ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ops[i].kind == PUSH_PUT)
			close(ops[i].fd);
		free(ops[i].conflict);
	}
}

/* The entry of a path as the listing has it. */
static struct remote_entry
entry(const char *path)
{
	struct listing l;
	struct status st;
	struct remote_entry e = { 0 };

	assert_int_equal(sandbox_list(fx.sb, SANDBOX_START, "", true, &l, NULL,
			     &st),
	    0);
	for (size_t i = 0; i < l.count; i++)
		if (strcmp(l.entries[i].path, path) == 0)
			e = l.entries[i];
	e.path = e.target = NULL;
	listing_finish(&l);
	return e;
}

static void
whole_files(void **state)
{
	struct push_op op = put("a file", "hello\n");
	struct sandbox_counters before, after;

	(void)state;
	op.mode = 0751;
	op.mtime = (struct timespec){ 1700000000, 123456789 };
	sandbox_counters(fx.provider, &before);
	push_ok(&op, 1);
	sandbox_counters(fx.provider, &after);
	assert_true(after.toolbox - before.toolbox <= 2);
	assert_null(op.conflict);
	assert_string_equal(run("cat '/home/daytona/a file'"), "hello\n");
	assert_string_equal(run("stat -c '%a %.9Y' '/home/daytona/a file'"),
	    "751 1700000000.123456789\n");
	struct remote_entry e = entry("a file");
	assert_true(file_version_equal(&e.version, &op.after.version));
	assert_int_equal(op.after.mode, S_IFREG | 0751);

	/* over it, with what we know of it; mode kept */
	struct push_op again = put("a file", "second\n");
	again.mode = (mode_t)-1;
	again.have_base = true;
	again.base = op.after.version;
	push_ok(&again, 1);
	assert_null(again.conflict);
	assert_string_equal(run("cd; cat 'a file'; stat -c %a 'a file'"),
	    "second\n751\n");
	/* the same once more: its base is old, its content is there */
	push_ok(&again, 1);
	assert_null(again.conflict);
	close_all(&op, 1);
	close_all(&again, 1);
}

static void
clashes(void **state)
{
	struct push_op op = put("clash", "one");

	(void)state;
	push_ok(&op, 1);
	run("echo theirs > /home/daytona/clash");
	struct push_op mine = put("clash", "mine");
	mine.have_base = true;
	mine.base = op.after.version;
	push_ok(&mine, 1);
	assert_string_equal(mine.conflict, "clash.conflict");
	assert_int_equal(mine.after.version.size, 4);
	assert_string_equal(run("cd; cat clash clash.conflict"),
	    "theirs\nmine");
	/* a new file where we knew of none */
	struct push_op new = put("clash", "new");
	push_ok(&new, 1);
	assert_string_equal(new.conflict, "clash.conflict-2");
	/* said again: no third copy */
	free(new.conflict);
	push_ok(&new, 1);
	assert_string_equal(new.conflict, "clash.conflict-2");
	assert_string_equal(run("cd; ls -d clash*"),
	    "clash\nclash.conflict\nclash.conflict-2\n");
	/* a directory in its place */
	run("mkdir /home/daytona/dir-there");
	struct push_op dir = put("dir-there", "x");
	dir.force = true;
	push_ok(&dir, 1);
	assert_string_equal(dir.conflict, "dir-there.conflict");
	/* gone there: put back */
	run("rm /home/daytona/clash");
	free(mine.conflict);
	push_ok(&mine, 1);
	assert_null(mine.conflict);
	assert_string_equal(run("cat /home/daytona/clash"), "mine");
	close_all(&op, 1);
	close_all(&mine, 1);
	close_all(&new, 1);
	close_all(&dir, 1);
}

static void
in_place(void **state)
{
	struct push_op op = put("linked", "1");

	(void)state;
	push_ok(&op, 1);
	run("cd; ln linked other; echo > /dev/null");
	struct push_op more = put("linked", "both names");
	more.force = true;
	push_ok(&more, 1);
	assert_string_equal(run("cat /home/daytona/other"), "both names");
	assert_int_equal(more.after.version.ino, op.after.version.ino);

	struct push_op held = put("held", "1");
	push_ok(&held, 1);
	run("sleep 20 </home/daytona/held >/dev/null 2>&1 &");
	struct push_op over = put("held", "new text");
	over.force = true;
	push_ok(&over, 1);
	assert_int_equal(over.after.version.ino, held.after.version.ino);
	assert_string_equal(run("cat /home/daytona/held"), "new text");
	close_all(&op, 1);
	close_all(&more, 1);
	close_all(&held, 1);
	close_all(&over, 1);
}

static void
names_and_order(void **state)
{
	struct push_op ops[] = {
		{ .kind = PUSH_MKDIR, .path = "tree", .mode = 0750 },
		put("tree/.swp", "edited"),
		{ .kind = PUSH_RENAME, .path = "tree/.swp", .path2 = "tree/f" },
		{ .kind = PUSH_SYMLINK,
		    .path = "tree/link",
		    .path2 = "../it's a \xff text" },
		{ .kind = PUSH_LINK, .path = "tree/f", .path2 = "tree/hard" },
		put("tree/\xff\xfe\n'\"$x", "odd"),
		{ .kind = PUSH_CHMOD, .path = "tree/f", .mode = 0600 },
		{ .kind = PUSH_UTIMENS,
		    .path = "tree/link",
		    .mtime = { 1000, 5 },
		    .atime = { 2000, 0 } },
		{ .kind = PUSH_MKDIR, .path = "tree/empty", .mode = 0755 },
		{ .kind = PUSH_RMDIR, .path = "tree/empty" },
		{ .kind = PUSH_UNLINK, .path = "tree/not there" },
		{ .kind = PUSH_RENAME_NOREPLACE,
		    .path = "tree/hard",
		    .path2 = "tree/moved" },
	};

	(void)state;
	push_ok(ops, ARRAY_SIZE(ops));
	assert_string_equal(run("cd; cat tree/f tree/moved; stat -c '%a %h' "
				"tree tree/f; stat -c %Y tree/link; "
				"ls tree | wc -l"),
	    "editededited750 2\n600 2\n1000\n5\n");
	assert_string_equal(run("cd; cat tree/$(printf '\\377\\376')*"), "odd");
	assert_int_equal(ops[2].after.version.size, 6);
	assert_int_equal(ops[1].after.version.ino, 0);
	assert_int_equal(ops[3].after.mode & S_IFMT, S_IFLNK);
	assert_int_equal(ops[3].after.version.mtime.tv_sec, 1000);
	assert_int_equal(ops[3].after.version.mtime.tv_nsec, 5);
	assert_int_equal(ops[5].after.version.size, 3);
	close_all(ops, ARRAY_SIZE(ops));

	struct listing l;
	struct status st;
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_START, "tree", false, &l,
			     NULL, &st),
	    0);
	assert_int_equal(l.count, 5);
	bool odd = false, link = false;
	for (size_t i = 0; i < l.count; i++) {
		if (strcmp(l.entries[i].path, "tree/\xff\xfe\n'\"$x") == 0)
			odd = true;
		if (l.entries[i].target)
			link = strcmp(l.entries[i].target,
				   "../it's a \xff text") == 0;
	}
	assert_true(odd && link);
	listing_finish(&l);
}

static void
refusals(void **state)
{
	struct push_op ops[] = {
		{ .kind = PUSH_MKDIR, .path = "full", .mode = 0755 },
		put("full/x", "x"),
		{ .kind = PUSH_RMDIR, .path = "full" },
		{ .kind = PUSH_UNLINK, .path = "full" },
		put("nowhere/x", "x"),
		{ .kind = PUSH_RENAME, .path = "nowhere/x", .path2 = "y" },
		{ .kind = PUSH_MKDIR, .path = "full/x", .mode = 0755 },
		{ .kind = PUSH_RENAME_NOREPLACE,
		    .path = "full/x",
		    .path2 = "full/x2" },
		put("full/x3", "y"),
		{ .kind = PUSH_RENAME_NOREPLACE,
		    .path = "full/x2",
		    .path2 = "full/x3" },
		{ .kind = PUSH_RENAME, .path = "full/x2", .path2 = "full" },
		{ .kind = PUSH_CHMOD, .path = "absent", .mode = 0600 },
		{ .kind = PUSH_SYMLINK, .path = "full/x2", .path2 = "x" },
		{ .kind = PUSH_LINK, .path = "full/x2", .path2 = "full/x3" },
		{ .kind = PUSH_MKDIR, .path = "full/x2/y", .mode = 0755 },
		{ .kind = PUSH_MKDIR, .path = "full/d1", .mode = 0755 },
		{ .kind = PUSH_MKDIR, .path = "full/d2", .mode = 0755 },
		{ .kind = PUSH_RENAME_NOREPLACE,
		    .path = "full/d1",
		    .path2 = "full/d2" },
	};

	const enum status_code expected[] = { STATUS_OK, STATUS_OK,
		STATUS_NOT_EMPTY, STATUS_IS_DIR, STATUS_NOT_FOUND,
		STATUS_NOT_FOUND, STATUS_EXISTS, STATUS_OK, STATUS_OK,
		STATUS_EXISTS, STATUS_IS_DIR, STATUS_NOT_FOUND, STATUS_EXISTS,
		STATUS_EXISTS, STATUS_NOT_DIR, STATUS_OK, STATUS_OK,
		STATUS_EXISTS };

	(void)state;
	push(ops, ARRAY_SIZE(ops));
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (ops[i].result.code != expected[i])
			fail_msg("%zu: %s %s", i,
			    status_word(ops[i].result.code),
			    ops[i].result.text);
	close_all(ops, ARRAY_SIZE(ops));
}

static void
exchange(void **state)
{
	struct push_op ops[] = { put("left", "l"), put("right", "r"),
		{ .kind = PUSH_EXCHANGE, .path = "left", .path2 = "right" } };

	(void)state;
	push_ok(ops, 3);
	assert_string_equal(run("cd; cat left right"), "rl");
	close_all(ops, 3);
}

static void
many_at_once(void **state)
{
	enum { N = 500 };

	static char text[N][1200], names[N][32];
	static struct push_op ops[N];
	struct sandbox_counters before, after;

	(void)state;
	run("mkdir /home/daytona/many");
	for (int i = 0; i < N; i++) {
		snprintf(text[i], sizeof text[i], "%01100d", i);
		snprintf(names[i], sizeof names[i], "many/f%d", i);
		ops[i] = put(names[i], text[i]);
		ops[i].mtime = (struct timespec){ 1600000000 + i, 7 };
	}
	sandbox_counters(fx.provider, &before);
	int64_t t = clock_mono_ms();
	push_ok(ops, N);
	print_message("500 files: %lld ms\n", (long long)(clock_mono_ms() - t));
	sandbox_counters(fx.provider, &after);
	assert_int_equal(after.toolbox - before.toolbox, 2);
	assert_string_equal(
	    run("cd /home/daytona/many; ls | wc -l; tail -c 3 f499; "
		"stat -c '%a %Y' f499; ls -A /home/daytona/.daytona"
		"/sandagentfs/*.[0-9]* 2>/dev/null | wc -l"),
	    "500\n499644 1600000499\n0\n");
	for (int i = 0; i < N; i++)
		assert_int_equal(ops[i].after.version.size, 1100);
	close_all(ops, N);
}

static void
large_file(void **state)
{
	size_t len = 9 << 20;
	char *bytes = calloc(1, len);
	struct push_op op = { .kind = PUSH_PUT,
		.path = "large",
		.size = (int64_t)len,
		.mode = 0644,
		.mtime = now };

	(void)state;
	memset(bytes + len / 2, 'x', len / 2);
	op.fd = content(bytes, len);
	push_ok(&op, 1);
	assert_string_equal(run("cd; tr -d '\\0' <large | wc -c; wc -c <large"),
	    "4718592\n9437184\n");
	/* cut while it is sent: the promised length arrives */
	assert_int_equal(ftruncate(op.fd, 100), 0);
	op.force = true;
	push_ok(&op, 1);
	assert_string_equal(run("wc -c </home/daytona/large"), "9437184\n");
	close_all(&op, 1);
	free(bytes);
}

static void
synced(void **state)
{
	struct status st = { 0 };
	struct push_op op = put("synced", "x");

	(void)state;
	assert_int_equal(sandbox_push(fx.sb, SANDBOX_START, &op, 1, true, NULL,
			     &st),
	    0);
	assert_int_equal(op.result.code, STATUS_OK);
	assert_true(op.after.version.ino != 0);
	close_all(&op, 1);
}

static void *
fire_later(void *arg)
{
	usleep(150000);
	cancel_fire(arg);
	return NULL;
}

/* We give up in its middle and say it again, as after a lost answer: it goes
 * on where it stopped, nothing is done twice. */
static void
said_twice(void **state)
{
	enum { N = 200 };

	static char names[N][32], moved[N][32];
	static struct push_op ops[2 * N + 3];
	struct status st = { 0 };
	struct cancel *c = cancel_create(NULL);
	pthread_t t;

	(void)state;
	run("mkdir /home/daytona/twice; cd /home/daytona/twice; "
	    "printf l >l; printf r >r");
	for (int i = 0; i < N; i++) {
		snprintf(names[i], sizeof names[i], "twice/t%d", i);
		snprintf(moved[i], sizeof moved[i], "twice/m%d", i);
		ops[2 * i] = put(names[i], names[i]);
		ops[2 * i + 1] = (struct push_op){ .kind = PUSH_RENAME,
			.path = names[i],
			.path2 = moved[i] };
	}
	ops[2 * N] = (struct push_op){ .kind = PUSH_EXCHANGE,
		.path = "twice/l",
		.path2 = "twice/r" };
	ops[2 * N + 1] = put("twice/last", "x");
	ops[2 * N + 2] = (struct push_op){ .kind = PUSH_RENAME_NOREPLACE,
		.path = "twice/last",
		.path2 = "twice/end" };
	pthread_create(&t, NULL, fire_later, c);
	int rc =
	    sandbox_push(fx.sb, SANDBOX_START, ops, 2 * N + 3, false, c, &st);
	pthread_join(t, NULL);
	cancel_put(c);
	if (rc < 0) {
		assert_int_equal(st.code, STATUS_CANCELED);
		push_ok(ops, 2 * N + 3);
	}
	for (int i = 0; i < 2 * N + 3; i++)
		assert_null(ops[i].conflict);
	assert_string_equal(run("cd /home/daytona/twice; ls | wc -l; "
				"cat l r m7; ls | grep -c '^m'"),
	    "203\nrltwice/t7200\n");
	assert_int_equal(ops[2 * N + 2].after.version.size, 1);
	close_all(ops, 2 * N + 3);
}

/* The same batch by another name, as after our own restart. */
static void
said_again_later(void **state)
{
	struct push_op ops[] = { put("again-t", "1"),
		{ .kind = PUSH_RENAME, .path = "again-t", .path2 = "again" },
		{ .kind = PUSH_MKDIR, .path = "again-d", .mode = 0755 },
		{ .kind = PUSH_SYMLINK, .path = "again-l", .path2 = "x" },
		{ .kind = PUSH_LINK, .path = "again", .path2 = "again-h" },
		{ .kind = PUSH_UNLINK, .path = "again-u" },
		{ .kind = PUSH_RMDIR, .path = "again-r" } };

	(void)state;
	push_ok(ops, ARRAY_SIZE(ops));
	push_ok(ops, ARRAY_SIZE(ops));
	assert_string_equal(run("cd; ls -d again*; cat again"),
	    "again\nagain-d\nagain-h\nagain-l\n1");
	close_all(ops, ARRAY_SIZE(ops));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_files),
		cmocka_unit_test(clashes),
		cmocka_unit_test(in_place),
		cmocka_unit_test(names_and_order),
		cmocka_unit_test(refusals),
		cmocka_unit_test(exchange),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(large_file),
		cmocka_unit_test(synced),
		cmocka_unit_test(said_twice),
		cmocka_unit_test(said_again_later),
	};

	return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
