/*
 * Where the box's things are, as its processes can reach them after it gave up
 * root: the data directory, the program and its libraries, another root file
 * system. Immutable after place_give_up_root().
 */
#ifndef AGENT_BOX_PLACE_H
#define AGENT_BOX_PLACE_H

#include "agent/box/options.h"

#define PLACE_LIBS_MAX 64

struct place {
	int data_fd;   /* the data directory */
	char *data;    /* a path to it */
	char *root;    /* another root file system, or NULL */
	char *program; /* this program's file */
	char *loader;  /* the dynamic loader's file, or NULL if static */
	char *libs[PLACE_LIBS_MAX]; /* files of loaded libraries */
	size_t lib_count;
};

/* Makes and locks the data directory, gives it to o->uid when run as root. -1
 * with a line for the user. */
int place_open(struct place *p, const struct options *o, struct status *st);
/*
 * Gives up root for o->uid, for good; nothing for others. What that user could
 * not reach (/root is closed to others) is shown elsewhere before, in a private
 * mount namespace. Before any other worker starts.
 */
int place_give_up_root(struct place *p, const struct options *o,
    struct status *st);
void place_finish(struct place *p);
/* NO_SPACE if the data disk has less than the reserve: a sandbox's watchdog
 * would end it at once. */
int place_check_space(const struct place *p, const struct options *o,
    struct status *st);
/* Gives DIR/a/b, formatted. */
char *place_path(const struct place *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
