/*
 * The first role: the server that clients talk to. Control plane below /api,
 * the toolboxes of running sandboxes below /toolbox/{id}.
 */
#ifndef AGENT_BOX_OUTSIDE_H
#define AGENT_BOX_OUTSIDE_H

#include "agent/box/http.h"
#include "agent/box/registry.h"

/* `arg` of the servers. */
struct outside {
	/* immutable while they run */
	struct registry *registry;
	char *token; /* NULL: no TCP */
};

/* Serves until told to end; the exit status. */
int outside_run(const struct options *o);

/* For http_server_start(). */
const struct http_handler *outside_route(struct http_request *r);

/* control.c: everything below /api but old toolbox paths. */
extern const struct http_handler control_handler, control_health_handler,
    control_config_handler, control_unknown_handler, control_denied_handler;
/* relay.c */
extern const struct http_handler relay_handler, relay_denied_handler;

/* The registry behind a request. */
struct registry *outside_registry(const struct http_request *r);
/* Gives "http://HOST" as the client named us. */
char *outside_base(const struct http_request *r);
/* JSON with a line break at its end, keys as given. */
enum MHD_Result outside_json(struct http_request *r, unsigned status,
    const cJSON *json);
/* Gives the decoded n-th segment of the path below `prefix`, or NULL. */
char *outside_segment(const struct http_request *r, const char *prefix,
    size_t n);

#endif
