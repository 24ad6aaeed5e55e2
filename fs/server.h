/*
 * The server from its start to its end: assembles the layers, mounts, runs the
 * loop, and takes all down again in order.
 */
#ifndef FS_SERVER_H
#define FS_SERVER_H

#include "agent/config/settings.h"

/* Returns in the server alone (the parent exits in here): 0 after an orderly
 * stop, or -1 with `st`: the one line to print. */
int server_run(const struct settings *settings, struct status *st);

#endif
