/* GET /files and GET /files/info: stat of what a path leads to, never of a
 * link itself, as the daemon does. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "agent/box/gotext.h"
#include "agent/box/toolbox.h"

/* A directory of a million names. */
#define LISTING_MAX ((size_t)512 << 20)

static void
add_info(struct buf *out, const char *name, const struct stat *st)
{
	char mode[16], mod_time[64], modified_at[64];

	gotext_mode(mode, st->st_mode);
	gotext_time(mod_time, &st->st_mtim);
	gotext_rfc3339(modified_at, &st->st_mtim);
	buf_puts(out, "{\"name\":");
	gotext_string(out, name, strlen(name));
	buf_printf(out,
	    ",\"size\":%lld,\"mode\":\"%s\",\"modTime\":\"%s\","
	    "\"modifiedAt\":\"%s\",\"isDir\":%s,\"owner\":\"%u\","
	    "\"group\":\"%u\",\"permissions\":\"%04o\"}",
	    (long long)st->st_size, mode, mod_time, modified_at,
	    S_ISDIR(st->st_mode) ? "true" : "false", (unsigned)st->st_uid,
	    (unsigned)st->st_gid, (unsigned)st->st_mode & 0777);
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Gives the sorted names of an open directory. */
static char **
read_names(DIR *dir, size_t *count)
{
	const struct dirent *e;
	char **names = NULL;
	size_t n = 0, cap = 0;

	/* A stream of our own: no other worker reads it. */
	while ((e = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (n == cap) {
			cap = MAX(cap * 2, (size_t)64);
			names = xrealloc(names, cap, sizeof *names);
		}
		names[n++] = xstrdup(e->d_name);
	}
	if (n > 0)
		qsort(names, n, sizeof *names, by_name);
	*count = n;
	return names;
}

static enum MHD_Result
list(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	struct stat st;
	struct buf out = BUF_INIT(LISTING_MAX);
	size_t count = 0;

	if (!path)
		return toolbox_errno(r, EINVAL);
	DIR *dir = opendir(*path ? path : ".");
	if (!dir)
		return toolbox_errno(r, errno);
	char **names = read_names(dir, &count);
	buf_putc(&out, '[');
	for (size_t i = 0; i < count; i++) {
		/* What vanished or dangles is left out. */
		if (fstatat(dirfd(dir), names[i], &st, 0) == 0) {
			if (out.len > 1)
				buf_putc(&out, ',');
			add_info(&out, names[i], &st);
		}
		free(names[i]);
	}
	free(names);
	closedir(dir);
	buf_putc(&out, ']');
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &out);
}

/* The last component, "/" for the root. */
static const char *
base_name(char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

static enum MHD_Result
info(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	struct stat st;
	struct buf out = BUF_INIT(CONNECTION_TEXT_MAX);

	if (!path || !*path)
		return toolbox_errno(r, EINVAL);
	if (stat(path, &st) < 0)
		return toolbox_errno(r, errno);
	add_info(&out, base_name(path), &st);
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &out);
}

const struct http_handler files_list_handler = { .finish = list };
const struct http_handler files_info_handler = { .finish = info };
