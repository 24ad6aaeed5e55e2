/* The same client over a sandbox that has BusyBox and nothing else: no find
 * -printf, no env --default-signal, no bash, times in whole seconds. */
#include <fcntl.h>
#include <sys/mman.h>

#include "tests/agent/sandbox/fixture.h"

/* A root file system of one program, and a box that uses it. */
static void
prepare(void)
{
	auto_free char *make = xasprintf(
	    "set -e; r='%s/rootfs'; b=$(command -v busybox); "
	    "! ldd $b >/dev/null 2>&1; "
	    "mkdir -p $r/bin $r/etc $r/tmp $r/proc $r/dev $r/home $r/root "
	    "$r/usr/bin $r/sys $r/run $r/var $r/opt $r/lib; cp $b $r/bin/; "
	    "for a in $(busybox --list | grep -vx busybox); do ln -sf busybox $r/bin/$a; done; "
	    "ln -s ../../bin/busybox $r/usr/bin/env; "
	    "printf '#!/bin/sh\\nexec %s \"$@\" --root %%s\\n' $r >'%s/box'; "
	    "chmod 755 '%s/box'",
	    fx.dir, fx.box, fx.dir, fx.dir);

	if (system(make) != 0) {
		printf("SKIPPED: no static busybox here\n");
		exit(0);
	}
	free(fx.box);
	fx.box = xasprintf("%s/box", fx.dir);
}

static void
execute(const char *id, const char *command, int code, const char *output,
    struct exec_result *r)
{
	struct status st = { 0 };
	struct exec_request rq = { .command = command,
		.id = id,
		.timeout_s = 1,
		.output_max = 1000,
		.list = true };

	*r = (struct exec_result){ .output = BUF_INIT(1000) };
	if (sandbox_exec(fx.sb, SANDBOX_START, &rq, r, NULL, &st) < 0)
		fail_msg("%s: %s", command, st.text);
	if (r->exit_code != code || strcmp(r->output.bytes, output) != 0)
		fail_msg("%s: %d %s", command, r->exit_code, r->output.bytes);
	buf_finish(&r->output);
}

static void
commands(void **state)
{
	struct exec_result r;

	(void)state;
	execute("a", "echo hi; exit 3", 3, "hi\n", &r);
	assert_int_equal(r.end, EXEC_EXITED);
	listing_finish(&r.listing);
	execute("b", "kill -9 $$", 137, "", &r);
	assert_true(r.have_listing);
	listing_finish(&r.listing);
	execute("c", "setsid sleep 100 & cat", 0, "", &r);
	listing_finish(&r.listing);
	execute("d", "echo begun; sleep 100", 0, "begun\n", &r);
	assert_int_equal(r.end, EXEC_TIMED_OUT);
	listing_finish(&r.listing);
	assert_string_equal(run("ps | grep -c '[s]leep 100'"), "1\n");
}

static struct push_op
put(const char *path, const char *text)
{
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	return (struct push_op){ .kind = PUSH_PUT,
		.path = path,
		.fd = fd,
		.size = (int64_t)strlen(text),
		.mode = 0640,
		.mtime = { 1700000000, 123456789 } };
}

static void
push(struct push_op *ops, size_t count)
{
	struct status st = { 0 };

	if (sandbox_push(fx.sb, SANDBOX_START, ops, count, true, NULL, &st) < 0)
		fail_msg("%s", st.text);
	for (size_t i = 0; i < count; i++) {
		if (ops[i].kind == PUSH_PUT)
			close(ops[i].fd);
		if (ops[i].result.code != STATUS_OK)
			fail_msg("%zu: %s", i, ops[i].result.text);
	}
}

static void
changes(void **state)
{
	struct push_op ops[] = {
		{ .kind = PUSH_MKDIR, .path = "d", .mode = 0750 },
		put("d/a b", "one"),
		{ .kind = PUSH_RENAME, .path = "d/a b", .path2 = "d/x\n" },
		put("d/y", "two"),
		{ .kind = PUSH_LINK, .path = "d/y", .path2 = "d/z" },
		{ .kind = PUSH_RENAME_NOREPLACE,
		    .path = "d/z",
		    .path2 = "d/w" },
		{ .kind = PUSH_SYMLINK, .path = "d/l", .path2 = "\xff to" },
		put("d/e1", "1"),
		put("d/e2", "2"),
		{ .kind = PUSH_EXCHANGE, .path = "d/e1", .path2 = "d/e2" },
		{ .kind = PUSH_UTIMENS,
		    .path = "d",
		    .mtime = { 1000, 5 },
		    .atime = { 1000, 5 } },
		{ .kind = PUSH_UNLINK, .path = "d/gone" },
	};
	struct listing l;
	struct status st = { 0 };

	(void)state;
	push(ops, ARRAY_SIZE(ops));
	assert_string_equal(run("cd /home/daytona/d; cat \"x\n\" y w e1 e2; "
				"stat -c '%a %Y' y . ; readlink l | wc -c"),
	    "onetwotwo21640 1700000000\n750 1000\n5\n");
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, "d", true, &l, NULL,
			     &st),
	    0);
	assert_int_equal(l.count, 7);
	assert_string_equal(l.entries[0].path, "d");
	for (size_t i = 0; i < l.count; i++) {
		struct remote_entry *e = &l.entries[i];
		if (strcmp(e->path, "d/x\n") == 0)
			assert_true(file_version_equal(&e->version,
			    &ops[2].after.version));
		if (strcmp(e->path, "d/l") == 0)
			assert_string_equal(e->target, "\xff to");
	}
	listing_finish(&l);

	/* known: replaced; not known: a clash; a directory: a clash */
	struct push_op again[] = { put("d/x\n", "newer"), put("d/y", "clash"),
		put("d", "no") };
	again[0].have_base = true;
	again[0].base = ops[2].after.version;
	again[2].force = true;
	push(again, 3);
	assert_null(again[0].conflict);
	assert_string_equal(again[1].conflict, "d/y.conflict");
	assert_string_equal(again[2].conflict, "d.conflict");
	assert_int_equal(again[1].after.version.size, 5);
	free(again[1].conflict);
	free(again[2].conflict);
}

static int
gather(void *arg, const void *bytes, size_t len, struct status *st)
{
	(void)st;
	buf_add(arg, bytes, len);
	return 0;
}

static void
the_rest(void **state)
{
	auto_buf b = BUF_INIT(100);
	struct sandbox_space space = { 0 };
	struct status st = { 0 };
	struct listing l;
	int64_t total;

	(void)state;
	run("cd; printf 0123456789 >ten; mkdir -p n/node_modules/x n/s");
	assert_int_equal(sandbox_get(fx.sb, SANDBOX_LOOK, "ten", 3, 4, gather,
			     &b, &total, NULL, &st),
	    0);
	assert_string_equal(b.bytes, "3456");
	assert_int_equal(sandbox_space(fx.sb, SANDBOX_LOOK, &space, NULL, &st),
	    0);
	assert_true(space.blocks > 0 && space.block_size >= 512);
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, "n", true, &l, NULL,
			     &st),
	    0);
	assert_int_equal(l.count, 3);
	assert_string_equal(l.entries[1].path, "n/node_modules");
	assert_true(l.entries[1].unlisted);
	assert_false(l.entries[2].unlisted);
	listing_finish(&l);
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, "absent", true, &l,
			     NULL, &st),
	    -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands),
		cmocka_unit_test(changes),
		cmocka_unit_test(the_rest),
	};

	fx.prepare = prepare;
	return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
