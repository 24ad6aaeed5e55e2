/* Diagnostics; see diag.h. */
#include "agent/base/diag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/base/path.h"

#define FILE_MAX (1 << 20)

static struct {
	struct lock lock;
	int fd; /* -1: stderr */
	off_t size;
	char *path;
	enum diag_level level; /* set before workers exist */
	bool also_stderr;
} out = { .lock = { PTHREAD_MUTEX_INITIALIZER, RANK_DIAG },
	.fd = -1,
	.level = DIAG_WARN };

static const char *const words[] = { "error", "warn", "info", "debug" };

static int
open_locked(void)
{
	struct stat st;

	out.fd =
	    open(out.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (out.fd < 0 || fstat(out.fd, &st) < 0)
		return -1;
	out.size = st.st_size;
	return 0;
}

int
diag_open(const char *path, enum diag_level level, bool also_stderr)
{
	lock_acquire(&out.lock);
	out.path = xstrdup(path);
	out.level = level;
	out.also_stderr = also_stderr;
	int rc = open_locked();
	lock_release(&out.lock);
	return rc;
}

void
diag_close(void)
{
	lock_acquire(&out.lock);
	if (out.fd >= 0)
		close(out.fd);
	out.fd = -1;
	free(out.path);
	out.path = NULL;
	lock_release(&out.lock);
}

int
diag_level_parse(const char *word, enum diag_level *level)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i]) == 0) {
			*level = (enum diag_level)i;
			return 0;
		}
	}
	return -1;
}

bool
diag_enabled(enum diag_level level)
{
	return level <= out.level;
}

static void
rotate_locked(void)
{
	char *old = xasprintf("%s.1", out.path);

	close(out.fd);
	if (rename(out.path, old) < 0)
		fprintf(stderr, "sandagentfs: cannot rotate %s\n", out.path);
	free(old);
	if (open_locked() < 0)
		out.fd = -1;
}

void
diag(enum diag_level level, const char *fmt, ...)
{
	char raw[1024], safe[2048], stamp[32], line[2200];
	va_list ap;

	if (!diag_enabled(level))
		return;
	int saved = errno;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof raw, fmt, ap);
	va_end(ap);
	escape_line(safe, sizeof safe, raw, strlen(raw));
	clock_rfc3339(stamp, clock_wall_ms(), true);
	int n = snprintf(line, sizeof line, "%s %-5s %s\n", stamp, words[level],
	    safe);

	lock_acquire(&out.lock);
	if (out.fd >= 0 && out.size + n > FILE_MAX)
		rotate_locked();
	if (out.fd >= 0 && write_all(out.fd, line, (size_t)n) == 0)
		out.size += n;
	if (out.fd < 0 || out.also_stderr)
		fputs(line, stderr);
	lock_release(&out.lock);
	errno = saved;
}
