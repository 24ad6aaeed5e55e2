/* The table of routes, and the forms of errors; see toolbox.h. */
#include "agent/box/toolbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <time.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/box/gotext.h"
#include "agent/box/query.h"

static enum MHD_Result
not_found(struct http_request *r)
{
	static const char text[] = "404 page not found";

	return http_reply(r, MHD_HTTP_NOT_FOUND, "text/plain", text,
	    sizeof text - 1);
}

static enum MHD_Result
moved(struct http_request *r)
{
	auto_buf text = BUF_INIT(CONNECTION_TEXT_MAX);
	auto_buf to = BUF_INIT(CONNECTION_TEXT_MAX);
	bool get = strcmp(r->method, "GET") == 0;

	buf_add(&to, r->path, strlen(r->path) - 1);
	if (*r->query)
		buf_printf(&to, "?%s", r->query);
	if (get)
		buf_printf(&text, "<a href=\"%s\">Moved Permanently</a>.\n\n",
		    to.bytes);
	struct MHD_Response *response =
	    MHD_create_response_from_buffer(text.len, text.bytes,
		MHD_RESPMEM_MUST_COPY);
	if (response) {
		MHD_add_response_header(response, "Location", to.bytes);
		if (get)
			MHD_add_response_header(response, "Content-Type",
			    "text/html; charset=utf-8");
	}
	return http_reply_response(r, get ? 301 : 307, response);
}

static enum MHD_Result
version(struct http_request *r)
{
	static const char text[] = "{\"version\":\"v" TOOLBOX_VERSION "\"}";

	return http_reply(r, MHD_HTTP_OK, HTTP_JSON, text, sizeof text - 1);
}

static enum MHD_Result
home_dir(struct http_request *r)
{
	static const char text[] = "{\"dir\":\"" TOOLBOX_HOME "\"}";

	return http_reply(r, MHD_HTTP_OK, HTTP_JSON, text, sizeof text - 1);
}

static const struct http_handler not_found_handler = { .finish = not_found };
static const struct http_handler moved_handler = { .finish = moved };
static const struct http_handler version_handler = { .finish = version };
static const struct http_handler home_dir_handler = { .finish = home_dir };

static const struct {
	const char *method, *path;
	const struct http_handler *handler;
} routes[] = {
	{ "GET", "/version", &version_handler },
	{ "GET", "/work-dir", &home_dir_handler },
	{ "GET", "/user-home-dir", &home_dir_handler },
	{ "GET", "/project-dir", &home_dir_handler },
	{ "POST", "/process/execute", &execute_handler },
	{ "GET", "/files", &files_list_handler },
	{ "GET", "/files/", &files_list_handler },
	{ "GET", "/files/info", &files_info_handler },
	{ "GET", "/files/download", &files_download_handler },
	{ "POST", "/files/bulk-download", &files_bulk_download_handler },
	{ "POST", "/files/upload", &files_upload_handler },
	{ "POST", "/files/upload-v2", &files_upload_v2_handler },
	{ "POST", "/files/bulk-upload", &files_bulk_upload_handler },
	{ "POST", "/files/folder", &files_folder_handler },
	{ "DELETE", "/files", &files_delete_handler },
	{ "DELETE", "/files/", &files_delete_handler },
	{ "POST", "/files/move", &files_move_handler },
	{ "POST", "/files/permissions", &files_permissions_handler },
	{ "GET", "/files/find", &files_find_handler },
	{ "GET", "/files/search", &files_search_handler },
	{ "POST", "/files/replace", &files_replace_handler },
};

/* Compares a path as sent with a route, which is plain ASCII. */
static bool
same_path(const char *sent, size_t len, const char *route)
{
	char plain[64];
	size_t n = 0;

	if (len >= sizeof plain ||
	    query_unescape(sent, len, false, plain, &n) < 0)
		return false;
	return n == strlen(route) && memcmp(plain, route, n) == 0;
}

static const struct http_handler *
find(const char *method, const char *path, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++)
		if (strcmp(method, routes[i].method) == 0 &&
		    same_path(path, len, routes[i].path))
			return routes[i].handler;
	return NULL;
}

const struct http_handler *
toolbox_route(struct http_request *r)
{
	size_t len = strlen(r->path);
	const struct http_handler *h = find(r->method, r->path, len);

	if (!h && len > 1 && r->path[len - 1] == '/' &&
	    find(r->method, r->path, len - 1))
		h = &moved_handler;
	return h ? h : &not_found_handler;
}

void
toolbox_error_json(struct buf *out, unsigned status, const char *code,
    const char *message, const char *path, const char *method)
{
	auto_json *json = cJSON_CreateObject();
	char now[64];
	struct timespec t = clock_wall();

	gotext_rfc3339(now, &t);
	cJSON_AddNumberToObject(json, "statusCode", status);
	cJSON_AddStringToObject(json, "message", message);
	cJSON_AddStringToObject(json, "code", code);
	cJSON_AddStringToObject(json, "timestamp", now);
	cJSON_AddStringToObject(json, "path", path);
	cJSON_AddStringToObject(json, "method", method);
	gotext_json(out, json);
}

enum MHD_Result
toolbox_error(struct http_request *r, unsigned status, const char *code,
    const char *message)
{
	auto_buf text = BUF_INIT(CONNECTION_TEXT_MAX);

	toolbox_error_json(&text, status, code, message, r->path, r->method);
	return http_reply_buf(r, status, "application/json", &text);
}

enum MHD_Result
toolbox_errno(struct http_request *r, int err)
{
	unsigned status = err == ENOENT     ? MHD_HTTP_NOT_FOUND
	    : err == EACCES || err == EPERM ? MHD_HTTP_FORBIDDEN
					    : MHD_HTTP_BAD_REQUEST;

	return http_empty(r, status);
}

int
toolbox_open(const struct http_request *r, const char *path, struct stat *st)
{
	/* Without O_NONBLOCK a FIFO would hold this worker for ever. */
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, st) < 0)
		return -1;
	if (S_ISFIFO(st->st_mode)) {
		struct pollfd fds[2] = { { .fd = fd, .events = POLLIN },
			{ .fd = http_client_fd(r), .events = POLLRDHUP } };
		wait_point();
		while (poll(fds, 2, -1) < 0 && errno == EINTR)
			;
	}
	return take_fd(fd);
}
