/*
 * The file system of a sandbox, as arguments for bubblewrap: a read-only root
 * put together from the host's system directories (or those of another root),
 * and the sandbox's own folders.
 */
#ifndef AGENT_BOX_ROOTFS_H
#define AGENT_BOX_ROOTFS_H

#include "agent/box/hostenv.h"

/* A growing argument list; owns its strings. */
struct args {
	char **v; /* NULL-terminated after args_end() */
	size_t count, cap;
};

void args_add(struct args *a, const char *s);
/* Adds each string up to a NULL. */
void args_add_all(struct args *a, ...) __attribute__((sentinel));
void args_end(struct args *a);
void args_finish(struct args *a);

/* Where the program is in a sandbox. */
#define ROOTFS_PROGRAM "/run/sandagentfs/program"
#define ROOTFS_LIB     "/run/sandagentfs/lib"
#define ROOTFS_LOADER  "/run/sandagentfs/loader"

/* `dir`: the sandbox's folder, with home, tmp, venv, shm and etc in it. modern: this
 * bubblewrap knows --size. */
void rootfs_add(struct args *a, const struct place *p, const struct hostenv *h,
    const char *dir, bool modern);
/* Writes dir/etc: passwd, group, hosts, hostname. */
int rootfs_write_etc(const struct place *p, const char *dir, struct status *st);

#endif
