/*
 * Filling a struct tool_result: texts, errors in Deep Agents' words, lists as
 * Python prints them, and the bounds of what goes into a conversation. Pure.
 */
#ifndef AGENT_TOOLS_RESULT_H
#define AGENT_TOOLS_RESULT_H

#include "agent/tools/tool.h"

/* The largest text of a result, in characters (code points). */
#define RESULT_CHARS 80000
/* And in bytes: what stays of TOOL_RESULT_MAX beside notes. */
#define RESULT_BYTES (TOOL_RESULT_MAX - 8192)

void result_init(struct tool_result *r);
/* Replaces the text; strangers' bytes become valid UTF-8. Returns 0. */
int result_set(struct tool_result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same, and marks it failed. Returns 0. */
int result_error(struct tool_result *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* What a tool does with a call below that failed: when the turn was cancelled
 * marks it so and returns -1, else sets "Error: " and the words. */
int result_status(struct tool_result *r, const struct status *st);
/* Appends as valid UTF-8, cut at RESULT_CHARS with a note where it was cut. */
void result_add_capped(struct tool_result *r, const char *text, size_t len);

/* The code of a file operation's failure, such as "file_not_found", or the
 * words of the status. */
const char *result_file_code(const struct status *st);
/* The same for a directory: "path_not_found", "not_a_directory". */
const char *result_dir_code(const struct status *st);

/* Appends the paths as Python prints a list of them: ['/a', '/b']; cut in
 * proportion when they are too long in total. */
void result_add_list(struct tool_result *r, char *const *paths, size_t count);

/* Characters of valid UTF-8. */
size_t text_chars(const char *s, size_t len);
/* The bytes of the first `chars` characters. */
size_t text_head(const char *s, size_t len, size_t chars);

#endif
