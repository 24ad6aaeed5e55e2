/*
 * The POSIX sh scripts that do what the HTTP API lacks: how they begin, how
 * paths get into them, how their answers come back. Pure.
 *
 * A script is fed to the sandbox's own shell by its standard input: the first
 * line hands it to sh; nothing in it may read standard input. It travels as a
 * JSON string, so it must be UTF-8: names that are not go as octal. It may be
 * run twice (a proxy may replay it) and must give the same result.
 *
 * The answer is text with marked lines, "=saf=NAME ARGUMENTS", each followed
 * by a body in base64 or plain; the last is "=saf=end". What stands before
 * "=saf=begin" was printed by start-up files of the sandbox's shell.
 */
#ifndef AGENT_SANDBOX_SHELL_H
#define AGENT_SANDBOX_SHELL_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

/* Defines born: process id -> $B, when that process was born (in ticks since
 * the machine was), empty if it is not or nobody knows. Unlike a number, which
 * is soon given to another process after a restart, the pair is unique. */
#define SHELL_BORN                                                            \
	"born() { B=; [ ! -r /proc/$1/stat ] || { "                           \
	"read -r B </proc/$1/stat && B=${B##*) } && set -- $B && B=${20}; } " \
	"2>/dev/null; }\n"

/* The line that hands the script to sh, and the first mark. */
void shell_begin(struct buf *script);
/* VAR='bytes'; any bytes but NUL. */
void shell_assign(struct buf *script, const char *var, const char *bytes,
    size_t len);
/* VAR='/home/daytona/PATH' for a path relative to the workspace; one that
 * begins with a slash is taken as it is. */
void shell_path(struct buf *script, const char *var, const char *path);

/* A part of an answer; borrowed. */
struct shell_part {
	const char *args; /* after the name and a blank; not terminated */
	size_t args_len;
	const char *body; /* after the mark's line, to the next mark */
	size_t body_len;
};

/* The `nth` (from 0) part of that name in a whole answer. */
bool shell_part(const char *answer, size_t len, const char *name, size_t nth,
    struct shell_part *out);
/* Is the answer whole, from =saf=begin to =saf=end? */
bool shell_whole(const char *answer, size_t len);
/* Arguments as numbers: how many of `max` were read. */
size_t shell_numbers(const struct shell_part *p, int64_t *out, size_t max);

/* An errno by name ("ENOENT"), or the words after the last colon of what a
 * tool printed in the C locale, or words of GNU mv without one. 0 if unknown. */
int shell_errno(const char *text, size_t len);

#endif
