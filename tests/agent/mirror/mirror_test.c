/* The mirror over a fake sandbox: what fs and the tools see, what arrives. */
#include "agent/mirror/mirror.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "tests/agent/mirror/fake_use.h"
#include "tests/test.h"

#define assert_ok(call) assert_int_equal(call, STATUS_OK)

static void
assert_text(char *got, const char *want)
{
	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
}

static void
test_looking(void **state)
{
	struct world w;
	struct mirror_attr attr;

	(void)state;
	world_init(&w);
	world_sh(&w, "mkdir -p a/b .venv/lib && echo hi > a/b/f && ln -s a l");
	assert_text(use_ls(w.m, ""), ".venv a l");
	assert_text(use_ls(w.m, "a/b"), "f");
	assert_text(use_cat(w.m, "a/b/f"), "hi\n");
	assert_int_equal(w.fake.lists, 1);
	/* Heavy directories come when they are looked into. */
	assert_text(use_ls(w.m, ".venv"), "lib");
	assert_int_equal(w.fake.lists, 2);
	uint32_t f = use_path(w.m, "a/b/f");
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.size, 3);
	assert_int_equal(attr.blocks, 1);
	assert_true(S_ISREG(attr.mode));
	/* A name that is not there: no request while the listing is new. */
	uint32_t none;
	assert_int_equal(use_lookup(w.m, MIRROR_ROOT, "x", &none),
	    STATUS_NOT_FOUND);
	assert_int_equal(w.fake.lists, 2);
	/* Behind our back, a second later. */
	world_put(&w, "a/b/f", "changed");
	world_put(&w, "new", "1");
	use_sleep(1100);
	assert_text(use_cat(w.m, "a/b/f"), "changed");
	assert_text(use_cat(w.m, "new"), "1");
	world_sh(&w, "rm -r a");
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), ".venv l new");
	world_finish(&w);
}

static void
test_writing(void **state)
{
	struct world w;
	struct status st;
	uint32_t d;

	(void)state;
	world_init(&w);
	assert_ok(use_mkdir(w.m, MIRROR_ROOT, "d", &d));
	assert_int_equal(use_mkdir(w.m, MIRROR_ROOT, "d", &d), STATUS_EXISTS);
	assert_ok(use_write(w.m, "d/f", "one"));
	assert_text(use_cat(w.m, "d/f"), "one");
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "d/f"), "one");
	assert_int_equal(w.fake.downloads, 0);
	assert_int_equal(w.fake.pushes, 1);
	assert_ok(use_write(w.m, "d/f", "three"));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "d/f"), "three");
	assert_int_equal(w.fake.clashes, 0);
	/* Pushed by itself within 200 ms. */
	assert_ok(use_write(w.m, "d/g", "soon"));
	use_sleep(2000);
	assert_text(world_get(&w, "d/g"), "soon");
	use_sleep(1000);
	assert_int_equal(fake_store_rows(), 0);
	world_finish(&w);
}

static void
test_comes_and_goes(void **state)
{
	struct world w;
	struct status st;

	(void)state;
	world_init(&w);
	assert_text(use_ls(w.m, ""), "");
	for (int i = 0; i < 20; i++) {
		assert_ok(use_write(w.m, "t", "x"));
		assert_ok(use_unlink(w.m, MIRROR_ROOT, "t"));
	}
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(use_ls(w.m, ""), "");
	assert_null(world_get(&w, "t"));
	/* Most of them never leave; a slow machine may push one in between. */
	assert_true(w.fake.pushes < 20);
	world_finish(&w);
}

static void
test_renames(void **state)
{
	struct world w;
	struct status st;
	uint32_t d, a, again;

	(void)state;
	world_init(&w);
	world_sh(&w, "echo old > a; echo b > b; mkdir e; echo in > e/f");
	assert_text(use_ls(w.m, ""), "a b e");
	a = use_path(w.m, "b");
	/* How editors save. */
	assert_ok(use_write(w.m, "a.tmp", "new"));
	assert_ok(use_rename(w.m, 1, "a.tmp", 1, "a", 0));
	assert_text(use_cat(w.m, "a"), "new");
	assert_int_equal(use_rename(w.m, 1, "a", 1, "b", 1), STATUS_EXISTS);
	assert_ok(use_rename(w.m, 1, "a", 1, "b", 2));
	assert_text(use_cat(w.m, "a"), "b\n");
	assert_text(use_cat(w.m, "b"), "new");
	assert_ok(use_lookup(w.m, 1, "a", &again));
	assert_int_equal(a, again);
	assert_ok(use_mkdir(w.m, 1, "d", &d));
	assert_ok(use_rename(w.m, 1, "e", d, "e2", 0));
	assert_text(use_ls(w.m, "d/e2"), "f");
	/* Its bytes are still at the old place. */
	assert_text(use_cat(w.m, "d/e2/f"), "in\n");
	assert_int_equal(use_rename(w.m, 1, "d", d, "x", 0), STATUS_INVALID);
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "a"), "b\n");
	assert_text(world_get(&w, "b"), "new");
	assert_text(world_get(&w, "d/e2/f"), "in\n");
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), "a b d");
	assert_text(use_cat(w.m, "b"), "new");
	assert_string_equal(w.notes, "");
	world_finish(&w);
}

static void
test_attributes(void **state)
{
	struct world w;
	struct mirror_attr attr;
	struct mirror_file *file;
	struct status st;
	uint32_t f;
	struct timespec times[2] = { { 1420070400, 123456789 },
		{ 1420070400, 123456789 } };
	struct stat sb;

	(void)state;
	world_init(&w);
	/* Times set after writing and before close win. */
	assert_ok(use_create(w.m, 1, "f", O_RDWR, &file, &f));
	assert_int_equal(mirror_write(file, "data", 4, 0, false), 4);
	assert_ok(use_setattr(w.m, f, MIRROR_SET_TIMES, 0, 0, times));
	assert_ok(use_setattr(w.m, f, MIRROR_SET_MODE, 0600, 0, NULL));
	assert_ok(use_flush(file));
	mirror_release(file);
	assert_ok(mirror_barrier(w.m, NULL, &st));
	auto_free char *path = xasprintf("%s/f", w.fake.home);
	assert_int_equal(lstat(path, &sb), 0);
	assert_int_equal(sb.st_mtim.tv_sec, 1420070400);
	assert_int_equal(sb.st_mtim.tv_nsec, 123456789);
	assert_int_equal(sb.st_mode & 0777, 0600);
	use_sleep(1100);
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.mtime.tv_sec, 1420070400);
	uint64_t ino = attr.ino;
	/* Later, each alone. */
	times[1].tv_sec = -315619200;
	assert_ok(use_setattr(w.m, f, MIRROR_SET_TIMES, 0, 0, times));
	assert_ok(use_setattr(w.m, f, MIRROR_SET_MODE, 0755, 0, NULL));
	assert_ok(use_setattr(w.m, f, MIRROR_SET_SIZE, 0, 2, NULL));
	assert_ok(use_setattr(w.m, f, MIRROR_SET_SIZE, 0, 4, NULL));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_int_equal(lstat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0755);
	assert_int_equal(sb.st_size, 4);
	use_sleep(1100);
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.ino, ino);
	assert_int_equal(attr.size, 4);
	assert_text(use_cat(w.m, "f"), "da");
	assert_int_equal(w.fake.clashes, 0);
	world_finish(&w);
}

static void
test_links(void **state)
{
	struct world w;
	struct mirror_attr attr;
	struct status st;
	char text[4096];

	(void)state;
	world_init(&w);
	assert_ok(use_write(w.m, "f", "x"));
	uint32_t f = use_path(w.m, "f");
	assert_ok(use_link(w.m, f, 1, "g"));
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.nlink, 2);
	assert_int_equal(use_path(w.m, "g"), f);
	assert_ok(use_symlink(w.m, 1, "s", "f"));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), "f g s");
	assert_int_equal(use_path(w.m, "g"), f);
	assert_ok(use_write(w.m, "g", "both"));
	assert_text(use_cat(w.m, "f"), "both");
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "f"), "both");
	assert_ok(use_unlink(w.m, 1, "f"));
	assert_text(use_cat(w.m, "g"), "both");
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_null(world_get(&w, "f"));
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.nlink, 1);
	assert_ok(use_readlink(w.m, use_path(w.m, "s"), text));
	assert_string_equal(text, "f");
	world_finish(&w);
}

static void
test_unlinked_while_open(void **state)
{
	struct world w;
	struct mirror_file *file;
	struct status st;
	uint32_t d, f;
	size_t got;

	(void)state;
	world_init(&w);
	assert_ok(use_mkdir(w.m, 1, "d", &d));
	assert_ok(use_create(w.m, d, "t", O_RDWR, &file, &f));
	assert_int_equal(mirror_write(file, "abc", 3, 0, false), 3);
	assert_ok(use_unlink(w.m, d, "t"));
	assert_int_equal(mirror_write(file, "def", 3, 0, true), 3);
	assert_text(use_read(file, 0, 100, &got), "abcdef");
	assert_ok(use_flush(file));
	mirror_release(file);
	assert_ok(use_rmdir(w.m, 1, "d"));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(use_ls(w.m, ""), "");
	/* Renamed over: the old handle reads the old bytes. */
	assert_ok(use_write(w.m, "a", "old"));
	assert_ok(use_write(w.m, "b", "new"));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_ok(use_open(w.m, use_path(w.m, "a"), O_RDONLY, &file));
	assert_ok(use_rename(w.m, 1, "b", 1, "a", 0));
	assert_text(use_read(file, 0, 100, &got), "old");
	assert_text(use_cat(w.m, "a"), "new");
	mirror_release(file);
	/* Replaced in the sandbox: likewise. */
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_ok(use_open(w.m, use_path(w.m, "a"), O_RDONLY, &file));
	world_sh(&w, "echo theirs > x && mv x a");
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), "a");
	assert_text(use_cat(w.m, "a"), "theirs\n");
	assert_text(use_read(file, 0, 100, &got), "new");
	mirror_release(file);
	world_finish(&w);
}

static void
test_growing(void **state)
{
	struct world w;
	struct mirror_file *file;
	struct mirror_attr attr;
	size_t got;

	(void)state;
	world_init(&w);
	world_put(&w, "log", "one\n");
	uint32_t f = use_path(w.m, "log");
	assert_ok(use_open(w.m, f, O_RDONLY, &file));
	assert_text(use_read(file, 0, 100, &got), "one\n");
	world_sh(&w, "echo two >> log");
	use_sleep(1100);
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(attr.size, 8);
	assert_text(use_read(file, 4, 100, &got), "two\n");
	mirror_release(file);
	world_finish(&w);
}

static void
test_clash(void **state)
{
	struct world w;
	struct mirror_file *file;
	struct status st;

	(void)state;
	world_init(&w);
	world_put(&w, "f", "base");
	assert_ok(use_open(w.m, use_path(w.m, "f"), O_RDWR, &file));
	assert_int_equal(mirror_write(file, "ours", 4, 0, false), 4);
	world_put(&w, "f", "theirs!");
	assert_ok(use_fsync(file));
	assert_text(world_get(&w, "f"), "theirs!");
	assert_text(world_get(&w, "f.conflict"), "ours");
	/* What is written on goes there too. */
	assert_int_equal(mirror_write(file, "OURS", 4, 0, false), 4);
	assert_ok(use_flush(file));
	mirror_release(file);
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "f.conflict"), "OURS");
	assert_text(use_ls(w.m, ""), "f f.conflict");
	assert_text(use_cat(w.m, "f"), "theirs!");
	assert_text(use_cat(w.m, "f.conflict"), "OURS");
	assert_non_null(strstr(w.notes, "f.conflict"));
	assert_int_equal(w.fake.clashes, 1);
	world_finish(&w);
}

static void
test_exec(void **state)
{
	struct world w;
	struct status st;
	struct mirror_file *file;
	uint32_t f;
	struct exec_request request = { .command =
					    "cat f; echo made > g; rm -f f",
		.id = "1" };
	struct exec_result result = { .output = BUF_INIT(1000) };

	(void)state;
	world_init(&w);
	assert_text(use_ls(w.m, ""), "");
	/* An open file that is not flushed is seen, too. */
	assert_ok(use_create(w.m, 1, "f", O_RDWR, &file, &f));
	assert_int_equal(mirror_write(file, "dirty", 5, 0, false), 5);
	assert_int_equal(mirror_exec(w.m, &request, &result, NULL, &st), 0);
	assert_string_equal(result.output.bytes, "dirty");
	unsigned lists = w.fake.lists;
	assert_text(use_ls(w.m, ""), "g");
	assert_text(use_cat(w.m, "g"), "made\n");
	assert_int_equal(w.fake.lists, lists);
	mirror_release(file);
	buf_finish(&result.output);
	world_finish(&w);
}

static void
test_paths_of_tools(void **state)
{
	struct world w;
	struct status st;
	struct mirror_attr attr;
	struct mirror_dir *dir;
	auto_buf text = BUF_INIT(100);
	const char *name;

	(void)state;
	world_init(&w);
	world_sh(&w,
	    "mkdir -p a/b && ln -s /home/daytona/a/b abs && "
	    "ln -s /etc/passwd out && ln -s ../../.. up && "
	    "ln -s loop loop && echo hi > a/b/f");
	assert_ok(mirror_read_file(w.m, "abs/f", &text, NULL, &st));
	assert_string_equal(text.bytes, "hi\n");
	assert_int_equal(mirror_read_file(w.m, "out", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_int_equal(mirror_read_file(w.m, "up/etc", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_int_equal(mirror_read_file(w.m, "../x", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_int_equal(mirror_read_file(w.m, "loop", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_INVALID);
	assert_int_equal(mirror_read_file(w.m, "none", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
	assert_ok(mirror_write_file(w.m, "n/m/o.txt", "abc", 3, NULL, &st));
	assert_text(world_get(&w, "n/m/o.txt"), "abc");
	assert_ok(mirror_write_file(w.m, "abs/f", "replaced", 8, NULL, &st));
	assert_text(world_get(&w, "a/b/f"), "replaced");
	assert_int_equal(mirror_write_file(w.m, "a", "x", 1, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_IS_DIR);
	assert_ok(mirror_stat(w.m, "out", &attr, NULL, &st));
	assert_true(S_ISLNK(attr.mode));
	assert_ok(mirror_list(w.m, "abs", &dir, NULL, &st));
	assert_true(mirror_dir_entry(dir, 0, &name, &attr));
	assert_string_equal(name, "f");
	assert_false(mirror_dir_entry(dir, 1, &name, &attr));
	mirror_closedir(dir);
	buf_reset(&text);
	text.max = 4;
	assert_int_equal(mirror_read_file(w.m, "abs/f", &text, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_TOO_BIG);
	world_finish(&w);
}

static void
test_large(void **state)
{
	struct world w;
	struct done_call c;
	size_t size = (size_t)20 << 20, got;
	auto_free char *want = xcalloc(size, 1);

	(void)state;
	world_init(&w);
	for (size_t i = 0; i < size; i++)
		want[i] = (char)(i * 2654435761U >> 24);
	auto_free char *path = xasprintf("%s/big", w.fake.home);
	auto_fd int fd = open(path, O_RDWR | O_CREAT, 0644);
	assert_int_equal(write_all(fd, want, size), 0);
	uint32_t f = use_path(w.m, "big");
	call_init(&c);
	mirror_open(w.m, f, O_RDONLY, &c.call);
	assert_ok(call_wait(&c));
	assert_true(c.call.direct_io);
	struct mirror_file *file = c.call.file;
	auto_free char *mid = use_read(file, 12345678, 1000, &got);
	assert_int_equal(got, 1000);
	assert_memory_equal(mid, want + 12345678, 1000);
	for (size_t at = 0; at < size; at += got) {
		auto_free char *piece =
		    use_read(file, (int64_t)at, 131072, &got);
		assert_non_null(piece);
		assert_true(got > 0);
		assert_memory_equal(piece, want + at, got);
	}
	auto_free char *end = use_read(file, (int64_t)size, 10, &got);
	assert_int_equal(got, 0);
	mirror_release(file);
	assert_true(w.fake.downloads < 20);
	/* Whole now: an ordinary file. */
	use_sleep(200);
	unsigned before = w.fake.downloads;
	call_init(&c);
	mirror_open(w.m, f, O_RDWR, &c.call);
	assert_ok(call_wait(&c));
	assert_false(c.call.direct_io);
	assert_int_equal(w.fake.downloads, before);
	mirror_release(c.call.file);
	world_finish(&w);
}

static void
test_stopped_and_absent(void **state)
{
	struct world w;
	struct mirror_attr attr;
	uint32_t f;

	(void)state;
	world_init(&w);
	world_put(&w, "f", "text");
	assert_text(use_cat(w.m, "f"), "text");
	w.fake.state = FAKE_STOPPED;
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), "f");
	assert_text(use_cat(w.m, "f"), "text");
	f = use_path(w.m, "f");
	assert_ok(use_getattr(w.m, f, &attr));
	assert_int_equal(w.fake.state, FAKE_STOPPED);
	/* A push starts it. */
	assert_ok(use_write(w.m, "g", "x"));
	use_sleep(500);
	assert_int_equal(w.fake.state, FAKE_RUNNING);
	world_sh(&w, "rm -f f g");
	w.fake.state = FAKE_ABSENT;
	use_sleep(1100);
	assert_text(use_ls(w.m, ""), "");
	assert_int_equal(w.fake.state, FAKE_ABSENT);
	mirror_sandbox_gone(w.m);
	assert_text(use_ls(w.m, ""), "");
	assert_int_equal(use_lookup(w.m, 1, "f", &f), STATUS_NOT_FOUND);
	world_finish(&w);
}

static void
test_waits_end(void **state)
{
	struct world w;
	struct done_call c, d;
	struct status st;

	(void)state;
	world_init(&w);
	w.fake.hang = true;
	call_init(&c);
	mirror_opendir(w.m, 1, &c.call);
	call_init(&d);
	d.call.deadline = clock_mono_ms() + 300;
	mirror_opendir(w.m, 1, &d.call);
	int64_t before = clock_mono_ms();
	assert_int_equal(call_wait(&d), STATUS_TIMEOUT);
	assert_true(clock_mono_ms() - before < 1000);
	mirror_call_cancel(w.m, &c.call);
	assert_int_equal(call_wait(&c), STATUS_CANCELED);
	mirror_call_cancel(w.m, &c.call);
	/* The blocking face hears its token. */
	struct cancel *token = cancel_create(NULL);
	cancel_fire(token);
	struct mirror_dir *dir;
	assert_int_equal(mirror_list(w.m, "", &dir, token, &st), -1);
	assert_int_equal(st.code, STATUS_CANCELED);
	cancel_put(token);
	w.fake.hang = false;
	use_sleep(100);
	assert_text(use_ls(w.m, ""), "");
	world_finish(&w);
}

static void
test_refused(void **state)
{
	struct world w;
	struct mirror_view view;
	struct mirror_file *file;
	struct status st;
	uint32_t f;

	(void)state;
	world_init(&w);
	w.fake.refuse = "f";
	assert_ok(use_create(w.m, 1, "full", O_WRONLY, &file, &f));
	assert_int_equal(mirror_write(file, "x", 1, 0, false), 1);
	assert_ok(use_flush(file));
	assert_ok(use_write(w.m, "other", "y"));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "other"), "y");
	mirror_view(w.m, &view);
	assert_int_equal(view.queued, 1);
	assert_int_equal(view.failed, 1);
	assert_string_equal(view.failed_path, "full");
	assert_string_equal(w.notes, "push of full failed: no space left\n");
	/* Reported once. */
	assert_int_equal(use_flush(file), STATUS_NO_SPACE);
	assert_ok(use_flush(file));
	/* What depends on it waits; more writing tries again. */
	assert_ok(use_rename(w.m, 1, "full", 1, "fine", 0));
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_null(world_get(&w, "fine"));
	w.fake.refuse = NULL;
	assert_int_equal(mirror_write(file, "z", 1, 1, false), 1);
	assert_ok(use_flush(file));
	mirror_release(file);
	assert_text(use_cat(w.m, "fine"), "xz");
	world_finish(&w);
}

static void
test_commit_fails(void **state)
{
	struct world w;
	struct mirror_file *file;
	uint32_t f;

	(void)state;
	world_init(&w);
	assert_text(use_ls(w.m, ""), "");
	w.fake.hang = true;
	fake_store_break(true);
	assert_ok(use_create(w.m, 1, "f", O_WRONLY, &file, &f));
	assert_int_equal(mirror_write(file, "x", 1, 0, false), 1);
	assert_int_equal(use_flush(file), STATUS_NO_SPACE);
	fake_store_break(false);
	assert_ok(use_flush(file));
	assert_int_equal(fake_store_rows(), 1);
	mirror_release(file);
	world_finish(&w);
}

static void
test_recovery(void **state)
{
	struct world w;
	struct status st;
	uint32_t d, e;

	(void)state;
	world_init(&w);
	world_sh(&w, "echo old > old; echo gone > gone; mkdir x");
	assert_text(use_ls(w.m, ""), "gone old x");
	w.fake.hang = true;
	assert_ok(use_mkdir(w.m, 1, "d", &d));
	assert_ok(use_mkdir(w.m, d, "e", &e));
	assert_ok(use_write(w.m, "d/e/f", "content"));
	assert_ok(use_write(w.m, "old", "newer"));
	assert_ok(use_rename(w.m, 1, "old", 1, "moved", 0));
	assert_ok(use_unlink(w.m, 1, "gone"));
	assert_ok(use_rmdir(w.m, 1, "x"));
	assert_ok(use_symlink(w.m, d, "s", "e/f"));
	world_stop(&w, 0);
	assert_true(fake_store_rows() > 0);
	w.fake.hang = false;
	w.fake.delay_ms = 300;
	world_start(&w);
	/* Seen before it is pushed. */
	assert_text(use_cat(w.m, "d/e/f"), "content");
	assert_text(use_cat(w.m, "moved"), "newer");
	assert_text(use_ls(w.m, ""), "d moved");
	assert_ok(mirror_barrier(w.m, NULL, &st));
	assert_text(world_get(&w, "d/e/f"), "content");
	assert_text(world_get(&w, "moved"), "newer");
	assert_null(world_get(&w, "old"));
	assert_null(world_get(&w, "gone"));
	use_sleep(1500);
	assert_text(use_ls(w.m, ""), "d moved");
	assert_text(use_ls(w.m, "d"), "e s");
	assert_int_equal(fake_store_rows(), 0);
	assert_int_equal(w.fake.clashes, 0);
	world_finish(&w);
}

static void
test_marked(void **state)
{
	struct world w;
	uint32_t d;

	(void)state;
	world_init(&w);
	world_sh(&w, "mkdir d && echo x > d/f");
	assert_text(use_ls(w.m, "d"), "f");
	d = use_path(w.m, "d");
	mirror_set_marked(w.m, true);
	unsigned lists = w.fake.lists;
	use_sleep(1100);
	assert_text(use_ls(w.m, "d"), "f");
	assert_ok(use_unlink(w.m, d, "f"));
	assert_ok(use_rmdir(w.m, 1, "d"));
	use_sleep(400);
	assert_int_equal(w.fake.lists, lists);
	assert_int_equal(w.fake.pushes, 0);
	assert_text(world_get(&w, "d/f"), "x\n");
	mirror_set_marked(w.m, false);
	use_sleep(500);
	assert_null(world_get(&w, "d/f"));
	mirror_discard(w.m);
	world_finish(&w);
}

static void
test_many(void **state)
{
	struct world w;

	(void)state;
	world_init(&w);
	world_sh(&w, "mkdir d && cd d && seq 1 20000 | xargs touch");
	auto_free char *all = use_ls(w.m, "d");
	size_t names = 1;
	for (const char *p = all; *p; p++)
		names += *p == ' ';
	assert_int_equal(names, 20000);
	int64_t before = clock_mono_ms();
	for (int i = 0; i < 20000; i++) {
		char name[16];
		uint32_t node;
		snprintf(name, sizeof name, "%d", i + 1);
		assert_ok(use_lookup(w.m, use_path(w.m, "d"), name, &node));
	}
	assert_true(clock_mono_ms() - before < 10000);
	world_finish(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_looking),
		cmocka_unit_test(test_writing),
		cmocka_unit_test(test_comes_and_goes),
		cmocka_unit_test(test_renames),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_unlinked_while_open),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_clash),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_paths_of_tools),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_stopped_and_absent),
		cmocka_unit_test(test_waits_end),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_commit_fails),
		cmocka_unit_test(test_recovery),
		cmocka_unit_test(test_marked),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
