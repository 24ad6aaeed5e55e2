/* Exact replacing within a text, whatever its line ends. Pure. */
#ifndef AGENT_TOOLS_REPLACE_H
#define AGENT_TOOLS_REPLACE_H

#include "agent/base/buf.h"

enum replace_end {
	REPLACE_OK,
	REPLACE_NOT_FOUND,
	REPLACE_SEVERAL, /* and not all were wanted */
	REPLACE_TOO_BIG, /* for out's maximum */
};

/* `from` (not empty) is looked for as it is, then with CRLF for its line ends,
 * then with LF; `to` follows, so that the file keeps its line ends. Appends the
 * new text; *count: places, without overlap. */
enum replace_end replace_text(struct buf *out, const char *text, size_t len,
    const char *from, const char *to, bool all, size_t *count);

#endif
