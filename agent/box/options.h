/* The command line of sandagentfs-box, both roles. */
#ifndef AGENT_BOX_OPTIONS_H
#define AGENT_BOX_OPTIONS_H

#include "agent/base/status.h"

struct options {
	/* outside; strings are argv's */
	const char *listen;     /* HOST:PORT or NULL */
	const char *socket;     /* path or NULL */
	const char *token_file; /* with listen */
	const char *data;
	const char *root; /* NULL = the host's */
	int64_t uid;      /* when started as root */
	int parent_fd, ready_fd;
	int64_t minute_ms; /* length of a minute, for tests */
	/* inside */
	bool inside;
	int listen_fd, life_fd;
	/* both */
	int64_t memory_mb, processes, file_mb, files, reserve_mb;
	bool help, version, check;
};

/* 0, or -1 with a line for the user. */
int options_parse(struct options *o, int argc, char **argv, struct status *st);
/* For --help. */
extern const char options_usage[];

#endif
