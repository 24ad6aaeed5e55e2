/* The Range header, by the rules of Go's net/http. Pure. */
#ifndef AGENT_BOX_RANGE_H
#define AGENT_BOX_RANGE_H

#include "agent/base/base.h"

#define RANGE_MAX 64

struct range {
	int64_t start, len;
};

enum range_result {
	RANGE_NONE,       /* no header, or to be ignored: the whole file */
	RANGE_OK,         /* *count of them, at least one */
	RANGE_INVALID,    /* 416 "invalid range" */
	RANGE_NO_OVERLAP, /* 416 "invalid range: failed to overlap" */
};

/* `text` may be NULL. More than RANGE_MAX ranges count as invalid. */
enum range_result range_parse(const char *text, int64_t size,
    struct range out[RANGE_MAX], size_t *count);

#endif
