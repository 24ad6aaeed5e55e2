/* See files_open.h. */
#include "agent/box/files_open.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

char *
files_parent(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return n == 0 ? xstrdup(".") : xstrndup(path, n);
}

static int
fail(struct buf *failed, const char *path, int err)
{
	if (failed)
		buf_puts(failed, path);
	errno = err;
	return -1;
}

int
files_make_dirs(const char *path, mode_t mode, struct buf *failed)
{
	auto_free char *p = xstrdup(path);
	size_t n = strlen(p);
	struct stat st;

	while (n > 1 && p[n - 1] == '/')
		p[--n] = '\0';
	if (stat(p, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	/* From the top down; each step is one component. */
	for (size_t i = 1; i <= n; i++) {
		if (p[i] != '/' && p[i] != '\0')
			continue;
		char was = p[i];
		p[i] = '\0';
		int err = 0;
		if (stat(p, &st) == 0)
			err = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
		else if (mkdir(p, mode) < 0)
			err = errno;
		/* Somebody else may have made it meanwhile. */
		if (err == EEXIST && stat(p, &st) == 0 && S_ISDIR(st.st_mode))
			err = 0;
		if (err)
			return fail(failed, p, err);
		p[i] = was;
	}
	return 0;
}

int
files_make_parents(const char *path, mode_t mode, struct buf *failed)
{
	auto_free char *parent = files_parent(path);

	return files_make_dirs(parent, mode, failed);
}

int
files_create(const char *path)
{
	return open(path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
	    0666);
}
