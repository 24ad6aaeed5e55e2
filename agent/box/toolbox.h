/*
 * The toolbox: what a sandbox's inside answers below /toolbox/{id}, as the
 * real daemon v0.190 does, empty error bodies included.
 */
#ifndef AGENT_BOX_TOOLBOX_H
#define AGENT_BOX_TOOLBOX_H

#include <sys/stat.h>

#include "agent/box/http.h"

#define TOOLBOX_HOME    "/home/daytona"
#define TOOLBOX_VERSION "0.190.0"
/* No error text or redirect is longer. */
#define CONNECTION_TEXT_MAX ((size_t)1 << 20)

/* For http_server_start(). */
const struct http_handler *toolbox_route(struct http_request *r);

/* The daemon's JSON error; `code` as "BAD_REQUEST". */
enum MHD_Result toolbox_error(struct http_request *r, unsigned status,
    const char *code, const char *message);
/* The same as text, with any path and method (bulk-download's parts). */
void toolbox_error_json(struct buf *out, unsigned status, const char *code,
    const char *message, const char *path, const char *method);
/* The status of most failed file operations, with an empty body: 404, 403,
 * else 400. */
enum MHD_Result toolbox_errno(struct http_request *r, int err);

/* Opens a file for reading and stats it. A FIFO is waited for until somebody
 * writes or the client goes, as the daemon does. -1 with errno. [waits] */
int toolbox_open(const struct http_request *r, const char *path,
    struct stat *st);

/* One file each, see there. */
extern const struct http_handler execute_handler;
extern const struct http_handler files_list_handler, files_info_handler;
extern const struct http_handler files_download_handler;
extern const struct http_handler files_bulk_download_handler;
extern const struct http_handler files_upload_handler, files_upload_v2_handler;
extern const struct http_handler files_bulk_upload_handler;
extern const struct http_handler files_folder_handler, files_delete_handler;
extern const struct http_handler files_move_handler, files_permissions_handler;
extern const struct http_handler files_find_handler, files_search_handler;
extern const struct http_handler files_replace_handler;

#endif
