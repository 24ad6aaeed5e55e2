/*
 * POST /files/bulk-download: many files as parts of one reply. A part that
 * cannot be read whole ends the stream without its closing boundary.
 */
#include <errno.h>

#include "agent/base/text.h"
#include "agent/box/gotext.h"
#include "agent/box/toolbox.h"

#define BODY_MAX ((size_t)64 << 20)
#define MARK     "DAYTONA-FILE-BOUNDARY"

struct bulk {
	struct http_request *request;
	cJSON *json;       /* owns */
	const cJSON *next; /* path to come */
	bool first, closed;
	struct buf head;
	size_t head_done;
	int fd; /* content that comes after the head, or -1 */
};

static void
free_bulk(void *cls)
{
	struct bulk *b = cls;

	if (b->fd >= 0)
		close(b->fd);
	buf_finish(&b->head);
	cJSON_Delete(b->json);
	free(b);
}

static void
add_disposition(struct bulk *b, const char *name, const char *path)
{
	buf_printf(&b->head, "Content-Disposition: form-data; name=\"%s\"; ",
	    name);
	gotext_disposition(&b->head, path, strlen(path));
	buf_puts(&b->head, "\r\n");
}

static void
add_error(struct bulk *b, const char *path, unsigned status, const char *code,
    const char *what, const char *words)
{
	auto_buf message = BUF_INIT(CONNECTION_TEXT_MAX);

	buf_printf(&message, "%s%s%s%s", what, path, *words ? ": " : "", words);
	add_disposition(b, "error", path);
	buf_puts(&b->head, "Content-Type: " HTTP_JSON "\r\n\r\n");
	toolbox_error_json(&b->head, status, code, message.bytes, path, "POST");
}

static void
begin_part(struct bulk *b, const char *path)
{
	struct stat st;
	char words[96];

	if (!*path) {
		add_error(b, path, 400, "INVALID_FILE_PATH",
		    "invalid file path: path is empty", "");
		return;
	}
	int fd = toolbox_open(b->request, path, &st);
	if (fd < 0) {
		int err = errno;
		gotext_errno(words, err);
		if (err == ENOENT)
			add_error(b, path, 404, "FILE_NOT_FOUND",
			    "file not found: ", "");
		else if (err == EACCES || err == EPERM)
			add_error(b, path, 403, "FILE_ACCESS_DENIED",
			    "permission denied: ", "");
		else
			add_error(b, path, 500, "FILE_READ_FAILED",
			    "failed to open file: open ", words);
	} else if (S_ISDIR(st.st_mode)) {
		close(fd);
		add_error(b, path, 400, "INVALID_FILE_PATH",
		    "invalid file path: path points to a directory: ", "");
	} else {
		add_disposition(b, "file", path);
		buf_printf(&b->head,
		    "Content-Length: %lld\r\nContent-Type: %s\r\n\r\n",
		    (long long)st.st_size, gotext_mime(path));
		b->fd = fd;
	}
}

static void
next_head(struct bulk *b)
{
	buf_reset(&b->head);
	b->head_done = 0;
	buf_puts(&b->head, b->first ? "--" MARK : "\r\n--" MARK);
	b->first = false;
	if (!b->next) {
		buf_puts(&b->head, "--\r\n");
		b->closed = true;
		return;
	}
	buf_puts(&b->head, "\r\n");
	begin_part(b, cJSON_IsString(b->next) ? b->next->valuestring : "");
	b->next = b->next->next;
}

/* As much as fits: small files must not cost a packet each. */
static ssize_t
read_bulk(void *cls, uint64_t pos, char *out, size_t max)
{
	struct bulk *b = cls;
	size_t n = 0;

	(void)pos;
	while (n < max) {
		if (b->head_done < b->head.len) {
			size_t part = MIN(max - n, b->head.len - b->head_done);
			memcpy(out + n, b->head.bytes + b->head_done, part);
			b->head_done += part;
			n += part;
		} else if (b->fd >= 0) {
			ssize_t got = read(b->fd, out + n, max - n);
			if (got < 0)
				b->closed = true;
			if (got <= 0) {
				close(b->fd);
				b->fd = -1;
			} else {
				n += (size_t)got;
			}
		} else if (b->closed) {
			break;
		} else {
			next_head(b);
		}
	}
	return n > 0 ? (ssize_t)n : MHD_CONTENT_READER_END_OF_STREAM;
}

static enum MHD_Result
refuse(struct http_request *r, const char *type)
{
	static const char text[] =
	    "{\"error\":\"request body must be {\\\"paths\\\": [ ... ]} and "
	    "non-empty\"}";

	return http_reply(r, MHD_HTTP_BAD_REQUEST, type, text, sizeof text - 1);
}

static enum MHD_Result
finish(struct http_request *r)
{
	auto_buf text = BUF_INIT(BODY_MAX * 3);
	auto_buf clean = BUF_INIT(BODY_MAX * 3);
	struct status st;

	text_add_utf8(&text, r->body.bytes, r->body.len);
	text_scrub_json(&clean, text.bytes, text.len, false);
	if (r->body.failed || text.failed || clean.failed)
		return refuse(r, "text/plain; charset=utf-8");
	auto_json *json = json_parse(clean.bytes, clean.len, &st);
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(json, "paths");
	if (!cJSON_IsArray(paths) || !paths->child)
		return refuse(r, "text/plain; charset=utf-8");
	struct bulk *b = xcalloc(1, sizeof *b);
	b->request = r;
	b->next = paths->child;
	b->json = take(json);
	b->first = true;
	b->fd = -1;
	buf_init(&b->head, CONNECTION_TEXT_MAX * 2);
	struct MHD_Response *response =
	    MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 131072,
		read_bulk, b, free_bulk);
	if (response)
		MHD_add_response_header(response, "Content-Type",
		    "multipart/form-data; boundary=" MARK);
	else
		free_bulk(b);
	return http_reply_response(r, MHD_HTTP_OK, response);
}

const struct http_handler files_bulk_download_handler = { .body_max = BODY_MAX,
	.finish = finish };
