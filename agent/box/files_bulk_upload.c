/*
 * POST /files/bulk-upload: pairs files[i].path, files[i].file. Each file is
 * truncated when its part begins and written as it comes, so an aborted
 * transfer leaves a part of it: that is what the daemon does.
 */
#include <errno.h>

#include "agent/base/text.h"
#include "agent/box/files_open.h"
#include "agent/box/gotext.h"
#include "agent/box/multipart.h"
#include "agent/box/toolbox.h"

#define PATH_FIELD_MAX ((size_t)65536)
#define PATHS_MAX      100000

/* A path that waits for its file. */
struct destination {
	struct destination *next;
	char *key;
	char *path;
	char *sent; /* the same before its repair, for the answer */
};

enum field { FIELD_OTHER, FIELD_PATH, FIELD_FILE };

struct bulk {
	struct multipart *multipart;
	cJSON *errors, *files;
	struct destination *waiting;
	size_t waiting_count;
	/* the part under way */
	enum field field;
	char *key;
	struct buf text; /* of a path */
	struct destination *to;
	int fd; /* of a file, or -1 */
	int64_t written;
};

static void
add_error(struct bulk *b, const char *what, const char *step, const char *call,
    const char *path, int err)
{
	char words[96];
	auto_buf text = BUF_INIT(PATH_FIELD_MAX * 3 + 512);

	gotext_errno(words, err);
	buf_printf(&text, "%s: %s: %s %s: %s", what, step, call, path, words);
	cJSON_AddItemToArray(b->errors, cJSON_CreateString(text.bytes));
}

static void
add_error_text(struct bulk *b, const char *a, const char *key, const char *z)
{
	auto_free char *text = xasprintf("%s%s%s", a, key, z);

	cJSON_AddItemToArray(b->errors, cJSON_CreateString(text));
}

static void
destination_free(struct destination *d)
{
	if (!d)
		return;
	free(d->key);
	free(d->path);
	free(d->sent);
	free(d);
}

static struct destination *
take_destination(struct bulk *b, const char *key)
{
	for (struct destination **at = &b->waiting; *at; at = &(*at)->next) {
		struct destination *d = *at;
		if (strcmp(d->key, key) != 0)
			continue;
		*at = d->next;
		b->waiting_count--;
		return d;
	}
	return NULL;
}

static void
open_file(struct bulk *b)
{
	b->to = take_destination(b, b->key);
	if (!b->to) {
		add_error_text(b, "file[", b->key, "]: missing .path metadata");
		return;
	}
	const char *path = b->to->path;
	auto_buf failed = BUF_INIT(PATH_FIELD_MAX);
	auto_free char *parent = files_parent(path);
	if (files_make_dirs(parent, 0755, &failed) < 0) {
		int err = errno;
		auto_free char *step = xasprintf("mkdir %s", parent);
		add_error(b, path, step, "mkdir", failed.bytes, err);
		return;
	}
	b->fd = files_create(path);
	if (b->fd < 0)
		add_error(b, path, "create", "open", path, errno);
	b->written = 0;
}

/* The text between "files[" and "].path" or "].file". */
static enum field
parse_name(const char *name, char **key)
{
	const char *end = strrchr(name, ']');

	if (strncmp(name, "files[", 6) != 0 || !end)
		return FIELD_OTHER;
	enum field field = strcmp(end, "].path") == 0 ? FIELD_PATH
	    : strcmp(end, "].file") == 0              ? FIELD_FILE
						      : FIELD_OTHER;
	if (field != FIELD_OTHER)
		*key = xstrndup(name + 6, (size_t)(end - name) - 6);
	return field;
}

static void
on_part(void *arg, const char *name, bool has_name)
{
	struct bulk *b = arg;

	b->field = has_name ? parse_name(name, &b->key) : FIELD_OTHER;
	if (b->field == FIELD_FILE)
		open_file(b);
}

static void
on_bytes(void *arg, const char *bytes, size_t len)
{
	struct bulk *b = arg;

	if (b->field == FIELD_PATH)
		buf_add(&b->text, bytes, len);
	if (b->field != FIELD_FILE || b->fd < 0)
		return;
	if (write_all(b->fd, bytes, len) == 0) {
		b->written += (int64_t)len;
		return;
	}
	add_error(b, b->to->path, "write", "write", b->to->path, errno);
	close(b->fd);
	b->fd = -1;
}

static void
end_path(struct bulk *b)
{
	auto_buf clean = BUF_INIT(PATH_FIELD_MAX * 3);
	auto_free char *sent = gotext_trim(b->text.bytes);

	text_add_utf8(&clean, sent, strlen(sent));
	if (clean.len == 0 || b->text.failed || clean.failed ||
	    b->waiting_count >= PATHS_MAX) {
		add_error_text(b, "path[", b->key, "]: empty path");
	} else {
		struct destination *d = xcalloc(1, sizeof *d);
		d->key = take(b->key);
		d->sent = take(sent);
		d->path = buf_take(&clean);
		d->next = b->waiting;
		b->waiting = d;
		b->waiting_count++;
	}
	buf_reset(&b->text);
}

static void
end_file(struct bulk *b)
{
	if (b->fd >= 0 && close(b->fd) < 0) {
		add_error(b, b->to->path, "close", "close", b->to->path, errno);
	} else if (b->fd >= 0) {
		cJSON *file = cJSON_CreateObject();
		cJSON_AddStringToObject(file, "path", b->to->sent);
		cJSON_AddNumberToObject(file, "bytes", (double)b->written);
		cJSON_AddItemToArray(b->files, file);
	}
	b->fd = -1;
	destination_free(b->to);
	b->to = NULL;
}

static void
on_end(void *arg)
{
	struct bulk *b = arg;

	if (b->field == FIELD_PATH)
		end_path(b);
	else if (b->field == FIELD_FILE)
		end_file(b);
	free(b->key);
	b->key = NULL;
	b->field = FIELD_OTHER;
}

static const struct multipart_events events = { on_part, on_bytes, on_end };

static void
begin(struct http_request *r)
{
	struct bulk *b = xcalloc(1, sizeof *b);

	b->multipart =
	    multipart_create(http_header(r, "Content-Type"), &events, b);
	b->errors = cJSON_CreateArray();
	b->files = cJSON_CreateArray();
	b->fd = -1;
	buf_init(&b->text, PATH_FIELD_MAX);
	r->data = b;
}

static void
chunk(struct http_request *r, const char *bytes, size_t len)
{
	struct bulk *b = r->data;

	if (b->multipart)
		multipart_feed(b->multipart, bytes, len);
}

static void
close_bulk(struct http_request *r)
{
	struct bulk *b = r->data;

	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	while (b->waiting)
		destination_free(take_destination(b, b->waiting->key));
	destination_free(b->to);
	free(b->key);
	buf_finish(&b->text);
	multipart_destroy(b->multipart);
	cJSON_Delete(b->errors);
	cJSON_Delete(b->files);
	free(b);
}

static void
note_cut(struct bulk *b)
{
	if (b->field == FIELD_FILE && b->fd >= 0) {
		auto_free char *text =
		    xasprintf("%s: write: unexpected EOF", b->to->path);
		cJSON_AddItemToArray(b->errors, cJSON_CreateString(text));
	}
	cJSON_AddItemToArray(b->errors,
	    cJSON_CreateString("reading part: multipart: NextPart: EOF"));
}

static enum MHD_Result
finish(struct http_request *r)
{
	struct bulk *b = r->data;
	auto_json *json = cJSON_CreateObject();
	struct buf body = BUF_INIT((size_t)256 << 20);

	if (!b->multipart) {
		static const char text[] =
		    "{\"errors\":[\"invalid multipart form\"]}";
		return http_reply(r, MHD_HTTP_BAD_REQUEST, HTTP_JSON, text,
		    sizeof text - 1);
	}
	if (multipart_finish(b->multipart) != MULTIPART_COMPLETE)
		note_cut(b);
	bool failed = b->errors->child;
	if (failed)
		cJSON_AddItemToObject(json, "errors", take(b->errors));
	if (b->files->child)
		cJSON_AddItemToObject(json, "files", take(b->files));
	else
		cJSON_AddNullToObject(json, "files");
	gotext_json(&body, json);
	return http_reply_buf(r, failed ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK,
	    HTTP_JSON, &body);
}

const struct http_handler files_bulk_upload_handler = { .begin = begin,
	.chunk = chunk,
	.finish = finish,
	.close = close_bulk };
