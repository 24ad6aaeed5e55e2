/*
 * POST /files/upload and upload-v2: one file. The body is spooled first, so an
 * aborted transfer leaves the destination as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>

#include "agent/box/files_open.h"
#include "agent/box/gotext.h"
#include "agent/box/multipart.h"
#include "agent/box/toolbox.h"

struct upload {
	int spool; /* unlinked; -1 = could not be made */
	bool in_file, have_file, failed;
	struct multipart *multipart; /* NULL: the body is the file */
};

static void
on_part(void *arg, const char *name, bool has_name)
{
	struct upload *u = arg;

	u->in_file = has_name && strcmp(name, "file") == 0 && !u->have_file;
	u->have_file |= u->in_file;
}

static void
on_bytes(void *arg, const char *bytes, size_t len)
{
	struct upload *u = arg;

	if (u->in_file && !u->failed)
		u->failed = write_all(u->spool, bytes, len) < 0;
}

static void
on_end(void *arg)
{
	((struct upload *)arg)->in_file = false;
}

static const struct multipart_events events = { on_part, on_bytes, on_end };

static void
begin(struct http_request *r)
{
	struct upload *u = xcalloc(1, sizeof *u);

	u->spool = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	u->failed = u->spool < 0;
	u->multipart =
	    multipart_create(http_header(r, "Content-Type"), &events, u);
	r->data = u;
}

static void
begin_v2(struct http_request *r)
{
	begin(r);
	struct upload *u = r->data;
	if (!u->multipart)
		u->in_file = u->have_file = true;
}

static void
chunk(struct http_request *r, const char *bytes, size_t len)
{
	struct upload *u = r->data;

	if (u->multipart)
		multipart_feed(u->multipart, bytes, len);
	else
		on_bytes(u, bytes, len);
}

static void
close_upload(struct http_request *r)
{
	struct upload *u = r->data;

	if (!u)
		return;
	if (u->spool >= 0)
		close(u->spool);
	multipart_destroy(u->multipart);
	free(u);
}

static int
copy_spool(const struct upload *u, int to)
{
	off_t at = 0;
	ssize_t n;

	do
		n = sendfile(to, u->spool, &at, 1 << 30);
	while (n > 0);
	return n < 0 ? -1 : 0;
}

static int
store(struct upload *u, const char *path)
{
	if (u->multipart &&
	    multipart_finish(u->multipart) != MULTIPART_COMPLETE)
		return -1;
	if (u->failed || !u->have_file || !path || !*path)
		return -1;
	if (files_make_parents(path, 0750, NULL) < 0)
		return -1;
	auto_fd int to = files_create(path);
	if (to < 0 || copy_spool(u, to) < 0)
		return -1;
	return close(take_fd(to));
}

static enum MHD_Result
finish(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");

	if (store(r->data, path) < 0)
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	return http_empty(r, MHD_HTTP_OK);
}

static enum MHD_Result
finish_v2(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	struct buf body = BUF_INIT(CONNECTION_TEXT_MAX);

	if (store(r->data, path) < 0)
		return toolbox_error(r, MHD_HTTP_BAD_REQUEST, "BAD_REQUEST",
		    "bad request: the file could not be written");
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	buf_puts(&body, "{\"name\":");
	gotext_string(&body, name, strlen(name));
	buf_puts(&body, ",\"path\":");
	gotext_string(&body, path, strlen(path));
	buf_puts(&body, ",\"type\":\"file\"}");
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &body);
}

const struct http_handler files_upload_handler = { .begin = begin,
	.chunk = chunk,
	.finish = finish,
	.close = close_upload };
const struct http_handler files_upload_v2_handler = { .begin = begin_v2,
	.chunk = chunk,
	.finish = finish_v2,
	.close = close_upload };
