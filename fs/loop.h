/*
 * The loop workers: each receives a request, runs its operation, and takes the
 * next. Operations never wait, so a fixed handful is enough: four, or one with
 * -s (what blocks is then seen at once). Own workers instead of libfuse's
 * loop: that one starts up to ten and frees none (measured), has no limit
 * before 3.12, and its workers cannot be marked as ones that may not wait.
 */
#ifndef FS_LOOP_H
#define FS_LOOP_H

#include "fs/session.h"

struct loop;

struct loop *loop_start(struct session *s, unsigned workers);
/*
 * Blocks until one of the signals of `signal_fd` comes or the mount ends. The
 * kernel ends it when the last copy goes, and another mount namespace (a
 * container, our own sandboxes) may keep one for ever: so it also ends when
 * nothing of ours is mounted at `mountpoint` here and no file is open.
 */
void loop_wait(struct loop *l, int signal_fd, const char *mountpoint);
/* Takes no more requests, ends the workers, frees. */
void loop_stop(struct loop *l);

#endif
