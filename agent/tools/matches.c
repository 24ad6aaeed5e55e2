/* Reading grep's records; see matches.h. */
#include "agent/tools/matches.h"

#include "agent/base/path.h"
#include "agent/tools/place.h"

/* Of a matching line, in bytes. */
#define LINE_MAX_SHOWN 1000

/* The path below what was searched; a file that was searched itself: its name.
 */
static const char *
relative(const char *root, const char *path)
{
	size_t n = strlen(root);

	while (n > 0 && root[n - 1] == '/')
		n--;
	if (strncmp(path, root, n) == 0 && path[n] == '/')
		return path + n + 1;
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Takes path and text. False: there are enough. */
static bool
add(struct matches *m, size_t max, char *path, int64_t line, char *text)
{
	if (m->count >= max) {
		m->more = true;
		free(path);
		free(text);
		return false;
	}
	m->match = xrealloc(m->match, m->count + 1, sizeof *m->match);
	m->match[m->count] = (struct match){ path, line, text, m->count };
	m->count++;
	return true;
}

static bool
is_wanted(const char *root, const char *path, const struct pattern *filter)
{
	return !place_is_daemons(path) &&
	    (!filter || pattern_match(filter, relative(root, path), true));
}

/* Gives the path of "grep: PATH: binary file matches" (3.5 and newer) or
 * "Binary file PATH matches"; *s moves behind it. NULL: other words, such as
 * that a file cannot be read; *s moves behind their line. */
static char *
binary_notice(const char **s, const char *end)
{
	static const struct {
		const char *start, *stop;
	} forms[] = {
		{ "grep: ", ": binary file matches\n" },
		{ "Binary file ", " matches\n" },
	};

	const char *lf = memchr(*s, '\n', (size_t)(end - *s));
	const char *next = lf ? lf + 1 : end;
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(forms) && !found; i++) {
		size_t n = strlen(forms[i].start);
		const char *path = *s + n;
		if ((size_t)(next - *s) <= n || *path != '/' ||
		    memcmp(*s, forms[i].start, n) != 0)
			continue;
		/* Within one line: a binary file whose name has more than one
		 * cannot be told from other words. */
		const char *stop = memmem(path, (size_t)(next - path),
		    forms[i].stop, strlen(forms[i].stop));
		if (!stop || stop + strlen(forms[i].stop) != next)
			continue;
		found = xstrndup(path, (size_t)(stop - path));
	}
	*s = next;
	return found;
}

static char *
line_text(const char *s, size_t len)
{
	if (len > 0 && s[len - 1] == '\r')
		len--;
	size_t keep = utf8_prefix(s, len, LINE_MAX_SHOWN);
	return xasprintf("%.*s%s", (int)keep, s, keep < len ? "..." : "");
}

/* One record at *s, which moves behind it; false at the end or a record that
 * was cut. *line is 0 for a binary file, *path NULL for other words. */
static bool
next_record(const char **s, const char *end, char **path, int64_t *line,
    char **text)
{
	char *after;

	*text = NULL;
	*line = 0;
	if (*s >= end)
		return false;
	/* Paths begin with a slash, so this is none. */
	if (**s != '/') {
		*path = binary_notice(s, end);
		return true;
	}
	const char *nul = memchr(*s, '\0', (size_t)(end - *s));
	if (!nul)
		return false;
	*line = strtoll(nul + 1, &after, 10);
	if (after >= end || *after != ':' || *line < 1)
		return false;
	const char *stop = memchr(after, '\n', (size_t)(end - after));
	if (!stop)
		return false;
	*path = xstrndup(*s, (size_t)(nul - *s));
	*text = line_text(after + 1, (size_t)(stop - after - 1));
	*s = stop + 1;
	return true;
}

void
matches_read(struct matches *m, const struct buf *output, const char *root,
    const struct pattern *filter, size_t max)
{
	const char *s = output->bytes, *end = s + output->len;
	char *path, *text;
	int64_t line;

	while (next_record(&s, end, &path, &line, &text)) {
		if (!path || !is_wanted(root, path, filter)) {
			free(path);
			free(text);
		} else if (!add(m, max, path, line, text)) {
			return;
		}
	}
}

void
matches_read_names(struct matches *m, const struct buf *output,
    const char *root, const struct pattern *filter, size_t max)
{
	const char *s = output->bytes, *end = s + output->len;

	while (s < end) {
		size_t n = strnlen(s, (size_t)(end - s));
		if (s + n == end)
			return;
		if (is_wanted(root, s, filter) &&
		    !add(m, max, xstrndup(s, n), 0, NULL))
			return;
		s += n + 1;
	}
}

void
matches_finish(struct matches *m)
{
	for (size_t i = 0; i < m->count; i++) {
		free(m->match[i].path);
		free(m->match[i].text);
	}
	free(m->match);
	*m = (struct matches){ 0 };
}

static int
compare(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	int c = strcmp(x->path, y->path);

	return c ? c : (x->order > y->order) - (x->order < y->order);
}

void
matches_sort(struct matches *m)
{
	if (m->count > 1)
		qsort(m->match, m->count, sizeof *m->match, compare);
}
