/*
 * What the servers say, as structs: JSON of the control plane, answers of the
 * toolbox, rows of a listing. Everything here is untrusted and checked once,
 * in these functions. Pure.
 */
#ifndef AGENT_SANDBOX_WIRE_H
#define AGENT_SANDBOX_WIRE_H

#include "agent/base/buf.h"
#include "agent/base/status.h"
#include "agent/http/exchange.h"
#include "agent/sandbox/listing.h"

struct wire_sandbox {
	char id[64]; /* letters, digits, '-', '_', '.'; not empty */
	char state[24];
	char expires_at[40]; /* "" = never */
	char reason[160];
	char store[80];    /* label sandagentfs.store, or "" */
	char toolbox[256]; /* URL without the id; "" if not said */
	bool marked;       /* label sandagentfs = 1 */
	bool recoverable;
};

int wire_sandbox(const char *body, size_t len, struct wire_sandbox *out,
    struct status *st);

/* What a state asks a client to do (daytona-api §2.7). */
enum wire_move {
	MOVE_USE,
	MOVE_WAIT,
	MOVE_START,
	MOVE_RECOVER,
	MOVE_GONE, /* being destroyed: its name is or will be free */
	MOVE_DEAD,
};
enum wire_move wire_move(const struct wire_sandbox *s);

/* Appends the JSON of a create request. NULL values are left out. */
struct wire_create {
	const char *name, *snapshot, *target, *owner;
	int ttl_minutes, stop_minutes;
	bool network_off;
	const char *const *env;
};

void wire_create(struct buf *out, const struct wire_create *c);

/* Appends the JSON of an execute request. timeout_s 0 = none. */
void wire_execute(struct buf *out, const char *script, size_t len,
    int timeout_s);
/* Gives the command's output (its bytes up to the first NUL of the JSON). */
int wire_executed(const struct buf *body, int *exit_code, char **output,
    struct status *st);

/* What a failed toolbox request means. */
enum wire_fault {
	FAULT_NONE,    /* the daemon's own answer */
	FAULT_GONE,    /* no such sandbox there: find it again by name */
	FAULT_STOPPED, /* it does not run */
	FAULT_BUSY,    /* later */
	FAULT_DOWN,    /* a gateway without the server behind it */
};
enum wire_fault wire_fault(const struct http_response *r);
/* The words of an error body, "" if none; one harmless line. */
void wire_message(const struct buf *body, char *out, size_t size);

/*
 * Rows as the scripts print them, each
 *   FLAG TYPE MODE NLINK UID GID SIZE MTIME CTIME INO DEV PATH NUL TARGET NUL
 * with FLAG '-' or 'u' (unlisted), TYPE a letter of find's %y, or 'h' with the
 * whole st_mode in hexadecimal as MODE; times as seconds with any number of
 * fraction digits. PATH is relative to the root, or absolute below the
 * workspace when `root` is NULL. A bad row is left out.
 */
int wire_rows(const char *rows, size_t len, const char *root,
    struct listing *out, struct status *st);
/* The answer of GET /files: one level, stat semantics, no inodes. */
int wire_files(const struct buf *body, const char *root, struct listing *out,
    struct status *st);
/* gzip or plain bytes; TOO_BIG over out's maximum. */
int wire_gunzip(struct buf *out, const void *bytes, size_t len,
    struct status *st);

#endif
