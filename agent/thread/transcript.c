/* The transcript file; see transcript.h. */
#include "agent/thread/transcript.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/lock.h"

struct transcript {
	/* immutable */
	char *path;
	/* under lock */
	struct lock lock;
	int64_t size; /* published */
	int64_t changed_ms;
	bool torn; /* the file may be longer than what is published */
	bool removed;
};

static int
open_file(const struct transcript *t, int flags)
{
	return open(t->path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static ssize_t
read_at(int fd, char *out, size_t size, int64_t off)
{
	ssize_t n;

	do
		n = pread(fd, out, size, off);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The size up to the last line end: what a crash tore is not published. */
static int64_t
whole_size(int fd, int64_t size)
{
	char tail[4096];

	while (size > 0) {
		int64_t from = MAX(size - (int64_t)sizeof tail, (int64_t)0);
		ssize_t n = read_at(fd, tail, (size_t)(size - from), from);
		if (n <= 0)
			return 0;
		const char *lf = memrchr(tail, '\n', (size_t)n);
		if (lf)
			return from + (lf - tail) + 1;
		size = from;
	}
	return 0;
}

struct transcript *
transcript_create(const char *path, bool *missing)
{
	struct transcript *t = xcalloc(1, sizeof *t);
	struct stat attr;

	t->path = xstrdup(path);
	lock_init(&t->lock, RANK_TRANSCRIPT);
	auto_fd int fd = open_file(t, O_RDONLY);
	*missing = fd < 0;
	if (fd >= 0 && fstat(fd, &attr) == 0) {
		t->size = whole_size(fd, attr.st_size);
		t->torn = t->size != attr.st_size;
		t->changed_ms = (int64_t)attr.st_mtim.tv_sec * 1000 +
		    attr.st_mtim.tv_nsec / 1000000;
	}
	return t;
}

void
transcript_destroy(struct transcript *t)
{
	if (!t)
		return;
	lock_finish(&t->lock);
	free(t->path);
	free(t);
}

int64_t
transcript_size(struct transcript *t)
{
	lock_acquire(&t->lock);
	int64_t size = t->size;
	lock_release(&t->lock);
	return size;
}

int64_t
transcript_changed_ms(struct transcript *t)
{
	lock_acquire(&t->lock);
	int64_t ms = t->changed_ms;
	lock_release(&t->lock);
	return ms;
}

ssize_t
transcript_read(struct transcript *t, char *out, size_t size, int64_t off)
{
	int64_t end = transcript_size(t);

	if (off < 0 || off >= end)
		return 0;
	auto_fd int fd = open_file(t, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	return read_at(fd, out, MIN(size, (size_t)(end - off)), off);
}

/* Written at the published end, over what a crash or a full disk left. */
static int
append_locked(struct transcript *t, const char *entries, size_t len,
    struct status *st)
{
	lock_assert_held(&t->lock);
	auto_fd int fd = open_file(t, O_WRONLY | O_CREAT);
	if (fd < 0 || (t->torn && ftruncate(fd, t->size) < 0))
		return status_errno(st, errno, "log");
	t->torn = pwrite_all(fd, entries, len, t->size) < 0;
	if (t->torn)
		return status_errno(st, errno, "log");
	t->size += (int64_t)len;
	return 0;
}

int
transcript_append(struct transcript *t, const char *entries, size_t len,
    struct status *st)
{
	struct timespec now;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &now);
	lock_acquire(&t->lock);
	if (!t->removed) {
		rc = append_locked(t, entries, len, st);
		t->changed_ms =
		    (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	}
	lock_release(&t->lock);
	return rc;
}

void
transcript_remove(struct transcript *t)
{
	lock_acquire(&t->lock);
	t->removed = true;
	t->size = 0;
	unlink(t->path);
	lock_release(&t->lock);
}

static bool
begins_with_one(const char *line, size_t len, const char *const *prefixes,
    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(prefixes[i]);
		if (n <= len && memcmp(line, prefixes[i], n) == 0)
			return true;
	}
	return false;
}

void
transcript_find_last(struct transcript *t, const char *const *prefixes,
    size_t count, char *line, size_t size)
{
	int64_t end = transcript_size(t);
	int64_t from = MAX(end - TRANSCRIPT_TAIL, (int64_t)0);
	size_t want = (size_t)(end - from);
	auto_free char *tail = xcalloc(want + 1, 1);
	ssize_t n = transcript_read(t, tail, want, from);

	line[0] = '\0';
	for (size_t stop = n > 0 ? (size_t)n : 0; stop > 0;) {
		size_t start = stop - 1; /* its LF */
		while (start > 0 && tail[start - 1] != '\n')
			start--;
		size_t len = stop - start - 1;
		if (begins_with_one(tail + start, len, prefixes, count)) {
			snprintf(line, size, "%.*s", (int)len, tail + start);
			return;
		}
		stop = start;
	}
}
