/* Allocation and whole reads and writes; see base.h. */
#include "agent/base/base.h"

#include <errno.h>
#include <stdarg.h>

static void *
checked(void *p)
{
	if (!p) {
		fputs("sandagentfs: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *
xcalloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *
xrealloc(void *p, size_t n, size_t size)
{
	return checked(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *
xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *
xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *
xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : s);
}

void
auto_free_cleanup(void *p)
{
	free(*(void **)p);
}

void
auto_fd_cleanup(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

int
write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int
pwrite_all(int fd, const void *bytes, size_t len, off_t off)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = pwrite(fd, p, len, off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		off += n;
		len -= (size_t)n;
	}
	return 0;
}
