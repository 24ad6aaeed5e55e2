/* What servers say, and scripts: the pure parts of agent/sandbox. */
#include "agent/sandbox/wire.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/sandbox/push_text.h"
#include "agent/sandbox/shell.h"
#include "tests/test.h"

static int
parse(const char *text, struct wire_sandbox *s)
{
	struct status st;

	return wire_sandbox(text, strlen(text), s, &st);
}

static void
sandboxes(void **state)
{
	struct wire_sandbox s;

	(void)state;
	assert_int_equal(
	    parse("{\"id\":\"a-1\",\"state\":\"started\",\"labels\":"
		  "{\"sandagentfs\":\"1\",\"sandagentfs.store\":\"me\"},"
		  "\"toolboxProxyUrl\":\"https://p/toolbox//\","
		  "\"autoDestroyAt\":\"2026-01-01T00:00:00Z\"}",
		&s),
	    0);
	assert_string_equal(s.id, "a-1");
	assert_string_equal(s.toolbox, "https://p/toolbox");
	assert_string_equal(s.store, "me");
	assert_string_equal(s.expires_at, "2026-01-01T00:00:00Z");
	assert_true(s.marked);
	assert_int_equal(wire_move(&s), MOVE_USE);
	assert_int_equal(parse("{\"id\":\"../x\"}", &s), -1);
	assert_int_equal(parse("{\"id\":\"\"}", &s), -1);
	assert_int_equal(parse("{\"id\":1}", &s), -1);
	assert_int_equal(parse("{}", &s), -1);
	assert_int_equal(parse("[]", &s), -1);
	assert_int_equal(parse("", &s), -1);
	assert_int_equal(parse("{\"id\":\"x\",\"labels\":7}", &s), 0);
	assert_false(s.marked);
	assert_int_equal(wire_move(&s), MOVE_WAIT);
}

static void
states(void **state)
{
	static const struct {
		const char *word;
		enum wire_move move;
	} cases[] = { { "creating", MOVE_WAIT }, { "restoring", MOVE_WAIT },
		{ "destroyed", MOVE_GONE }, { "destroying", MOVE_GONE },
		{ "started", MOVE_USE }, { "stopped", MOVE_START },
		{ "starting", MOVE_WAIT }, { "stopping", MOVE_WAIT },
		{ "error", MOVE_DEAD }, { "build_failed", MOVE_DEAD },
		{ "pending_build", MOVE_WAIT },
		{ "building_snapshot", MOVE_WAIT }, { "unknown", MOVE_WAIT },
		{ "pulling_snapshot", MOVE_WAIT }, { "archived", MOVE_START },
		{ "archiving", MOVE_WAIT }, { "resizing", MOVE_WAIT },
		{ "snapshotting", MOVE_WAIT }, { "forking", MOVE_WAIT },
		{ "pausing", MOVE_WAIT }, { "paused", MOVE_START },
		{ "resuming", MOVE_WAIT } };
	struct wire_sandbox s = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(s.state, sizeof s.state, "%s", cases[i].word);
		if (wire_move(&s) != cases[i].move)
			fail_msg("%s", cases[i].word);
	}
	snprintf(s.state, sizeof s.state, "error");
	s.recoverable = true;
	assert_int_equal(wire_move(&s), MOVE_RECOVER);
}

static void
requests(void **state)
{
	auto_buf b = BUF_INIT(1000);
	const char *const env[] = { "A", "1", NULL };

	(void)state;
	wire_create(&b,
	    &(struct wire_create){ .name = "thread-x",
		.owner = "me",
		.ttl_minutes = 60,
		.stop_minutes = 15,
		.network_off = true,
		.env = env });
	assert_string_equal(b.bytes,
	    "{\"name\":\"thread-x\",\"env\":{\"A\":\"1\"},\"labels\":"
	    "{\"code-toolbox-language\":\"python\",\"sandagentfs\":\"1\","
	    "\"sandagentfs.store\":\"me\"},\"autoStopInterval\":15,"
	    "\"ttlMinutes\":60,\"networkBlockAll\":true}");
	buf_reset(&b);
	wire_execute(&b, "echo \"x\"\n", 9, 5);
	assert_string_equal(b.bytes,
	    "{\"command\":\"echo \\\"x\\\"\\n\",\"cwd\":\"/\",\"envs\":"
	    "{\"LC_ALL\":\"C\",\"ZDOTDIR\":\"/nonexistent\"},"
	    "\"timeout\":5}");
}

static void
executed(void **state)
{
	struct buf b = BUF_INIT(1000);
	struct status st;
	char *out = NULL;
	int code;

	(void)state;
	buf_puts(&b, "{\"exitCode\":3,\"result\":\"a\\u0000b\"}");
	assert_int_equal(wire_executed(&b, &code, &out, &st), 0);
	assert_int_equal(code, 3);
	assert_string_equal(out,
	    "a\xef\xbf\xbd"
	    "b");
	free(out);
	buf_reset(&b);
	buf_puts(&b, "{\"exitCode\":-1,\"result\":null}");
	assert_int_equal(wire_executed(&b, &code, &out, &st), -1);
	buf_reset(&b);
	buf_puts(&b, "{\"exitCode\":3");
	assert_int_equal(wire_executed(&b, &code, &out, &st), -1);
	buf_finish(&b);
}

static enum wire_fault
fault(int status, const char *body)
{
	struct http_response r = { .status = status, .body = BUF_INIT(1000) };

	buf_puts(&r.body, body);
	enum wire_fault f = wire_fault(&r);
	buf_finish(&r.body);
	return f;
}

static void
faults(void **state)
{
	(void)state;
	assert_int_equal(fault(200, ""), FAULT_NONE);
	assert_int_equal(fault(404, ""), FAULT_NONE);
	assert_int_equal(fault(404, "404 page not found"), FAULT_NONE);
	assert_int_equal(fault(400, ""), FAULT_NONE);
	assert_int_equal(fault(403, "403 Forbidden"), FAULT_NONE);
	assert_int_equal(fault(416, "invalid range"), FAULT_NONE);
	assert_int_equal(fault(500, "{\"message\":\"x\"}"), FAULT_NONE);
	assert_int_equal(fault(401,
			     "{\"message\":\"unauthorized: authentication "
			     "failed\"}"),
	    FAULT_GONE);
	assert_int_equal(fault(400,
			     "{\"message\":\"bad request: failed to resolve "
			     "container IP after 3 attempts: no IP address "
			     "found. Is the Sandbox started?\"}"),
	    FAULT_STOPPED);
	assert_int_equal(fault(404,
			     "{\"message\":\"not found: sandbox container not "
			     "found\"}"),
	    FAULT_GONE);
	assert_int_equal(fault(404,
			     "{\"source\":\"DAYTONA_DAEMON\",\"message\":"
			     "\"sandbox container not found\"}"),
	    FAULT_NONE);
	assert_int_equal(fault(502, ""), FAULT_DOWN);
	assert_int_equal(fault(503, ""), FAULT_DOWN);
	assert_int_equal(fault(429, ""), FAULT_BUSY);
}

static void
rows(void **state)
{
	static const char text[] =
	    "- d 755 3 1000 1000 4096 1764550000.1234567890 "
	    "1764550001.5000000000 11 42 \0\0"
	    "- f 4644 2 0 0 123 -1.2500000000 5 12 42 a b\nc\0\0"
	    "- l 777 1 0 0 3 1.0 1.000000001 13 42 link\0../\xff\0"
	    "u d 700 2 0 0 1 1. 1 14 42 .cache\0\0"
	    "- d 700 2 0 0 1 1 1 15 43 volume\0\0"
	    "- h 81a4 1 0 0 7 8 9 16 42 plain\0\0"
	    "- h a1ff 1 0 0 7 8 9 17 42 hexlink\0t\0"
	    "- p 644 1 0 0 0 8 9 18 42 fifo\0\0"
	    /* what must not come through */
	    "- f 644 1 0 0 1 1 1 19 42 ../evil\0\0"
	    "- f 644 1 0 0 1 1 1 20 42 a//b\0\0"
	    "- f 644 1 0 0 1 1 1 21 42 /abs\0\0"
	    "- ? 644 1 0 0 1 1 1 22 42 type\0\0"
	    "- f 899 1 0 0 1 1 1 23 42 mode\0\0"
	    "- f 644 1 0 0 -1 1 1 24 42 size\0\0"
	    "- f 644 1 0 0 99999999999999999999 1 1 24 42 huge\0\0"
	    "garbage\0\0";
	struct listing l = { .root = NULL };
	struct status st;

	(void)state;
	assert_int_equal(wire_rows(text, sizeof text - 1, "top", &l, &st), 0);
	assert_int_equal(l.count, 8);
	assert_string_equal(l.entries[0].path, "top");
	assert_int_equal(l.entries[0].version.mtime.tv_nsec, 123456789);
	assert_int_equal(l.entries[0].version.ctime.tv_nsec, 500000000);
	assert_string_equal(l.entries[1].path, "top/a b\nc");
	assert_int_equal(l.entries[1].mode, S_IFREG | 04644);
	assert_int_equal(l.entries[1].nlink, 2);
	assert_int_equal(l.entries[1].version.mtime.tv_sec, -1);
	assert_int_equal(l.entries[1].version.mtime.tv_nsec, 250000000);
	assert_string_equal(l.entries[2].target, "../\xff");
	assert_int_equal(l.entries[2].version.ctime.tv_nsec, 1);
	assert_true(l.entries[3].unlisted);
	assert_true(l.entries[4].unlisted);
	assert_int_equal(l.entries[5].mode, S_IFREG | 0644);
	assert_string_equal(l.entries[6].target, "t");
	assert_int_equal(l.entries[7].mode, S_IFIFO | 0644);
	listing_finish(&l);
	assert_int_equal(wire_rows("- f 644", 7, "", &l, &st), -1);
	listing_finish(&l);

	static const char absolute[] =
	    "- f 644 1 0 0 1 1 1 19 42 /home/daytona/x/y\0\0"
	    "- d 755 1 0 0 1 1 1 19 42 /home/daytona\0\0"
	    "- f 644 1 0 0 1 1 1 19 42 /home/daytona2/x\0\0"
	    "- f 644 1 0 0 1 1 1 19 42 /etc/passwd\0\0";
	assert_int_equal(wire_rows(absolute, sizeof absolute - 1, NULL, &l,
			     &st),
	    0);
	assert_int_equal(l.count, 2);
	assert_string_equal(l.entries[0].path, "x/y");
	assert_string_equal(l.entries[1].path, "");
	listing_finish(&l);
}

static void
files(void **state)
{
	struct buf b = BUF_INIT(4000);
	struct listing l = { .root = NULL };
	struct status st;

	(void)state;
	buf_puts(&b,
	    "[{\"name\":\"x\",\"size\":5,\"mode\":\"-rw-r--r--\","
	    "\"modifiedAt\":\"2026-06-25T13:16:13.5+02:00\",\"isDir\":false,"
	    "\"owner\":\"1000\",\"group\":\"7\",\"permissions\":\"0644\"},"
	    "{\"name\":\"d\",\"mode\":\"dtrwxrwxrwx\",\"isDir\":true,"
	    "\"modifiedAt\":\"2026-06-25T13:16:13Z\","
	    "\"permissions\":\"0777\"},"
	    "{\"name\":\"dev\",\"mode\":\"Dcrw-rw-rw-\",\"isDir\":false},"
	    "{\"name\":\"s\",\"mode\":\"urwxr-xr-x\","
	    "\"permissions\":\"0755\"},"
	    "{\"name\":\"a/b\"},{\"name\":\"..\"},{\"name\":\"\"},{},7,"
	    "{\"name\":\"bad\xef\xbf\xbd\"},{\"name\":\".daytona\","
	    "\"isDir\":true}]");
	assert_int_equal(wire_files(&b, "", &l, &st), 0);
	assert_int_equal(l.count, 5);
	assert_string_equal(l.entries[1].path, "x");
	assert_int_equal(l.entries[1].version.mtime.tv_sec, 1782386173);
	assert_int_equal(l.entries[1].version.mtime.tv_nsec, 500000000);
	assert_int_equal(l.entries[1].gid, 7);
	assert_int_equal(l.entries[2].mode, S_IFDIR | S_ISVTX | 0777);
	assert_true(l.entries[2].unlisted);
	assert_int_equal(l.entries[2].version.mtime.tv_sec, 1782393373);
	assert_int_equal(l.entries[3].mode & S_IFMT, S_IFCHR);
	assert_int_equal(l.entries[4].mode, S_IFREG | S_ISUID | 0755);
	listing_finish(&l);
	buf_reset(&b);
	buf_puts(&b, "{}");
	assert_int_equal(wire_files(&b, "", &l, &st), -1);
	listing_finish(&l);
	buf_finish(&b);
}

static void
unpacking(void **state)
{
	/* printf hello | gzip -n */
	static const unsigned char packed[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0,
		3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36,
		5, 0, 0, 0 };
	auto_buf out = BUF_INIT(100);
	auto_buf small = BUF_INIT(3);
	struct status st;

	(void)state;
	assert_int_equal(wire_gunzip(&out, packed, sizeof packed, &st), 0);
	assert_string_equal(out.bytes, "hello");
	buf_reset(&out);
	assert_int_equal(wire_gunzip(&out, "plain", 5, &st), 0);
	assert_string_equal(out.bytes, "plain");
	buf_reset(&out);
	assert_int_equal(wire_gunzip(&out, packed, sizeof packed - 6, &st), -1);
	assert_int_equal(st.code, STATUS_IO);
	assert_int_equal(wire_gunzip(&small, packed, sizeof packed, &st), -1);
	assert_int_equal(st.code, STATUS_TOO_BIG);
}

static void
parts(void **state)
{
	static const char a[] = "noise =saf=begin\n\n=saf=begin\n=saf=err "
				"ENOENT\n=saf=x 1 -2 x\nbody\n=saf=xy\n"
				"\n=saf=x 7\nmore\n=saf=end\n";
	struct shell_part p;
	int64_t v[4];

	(void)state;
	assert_true(shell_whole(a, strlen(a)));
	assert_false(shell_whole(a, strlen(a) - 6));
	assert_true(shell_part(a, strlen(a), "err", 0, &p));
	assert_int_equal(shell_errno(p.args, p.args_len), ENOENT);
	assert_true(shell_part(a, strlen(a), "x", 0, &p));
	assert_int_equal(shell_numbers(&p, v, 4), 2);
	assert_int_equal(v[1], -2);
	assert_int_equal(p.body_len, 5);
	assert_memory_equal(p.body, "body\n", 5);
	assert_true(shell_part(a, strlen(a), "x", 1, &p));
	assert_memory_equal(p.body, "more\n", 5);
	assert_false(shell_part(a, strlen(a), "x", 2, &p));
	assert_false(shell_part(a, strlen(a), "none", 0, &p));
}

static int
err(const char *text)
{
	return shell_errno(text, strlen(text));
}

static void
errors(void **state)
{
	(void)state;
	assert_int_equal(err("mv: cannot stat 'a': No such file or directory"),
	    ENOENT);
	assert_int_equal(
	    err("cannot overwrite directory 'd' with non-directory"), EISDIR);
	assert_int_equal(
	    err("cannot overwrite non-directory 'f' with directory 'd'"),
	    ENOTDIR);
	assert_int_equal(
	    err("mv: cannot move 'd' to a subdirectory of itself, 'd/x'"),
	    EINVAL);
	assert_int_equal(err("Directory not empty\n"), ENOTEMPTY);
	assert_int_equal(err("EEXIST"), EEXIST);
	assert_int_equal(err("words"), 0);
	assert_int_equal(err(""), 0);
}

static void
assignments(void **state)
{
	auto_buf b = BUF_INIT(1000);

	(void)state;
	shell_path(&b, "P", "it's");
	shell_path(&b, "Q", "");
	shell_path(&b, "R", "/abs");
	shell_assign(&b, "S", "\xff\n", 2);
	assert_string_equal(b.bytes,
	    "P='/home/daytona/it'\\''s'\nQ='/home/daytona'\nR='/abs'\n"
	    "S=$(printf '%b.' '\\0377\\0012'); S=${S%.}\n");
}

static void
conflict_names(void **state)
{
	char name[256], *p;

	(void)state;
	p = push_conflict_path("d/x", 1);
	assert_string_equal(p, "d/x.conflict");
	free(p);
	p = push_conflict_path("x", 3);
	assert_string_equal(p, "x.conflict-3");
	free(p);
	memset(name, 'n', 255);
	name[255] = '\0';
	p = push_conflict_path(name, 12);
	assert_true(strlen(p) <= 255);
	assert_string_equal(p + strlen(p) - 12, ".conflict-12");
	free(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandboxes),
		cmocka_unit_test(states),
		cmocka_unit_test(requests),
		cmocka_unit_test(executed),
		cmocka_unit_test(faults),
		cmocka_unit_test(rows),
		cmocka_unit_test(files),
		cmocka_unit_test(unpacking),
		cmocka_unit_test(parts),
		cmocka_unit_test(errors),
		cmocka_unit_test(assignments),
		cmocka_unit_test(conflict_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
