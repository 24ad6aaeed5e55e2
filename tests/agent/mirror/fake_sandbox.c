/* A sandbox that is a directory of this machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "tests/agent/mirror/fake.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
fake_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
fake_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

struct sandbox *
fake_sandbox(struct fake *f)
{
	return (struct sandbox *)f;
}

static struct fake *
fake_of(struct sandbox *sb)
{
	return (struct fake *)sb;
}

static bool
dice(struct fake *f, unsigned percent)
{
	f->seed = f->seed * 1103515245U + 12345U;
	return (f->seed >> 16) % 100 < percent;
}

/* What every call begins with; leaves with the lock held on success. */
static int
begin(struct fake *f, enum sandbox_want want, struct cancel *c,
    struct status *st)
{
	wait_point();
	fake_lock();
	bool hang = f->hang;
	unsigned delay = f->delay_ms;
	fake_unlock();
	if (hang || delay > 0)
		cancel_sleep(c, hang ? 600000 : delay);
	if (cancel_fired(c))
		return status_set(st, STATUS_CANCELED, "cancelled");
	fake_lock();
	if (dice(f, f->fail_before)) {
		fake_unlock();
		return status_set(st, STATUS_UNAVAILABLE, "no connection");
	}
	if (f->state == FAKE_ABSENT && want != SANDBOX_CREATE) {
		fake_unlock();
		return status_set(st, STATUS_NOT_FOUND, "no sandbox");
	}
	if (f->state == FAKE_STOPPED && want == SANDBOX_LOOK) {
		fake_unlock();
		return status_set(st, STATUS_UNAVAILABLE, "stopped");
	}
	f->state = FAKE_RUNNING;
	return 0;
}

static char *
full(const struct fake *f, const char *path)
{
	if (*path == '/')
		return xstrdup(path);
	return *path ? xasprintf("%s/%s", f->home, path) : xstrdup(f->home);
}

static void
fill_version(struct file_version *v, const struct stat *sb)
{
	v->ino = sb->st_ino;
	v->size = sb->st_size;
	v->mtime = sb->st_mtim;
	v->ctime = sb->st_ctim;
}

static void
fill_entry(struct remote_entry *e, const struct stat *sb)
{
	e->mode = sb->st_mode;
	e->uid = sb->st_uid;
	e->gid = sb->st_gid;
	e->nlink = sb->st_nlink;
	fill_version(&e->version, sb);
}

static bool
heavy(const char *name)
{
	return strcmp(name, ".venv") == 0 || strcmp(name, ".cache") == 0;
}

static void
list_dir(const struct fake *f, struct listing *l, const char *path, bool deep)
{
	auto_free char *dir = full(f, path);
	DIR *d = opendir(dir);
	struct dirent *de;

	if (!d)
		return;
	while ((de = readdir(d))) {
		struct stat sb;
		char target[4096];
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    fstatat(dirfd(d), de->d_name, &sb, AT_SYMLINK_NOFOLLOW))
			continue;
		char *sub = *path ? xasprintf("%s/%s", path, de->d_name)
				  : xstrdup(de->d_name);
		char *to = NULL;
		if (S_ISLNK(sb.st_mode)) {
			ssize_t n = readlinkat(dirfd(d), de->d_name, target,
			    sizeof target);
			to = xstrndup(target, n > 0 ? (size_t)n : 0);
		}
		auto_free char *again = xstrdup(sub);
		struct remote_entry *e = listing_add(l, sub, to);
		fill_entry(e, &sb);
		if (!S_ISDIR(sb.st_mode))
			continue;
		e->unlisted = !deep || heavy(de->d_name);
		if (!e->unlisted)
			list_dir(f, l, again, deep);
	}
	closedir(d);
}

static int
make_listing(const struct fake *f, const char *path, bool deep,
    struct listing *out, struct status *st)
{
	auto_free char *dir = full(f, path);
	struct stat sb;

	if (lstat(dir, &sb))
		return status_errno(st, errno, "list %s", path);
	if (!S_ISDIR(sb.st_mode))
		return status_set(st, STATUS_NOT_DIR, "list %s", path);
	*out = (struct listing){ .root = xstrdup(path) };
	fill_entry(listing_add(out, xstrdup(path), NULL), &sb);
	list_dir(f, out, path, deep);
	return 0;
}

int
sandbox_list(struct sandbox *sb, enum sandbox_want want, const char *path,
    bool deep, struct listing *out, struct cancel *c, struct status *st)
{
	struct fake *f = fake_of(sb);

	if (begin(f, want, c, st))
		return -1;
	f->lists++;
	int err = make_listing(f, path, deep, out, st);
	fake_unlock();
	return err;
}

int
sandbox_get(struct sandbox *sb, enum sandbox_want want, const char *path,
    int64_t off, int64_t len, sandbox_sink sink, void *arg, int64_t *total,
    struct cancel *c, struct status *st)
{
	struct fake *f = fake_of(sb);
	struct stat info;
	char block[16384];
	int err = 0;

	if (begin(f, want, c, st))
		return -1;
	f->downloads++;
	auto_free char *file = full(f, path);
	auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	fake_unlock();
	if (fd < 0 || fstat(fd, &info))
		return status_errno(st, errno, "get %s", path);
	*total = info.st_size;
	if (len == 0)
		len = info.st_size - off;
	while (!err && len > 0) {
		ssize_t n =
		    pread(fd, block, MIN(sizeof block, (size_t)len), off);
		if (n <= 0)
			break;
		err = sink(arg, block, (size_t)n, st);
		off += n;
		len -= n;
	}
	return err;
}

/* --- Pushes --------------------------------------------------------------- */

static int
fill_file(int from, int64_t size, int to)
{
	char block[16384];

	for (int64_t at = 0; at < size;) {
		ssize_t n = pread(from, block,
		    MIN(sizeof block, (size_t)(size - at)), at);
		if (n <= 0 || write_all(to, block, (size_t)n))
			return -1;
		at += n;
	}
	return 0;
}

static bool
same_bytes(const char *path, int fd, int64_t size)
{
	auto_fd int other = open(path, O_RDONLY | O_CLOEXEC);
	char a[4096], b[4096];

	for (int64_t at = 0; at < size;) {
		ssize_t n =
		    pread(fd, a, MIN(sizeof a, (size_t)(size - at)), at);
		if (n <= 0 || pread(other, b, (size_t)n, at) != n ||
		    memcmp(a, b, (size_t)n) != 0)
			return false;
		at += n;
	}
	return true;
}

static char *
conflict_name(const char *path)
{
	char *name = xasprintf("%s.conflict", path);
	struct stat sb;

	for (int i = 2; lstat(name, &sb) == 0; i++) {
		free(name);
		name = xasprintf("%s.conflict-%d", path, i);
	}
	return name;
}

static bool
clashes(const struct push_op *op, bool there, const struct stat *sb,
    const char *path)
{
	struct file_version v;

	if (op->force || !there)
		return false;
	fill_version(&v, sb);
	if (op->have_base && file_version_equal(&v, &op->base))
		return false;
	return !(sb->st_size == op->size && same_bytes(path, op->fd, op->size));
}

static int
put(struct fake *f, struct push_op *op, char **path)
{
	struct stat sb;
	bool there = lstat(*path, &sb) == 0;
	mode_t mode = op->mode;

	if (there && S_ISDIR(sb.st_mode))
		return EISDIR;
	if (clashes(op, there, &sb, *path)) {
		char *name = conflict_name(*path);
		free(*path);
		*path = name;
		op->conflict = xstrdup(name + strlen(f->home) + 1);
		f->clashes++;
		there = false;
	}
	if (mode == (mode_t)-1)
		mode = there ? sb.st_mode & 07777 : 0644;
	auto_free char *tmp = xasprintf("%s.fake-tmp", f->home);
	bool in_place = there && sb.st_nlink > 1;
	auto_fd int fd = open(in_place ? *path : tmp,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fill_file(op->fd, op->size, fd))
		return errno;
	fchmod(fd, mode);
	struct timespec times[2] = { op->atime, op->mtime };
	futimens(fd, times);
	if (!in_place && rename(tmp, *path))
		return errno;
	return 0;
}

static int
move(const char *a, const char *b, unsigned flags)
{
	struct stat sa, sb;

	/* Done before: the answer was lost. */
	if (flags != RENAME_EXCHANGE && lstat(a, &sa) && lstat(b, &sb) == 0)
		return 0;
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, flags) ? errno : 0;
}

static int
make_dir(const char *path, mode_t mode)
{
	struct stat sb;

	if (mkdir(path, 0700) == 0)
		return chmod(path, mode) ? errno : 0;
	int err = errno;
	if (err == EEXIST && lstat(path, &sb) == 0 && S_ISDIR(sb.st_mode))
		return 0;
	return err;
}

static int
make_link(const char *target, const char *path)
{
	char old[4096];

	if (symlink(target, path) == 0)
		return 0;
	int err = errno;
	ssize_t n = readlink(path, old, sizeof old - 1);
	if (n < 0)
		return err;
	old[n] = '\0';
	return strcmp(old, target) == 0 ? 0 : err;
}

static int
hard_link(const char *a, const char *b)
{
	struct stat sa, sb;

	if (link(a, b) == 0)
		return 0;
	int err = errno;
	if (lstat(a, &sa) == 0 && lstat(b, &sb) == 0 && sa.st_ino == sb.st_ino)
		return 0;
	return err;
}

static int
apply(struct fake *f, struct push_op *op, char **path, const char *path2)
{
	struct timespec times[2] = { op->atime, op->mtime };
	int r = 0;

	switch (op->kind) {
	case PUSH_PUT:
		return put(f, op, path);
	case PUSH_MKDIR:
		return make_dir(*path, op->mode);
	case PUSH_RMDIR:
		r = rmdir(*path) && errno != ENOENT;
		break;
	case PUSH_UNLINK:
		r = unlink(*path) && errno != ENOENT;
		break;
	case PUSH_RENAME:
		return move(*path, path2, 0);
	case PUSH_RENAME_NOREPLACE:
		return move(*path, path2, RENAME_NOREPLACE);
	case PUSH_EXCHANGE:
		return move(*path, path2, RENAME_EXCHANGE);
	case PUSH_SYMLINK:
		return make_link(op->path2, *path);
	case PUSH_LINK:
		return hard_link(*path, path2);
	case PUSH_CHMOD:
		r = chmod(*path, op->mode);
		break;
	case PUSH_UTIMENS:
		r = utimensat(AT_FDCWD, *path, times, AT_SYMLINK_NOFOLLOW);
		break;
	}
	return r ? errno : 0;
}

static void
push_one(struct fake *f, struct push_op *op)
{
	char *path = full(f, op->path);
	auto_free char *path2 = op->path2 ? full(f, op->path2) : NULL;
	struct stat sb;

	op->result = (struct status){ 0 };
	op->conflict = NULL;
	op->after = (struct remote_entry){ 0 };
	f->ops++;
	if (f->refuse && strstr(op->path, f->refuse)) {
		status_set(&op->result, STATUS_NO_SPACE, "no space left");
		free(path);
		return;
	}
	int err = apply(f, op, &path, path2);
	if (err)
		status_errno(&op->result, err, "%s", op->path);
	const char *made =
	    op->kind == PUSH_RENAME || op->kind == PUSH_RENAME_NOREPLACE ? path2
									 : path;
	if (!err && !f->no_after && lstat(made, &sb) == 0)
		fill_entry(&op->after, &sb);
	free(path);
}

int
sandbox_push(struct sandbox *sb, enum sandbox_want want, struct push_op *ops,
    size_t count, bool sync, struct cancel *c, struct status *st)
{
	struct fake *f = fake_of(sb);

	(void)sync;
	if (begin(f, want, c, st))
		return -1;
	f->pushes++;
	/* The same batch again: goes on where it stopped. */
	size_t from =
	    f->lost_ops == ops && f->lost_count == count ? f->lost_part : 0;
	bool lost = dice(f, f->fail_after);
	/* A lost answer comes with any part of the batch done. */
	size_t part =
	    lost && dice(f, 50) ? from + f->seed % (count - from + 1) : count;
	for (size_t i = from; i < part; i++)
		push_one(f, &ops[i]);
	f->lost_ops = lost ? ops : NULL;
	f->lost_count = count;
	f->lost_part = part;
	fake_unlock();
	if (lost)
		return status_set(st, STATUS_UNAVAILABLE, "answer lost");
	return 0;
}

int
sandbox_exec(struct sandbox *sb, enum sandbox_want want,
    const struct exec_request *request, struct exec_result *result,
    struct cancel *c, struct status *st)
{
	struct fake *f = fake_of(sb);

	if (begin(f, want, c, st))
		return -1;
	f->execs++;
	auto_free char *line =
	    xasprintf("cd '%s' && { %s\n}", f->home, request->command);
	FILE *p = popen(line, "re");
	char block[4096];
	size_t n;
	while (p && (n = fread(block, 1, sizeof block, p)) > 0)
		buf_add(&result->output, block, n);
	int code = p ? pclose(p) : -1;
	result->end = EXEC_EXITED;
	result->exit_code = WIFEXITED(code) ? WEXITSTATUS(code) : 128;
	result->have_listing = request->list &&
	    make_listing(f, "", true, &result->listing, st) == 0;
	fake_unlock();
	return 0;
}

int
sandbox_script(struct sandbox *sb, enum sandbox_want want, const char *script,
    size_t len, struct buf *out, int *exit_code, struct cancel *c,
    struct status *st)
{
	struct fake *f = fake_of(sb);

	if (begin(f, want, c, st))
		return -1;
	buf_add(out, script, len);
	*exit_code = 0;
	fake_unlock();
	return 0;
}

int
sandbox_space(struct sandbox *sb, enum sandbox_want want,
    struct sandbox_space *out, struct cancel *c, struct status *st)
{
	struct fake *f = fake_of(sb);

	if (begin(f, want, c, st))
		return -1;
	*out = (struct sandbox_space){ .block_size = 4096,
		.blocks = 1000,
		.free = 500,
		.available = 400,
		.files = 100,
		.files_free = 50 };
	fake_unlock();
	return 0;
}
