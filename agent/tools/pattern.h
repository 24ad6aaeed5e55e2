/*
 * Patterns of file names as glob and grep take them: * ? [a-z] [!a-z] {a,b}
 * (nested too) and ** for any number of directories. A wildcard does not match
 * a leading dot, and ** does not enter directories that begin with one. Without
 * a "/" the base name is matched at any depth; a leading "/" anchors. "\" takes
 * away a character's meaning. Names are UTF-8, or bytes where they are not.
 * Time is bounded by the product of the lengths. Pure.
 */
#ifndef AGENT_TOOLS_PATTERN_H
#define AGENT_TOOLS_PATTERN_H

#include "agent/base/base.h"

#define PATTERN_ALTERNATIVES_MAX 1000

struct pattern { /* owns */
	/* Without braces, from the root: "*.c" is kept as "**", then "*.c". */
	char **alternatives;
	size_t count;
};

/* NULL, or the code of what is wrong: "invalid_pattern" (empty, or with a
 * ".." segment), "pattern_too_broad" (too many alternatives). Finish it in any
 * case. */
const char *pattern_read(struct pattern *p, const char *text);
void pattern_finish(struct pattern *p);
/* path: relative to the root that is searched. any_dot: what is meant for every
 * depth is looked for below hidden directories, too. */
bool pattern_match(const struct pattern *p, const char *path, bool any_dot);
/* Does an alternative ask for a name with a leading dot? */
bool pattern_wants_hidden(const struct pattern *p);
/* How many directories deep a match may lie, itself counted; 0: no bound. */
size_t pattern_depth(const struct pattern *p);
/* The last segment of alternative i, borrowed, if find(1)'s -name and grep's
 * --include may take it: there it matches at least what it matches here. */
bool pattern_base(const struct pattern *p, size_t i, const char **base);

#endif
