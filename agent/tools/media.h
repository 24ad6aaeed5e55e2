/* What a file that is no text is called in a content block. Pure. */
#ifndef AGENT_TOOLS_MEDIA_H
#define AGENT_TOOLS_MEDIA_H

#include "agent/base/buf.h"

/* The largest file that is given as a block, in bytes. */
#define MEDIA_MAX 512000
/* Text is told from the rest by this much of its beginning. */
#define MEDIA_PROBE 8192

struct media {
	const char *type; /* image, video, audio, file */
	const char *mime;
};

/* By the name's extension; false: not media, perhaps text. */
bool media_of(const char *path, struct media *out);
/* Is this beginning of a file UTF-8 text? A character cut by the end of a
 * probe does not count. */
bool media_is_text(const char *bytes, size_t len);
/* What an undecodable file is given as. */
struct media media_unknown(const char *path);
/* Appends a JSON array with the one block. */
void media_block(struct buf *out, const struct media *media, const char *bytes,
    size_t len);

#endif
