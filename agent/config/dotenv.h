/*
 * The text of a .env file in python-dotenv's grammar (1.2): names, values,
 * quotes, comments, `export`, ${NAME} and ${NAME:-default}. Pure. Where Python
 * takes any Unicode blank, only ASCII ones count.
 */
#ifndef AGENT_CONFIG_DOTENV_H
#define AGENT_CONFIG_DOTENV_H

#include "agent/base/base.h"

/* The largest file that is read, in bytes. */
#define DOTENV_MAX (1 << 20)

struct dotenv { /* owns; each name once, the last one wins */
	char **names;
	char **values; /* NULL: a name without "=", which sets nothing */
	size_t count;
	unsigned bad_line; /* of the first line that is none; 0 = all good */
};

/* `text` holds no NUL. outer: value of a variable of the process or NULL; it
 * comes before the file's own in ${NAME}. A bad line is left out and the rest
 * is read on. */
void dotenv_parse(struct dotenv *d, const char *text, size_t len,
    const char *(*outer)(void *arg, const char *name), void *arg);
void dotenv_finish(struct dotenv *d);

#endif
