/*
 * The lines of a text file that read_file shows: a header that says which they
 * are, then the lines as they are. CRLF and CR count as line ends. Pure.
 */
#ifndef AGENT_TOOLS_PAGE_H
#define AGENT_TOOLS_PAGE_H

#include "agent/base/buf.h"

struct page_source {       /* borrowed */
	const char *bytes; /* the file, or its part from `first_line` on */
	size_t len;
	int64_t first_line;  /* of bytes, from 0 */
	int64_t total_lines; /* of the whole file; -1: count, bytes are it */
};

enum page_end {
	PAGE_OK,
	PAGE_EMPTY,   /* the file is empty or nothing but blanks */
	PAGE_NOTHING, /* limit < 1 */
	PAGE_PAST_END,
};

/* Appends to `out` what the model gets to read, but for PAGE_PAST_END.
 * offset: lines to skip; *total: lines of the file. */
enum page_end page_print(struct buf *out, const struct page_source *source,
    int64_t offset, int64_t limit, int64_t *total);

#endif
