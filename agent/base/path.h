/* Names, UTF-8 and text that must be safe for a terminal. All pure. */
#ifndef AGENT_BASE_PATH_H
#define AGENT_BASE_PATH_H

#include "agent/base/base.h"

/* The longest name of a file, in bytes (NAME_MAX). */
#define PATH_NAME_MAX 255
/* The longest path below a workspace that we handle, in bytes. */
#define PATH_BYTES_MAX 4096

bool utf8_valid(const char *s, size_t len);
/* A file name as any POSIX directory takes it: 1-255 bytes, no '/', no NUL,
 * not "." or "..". */
bool name_valid(const char *s, size_t len);
/* A thread's name (contract §1): 1-128 bytes of valid UTF-8, no control
 * characters, no '<', '>', '/', "://", "www.", no leading '.' or '-'. */
bool thread_name_valid(const char *s);
/* A relative path below a workspace: "" or valid names joined by one '/'. */
bool relpath_valid(const char *s);

/* Copies `s` so that it is one harmless line: C0 and C1 control characters,
 * DEL, invalid UTF-8 and the Unicode line separators and bidirectional
 * controls become \n \t \r or \xNN. Cut at a whole character to fit `size`.
 * Returns the length written. */
size_t escape_line(char *out, size_t size, const char *s, size_t len);
/* The largest prefix of at most `max` bytes that ends at a whole character. */
size_t utf8_prefix(const char *s, size_t len, size_t max);

#endif
