/* Searching below a directory; see search.h. */
#include "agent/tools/search.h"

#include "agent/sandbox/shell.h"
#include "agent/tools/far.h"

void
search_init(struct search *s)
{
	*s = (struct search){ .exit_code = -1 };
	buf_init(&s->output, SEARCH_OUTPUT_MAX + 4096);
}

void
search_finish(struct search *s)
{
	buf_finish(&s->output);
}

/* Takes the last record off. */
static void
take_exit_code(struct search *s)
{
	static const char mark[] = "rc=";
	size_t at = s->output.len;

	while (at > 0 && s->output.len - at < 8 && s->output.bytes[at] != 'r')
		at--;
	if (strncmp(s->output.bytes + at, mark, sizeof mark - 1) != 0)
		return;
	s->exit_code =
	    (int)strtol(s->output.bytes + at + sizeof mark - 1, NULL, 10);
	s->output.len = at;
	s->output.bytes[at] = '\0';
}

int
search_run(const struct tool_context *ctx, const struct place *place,
    const char *check, const char *command, int seconds, struct search *s,
    struct status *st)
{
	auto_buf script = BUF_INIT(256 << 10);
	int exit_code = 0;

	shell_path(&script, "p", place->path);
	buf_printf(&script,
	    "LC_ALL=C\nexport LC_ALL\n"
	    "%s"
	    "t=\n"
	    "command -v timeout >/dev/null 2>&1 && t='timeout %d'\n"
	    "{ { %s; } 2>/dev/null; printf 'rc=%%d' $?; } | head -c %d\n",
	    check, seconds, command, SEARCH_OUTPUT_MAX);
	if (script.failed)
		return status_set(st, STATUS_INVALID,
		    "the pattern is too long");
	if (mirror_script(ctx->mirror, script.bytes, script.len, &s->output,
		&exit_code, ctx->cancel, st) < 0)
		return -1;
	if (exit_code != 0)
		return far_failure(exit_code, st);
	take_exit_code(s);
	return 0;
}

void
path_list_finish(struct path_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->paths[i]);
	free(l->paths);
	*l = (struct path_list){ 0 };
}

void
path_list_add(struct path_list *l, const char *root, const char *path,
    size_t len)
{
	l->paths = xrealloc(l->paths, l->count + 1, sizeof *l->paths);
	l->paths[l->count++] =
	    xasprintf("%s%s%.*s", strcmp(root, "/") == 0 ? "" : root,
		len > 0 ? "/" : "", (int)len, path);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
path_list_sort(struct path_list *l)
{
	if (l->count > 1)
		qsort(l->paths, l->count, sizeof *l->paths, compare);
}
