/*
 * Listings of a subtree: `find -printf` where there is one, else a loop of sh
 * with stat, else the listing call of the API. What find can do is learnt from
 * the first listing of a running sandbox, which fails where it cannot.
 */
#include <errno.h>
#include <sys/stat.h>

#include "agent/http/url.h"
#include "agent/sandbox/internal.h"
#include "agent/sandbox/shell.h"

#define ROWS_BYTES  ((size_t)64 << 20)
#define ENTRIES_MAX 200000

/* Depths to try: all of it, then less while it is too much. */
static const int depths[] = { 0, 4, 2, 1 };

/* The fields of a row but its flag; wire.h. */
#define FIND_ROW "%y %m %n %U %G %s %T@ %C@ %i %D "
#define STAT_ROW "h %f %h %u %g %s %Y %Z %i %d"

void
rows_define(struct buf *script, int find_printf)
{
	if (find_printf < 0)
		buf_puts(script,
		    "if find / -maxdepth 0 -printf '' 2>/dev/null; "
		    "then G=1; else G=0; fi\n");
	else
		buf_printf(script, "G=%d\n", find_printf);
	buf_puts(script,
	    "E() { if [ $G = 1 ]; then find \"$@\" -maxdepth 0 -printf '- " FIND_ROW
	    "%p\\0%l\\0' 2>/dev/null; return; fi\n"
	    "for f; do s=$(stat -c '- " STAT_ROW
	    "' -- \"$f\" 2>/dev/null) || continue\n"
	    "l=; [ ! -L \"$f\" ] || { l=$(readlink -n -- \"$f\"; printf .); "
	    "l=${l%.}; }\n"
	    "printf '%s %s\\0%s\\0' \"$s\" \"$f\" \"$l\"; done; }\n");
}

/* Tests of find for the directories that are not looked into. */
static void
heavy_tests(struct buf *b, const char *root, bool gnu)
{
	static const char *const names[] = { ".local", ".cache", ".venv",
		"node_modules", ".npm", "__pycache__" };
	const char *base = strrchr(root, '/');

	base = base ? base + 1 : root;
	buf_puts(b, "-type d \\(");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		buf_printf(b, "%s -name %s", i > 0 ? " -o" : "", names[i]);
	buf_puts(b, " -o -path '*/.git/objects'");
	if (strcmp(base, ".git") == 0)
		buf_puts(b, " -o -path ./objects");
	if (gnu)
		buf_puts(b, " -o ! -readable -o ! -executable");
	buf_puts(b, " \\)");
}

static void
find_text(struct buf *b, const char *root, int depth)
{
	buf_puts(b, "find . -xdev ");
	if (depth > 0)
		buf_printf(b, "-maxdepth %d ", depth);
	if (!*root)
		buf_puts(b, "-path ./.daytona -prune -o ");
	heavy_tests(b, root, true);
	buf_puts(b,
	    " -printf 'u " FIND_ROW "%P\\0%l\\0' -prune -o -printf '- " FIND_ROW
	    "%P\\0%l\\0' 2>/dev/null");
}

/* For find without -printf (BusyBox): one or two more processes a file. */
static void
loop_text(struct buf *b, const char *root, int depth)
{
	buf_puts(b,
	    "S='k=$1; shift; for f; do p=${f#.}; p=${p#/}\n"
	    "s=$(stat -c \"" STAT_ROW "\" -- \"$f\" 2>/dev/null) || continue\n"
	    "l=; [ ! -L \"$f\" ] || { l=$(readlink -n -- \"$f\"; printf .); "
	    "l=${l%.}; }\n"
	    "printf \"%s %s %s\\0%s\\0\" \"$k\" \"$s\" \"$p\" \"$l\"; done'\n"
	    "{ ");
	buf_puts(b, "find . -xdev ");
	if (depth > 0)
		buf_printf(b, "-maxdepth %d ", depth);
	if (!*root)
		buf_puts(b, "-path ./.daytona -prune -o ");
	heavy_tests(b, root, false);
	buf_puts(b,
	    " -exec sh -c \"$S\" sh u {} + -prune -o "
	    "-exec sh -c \"$S\" sh - {} + 2>/dev/null; }");
}

void
list_text(struct buf *script, const char *root, int depth, size_t max_bytes,
    bool find_printf)
{
	buf_puts(script, "printf '\\n=saf=list\\n'\n");
	if (find_printf)
		find_text(script, root, depth);
	else
		loop_text(script, root, depth);
	/* One byte more than allowed tells that it is too much. */
	buf_printf(script,
	    " | head -c %zu | if command -v gzip >/dev/null; "
	    "then gzip -1; else cat; fi | base64\n",
	    max_bytes + 1);
}

static int
by_path(const void *a, const void *b)
{
	const char *p = ((const struct remote_entry *)a)->path;
	const char *q = ((const struct remote_entry *)b)->path;

	while (*p && *p == *q) {
		p++;
		q++;
	}
	/* A slash sorts before all: parents, their children, the next. */
	int x = *p == '/' ? 1 : (unsigned char)*p + (*p != 0);
	int y = *q == '/' ? 1 : (unsigned char)*q + (*q != 0);
	return x - y;
}

static bool
parents_first(const struct listing *l)
{
	for (size_t i = 1; i < l->count; i++)
		if (by_path(&l->entries[i - 1], &l->entries[i]) > 0)
			return false;
	return true;
}

/* How many levels an entry lies below the root. */
static int
level(const struct listing *l, const struct remote_entry *e)
{
	size_t skip = strlen(l->root);
	const char *p = e->path + MIN(skip, strlen(e->path));
	int n = 0;

	if (*p == '/')
		p++;
	if (!*p)
		return 0;
	for (n = 1; (p = strchr(p, '/')); p++)
		n++;
	return n;
}

int
list_read(const struct script *s, const char *root, bool deep, size_t max_bytes,
    struct listing *out, bool *cut, struct status *st)
{
	auto_buf packed = BUF_INIT(ANSWER_MAX);
	auto_buf rows = BUF_INIT(max_bytes + 1);

	*out = (struct listing){ .root = xstrdup(root) };
	*cut = false;
	if (script_bytes(s, "list", 0, &packed, st) < 0 ||
	    wire_gunzip(&rows, packed.bytes, packed.len, st) < 0)
		return -1;
	if (rows.len > max_bytes) {
		*cut = true;
		/* back to the end of the last whole row: two NULs */
		size_t n = rows.len, nuls = 0;
		for (size_t i = 0; i < rows.len; i++) {
			if (rows.bytes[i] == '\0' && ++nuls % 2 == 0)
				n = i + 1;
		}
		rows.len = nuls >= 2 ? n : 0;
	}
	if (wire_rows(rows.bytes, rows.len, root, out, st) < 0)
		return -1;
	if (!parents_first(out))
		qsort(out->entries, out->count, sizeof *out->entries, by_path);
	for (size_t i = 0; !deep && i < out->count; i++)
		if (S_ISDIR(out->entries[i].mode) &&
		    level(out, &out->entries[i]) > 0)
			out->entries[i].unlisted = true;
	return 0;
}

/* At a depth limit directories on the last level were not looked into. */
static void
mark_depth(struct listing *l, int depth)
{
	if (depth == 0)
		return;
	l->truncated = true;
	for (size_t i = 0; i < l->count; i++)
		if (S_ISDIR(l->entries[i].mode) &&
		    level(l, &l->entries[i]) >= depth)
			l->entries[i].unlisted = true;
}

struct listing_try {
	const char *path;
	bool deep;
	int depth; /* 0 = all */
	bool cut;
};

static int
list_once(struct sandbox *sb, enum sandbox_want want, struct listing_try *t,
    bool find_printf, struct listing *out, unsigned *generation,
    struct cancel *c, struct status *st)
{
	struct script s;

	script_init(&s, want);
	shell_path(&s.text, "R", t->path);
	buf_puts(&s.text,
	    "if ! cd -- \"$R\" 2>/dev/null; then\n"
	    "if [ -d \"$R\" ]; then echo =saf=err EACCES\n"
	    "elif [ -e \"$R\" ] || [ -L \"$R\" ]; then echo =saf=err ENOTDIR\n"
	    "else echo =saf=err ENOENT; fi\nelse\n");
	list_text(&s.text, t->path, t->deep ? t->depth : 1, ROWS_BYTES,
	    find_printf);
	buf_puts(&s.text, "fi\n");
	int rc = script_run(sb, &s, c, st);
	*generation = s.generation;
	if (rc == 0)
		rc = script_error(&s, st);
	if (rc == 0) {
		rc = list_read(&s, t->path, t->deep, ROWS_BYTES, out, &t->cut,
		    st);
		t->cut = t->cut || out->count > ENTRIES_MAX;
	}
	script_finish(&s);
	return rc;
}

/* No find and no stat in there: the API's own listing. */
static int
list_by_api(struct sandbox *sb, enum sandbox_want want, const char *path,
    struct listing *out, struct cancel *c, struct status *st)
{
	struct http_response r = { .body = BUF_INIT(ANSWER_MAX) };
	auto_buf url = BUF_INIT(URL_MAX_BYTES);
	auto_free char *whole =
	    xasprintf("%s%s%s", SANDBOX_HOME, *path ? "/" : "", path);

	buf_puts(&url, "/files");
	url_add_query(&url, "path", whole, strlen(whole));
	struct toolbox_call call = { .method = "GET",
		.path = url.bytes,
		.want = want };
	int rc = toolbox_call(sb, &call, &r, c, st);
	if (rc == 0 && r.status == 404 && r.body.len > 0) {
		/* an old daemon knows it with a slash only */
		auto_buf slash = BUF_INIT(URL_MAX_BYTES);
		buf_printf(&slash, "/files/%s", url.bytes + strlen("/files"));
		call.path = slash.bytes;
		rc = toolbox_call(sb, &call, &r, c, st);
	}
	if (rc == 0 && r.status != 200)
		rc = toolbox_refused(&r, st);
	if (rc == 0)
		rc = wire_files(&r.body, path, out, st);
	buf_finish(&r.body);
	return rc;
}

int
sandbox_list(struct sandbox *sb, enum sandbox_want want, const char *path,
    bool deep, struct listing *out, struct cancel *c, struct status *st)
{
	struct features f;
	size_t d = 0;
	unsigned generation = 0;
	struct listing_try t = { .path = path, .deep = deep };

	wait_point();
	*out = (struct listing){ 0 };
	if (sandbox_features(sb, want, &f, c, st) < 0)
		return -1;
	bool has = f.find_printf != 0;
	while (true) {
		t.depth = depths[d];
		if (list_once(sb, want, &t, has, out, &generation, c, st) < 0)
			break;
		if (out->count == 0 && has) {
			/* not even the root: find knows no -printf */
			has = false;
		} else if (t.cut && deep && d + 1 < ARRAY_SIZE(depths)) {
			d++;
		} else {
			if (out->count > 0) {
				f = (struct features){ has, -1 };
				sandbox_learn(sb, generation, f);
				mark_depth(out, deep ? t.depth : 0);
				out->truncated = out->truncated || t.cut;
				return 0;
			}
			listing_finish(out);
			out->root = xstrdup(path);
			if (list_by_api(sb, want, path, out, c, st) < 0)
				break;
			return 0;
		}
		listing_finish(out);
	}
	listing_finish(out);
	return status_wrap(st, "list %s", *path ? path : "the workspace");
}
