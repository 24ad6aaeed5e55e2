/*
 * Going into the background. The server is a child from the very beginning, so
 * that nothing that belongs to one process is split over two: SQLite's locks
 * on the store are not inherited over fork. The parent waits on a pipe for the
 * one line to print.
 */
#ifndef FS_START_H
#define FS_START_H

#include "agent/base/base.h"

struct start {
	int pipe; /* the server's end; -1 in the foreground */
};

/* Returns in the server only. The parent prints the line that
 * start_ready() gives and exits with 0, or exits with 1 when the server ends
 * without one (it has said why on stderr). foreground: no fork. */
void start_fork(struct start *s, bool foreground);
/* The mount is made: leaves the terminal's session and its directory. */
void start_detach(const struct start *s);
/* The mount answers: `line` is printed, the standard streams are let go. */
void start_ready(struct start *s, const char *line);

#endif
