/* Paths of models; see place.h. */
#include "agent/tools/place.h"

#include <ctype.h>

#include "agent/base/path.h"
#include "agent/sandbox/sandbox.h"

/* The rest of `path` below `dir`, "" for itself, NULL if it is not there. */
static const char *
below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	if (strncmp(path, dir, n) != 0)
		return NULL;
	if (path[n] == '/')
		return path + n + 1;
	return path[n] ? NULL : path + n;
}

bool
place_is_daemons(const char *path)
{
	return below(SANDBOX_HOME "/.daytona", path) != NULL;
}

int
place_read(struct place *p, const char *given, struct status *st)
{
	auto_buf out = BUF_INIT((size_t)2 * PATH_BYTES_MAX);

	*p = (struct place){ 0 };
	if (*given == '~')
		return status_set(st, STATUS_INVALID,
		    "Path traversal not allowed: %s", given);
	if (isalpha((unsigned char)*given) && given[1] == ':' &&
	    (given[2] == '\\' || given[2] == '/'))
		return status_set(st, STATUS_INVALID,
		    "Windows absolute paths are not supported: %s", given);
	if (*given != '/')
		buf_puts(&out, SANDBOX_HOME);
	for (const char *s = given; *s;) {
		size_t n = strcspn(s, "/");
		if (n == 2 && memcmp(s, "..", 2) == 0)
			return status_set(st, STATUS_INVALID,
			    "Path traversal not allowed: %s", given);
		if (n > PATH_NAME_MAX)
			out.failed = true;
		if (n > 0 && !(n == 1 && *s == '.')) {
			buf_putc(&out, '/');
			buf_add(&out, s, n);
		}
		s += n + (s[n] == '/');
	}
	if (out.failed || out.len > PATH_BYTES_MAX)
		return status_set(st, STATUS_INVALID,
		    "the path is too long: %.100s", given);
	if (out.len == 0)
		buf_putc(&out, '/');
	p->path = buf_take(&out);
	if (!place_is_daemons(p->path))
		p->inside = below(SANDBOX_HOME, p->path);
	return 0;
}

void
place_finish(struct place *p)
{
	free(p->path);
	*p = (struct place){ 0 };
}
