/*
 * GET /files/download, by the rules of Go's http.ServeContent: ranges, and the
 * conditional headers on the whole seconds of Last-Modified. There is no ETag.
 */
#include <errno.h>

#include "agent/base/path.h"
#include "agent/box/gotext.h"
#include "agent/box/range.h"
#include "agent/box/toolbox.h"
#include "agent/box/uuid.h"

static enum MHD_Result
text_reply(struct http_request *r, unsigned status, const char *text,
    const char *header, const char *value)
{
	struct MHD_Response *response =
	    MHD_create_response_from_buffer(strlen(text),
		(void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (response) {
		MHD_add_response_header(response, "Content-Type",
		    "text/plain; charset=utf-8");
		if (header)
			MHD_add_response_header(response, header, value);
	}
	return http_reply_response(r, status, response);
}

static void
attachment(struct buf *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	buf_puts(out, "attachment; ");
	gotext_disposition(out, name, strlen(name));
}

static void
add_headers(struct MHD_Response *response, char *path, const struct stat *st)
{
	auto_buf disposition = BUF_INIT(CONNECTION_TEXT_MAX);
	char modified[40];

	attachment(&disposition, path);
	MHD_add_response_header(response, "Content-Disposition",
	    disposition.bytes);
	MHD_add_response_header(response, "Content-Description",
	    "File Transfer");
	MHD_add_response_header(response, "Content-Transfer-Encoding",
	    "binary");
	MHD_add_response_header(response, "Cache-Control", "must-revalidate");
	MHD_add_response_header(response, "Expires", "0");
	MHD_add_response_header(response, "Pragma", "public");
	MHD_add_response_header(response, "Accept-Ranges", "bytes");
	gotext_http_time(modified, st->st_mtime);
	MHD_add_response_header(response, "Last-Modified", modified);
}

/* 0, or the status that a condition asks for. */
static unsigned
preconditions(const struct http_request *r, time_t modified)
{
	const char *v;
	time_t t;

	if ((v = http_header(r, "If-Match"))) {
		if (strcmp(v, "*") != 0)
			return MHD_HTTP_PRECONDITION_FAILED;
	} else if ((v = http_header(r, "If-Unmodified-Since")) &&
	    gotext_parse_http_time(v, &t) == 0 && modified > t) {
		return MHD_HTTP_PRECONDITION_FAILED;
	}
	if ((v = http_header(r, "If-None-Match")))
		return strcmp(v, "*") == 0 ? MHD_HTTP_NOT_MODIFIED : 0;
	if ((v = http_header(r, "If-Modified-Since")) &&
	    gotext_parse_http_time(v, &t) == 0 && modified <= t)
		return MHD_HTTP_NOT_MODIFIED;
	return 0;
}

static const char *
wanted_range(const struct http_request *r, time_t modified)
{
	const char *range = http_header(r, "Range");
	const char *v = http_header(r, "If-Range");
	time_t t;

	if (range && v && (gotext_parse_http_time(v, &t) < 0 || t != modified))
		return NULL;
	return range;
}

/* A body from one descriptor: pieces of the file, each behind a header that is
 * empty unless there are several. Not libmicrohttpd's own way with a
 * descriptor: that spins when the file is cut meanwhile. */
struct content {
	int fd;
	size_t count, part;
	size_t head_done;
	int64_t body_done;
	struct range ranges[RANGE_MAX];
	struct buf heads[RANGE_MAX + 1]; /* the last one closes */
};

static void
free_content(void *cls)
{
	struct content *c = cls;

	for (size_t i = 0; i <= c->count; i++)
		buf_finish(&c->heads[i]);
	close(c->fd);
	free(c);
}

static ssize_t
read_content(void *cls, uint64_t pos, char *out, size_t max)
{
	struct content *c = cls;

	(void)pos;
	for (; c->part <= c->count; c->part++) {
		const struct buf *head = &c->heads[c->part];
		if (c->head_done < head->len) {
			size_t n = MIN(max, head->len - c->head_done);
			memcpy(out, head->bytes + c->head_done, n);
			c->head_done += n;
			return (ssize_t)n;
		}
		if (c->part == c->count)
			break;
		const struct range *range = &c->ranges[c->part];
		int64_t left = range->len - c->body_done;
		if (left > 0) {
			ssize_t n =
			    pread(c->fd, out, (size_t)MIN(left, (int64_t)max),
				range->start + c->body_done);
			if (n <= 0)
				return MHD_CONTENT_READER_END_WITH_ERROR;
			c->body_done += n;
			return n;
		}
		c->head_done = 0;
		c->body_done = 0;
	}
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* Fills the headers of several parts; returns their length. */
static uint64_t
add_heads(struct content *c, int64_t size, const char *boundary)
{
	uint64_t total = 0;

	for (size_t i = 0; i <= c->count; i++) {
		struct buf *head = &c->heads[i];
		const struct range *range = &c->ranges[i];
		buf_puts(head, i ? "\r\n--" : "--");
		buf_puts(head, boundary);
		if (i == c->count)
			buf_puts(head, "--\r\n");
		else
			buf_printf(head,
			    "\r\nContent-Range: bytes %lld-%lld/%lld\r\n"
			    "Content-Type: application/octet-stream\r\n\r\n",
			    (long long)range->start,
			    (long long)(range->start + range->len - 1),
			    (long long)size);
		total += head->len;
	}
	return total;
}

/* Takes fd. */
static struct MHD_Response *
content_response(int fd, int64_t size, const struct range *ranges, size_t count)
{
	struct content *c = xcalloc(1, sizeof *c);
	char boundary[UUID_SIZE];
	char type[100] = "application/octet-stream";
	uint64_t total = 0;

	c->fd = fd;
	c->count = count;
	memcpy(c->ranges, ranges, count * sizeof *ranges);
	for (size_t i = 0; i <= count; i++)
		buf_init(&c->heads[i], 1024);
	if (count > 1) {
		uuid_make(boundary);
		total = add_heads(c, size, boundary);
		snprintf(type, sizeof type, "multipart/byteranges; boundary=%s",
		    boundary);
	}
	for (size_t i = 0; i < count; i++)
		total += (uint64_t)ranges[i].len;
	struct MHD_Response *response = MHD_create_response_from_callback(total,
	    131072, read_content, c, free_content);
	if (response)
		MHD_add_response_header(response, "Content-Type", type);
	else
		free_content(c);
	return response;
}

/* Takes fd. */
static enum MHD_Result
serve(struct http_request *r, int fd, char *path, const struct stat *st)
{
	struct range ranges[RANGE_MAX];
	size_t count = 0;
	char header[96];
	unsigned status = preconditions(r, st->st_mtime);

	if (status) {
		close(fd);
		struct MHD_Response *response =
		    MHD_create_response_from_buffer(0, NULL,
			MHD_RESPMEM_PERSISTENT);
		if (response)
			add_headers(response, path, st);
		return http_reply_response(r, status, response);
	}
	enum range_result result = range_parse(wanted_range(r, st->st_mtime),
	    st->st_size, ranges, &count);
	if (result == RANGE_INVALID || result == RANGE_NO_OVERLAP) {
		close(fd);
		snprintf(header, sizeof header, "bytes */%lld",
		    (long long)st->st_size);
		return result == RANGE_INVALID
		    ? text_reply(r, 416, "invalid range\n", NULL, NULL)
		    : text_reply(r, 416, "invalid range: failed to overlap\n",
			  "Content-Range", header);
	}
	if (result == RANGE_NONE)
		ranges[0] = (struct range){ 0, st->st_size };
	struct MHD_Response *response =
	    content_response(fd, st->st_size, ranges, MAX(count, (size_t)1));
	if (response && count == 1) {
		snprintf(header, sizeof header, "bytes %lld-%lld/%lld",
		    (long long)ranges[0].start,
		    (long long)(ranges[0].start + ranges[0].len - 1),
		    (long long)st->st_size);
		MHD_add_response_header(response, "Content-Range", header);
	}
	if (response)
		add_headers(response, path, st);
	return http_reply_response(r, count ? 206 : 200, response);
}

static enum MHD_Result
download(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	struct stat st;

	if (!path || !*path)
		return toolbox_errno(r, EINVAL);
	if (stat(path, &st) < 0)
		return toolbox_errno(r, errno);
	if (S_ISDIR(st.st_mode))
		return toolbox_errno(r, EINVAL);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	if (!utf8_valid(name, strlen(name))) {
		auto_buf disposition = BUF_INIT(CONNECTION_TEXT_MAX);
		attachment(&disposition, path);
		return text_reply(r, 404, "404 page not found\n",
		    "Content-Disposition", disposition.bytes);
	}
	int fd = toolbox_open(r, path, &st);
	if (fd < 0 && errno == EACCES)
		return text_reply(r, 403, "403 Forbidden\n", NULL, NULL);
	if (fd < 0)
		return toolbox_errno(r, errno);
	if (!S_ISREG(st.st_mode))
		st.st_size = 0;
	return serve(r, fd, path, &st);
}

const struct http_handler files_download_handler = { .finish = download };
