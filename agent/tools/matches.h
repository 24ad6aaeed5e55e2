/*
 * What grep(1) prints with -HnFZ, read and printed again: a name may hold
 * colons and line ends, and a binary file is named without its bytes. Pure.
 */
#ifndef AGENT_TOOLS_MATCHES_H
#define AGENT_TOOLS_MATCHES_H

#include "agent/base/buf.h"
#include "agent/tools/pattern.h"

struct match {
	char *path;   /* absolute */
	int64_t line; /* from 1; 0: a binary file */
	char *text;   /* of the line, NULL for a binary file */
	size_t order; /* as grep found it */
};

struct matches { /* zero-initialised; owns */
	struct match *match;
	size_t count;
	bool more; /* than `max` */
};

/* Reads records of "PATH NUL LINE:TEXT LF" and the words that GNU grep has for
 * a binary file. root: what was searched, absolute, as all paths begin. filter:
 * NULL = all files. */
void matches_read(struct matches *m, const struct buf *output, const char *root,
    const struct pattern *filter, size_t max);
/* Reads records of "PATH NUL" (grep -lZ). */
void matches_read_names(struct matches *m, const struct buf *output,
    const char *root, const struct pattern *filter, size_t max);
void matches_finish(struct matches *m);
/* Sorts by path, then line. */
void matches_sort(struct matches *m);

#endif
