/*
 * glob: files whose path matches a pattern. find(1) in the sandbox walks, our
 * own matcher (pattern.h) decides; what find can leave out safely it does.
 */
#include "agent/sandbox/shell.h"
#include "agent/tools/far.h"
#include "agent/tools/pattern.h"
#include "agent/tools/result.h"
#include "agent/tools/search.h"
#include "agent/tools/table.h"

#define MATCHES_MAX 10000
#define SECONDS     5

static const char early[] =
    "\n\n[The search stopped early: the list is incomplete. Search a smaller "
    "directory or with a narrower pattern.]";
static const char unreadable[] = "\n\n[Some directories could not be read.]";

/*
 * Where an absolute pattern begins: "/etc/x/" "*.conf" is "*.conf" anchored in
 * /etc/x. Gives the directory, moves *pattern behind it. NULL: not absolute.
 */
static char *
split_absolute(const char **pattern)
{
	const char *p = *pattern, *dir_end = p;

	if (*p != '/')
		return NULL;
	for (; *p && !strchr("*?[]{}\\", *p); p++)
		if (*p == '/')
			dir_end = p;
	auto_free char *dir = xstrndup(*pattern, (size_t)(dir_end - *pattern));
	/* The slash stays: it anchors. */
	*pattern = dir_end;
	return *dir ? take(dir) : xstrdup("/");
}

/* The directory to search; *pattern becomes relative to it. */
static int
read_root(const cJSON *args, const char **pattern, struct place *root,
    struct status *st)
{
	const char *given = json_string_or(args, "path", NULL);
	size_t len = given ? strlen(given) : 0;

	/* "/data/" "*.csv" within /data means what it says. */
	if (len > 1 && *given == '/' && strncmp(*pattern, given, len) == 0 &&
	    ((*pattern)[len] == '/' || given[len - 1] == '/'))
		*pattern += given[len - 1] == '/' ? len - 1 : len;
	if (given)
		return place_read(root, given, st);
	auto_free char *dir = split_absolute(pattern);
	return place_read(root, dir ? dir : "", st);
}

/* find's tests for the last segment of each alternative; none if one of them
 * cannot be said so. */
static void
add_name_tests(struct buf *command, const struct pattern *p)
{
	auto_buf tests = BUF_INIT(64 << 10);

	for (size_t i = 0; i < p->count; i++) {
		const char *base;
		if (!pattern_base(p, i, &base) || i >= 50)
			return;
		buf_puts(&tests, i > 0 ? " -o -name " : "-name ");
		buf_shell_quote(&tests, base, strlen(base));
	}
	if (!tests.failed)
		buf_printf(command, "\\( %s \\) ", tests.bytes);
}

static void
make_command(struct buf *command, const struct pattern *p,
    const struct place *root)
{
	size_t depth = pattern_depth(p);

	buf_puts(command, "cd -- \"$p\" && $t find . ");
	if (depth > 0)
		buf_printf(command, "-maxdepth %zu ", depth);
	if (strcmp(root->path, "/") == 0)
		buf_puts(command,
		    "\\( -path ./proc -o -path ./sys -o -path ./dev -o -path "
		    "./run \\) -prune -o ");
	if (!pattern_wants_hidden(p))
		buf_puts(command, "-name '.?*' -prune -o ");
	buf_puts(command, "-type f ");
	add_name_tests(command, p);
	buf_puts(command, "-print0");
}

/* False: there are more than may be shown. */
static bool
collect(const struct buf *output, const struct pattern *p,
    const struct place *root, struct path_list *found)
{
	const char *s = output->bytes, *end = s + output->len;

	while (s < end) {
		size_t n = strnlen(s, (size_t)(end - s));
		if (s + n == end)
			break;
		if (n > 2 && pattern_match(p, s + 2, false)) {
			path_list_add(found, root->path, s + 2, n - 2);
			if (place_is_daemons(found->paths[found->count - 1]))
				free(found->paths[--found->count]);
		}
		if (found->count > MATCHES_MAX) {
			free(found->paths[--found->count]);
			return false;
		}
		s += n + 1;
	}
	return true;
}

static int
search(const struct tool_context *ctx, const struct place *root,
    const struct pattern *p, struct tool_result *r)
{
	auto_buf command = BUF_INIT(128 << 10);
	struct path_list found = { 0 };
	struct search s;
	struct status st = { 0 };
	int rc = 0;

	make_command(&command, p, root);
	search_init(&s);
	if (search_run(ctx, root, far_check_dir, command.bytes, SECONDS, &s,
		&st) < 0) {
		if (st.code == STATUS_CANCELED)
			rc = result_status(r, &st);
		else
			result_error(r, "Error: Path '%s': %s", root->path,
			    result_dir_code(&st));
	} else {
		bool all =
		    collect(&s.output, p, root, &found) && s.exit_code == 0;
		path_list_sort(&found);
		if (found.count > 0)
			result_add_list(r, found.paths, found.count);
		else
			result_set(r, "No files found");
		/* find ends with 1 where it could not look everywhere. */
		if (!all || (s.exit_code != 0 && s.exit_code != 1))
			buf_puts(&r->text, early);
		else if (s.exit_code == 1)
			buf_puts(&r->text, unreadable);
	}
	path_list_finish(&found);
	search_finish(&s);
	return rc;
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	const char *pattern = json_string_or(args, "pattern", "");
	auto_place root;
	struct pattern p;
	struct status st = { 0 };
	int rc = 0;

	if (read_root(args, &pattern, &root, &st) < 0)
		return result_status(r, &st);
	const char *fault = pattern_read(&p, pattern);
	if (fault)
		result_error(r, "Error: Path '%s': %s", root.path, fault);
	else
		rc = search(ctx, &root, &p, r);
	pattern_finish(&p);
	return rc;
}

const struct tool tool_glob = {
	.name = "glob",
	.description =
	    "Finds files by a pattern such as *.py, src/**/*.c or "
	    "**/*.{jpg,png}. Without a slash the name is looked for at any "
	    "depth. Hidden files need a pattern that begins with a dot. Gives "
	    "absolute paths.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"pattern\":{\"type\":\"string\"},"
	    "\"path\":{\"type\":[\"string\",\"null\"],\"default\":null,"
	    "\"description\":\"The directory to search: /home/daytona unless "
	    "given.\"}},\"required\":[\"pattern\"]}",
	.reads_only = true,
	.run = run,
};
