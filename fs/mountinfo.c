/* The mount table; see mountinfo.h and proc_pid_mountinfo(5). */
#include "fs/mountinfo.h"

/* The n-th field (from 0) of a line; false if there are fewer. */
static bool
field(const char *line, const char *end, int n, const char **at, size_t *len)
{
	const char *p = line;

	for (; n > 0; n--) {
		p = memchr(p, ' ', (size_t)(end - p));
		if (!p)
			return false;
		p++;
	}
	const char *stop = memchr(p, ' ', (size_t)(end - p));
	*at = p;
	*len = (size_t)((stop ? stop : end) - p);
	return true;
}

/* Blanks, tabs, line ends and backslashes stand as \ooo. */
static bool
same_path(const char *at, size_t len, const char *path)
{
	size_t i = 0;

	while (i < len && *path) {
		char c = at[i++];
		if (c == '\\' && i + 3 <= len) {
			c = (char)((at[i] - '0') << 6 | (at[i + 1] - '0') << 3 |
			    (at[i + 2] - '0'));
			i += 3;
		}
		if (c != *path++)
			return false;
	}
	return i == len && !*path;
}

/* The type follows the dash that ends the optional fields. */
static bool
is_ours(const char *line, const char *end)
{
	const char *at;
	size_t len;

	for (int n = 6; field(line, end, n, &at, &len); n++)
		if (len == 1 && *at == '-')
			return field(line, end, n + 1, &at, &len) &&
			    len == strlen("fuse.sandagentfs") &&
			    memcmp(at, "fuse.sandagentfs", len) == 0;
	return false;
}

enum mountinfo_kind
mountinfo_at(const char *text, const char *path)
{
	enum mountinfo_kind kind = MOUNTINFO_NONE;
	const char *at;
	size_t len;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		/* The last one lies on top. */
		if (field(line, end, 4, &at, &len) && same_path(at, len, path))
			kind = is_ours(line, end) ? MOUNTINFO_OURS
						  : MOUNTINFO_OTHER;
		line = *end ? end + 1 : end;
	}
	return kind;
}

bool
mountinfo_any_ours(const char *text)
{
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		if (is_ours(line, end))
			return true;
		line = *end ? end + 1 : end;
	}
	return false;
}
