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
/* Blocks until the mount ends or one of the signals of `signal_fd` comes. */
void loop_wait(struct loop *l, int signal_fd);
/* Takes no more requests, ends the workers, frees. */
void loop_stop(struct loop *l);

#endif
