/*
 * Reading and writing one file of the sandbox for the tools: through the
 * mirror where it can, so that a viewer of the mount sees the same, else by
 * script. All functions wait; codes as in far.h.
 */
#ifndef AGENT_TOOLS_FILES_H
#define AGENT_TOOLS_FILES_H

#include "agent/tools/far.h"
#include "agent/tools/place.h"

/* For a file that is fetched whole by the mirror, in bytes. */
#define FILES_MIRROR_MAX (8 << 20)
/* The largest file that can be edited, in bytes. */
#define FILES_EDIT_MAX (16 << 20)

/* The whole file, or of a large one how it begins and the lines asked for. */
int files_read(const struct tool_context *ctx, const struct place *place,
    int64_t offset, int64_t limit, struct far_file *f, struct status *st);
/* The whole file; TOO_BIG over FILES_EDIT_MAX. */
int files_read_whole(const struct tool_context *ctx, const struct place *place,
    struct buf *text, struct status *st);
int files_write(const struct tool_context *ctx, const struct place *place,
    const void *bytes, size_t len, struct status *st);
/* Is this failure of the mirror the last word? A path that it does not follow
 * (through a link that leaves the workspace) may well exist in the sandbox. */
bool files_mirror_is_final(const struct status *st);

#endif
