/*
 * Argument objects made fit for LangGraph's loaders, which revive whatever
 * looks like one of their "lc" records, at any depth, and make a thread
 * unreadable over an unknown one; and for Python's saver, which cannot write
 * whole numbers of more than 64 bits. Pure.
 */
#ifndef AGENT_MODEL_GUARD_H
#define AGENT_MODEL_GUARD_H

#include "agent/base/buf.h"

/* Appends the JSON value compactly. An object with a key "lc" is wrapped as
 * LangChain JS wraps it ({"__lc_escaped__": object}), one that has also a
 * "type" becomes {"lc_text": its text}, for a wrapper would not help, and a
 * whole number that does not fit becomes a fraction of the same value. Doing
 * it again changes nothing. */
void guard_add(struct buf *out, const char *json, size_t len);
/* Appends the JSON value compactly, wrappers taken off, numbers untouched. */
void guard_remove(struct buf *out, const char *json, size_t len);

#endif
