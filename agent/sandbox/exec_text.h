/* The scripts that start, watch and end a command; see exec.c. Pure. */
#ifndef AGENT_SANDBOX_EXEC_TEXT_H
#define AGENT_SANDBOX_EXEC_TEXT_H

#include "agent/base/buf.h"

/* Bytes of the output's maximum that are left for a note in its middle. */
#define EXEC_NOTE 64

/* D=… and the function `report`, which prints "state", "out" and "size".
 * output_max: bytes of the output to print, half from its end. */
void exec_text_common(struct buf *script, const char *id, size_t output_max);
/* Starts the command, once whatever happens, and waits up to wait_s.
 * env_signals as in struct features; -1: the part "env" says what it is. */
void exec_text_start(struct buf *script, const char *command, const char *cwd,
    int wait_s, int env_signals);
/* Kills its group, then the part "killed"; a command that has not been started
 * never will be. */
void exec_text_kill(struct buf *script);
/* Cuts the output file that has grown over `limit` bytes. */
void exec_text_trim(struct buf *script, int64_t limit);

#endif
