/* What the control plane's files share. */
#ifndef AGENT_BOX_CONTROL_H
#define AGENT_BOX_CONTROL_H

#include "agent/box/outside.h"

/* The control plane's error body. */
enum MHD_Result control_error(struct http_request *r, unsigned status,
    const char *message);
/* One sandbox's DTO. */
enum MHD_Result control_guest(struct http_request *r, unsigned status,
    struct guest *g);
/* GET /sandbox and /sandbox/paginated. */
enum MHD_Result control_list(struct http_request *r);
enum MHD_Result control_list_paginated(struct http_request *r);

#endif
