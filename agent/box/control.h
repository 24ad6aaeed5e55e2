/* What the control plane's files share. */
#ifndef AGENT_BOX_CONTROL_H
#define AGENT_BOX_CONTROL_H

#include "agent/box/outside.h"

/* The control plane's error body. */
enum MHD_Result control_error(struct http_request *r, unsigned status,
    const char *message);
/* The same for a failed call: 404, 409 or 400. */
enum MHD_Result control_status(struct http_request *r, const struct status *st);
/* 404: no such route. */
enum MHD_Result control_unknown(struct http_request *r);
/* Gives the body's object, or NULL; an absent or empty body is one without
 * fields. */
cJSON *control_body(struct http_request *r);
/* One sandbox's DTO. */
enum MHD_Result control_guest(struct http_request *r, unsigned status,
    struct guest *g);
/* Whatever is asked of one sandbox. */
enum MHD_Result control_on_guest(struct http_request *r, const char *name);
/* GET /sandbox and /sandbox/paginated. */
enum MHD_Result control_list(struct http_request *r);
enum MHD_Result control_list_paginated(struct http_request *r);

#endif
