/*
 * What glob and grep share: the directory that is searched, a script with a
 * deadline of its own, and the records that it prints. The last record of an
 * answer is "rc=N", the search's exit code; one without it was cut.
 */
#ifndef AGENT_TOOLS_SEARCH_H
#define AGENT_TOOLS_SEARCH_H

#include "agent/tools/place.h"
#include "agent/tools/tool.h"

/* The most that is taken of what a search prints, in bytes. */
#define SEARCH_OUTPUT_MAX (4 << 20)

struct search {
	struct buf output; /* without the last record */
	int exit_code;     /* of the search; -1: unknown, it was cut */
};

void search_init(struct search *s);
void search_finish(struct search *s);
/* Runs `command`, sh text in which $p is the place, which must exist (and be a
 * directory), and $t stands before the program that searches: it ends after
 * `seconds` with the exit code 124. `check`: commands that run before and may
 * exit with a code of far.c. */
int search_run(const struct tool_context *ctx, const struct place *place,
    const char *check, const char *command, int seconds, struct search *s,
    struct status *st);

/* Appends path, which `root` is put before, to a list of paths. */
struct path_list {
	char **paths;
	size_t count;
};

void path_list_finish(struct path_list *l);
void path_list_add(struct path_list *l, const char *root, const char *path,
    size_t len);
void path_list_sort(struct path_list *l);

#endif
