/*
 * Whoever holds the lock of our state directory: a server with a mount, or one
 * that was unmounted a moment ago, still brings files home, and will end by
 * itself.
 */
#ifndef FS_HOLDER_H
#define FS_HOLDER_H

#include "agent/base/base.h"

/* The lock was found taken. True after a short sleep: try again. `since`:
 * clock_mono_ms() of the first try. */
bool holder_is_ending(const char *state_dir, int64_t since);

#endif
