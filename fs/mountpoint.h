/*
 * The mount point before the mount: is it fit, and is there one of ours, alive
 * or left by a crash? Nothing here hangs on a mount whose server is gone.
 */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include "agent/base/status.h"

/* The whole text of /proc/self/mountinfo; the caller frees. */
char *mountpoint_table(void);
/* True path, links resolved, without asking what is mounted there; the caller
 * frees. NULL with `st`. */
char *mountpoint_resolve(const char *path, struct status *st);
/* The state and cache directories must not lie below it. */
int mountpoint_holds(const char *mountpoint, const char *what, const char *dir,
    struct status *st);
/* It is an empty directory, or carries a mount of ours (*ours). */
int mountpoint_check(const char *path, bool *ours, struct status *st);
/* A mount of ours is there and our lock was free: unmounts it if its server is
 * dead; BUSY if it lives (with another state directory). */
int mountpoint_replace(const char *path, struct status *st);

#endif
