/*
 * A seeded exerciser: the same operations on the mirror and on a plain
 * directory, the truth. Results must agree, what is read must agree, and at
 * the end the sandbox must hold the truth, whatever failed on the way: calls
 * that do nothing, pushes whose answer is lost half-way, restarts.
 * MIRROR_SEED and MIRROR_OPS choose a longer run.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "tests/agent/mirror/fake_use.h"
#include "tests/test.h"

#define SIZE_MAX_FILE 70000

struct worker {
	struct world *w;
	char top[16];   /* its directory below the workspace, "" = all */
	char truth[96]; /* the same below the truth */
	unsigned seed;
	unsigned ops;
	bool restarts;
	unsigned done, refused;
	char last[16][200];
	unsigned said;
};

static unsigned
dice(struct worker *k, unsigned n)
{
	k->seed = k->seed * 1103515245U + 12345U;
	return (k->seed >> 16) % n;
}

static void say(struct worker *k, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void
say(struct worker *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->last[k->said++ % 16], 200, fmt, ap);
	va_end(ap);
	if (getenv("MIRROR_SAY"))
		fprintf(stderr, "%s\n", k->last[(k->said - 1) % 16]);
}

static void
mismatch(struct worker *k, const char *what, int got, int want)
{
	fprintf(stderr, "%s: got %d, want %d; before:\n", what, got, want);
	for (unsigned i = k->said > 16 ? k->said - 16 : 0; i < k->said; i++)
		fprintf(stderr, "  %s\n", k->last[i % 16]);
	fprintf(stderr, "clashes %u, rows %zu, log: %s\n",
	    (unsigned)k->w->fake.clashes, fake_store_rows(), k->w->notes);
	fake_store_print();
	abort();
}

/* Failures of the link, not of the operation. */
static bool
link_failed(enum status_code code)
{
	return code == STATUS_UNAVAILABLE || code == STATUS_TIMEOUT;
}

/* Both succeeded or both failed; errno values are compared in simpler tests. */
static void
agree(struct worker *k, const char *what, enum status_code code, int err)
{
	k->done++;
	if ((code == STATUS_OK) != (err == 0))
		mismatch(k, what, (int)code, err);
}

static void
pick_path(struct worker *k, char out[64])
{
	static const char *const names[] = { "a", "b", "c", "d d", "e'\n" };
	unsigned depth = 1 + dice(k, 3);

	out[0] = '\0';
	for (unsigned i = 0; i < depth; i++) {
		size_t len = strlen(out);
		snprintf(out + len, 64 - len, "%s%s", i > 0 ? "/" : "",
		    names[dice(k, ARRAY_SIZE(names))]);
	}
}

static char *
truth_path(struct worker *k, const char *path)
{
	return xasprintf("%s/%s", k->truth, path);
}

static char *
mirror_path(struct worker *k, const char *path)
{
	return *k->top ? xasprintf("%s/%s", k->top, path) : xstrdup(path);
}

/* The directory and the name; a link failure is tried again for a while. */
static enum status_code
find_dir(struct worker *k, const char *path, uint32_t *dir, const char **name)
{
	auto_free char *full = mirror_path(k, path);
	char *slash = strrchr(full, '/');
	const char *part = full;
	enum status_code code = STATUS_OK;

	*dir = MIRROR_ROOT;
	*name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (!slash)
		return STATUS_OK;
	*slash = '\0';
	while (*part && code == STATUS_OK) {
		size_t len = strcspn(part, "/");
		auto_free char *one = xstrndup(part, len);
		uint32_t next = 0;
		code = use_lookup(k->w->m, *dir, one, &next);
		if (code == STATUS_OK)
			mirror_forget(k->w->m, next, 1);
		*dir = next;
		part += len + (part[len] == '/');
	}
	return code;
}

static enum status_code
find(struct worker *k, const char *path, uint32_t *node)
{
	uint32_t dir;
	const char *name;
	enum status_code code = find_dir(k, path, &dir, &name);

	return code ? code : use_lookup(k->w->m, dir, name, node);
}

static void
fill(struct worker *k, char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)('a' + dice(k, 26));
}

/* --- Operations ----------------------------------------------------------- */

static void
do_write(struct worker *k)
{
	char path[64];
	static const int kinds[] = { O_TRUNC, 0, O_APPEND, O_EXCL };
	int flags = kinds[dice(k, 4)];
	size_t len = dice(k, 4) ? dice(k, 100) : dice(k, SIZE_MAX_FILE);
	int64_t off = flags & O_APPEND ? 0 : dice(k, 300);
	auto_free char *bytes = xcalloc(len + 1, 1);
	struct mirror_file *file = NULL;
	uint32_t dir, node = 0;
	const char *name;

	pick_path(k, path);
	fill(k, bytes, len);
	say(k, "write %s flags %x len %zu off %lld", path, (unsigned)flags, len,
	    (long long)off);
	auto_free char *truth = truth_path(k, path);
	enum status_code code = find_dir(k, path, &dir, &name);
	if (!code)
		code = use_create(k->w->m, dir, name, O_RDWR | flags, &file,
		    &node);
	if (link_failed(code))
		return;
	/* The kernel would follow a link: not what is tested. */
	struct stat sb;
	if (lstat(truth, &sb) == 0 && S_ISLNK(sb.st_mode)) {
		if (code == STATUS_OK)
			mismatch(k, "opened a link", 0, ELOOP);
		return;
	}
	auto_fd int fd =
	    open(truth, O_RDWR | O_CREAT | O_NOFOLLOW | flags, 0644);
	agree(k, path, code, fd < 0 ? errno : 0);
	if (!file)
		return;
	ssize_t n = mirror_write(file, bytes, len, off, flags & O_APPEND);
	if (n != (ssize_t)len)
		mismatch(k, "write", (int)n, (int)len);
	if (flags & O_APPEND)
		n = write(fd, bytes, len);
	else
		n = pwrite(fd, bytes, len, off);
	if (dice(k, 2))
		(void)use_flush(file);
	if (dice(k, 20) == 0)
		(void)use_fsync(file);
	mirror_release(file);
	mirror_forget(k->w->m, node, 1);
}

static void
compare_file(struct worker *k, struct mirror_file *file, int fd)
{
	struct stat sb;
	size_t got = 0;

	fstat(fd, &sb);
	auto_free char *want = xcalloc((size_t)sb.st_size + 1, 1);
	if (pread(fd, want, (size_t)sb.st_size, 0) != sb.st_size)
		abort();
	auto_free char *have = use_read(file, 0, 1 << 20, &got);
	if (!have)
		return;
	if (got != (size_t)sb.st_size)
		mismatch(k, "size read", (int)got, (int)sb.st_size);
	if (memcmp(have, want, got) != 0)
		mismatch(k, "bytes read", 0, 0);
}

static void
do_read(struct worker *k)
{
	char path[64];
	struct mirror_file *file = NULL;
	uint32_t node = 0;

	pick_path(k, path);
	say(k, "read %s", path);
	auto_free char *truth = truth_path(k, path);
	struct stat sb;
	enum status_code code = find(k, path, &node);
	if (link_failed(code))
		return;
	agree(k, path, code, lstat(truth, &sb) ? errno : 0);
	if (code)
		return;
	struct mirror_attr attr;
	code = use_getattr(k->w->m, node, &attr);
	if (code == STATUS_OK && (attr.mode & S_IFMT) != (sb.st_mode & S_IFMT))
		mismatch(k, "type", (int)attr.mode, (int)sb.st_mode);
	if (code == STATUS_OK && S_ISREG(sb.st_mode)) {
		if (attr.size != sb.st_size)
			mismatch(k, "size", (int)attr.size, (int)sb.st_size);
		/* After a restart it is known when the pushes are done. */
		if (attr.nlink != sb.st_nlink && !k->restarts)
			mismatch(k, "nlink", (int)attr.nlink, (int)sb.st_nlink);
		if ((attr.mode & 07777) != (sb.st_mode & 07777))
			mismatch(k, "mode", (int)attr.mode, (int)sb.st_mode);
		code = use_open(k->w->m, node, O_RDONLY, &file);
		if (code && !link_failed(code))
			mismatch(k, "open", (int)code, 0);
	}
	if (file) {
		auto_fd int fd = open(truth, O_RDONLY);
		compare_file(k, file, fd);
		mirror_release(file);
	}
	mirror_forget(k->w->m, node, 1);
}

static void
do_mkdir(struct worker *k)
{
	char path[64];
	uint32_t dir, node = 0;
	const char *name;

	pick_path(k, path);
	say(k, "mkdir %s", path);
	auto_free char *truth = truth_path(k, path);
	enum status_code code = find_dir(k, path, &dir, &name);
	if (!code)
		code = use_mkdir(k->w->m, dir, name, &node);
	if (link_failed(code))
		return;
	agree(k, path, code, mkdir(truth, 0755) ? errno : 0);
}

static void
do_remove(struct worker *k, bool is_dir)
{
	char path[64];
	uint32_t dir;
	const char *name;

	pick_path(k, path);
	say(k, "%s %s", is_dir ? "rmdir" : "unlink", path);
	auto_free char *truth = truth_path(k, path);
	enum status_code code = find_dir(k, path, &dir, &name);
	if (!code)
		code = is_dir ? use_rmdir(k->w->m, dir, name)
			      : use_unlink(k->w->m, dir, name);
	if (link_failed(code))
		return;
	int err = is_dir ? rmdir(truth) : unlink(truth);
	agree(k, path, code, err ? errno : 0);
}

static void
do_rename(struct worker *k)
{
	char a[64], b[64];
	uint32_t da, db;
	const char *na, *nb;
	unsigned flags = dice(k, 3) ? 0 : 1 + dice(k, 2);

	pick_path(k, a);
	pick_path(k, b);
	say(k, "rename %s %s %u", a, b, flags);
	auto_free char *ta = truth_path(k, a);
	auto_free char *tb = truth_path(k, b);
	enum status_code code = find_dir(k, a, &da, &na);
	if (!code)
		code = find_dir(k, b, &db, &nb);
	if (!code)
		code = use_rename(k->w->m, da, na, db, nb, flags);
	if (link_failed(code))
		return;
	agree(k, a, code,
	    renameat2(AT_FDCWD, ta, AT_FDCWD, tb, flags) ? errno : 0);
}

static void
do_link(struct worker *k)
{
	char a[64], b[64];
	uint32_t node, dir;
	const char *name;

	pick_path(k, a);
	pick_path(k, b);
	say(k, "link %s %s", a, b);
	auto_free char *ta = truth_path(k, a);
	auto_free char *tb = truth_path(k, b);
	enum status_code code = find(k, a, &node);
	if (!code)
		code = find_dir(k, b, &dir, &name);
	if (!code)
		code = use_link(k->w->m, node, dir, name);
	if (link_failed(code))
		return;
	agree(k, a, code, link(ta, tb) ? errno : 0);
}

static void
do_symlink(struct worker *k)
{
	char path[64];
	uint32_t dir;
	const char *name;

	pick_path(k, path);
	say(k, "symlink %s", path);
	auto_free char *truth = truth_path(k, path);
	enum status_code code = find_dir(k, path, &dir, &name);
	if (!code)
		code = use_symlink(k->w->m, dir, name, "no where");
	if (link_failed(code))
		return;
	agree(k, path, code, symlink("no where", truth) ? errno : 0);
}

static void
do_setattr(struct worker *k)
{
	char path[64];
	uint32_t node;
	struct stat sb;
	int what = 1 << dice(k, 3);
	mode_t mode = 0600 | dice(k, 0200);
	int64_t size = dice(k, 200);
	struct timespec times[2] = { { 1000 + dice(k, 1000), 0 },
		{ 2000 + dice(k, 1000), 123456000 } };

	pick_path(k, path);
	say(k, "setattr %s %d", path, what);
	auto_free char *truth = truth_path(k, path);
	enum status_code code = find(k, path, &node);
	if (link_failed(code) || lstat(truth, &sb) || S_ISLNK(sb.st_mode) ||
	    (S_ISDIR(sb.st_mode) && what == MIRROR_SET_SIZE))
		return;
	if (what == MIRROR_SET_MODE && S_ISDIR(sb.st_mode))
		mode |= 0700;
	if (!code)
		code = use_setattr(k->w->m, node, what, mode, size, times);
	if (link_failed(code))
		return;
	int err = what == MIRROR_SET_MODE ? chmod(truth, mode)
	    : what == MIRROR_SET_SIZE     ? truncate(truth, size)
				      : utimensat(AT_FDCWD, truth, times, 0);
	agree(k, path, code, err ? errno : 0);
}

/* The agent: what it sees is the truth, what it makes is seen. */
static void
do_exec(struct worker *k)
{
	char path[64];
	struct status st;
	struct exec_result result = { .output = BUF_INIT((size_t)1 << 20) };
	struct buf command = BUF_INIT(4096);

	pick_path(k, path);
	say(k, "exec in %s", path);
	auto_free char *full = mirror_path(k, path);
	buf_puts(&command, "f=");
	buf_shell_quote(&command, full, strlen(full));
	buf_puts(&command,
	    "; if [ -f \"$f\" ] && [ ! -L \"$f\" ]; then"
	    " echo agent >> \"$f\"; elif [ -d \"$f\" ]; then"
	    " rm -rf \"$f/a\"; mkdir \"$f/b\" 2>/dev/null; true; fi");
	struct exec_request request = { .command = command.bytes };
	if (mirror_exec(k->w->m, &request, &result, NULL, &st) == 0) {
		auto_free char *truth =
		    xasprintf("cd '%s' && { %s\n}", k->truth, command.bytes);
		char *line = truth;
		/* The truth has no directories of workers. */
		auto_free char *own = NULL;
		if (*k->top) {
			own = xasprintf("cd '%s/..' && { %s\n}", k->truth,
			    command.bytes);
			line = own;
		}
		if (system(line))
			abort();
	}
	buf_finish(&command);
	buf_finish(&result.output);
}

static void
do_list(struct worker *k)
{
	char path[64];

	pick_path(k, path);
	auto_free char *truth = truth_path(k, path);
	struct stat sb;
	if (lstat(truth, &sb) || !S_ISDIR(sb.st_mode))
		return;
	say(k, "ls %s", path);
	auto_free char *full = mirror_path(k, path);
	auto_free char *have = use_ls(k->w->m, full);
	if (*have == '(')
		return;
	struct buf want = BUF_INIT(4096);
	static const char *const names[] = { "a", "b", "c", "d d", "e'\n" };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *one = xasprintf("%s/%s", truth, names[i]);
		if (lstat(one, &sb) == 0)
			buf_printf(&want, "%s%s", want.len ? " " : "",
			    names[i]);
	}
	if (strcmp(have, want.bytes) != 0) {
		fprintf(stderr, "[%s] [%s]\n", have, want.bytes);
		mismatch(k, "listing", 0, 0);
	}
	buf_finish(&want);
}

static void
do_restart(struct worker *k)
{
	say(k, "restart");
	world_stop(k->w, 0);
	if (getenv("MIRROR_SAY"))
		fake_store_print();
	world_start(k->w);
}

static void
one(struct worker *k)
{
	unsigned n = dice(k, 100);

	if (n < 22)
		do_write(k);
	else if (n < 42)
		do_read(k);
	else if (n < 52)
		do_mkdir(k);
	else if (n < 58)
		do_remove(k, false);
	else if (n < 62)
		do_remove(k, true);
	else if (n < 74)
		do_rename(k);
	else if (n < 78)
		do_link(k);
	else if (n < 81)
		do_symlink(k);
	else if (n < 87)
		do_setattr(k);
	else if (n < 90)
		do_exec(k);
	else if (n < 98)
		do_list(k);
	else if (n < 99)
		mirror_forget_listings(k->w->m);
	else if (k->restarts)
		do_restart(k);
}

static void *
work(void *arg)
{
	struct worker *k = arg;

	for (unsigned i = 0; i < k->ops; i++)
		one(k);
	return NULL;
}

static unsigned
from_env(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* The sandbox holds what the truth holds, types, modes and bytes. */
static void
compare_trees(struct world *w, const char *truth)
{
	struct status st;

	w->fake.fail_before = w->fake.fail_after = 0;
	w->fake.delay_ms = 0;
	for (int i = 0; mirror_barrier(w->m, NULL, &st); i++)
		if (i > 20)
			fail_msg("barrier: %s", st.text);
	auto_free char *line = xasprintf(
	    "diff -r --no-dereference '%s' '%s' && "
	    "(cd '%s' && find . -printf '%%y %%m %%n %%p\\n' | sed 1d | sort)"
	    " > '%s/1'; (cd '%s' && find . -printf '%%y %%m %%n %%p\\n' |"
	    " sed 1d | sort) > '%s/2'; diff '%s/1' '%s/2'",
	    truth, w->fake.home, truth, w->dir, w->fake.home, w->dir, w->dir,
	    w->dir);
	assert_int_equal(system(line), 0);
	struct mirror_view view;
	mirror_view(w->m, &view);
	assert_int_equal(view.queued, 0);
	assert_int_equal(w->fake.clashes, 0);
	assert_null(strstr(w->notes, "changed in the sandbox"));
}

static void
run(unsigned seed, unsigned ops, bool failures, bool restarts)
{
	struct world w;

	world_init(&w);
	auto_free char *truth = xasprintf("%s/truth", w.dir);
	mkdir(truth, 0755);
	if (failures) {
		w.fake.fail_before = 10;
		w.fake.fail_after = 15;
		w.fake.delay_ms = 2;
	}
	w.fake.seed = seed;
	struct worker k = { .w = &w,
		.seed = seed,
		.ops = ops,
		.restarts = restarts };
	snprintf(k.truth, sizeof k.truth, "%s", truth);
	(void)work(&k);
	compare_trees(&w, truth);
	world_finish(&w);
}

static void
test_alone(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		run(from_env("MIRROR_SEED", 1) + i,
		    from_env("MIRROR_OPS", 3000), false, false);
}

static void
test_restarts(void **state)
{
	(void)state;
	run(from_env("MIRROR_SEED", 1) + 100, from_env("MIRROR_OPS", 2000),
	    false, true);
}

static void
test_failures(void **state)
{
	(void)state;
	run(from_env("MIRROR_SEED", 1) + 200, from_env("MIRROR_OPS", 3000) / 10,
	    true, false);
}

static void
test_failures_and_restarts(void **state)
{
	(void)state;
	run(from_env("MIRROR_SEED", 1) + 400, from_env("MIRROR_OPS", 3000) / 10,
	    true, true);
}

static void
test_side_by_side(void **state)
{
	struct world w;
	struct worker k[4];
	pthread_t t[4];

	(void)state;
	world_init(&w);
	auto_free char *truth = xasprintf("%s/truth", w.dir);
	mkdir(truth, 0755);
	w.fake.delay_ms = 3;
	for (unsigned i = 0; i < 4; i++) {
		k[i] = (struct worker){ .w = &w,
			.seed = from_env("MIRROR_SEED", 1) + 300 + i,
			.ops = from_env("MIRROR_OPS", 2000) / 4 };
		snprintf(k[i].top, sizeof k[i].top, "w%u", i);
		snprintf(k[i].truth, sizeof k[i].truth, "%s/w%u", truth, i);
		mkdir(k[i].truth, 0755);
		uint32_t node;
		assert_int_equal(use_mkdir(w.m, 1, k[i].top, &node), STATUS_OK);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, &k[i]);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	compare_trees(&w, truth);
	world_finish(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_failures_and_restarts),
		cmocka_unit_test(test_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
