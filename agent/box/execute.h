/*
 * What commands run with: the sandbox's environment, the shell, and the
 * readiness of the Python environment. Set once before the server starts.
 */
#ifndef AGENT_BOX_EXECUTE_H
#define AGENT_BOX_EXECUTE_H

#include "agent/base/base.h"

/* Borrows envp (NAME=value, …, NULL) for the life of the process. */
void execute_init(char *const *envp);
/* The shell that runs commands: bash where there is one, else sh. */
const char *execute_shell(void);
/* "NAME=value" of base, replaced and extended by `extra` (count strings). Frees
 * nothing; the array is the caller's (free), the strings borrowed. */
char **execute_env(char *const *base, char *const *extra, size_t count);

#endif
