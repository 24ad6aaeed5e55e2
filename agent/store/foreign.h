/*
 * What other programs wrote: the messages in a checkpoint or in a write. Each
 * gives records; the two kinds of rows are JSON (JS, and ours) and msgpack
 * (Python). Their content is not trusted. Pure.
 */
#ifndef AGENT_STORE_FOREIGN_H
#define AGENT_STORE_FOREIGN_H

#include "agent/base/status.h"
#include "agent/store/records.h"

struct foreign_value {    /* borrows */
	const char *type; /* column `type`; NULL or "" counts as json */
	const char *bytes;
	size_t len;
};

/* The channel `messages` of a checkpoint. *found: it is there. INVALID. */
int foreign_checkpoint(const struct foreign_value *value, bool *found,
    struct records *out, struct status *st);
/* A write to it. *overwrite: it replaces the list. INVALID. */
int foreign_write(const struct foreign_value *value, bool *overwrite,
    struct records *out, struct status *st);
/* `step` of the metadata, -2 if it cannot be read. */
int64_t foreign_step(const char *metadata, size_t len);

/* The msgpack half (foreign_msgpack.c). */
int foreign_msgpack_checkpoint(const char *bytes, size_t len, bool *found,
    struct records *out, struct status *st);
int foreign_msgpack_write(const char *bytes, size_t len, bool *overwrite,
    struct records *out, struct status *st);

#endif
