/* The script that does a batch of file operations; see push.c. Pure. */
#ifndef AGENT_SANDBOX_PUSH_TEXT_H
#define AGENT_SANDBOX_PUSH_TEXT_H

#include "agent/base/buf.h"
#include "agent/sandbox/sandbox.h"

/* D=…, the functions, and the guard against running twice. rows_define() came
 * before. The operations follow, then push_text_end(). */
void push_text_begin(struct buf *script, const char *id);
/* Operation number i. `content`: of a PUT, or NULL: it lies in $D.i. */
void push_text_op(struct buf *b, size_t i, const struct push_op *op,
    const struct buf *content);
/* The parts "res" and "rows", of `paths` (relative to the workspace). */
void push_text_end(struct buf *b, const char *const *paths, size_t count,
    bool sync);
/* Gives the name (relative) that the n-th (from 1) clash of `path` gets. */
char *push_conflict_path(const char *path, int64_t n);

#endif
