/*
 * GET /files/find (text in files), GET /files/search (names), POST
 * /files/replace. Walks go by name and follow no link.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>

#include "agent/box/gotext.h"
#include "agent/box/toolbox.h"

#define RESULT_MAX  ((size_t)256 << 20)
#define FILE_MAX    ((size_t)256 << 20) /* that replace rewrites */
#define LINE_MAX_GO 65536
#define DEPTH_MAX   256
#define SNIFF       512

struct walk {
	const char *pattern;
	void (*visit)(struct walk *w, const char *path, const char *name,
	    const struct stat *st);
	struct buf out; /* items, joined by ',' */
};

static int
not_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static void
walk_path(struct walk *w, const char *path, const char *name, unsigned depth)
{
	struct stat st;
	struct dirent **entries = NULL;

	if (lstat(path, &st) < 0 || w->out.failed)
		return;
	w->visit(w, path, name, &st);
	if (!S_ISDIR(st.st_mode) || depth >= DEPTH_MAX)
		return;
	int n = scandir(path, &entries, not_dots, alphasort);
	for (int i = 0; i < n; i++) {
		const char *child = entries[i]->d_name;
		auto_free char *below = xasprintf("%s%s%s", path,
		    path[strlen(path) - 1] == '/' ? "" : "/", child);
		walk_path(w, below, child, depth + 1);
		free(entries[i]);
	}
	free(entries);
}

static void
add_separator(struct walk *w)
{
	if (w->out.len > 0)
		buf_putc(&w->out, ',');
}

static void
find_in(struct walk *w, const char *path, const char *name,
    const struct stat *st)
{
	char *line = NULL;
	size_t cap = 0, want = strlen(w->pattern);
	ssize_t n;

	(void)name;
	if (!S_ISREG(st->st_mode))
		return;
	FILE *f = fopen(path, "re");
	if (!f)
		return;
	char head[SNIFF];
	size_t got = fread(head, 1, sizeof head, f);
	bool binary = memchr(head, '\0', got);
	rewind(f);
	for (int no = 1; !binary && (n = getline(&line, &cap, f)) >= 0; no++) {
		if (n > 0 && line[n - 1] == '\n')
			n--;
		if (n > LINE_MAX_GO)
			break;
		if (!memmem(line, (size_t)n, w->pattern, want))
			continue;
		add_separator(w);
		buf_puts(&w->out, "{\"file\":");
		gotext_string(&w->out, path, strlen(path));
		buf_printf(&w->out, ",\"line\":%d,\"content\":", no);
		gotext_string(&w->out, line, (size_t)n);
		buf_putc(&w->out, '}');
	}
	free(line);
	fclose(f);
}

static void
match_name(struct walk *w, const char *path, const char *name,
    const struct stat *st)
{
	(void)st;
	if (fnmatch(w->pattern, name, FNM_PATHNAME) != 0)
		return;
	add_separator(w);
	gotext_string(&w->out, path, strlen(path));
}

static enum MHD_Result
search_with(struct http_request *r, struct walk *w, const char *before,
    const char *after)
{
	auto_free char *path = http_param(r, "path");
	auto_free char *pattern = http_param(r, "pattern");
	struct buf body = BUF_INIT(RESULT_MAX + 64);

	if (!path || !*path || !pattern || !*pattern)
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	buf_init(&w->out, RESULT_MAX);
	w->pattern = pattern;
	const char *slash = strrchr(path, '/');
	walk_path(w, path, slash && slash[1] ? slash + 1 : path, 0);
	buf_puts(&body, before);
	buf_add(&body, w->out.bytes, w->out.len);
	buf_puts(&body, after);
	body.failed |= w->out.failed;
	buf_finish(&w->out);
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &body);
}

static enum MHD_Result
find(struct http_request *r)
{
	struct walk w = { .visit = find_in };

	return search_with(r, &w, "[", "]");
}

static enum MHD_Result
search(struct http_request *r)
{
	struct walk w = { .visit = match_name };

	return search_with(r, &w, "{\"files\":[", "]}");
}

static int
read_whole(const char *path, struct buf *text, const char **step)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	*step = "open";
	if (fd < 0)
		return -1;
	*step = "read";
	for (;;) {
		char *room = buf_reserve(text, 65536);
		if (!room) {
			errno = EFBIG;
			return -1;
		}
		ssize_t n = read(fd, room, 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		buf_commit(text, (size_t)n);
	}
}

static int
replace_in(const char *path, const char *pattern, const char *value,
    const char **step)
{
	auto_buf text = BUF_INIT(FILE_MAX);
	auto_buf out = BUF_INIT(FILE_MAX);
	size_t want = strlen(pattern), at = 0;

	if (read_whole(path, &text, step) < 0)
		return -1;
	const char *hit;
	while (want > 0 &&
	    (hit = memmem(text.bytes + at, text.len - at, pattern, want))) {
		size_t n = (size_t)(hit - text.bytes) - at;
		buf_add(&out, text.bytes + at, n);
		buf_puts(&out, value);
		at += n + want;
	}
	buf_add(&out, text.bytes + at, text.len - at);
	*step = "open";
	errno = EFBIG;
	auto_fd int fd =
	    out.failed ? -1 : open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -1;
	*step = "write";
	return write_all(fd, out.bytes, out.len);
}

static cJSON *
replace_one(const char *path, const char *pattern, const char *value)
{
	cJSON *item = cJSON_CreateObject();
	const char *step = "";
	char words[96];

	cJSON_AddStringToObject(item, "file", path);
	if (replace_in(path, pattern, value, &step) == 0) {
		cJSON_AddTrueToObject(item, "success");
		return item;
	}
	gotext_errno(words, errno);
	auto_free char *text = xasprintf("%s %s: %s", step, path, words);
	cJSON_AddFalseToObject(item, "success");
	cJSON_AddStringToObject(item, "error", text);
	return item;
}

static enum MHD_Result
replace(struct http_request *r)
{
	struct status st;
	auto_json *json = json_parse(r->body.bytes, r->body.len, &st);
	auto_json *result = cJSON_CreateArray();
	struct buf body = BUF_INIT(RESULT_MAX);
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(json, "files");
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(json, "newValue");
	const char *pattern = json_string_or(json, "pattern", "");

	if (!cJSON_IsArray(files) || !*pattern || !cJSON_IsString(value))
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	for (const cJSON *f = files->child; f; f = f->next)
		if (cJSON_IsString(f))
			cJSON_AddItemToArray(result,
			    replace_one(f->valuestring, pattern,
				value->valuestring));
	gotext_json(&body, result);
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &body);
}

const struct http_handler files_find_handler = { .finish = find };
const struct http_handler files_search_handler = { .finish = search };
const struct http_handler files_replace_handler = { .body_max = (size_t)16
	    << 20,
	.finish = replace };
