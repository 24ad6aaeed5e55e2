/*
 * Contents: the local files that hold what nodes hold. The descriptor is open
 * only while somebody uses it, so a large cache costs no descriptors. What
 * nobody uses is evicted, oldest first; what is written here but not in the
 * sandbox never is. All under mirror.lock but for content_path().
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "agent/base/diag.h"
#include "agent/mirror/internal.h"

void
content_name(const struct content *c, char out[64])
{
	snprintf(out, 64, "%" PRId64 "-%" PRIu64, c->m->thread, c->serial);
}

void
content_path(const struct content *c, char out[CONTENT_PATH_MAX])
{
	char name[64];

	content_name(c, name);
	snprintf(out, CONTENT_PATH_MAX, "%s/%s",
	    c->in_queue ? c->m->queue_dir : c->m->staging_dir, name);
}

static void
lru_remove(struct content *c)
{
	struct mirror *m = c->m;

	if (!c->in_lru)
		return;
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	else
		m->lru_last = c->back;
	c->in_lru = false;
	m->lru_bytes -= c->lru_size;
}

static void
lru_add(struct content *c)
{
	struct mirror *m = c->m;

	c->next = NULL;
	c->back = m->lru_last;
	*m->lru_last = c;
	m->lru_last = &c->next;
	c->in_lru = true;
	c->lru_size = 0;
	if (c->whole)
		c->lru_size = c->size;
	for (size_t i = 0; i < c->extents.count; i++)
		c->lru_size += c->extents.list[i].to - c->extents.list[i].from;
	m->lru_bytes += c->lru_size;
}

static int
open_file(struct content *c, int flags, struct status *st)
{
	char path[CONTENT_PATH_MAX];

	content_path(c, path);
	c->fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	if (c->fd < 0)
		return status_errno(st, errno, "local copy");
	return 0;
}

struct content *
content_make_locked(struct mirror *m, uint32_t node, bool in_queue,
    struct status *st)
{
	struct content *c = xcalloc(1, sizeof *c);

	lock_assert_held(&m->lock);
	c->m = m;
	c->node = node;
	c->serial = m->next_serial++;
	c->in_queue = in_queue;
	if (open_file(c, O_CREAT | O_EXCL, st)) {
		free(c);
		return NULL;
	}
	c->refs = c->users = 1;
	return c;
}

struct content *
content_recover_locked(struct mirror *m, const char *file)
{
	struct content *c = xcalloc(1, sizeof *c);
	struct stat sb;
	char path[CONTENT_PATH_MAX], prefix[32], *end;

	c->m = m;
	c->fd = -1;
	c->in_queue = c->whole = true;
	c->refs = 1;
	snprintf(prefix, sizeof prefix, "%" PRId64 "-", m->thread);
	if (strncmp(file, prefix, strlen(prefix)) != 0)
		goto out;
	c->serial = strtoull(file + strlen(prefix), &end, 10);
	/* Two operations may send the same file. */
	for (struct qop *op = m->queue; op; op = op->next) {
		if (!op->content || op->content->serial != c->serial)
			continue;
		free(c);
		return content_get(op->content);
	}
	content_path(c, path);
	if (*end || lstat(path, &sb) || !S_ISREG(sb.st_mode))
		goto out;
	c->size = sb.st_size;
	m->next_serial = MAX(m->next_serial, c->serial + 1);
	return c;
out:
	free(c);
	return NULL;
}

struct content *
content_get(struct content *c)
{
	c->refs++;
	return c;
}

void
content_put_locked(struct content *c)
{
	char path[CONTENT_PATH_MAX];

	if (--c->refs > 0)
		return;
	lru_remove(c);
	if (c->fd >= 0)
		close(c->fd);
	content_path(c, path);
	if (!c->keep)
		unlink(path);
	extents_finish(&c->extents);
	free(c);
}

int
content_open_locked(struct content *c, struct status *st)
{
	lock_assert_held(&c->m->lock);
	if (c->users == 0 && open_file(c, 0, st))
		return -1;
	c->users++;
	lru_remove(c);
	return 0;
}

void
content_close_locked(struct content *c)
{
	lock_assert_held(&c->m->lock);
	if (--c->users > 0)
		return;
	close(c->fd);
	c->fd = -1;
	lru_add(c);
}

int
content_to_queue_locked(struct content *c, struct status *st)
{
	char from[CONTENT_PATH_MAX], to[CONTENT_PATH_MAX];

	if (c->in_queue)
		return 0;
	content_path(c, from);
	c->in_queue = true;
	content_path(c, to);
	if (rename(from, to) == 0)
		return 0;
	c->in_queue = false;
	return status_errno(st, errno, "queue a file");
}

static int
copy_bytes(int from, int to, int64_t size)
{
	off_t in = 0, out = 0;
	char block[65536];

	while (in < size) {
		ssize_t n = copy_file_range(from, &in, to, &out,
		    (size_t)(size - in), 0);
		if (n <= 0)
			break;
	}
	while (in < size) {
		ssize_t n = pread(from, block,
		    MIN(sizeof block, (size_t)(size - in)), in);
		if (n <= 0 || pwrite_all(to, block, (size_t)n, in))
			return -1;
		in += n;
	}
	return 0;
}

struct content *
content_copy_locked(struct content *c, struct status *st)
{
	if (content_open_locked(c, st))
		return NULL;
	struct content *copy = content_make_locked(c->m, c->node, true, st);
	if (copy && copy_bytes(c->fd, copy->fd, c->size)) {
		status_errno(st, errno, "copy a file");
		content_close_locked(copy);
		content_put_locked(copy);
		copy = NULL;
	}
	content_close_locked(c);
	if (copy) {
		copy->whole = true;
		copy->size = c->size;
		copy->writes = c->writes;
	}
	return copy;
}

void
cache_trim_locked(struct mirror *m)
{
	lock_assert_held(&m->lock);
	for (struct content *c = m->lru, *next;
	     c && m->lru_bytes > m->cache_max; c = next) {
		next = c->next;
		struct node *n = node_find(m, c->node);
		if (c->refs > 1 || !n || n->content != c || n->changed)
			continue;
		n->content = NULL;
		content_put_locked(c);
	}
}

/* mkdir -p, private. */
static void
make_dirs(const char *dir)
{
	auto_free char *path = xstrdup(dir);

	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	if (mkdir(path, 0700) && errno != EEXIST)
		diag_err("thread: cannot make %s", dir);
}

static void
sweep_dir(struct mirror *m, const char *dir,
    bool (*kept)(void *arg, uint64_t serial), void *arg)
{
	DIR *d = opendir(dir);
	char prefix[32];
	struct dirent *e;

	if (!d)
		return;
	size_t len =
	    (size_t)snprintf(prefix, sizeof prefix, "%" PRId64 "-", m->thread);
	// NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of our own
	while ((e = readdir(d))) {
		char *end;
		if (strncmp(e->d_name, prefix, len) != 0)
			continue;
		uint64_t serial = strtoull(e->d_name + len, &end, 10);
		if (*end || end == e->d_name + len)
			continue;
		m->next_serial = MAX(m->next_serial, serial + 1);
		if (!kept || !kept(arg, serial))
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
}

void
staging_sweep(struct mirror *m, bool (*kept)(void *arg, uint64_t serial),
    void *arg)
{
	sweep_dir(m, m->queue_dir, kept, arg);
}

void
staging_open(struct mirror *m, bool leftovers)
{
	struct stat a, b;

	if (leftovers) {
		make_dirs(m->staging_dir);
		make_dirs(m->queue_dir);
		sweep_dir(m, m->staging_dir, NULL, NULL);
	}
	/* A clean copy that is written to moves over by rename. */
	if (stat(m->staging_dir, &a) || stat(m->queue_dir, &b) ||
	    a.st_dev != b.st_dev) {
		free(m->staging_dir);
		m->staging_dir = xstrdup(m->queue_dir);
	}
}
