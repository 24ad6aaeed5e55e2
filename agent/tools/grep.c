/* grep: lines that hold a literal text, below a directory. */
#include "agent/sandbox/shell.h"
#include "agent/tools/far.h"
#include "agent/tools/matches.h"
#include "agent/tools/result.h"
#include "agent/tools/search.h"
#include "agent/tools/table.h"

#define MATCHES_MAX 1000
#define SECONDS     30

enum mode { FILES, CONTENT, COUNT };

struct query {
	const char *text;
	enum mode mode;
	size_t max;
	bool filtered;
	struct pattern filter;
};

/* grep's own filter, by base names, where all alternatives can be said so. */
static void
add_includes(struct buf *command, const struct pattern *p)
{
	auto_buf words = BUF_INIT(64 << 10);

	for (size_t i = 0; i < p->count; i++) {
		const char *base;
		if (!pattern_base(p, i, &base) || i >= 50)
			return;
		auto_free char *word = xasprintf("--include=%s", base);
		buf_putc(&words, ' ');
		buf_shell_quote(&words, word, strlen(word));
	}
	if (!words.failed)
		buf_puts(command, words.bytes);
}

static void
make_command(struct buf *command, const struct query *q,
    const struct place *root)
{
	shell_assign(command, "q", q->text, strlen(q->text));
	/* Not into what the kernel makes up. */
	if (strcmp(root->path, "/") == 0)
		buf_puts(command,
		    "set --\n"
		    "for d in /* /.[!.]*; do case $d in\n"
		    "/proc|/sys|/dev|/run) ;;\n"
		    "*) [ -e \"$d\" ] && set -- \"$@\" \"$d\" ;;\n"
		    "esac; done\n");
	else
		buf_puts(command, "set -- \"$p\"\n");
	buf_printf(command, "$t grep %s",
	    q->mode == FILES ? "-rlFZ" : "-rHnFZ");
	if (q->filtered)
		add_includes(command, &q->filter);
	buf_puts(command, " -e \"$q\" -- \"$@\"");
	/* It says there which binary files match. */
	if (q->mode != FILES)
		buf_puts(command, " 2>&1");
}

static void
print_matches(struct tool_result *r, const struct query *q,
    const struct matches *m)
{
	auto_buf out = BUF_INIT(16 << 20);

	for (size_t i = 0; i < m->count;) {
		const struct match *first = &m->match[i];
		size_t n = 0;
		buf_puts(&out, out.len > 0 ? "\n" : "");
		buf_puts(&out, first->path);
		if (q->mode == CONTENT)
			buf_putc(&out, ':');
		for (;
		     i < m->count && strcmp(m->match[i].path, first->path) == 0;
		     i++, n++) {
			const struct match *one = &m->match[i];
			if (q->mode == CONTENT && one->text)
				buf_printf(&out, "\n  %lld: %s",
				    (long long)one->line, one->text);
			else if (q->mode == CONTENT)
				buf_puts(&out, "\n  binary file matches");
		}
		if (q->mode == COUNT && first->text)
			buf_printf(&out, ": %zu", n);
		else if (q->mode == COUNT)
			buf_puts(&out, ": binary file matches");
	}
	result_add_capped(r, out.bytes, out.len);
}

static bool
looks_like_regex(const char *s)
{
	if (strchr(s, '|') || strstr(s, ".*") || strstr(s, ".+"))
		return true;
	for (; (s = strchr(s, '\\')) != NULL; s++)
		if (s[1] && strchr(".*+?()[]{}^$|dwsbDWSB", s[1]))
			return true;
	return false;
}

static void
print(struct tool_result *r, const struct query *q, struct matches *m,
    int exit_code)
{
	matches_sort(m);
	if (m->count > 0)
		print_matches(r, q, m);
	else
		result_set(r, "No matches found");
	if (m->count == 0 && looks_like_regex(q->text))
		buf_puts(&r->text,
		    "\n\n[The pattern is searched for as it is written, not as "
		    "a regular expression.]");
	if (m->more)
		buf_printf(&r->text,
		    "\n\n[Only the first %zu matches are shown: search a "
		    "smaller directory or with a longer pattern.]",
		    q->max);
	else if (exit_code == 2)
		buf_puts(&r->text, "\n\n[Some files could not be read.]");
	else if (exit_code != 0 && exit_code != 1)
		buf_puts(&r->text,
		    "\n\n[The search stopped early: the results are "
		    "incomplete.]");
}

static int
search(const struct tool_context *ctx, const struct place *root,
    const struct query *q, struct tool_result *r)
{
	/* BusyBox's grep knows no -Z and would say that there is no match. */
	auto_free char *check =
	    xasprintf("%sprintf x | grep -FZq x 2>/dev/null || exit 48\n",
		far_check_exists);
	auto_buf command = BUF_INIT(200 << 10);
	const struct pattern *filter = q->filtered ? &q->filter : NULL;
	struct matches m = { 0 };
	struct search s;
	struct status st = { 0 };
	int rc = 0;

	make_command(&command, q, root);
	search_init(&s);
	if (search_run(ctx, root, check, command.bytes, SECONDS, &s, &st) < 0) {
		rc = st.code == STATUS_CANCELED
		    ? result_status(r, &st)
		    : result_error(r, "Error: Path '%s': %s", root->path,
			  result_dir_code(&st));
	} else {
		if (q->mode == FILES)
			matches_read_names(&m, &s.output, root->path, filter,
			    q->max);
		else
			matches_read(&m, &s.output, root->path, filter, q->max);
		print(r, q, &m, s.exit_code);
	}
	matches_finish(&m);
	search_finish(&s);
	return rc;
}

static int
read_query(struct query *q, const cJSON *args, struct tool_result *r)
{
	const char *mode = json_string_or(args, "output_mode", "");
	const char *glob = json_string_or(args, "glob", NULL);

	*q = (struct query){ .text = json_string_or(args, "pattern", ""),
		.max = (size_t)json_int_or(args, "max_count", MATCHES_MAX),
		.filtered = glob && *glob };
	q->max = MIN(q->max, MATCHES_MAX);
	if (strcmp(mode, "content") == 0)
		q->mode = CONTENT;
	else if (strcmp(mode, "count") == 0)
		q->mode = COUNT;
	if (!*q->text || strchr(q->text, '\n')) {
		result_error(r,
		    *q->text ? "Error: pattern must be within one line."
			     : "Error: pattern cannot be empty.");
		return -1;
	}
	const char *fault = q->filtered ? pattern_read(&q->filter, glob) : NULL;
	if (fault) {
		result_error(r, "Error: glob '%s': %s", glob, fault);
		return -1;
	}
	return 0;
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	auto_place root;
	struct query q;
	struct status st = { 0 };
	int rc = 0;

	if (place_read(&root, json_string_or(args, "path", ""), &st) < 0)
		return result_status(r, &st);
	if (read_query(&q, args, r) == 0)
		rc = search(ctx, &root, &q, r);
	pattern_finish(&q.filter);
	return rc;
}

const struct tool tool_grep = {
	.name = "grep",
	.description =
	    "Searches files for a literal text (no regular expression), below "
	    "a directory or in one file. Gives the files, or the matching "
	    "lines, or how many there are in each file.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"pattern\":{\"type\":\"string\",\"description\":\"The text to "
	    "look for.\"},"
	    "\"path\":{\"type\":[\"string\",\"null\"],\"default\":null,"
	    "\"description\":\"Where to search: /home/daytona unless "
	    "given.\"},"
	    "\"glob\":{\"type\":[\"string\",\"null\"],\"default\":null,"
	    "\"description\":\"Only files that match, such as *.py.\"},"
	    "\"output_mode\":{\"type\":\"string\",\"enum\":["
	    "\"files_with_matches\",\"content\",\"count\"],\"default\":"
	    "\"files_with_matches\"},"
	    "\"max_count\":{\"type\":[\"integer\",\"null\"],\"minimum\":1,"
	    "\"default\":null,\"description\":\"The most matches to give: "
	    "1000 unless given.\"}},\"required\":[\"pattern\"]}",
	.reads_only = true,
	.run = run,
};
