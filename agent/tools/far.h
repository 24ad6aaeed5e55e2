/*
 * Files of the sandbox that the mirror does not hold: outside the workspace,
 * behind links that leave it, or too large to be fetched whole. One script of
 * ours a call. Paths are absolute. All functions wait; failures have the codes
 * NOT_FOUND, IS_DIR, NOT_DIR, DENIED, INVALID (no regular file), TOO_BIG.
 */
#ifndef AGENT_TOOLS_FAR_H
#define AGENT_TOOLS_FAR_H

#include "agent/tools/tool.h"

/* Files up to this size are fetched whole, in bytes. */
#define FAR_WHOLE (1 << 20)

struct far_file {
	int64_t size;     /* bytes */
	bool whole;       /* text is all of it */
	struct buf probe; /* else: how it begins */
	struct buf text;  /* and the lines asked for, bounded */
	int64_t lines;    /* of the file */
};

void far_file_init(struct far_file *f);
void far_file_finish(struct far_file *f);
/* offset: lines to skip, limit: lines wanted, for a file over `whole_max`. */
int far_read(const struct tool_context *ctx, const char *path,
    int64_t whole_max, int64_t offset, int64_t limit, struct far_file *f,
    struct status *st);
/* Makes missing directories; an existing file keeps its mode, a link is
 * followed. */
int far_write(const struct tool_context *ctx, const char *path,
    const void *bytes, size_t len, struct status *st);
/* Names in a directory, each ended by a NUL. */
int far_list(const struct tool_context *ctx, const char *path,
    struct buf *names, struct status *st);

/* Commands that test whether $p is there, or a directory to look into, and the
 * status for an exit code of theirs. */
extern const char far_check_exists[], far_check_dir[];
int far_failure(int exit_code, struct status *st);

#endif
