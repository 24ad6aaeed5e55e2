/*
 * What the files of the sandbox client share.
 *
 *   provider.c   where sandboxes come from: settings, counters
 *   local.c      the local server as a child; waiters.c who waits for it
 *   control.c    the control plane's calls
 *   sandbox.c    one sandbox: what is known of it, events
 *   doomed.c     the names of those that are being deleted
 *   ready.c      find, create, start; what its states ask for
 *   lifecycle.c  stop, delete, renew
 *   toolbox.c    one call to it, and when to try again; scripts
 *   list.c transfer.c push.c exec.c   the calls themselves
 *   wire.c wire_listing.c shell.c     pure: what is sent and what comes
 */
#ifndef AGENT_SANDBOX_INTERNAL_H
#define AGENT_SANDBOX_INTERNAL_H

#include <stdatomic.h>

#include "agent/base/lock.h"
#include "agent/http/exchange.h"
#include "agent/sandbox/local.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/waiters.h"
#include "agent/sandbox/wire.h"

#define URL_MAX_BYTES  16384
#define ANSWER_MAX     ((size_t)160 << 20) /* an answer of a script */
#define CONTROL_MAX    ((size_t)1 << 20)
#define READY_WAIT_MS  120000
#define REMEMBERED_IDS 16

struct provider {
	/* immutable */
	struct box *box; /* NULL: the cloud */
	char *api_url, *api_key, *target, *owner;
	struct http_client *http;
	_Atomic uint64_t control, toolbox;
	/* under lock (RANK_SANDBOX: never with a sandbox's own) */
	struct lock lock;
	struct sandbox *doomed; /* those whose name is not free yet */
	struct waiters doomed_waiters;
};

/* What the tools in a sandbox can do: 1, 0, or -1 as long as it is unknown. */
struct features {
	int find_printf; /* GNU find */
	int env_signals; /* env --default-signal */
};

/* A batch whose outcome is unknown; the same one again takes up its name. */
struct unsure_batch {
	uint64_t hash;
	char id[24];
};

struct sandbox {
	/* immutable */
	struct provider *provider;
	char *name;
	void (*event)(void *arg, const char *line);
	void *event_arg;
	_Atomic int64_t used_ms; /* clock_mono_ms() of the last use, or 0 */
	/* under lock */
	struct lock lock;
	int ttl_minutes, stop_minutes;
	char *snapshot;
	bool network_off;
	char **env;                /* NAME, VALUE, …, NULL */
	struct wire_sandbox known; /* id "" = unknown */
	char *base;                /* toolbox URL with the id, or NULL */
	bool running;              /* as far as we know: calls may go out */
	bool created, started_here, found_said, foreign_said;
	bool doomed;                 /* sandbox_doom() */
	struct sandbox *next_doomed; /* under the provider's lock */
	bool unsure_created;         /* asked for, and the answer never came */
	bool resolving;              /* one worker finds out */
	struct waiters waiters;
	unsigned generation; /* of the running sandbox: counts starts seen */
	int64_t absent_ms;   /* when it was found absent, or 0 */
	int64_t renewed_ms;
	struct features features;
	struct unsure_batch unsure[REMEMBERED_IDS];
	unsigned unsure_next;
	/* scratch files of finished work, removed by the next script */
	char *finished[REMEMBERED_IDS];
	unsigned finished_count;
};

/* How to reach the sandbox that runs now. Finish with endpoint_finish(). */
struct endpoint {
	char *base;
	unsigned generation;
	struct features features;
};

/* [waits] */
int sandbox_endpoint(struct sandbox *sb, enum sandbox_want want,
    struct endpoint *out, struct cancel *c, struct status *st);
void endpoint_finish(struct endpoint *e);
/* [waits] Until no other sandbox of this name is being deleted. */
int sandbox_name_wait(struct sandbox *sb, struct cancel *c, struct status *st);
/* What we believed of the generation is doubtful: ask before the next call. */
void sandbox_doubt(struct sandbox *sb, unsigned generation);
/* Takes over what is not -1. */
void sandbox_learn(struct sandbox *sb, unsigned generation,
    struct features features);
/* [waits] */
int sandbox_features(struct sandbox *sb, enum sandbox_want want,
    struct features *out, struct cancel *c, struct status *st);
/* Takes in what the control plane said; the lock is not held. */
void sandbox_note(struct sandbox *sb, const struct wire_sandbox *now);
void sandbox_note_absent(struct sandbox *sb);
bool sandbox_is_ours(const struct sandbox *sb, const struct wire_sandbox *s);
void sandbox_event(struct sandbox *sb, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Names a scratch prefix whose files the next script may remove. Takes it. */
void sandbox_finished(struct sandbox *sb, char *prefix);
/* Appends the removal of what is finished, but for `keep`. */
void sandbox_sweep(struct sandbox *sb, struct buf *script, const char *keep);

/* [waits] Of the control plane. `body` NULL: none. The answer, if it is a
 * sandbox and `out` is given, is parsed; other answers set st by their
 * status, EXISTS for 409, BUSY while a change is pending. */
int control_call(struct provider *p, const char *method, const char *id,
    const char *rest, const struct buf *body, struct wire_sandbox *out,
    struct cancel *c, struct status *st);
/* [waits] The toolbox URL when the sandbox's record has none. */
int control_toolbox_url(struct provider *p, struct wire_sandbox *s,
    struct cancel *c, struct status *st);

/* One request to the toolbox. */
struct toolbox_call {
	const char *method;
	const char *path; /* from "/" on, with its query */
	const char *content_type;
	const char *range; /* "Range: bytes=…" or NULL */
	const struct http_segment *body;
	size_t body_count;
	enum sandbox_want want;
	bool active; /* counts as use even though want is LOOK */
	int first_ms, idle_ms;
	int (*begin)(void *arg, const struct http_response *r,
	    struct status *st);
	http_sink sink;
	void *arg;
	/* Set by the sink's owner once content was taken: then it is not
	 * asked for again here. May be NULL. */
	const bool *delivered;
	unsigned generation; /* out: whom it reached */
};

/* [waits] 0: the daemon's answer, whatever its status. */
int toolbox_call(struct sandbox *sb, struct toolbox_call *call,
    struct http_response *r, struct cancel *c, struct status *st);
/* st from a daemon's answer that is not 2xx; -1. */
int toolbox_refused(const struct http_response *r, struct status *st);

/* A script and what it printed. */
struct script {
	enum sandbox_want want;
	bool active;
	int timeout_s; /* of the server; 0 = none */
	int first_ms;  /* ours; 0 = the usual */
	struct buf text;
	/* out */
	char *answer; /* from malloc; whole */
	size_t answer_len;
	int exit_code;
	unsigned generation;
};

void script_init(struct script *s, enum sandbox_want want);
void script_finish(struct script *s);
/* [waits] Adds the last mark, sends it, checks that the answer is whole. */
int script_run(struct sandbox *sb, struct script *s, struct cancel *c,
    struct status *st);
/* Decodes a part's base64 into out (bounded by its maximum). */
int script_bytes(const struct script *s, const char *name, size_t nth,
    struct buf *out, struct status *st);
/* The part "err": 0 if there is none, else -1 and st from its errno name. */
int script_error(const struct script *s, struct status *st);

/* Shell text that defines E, which prints rows (wire_rows) of its arguments,
 * and G: 1 with find -printf. find_printf as in struct features. */
void rows_define(struct buf *script, int find_printf);
/* Appends shell text that prints the part "list" of $R, the directory that it
 * stands in; depth 0 = all levels. find_printf: 0 or 1. */
void list_text(struct buf *script, const char *root, int depth,
    size_t max_bytes, bool find_printf);
/* Reads the part "list"; *cut: it was over max_bytes. */
int list_read(const struct script *s, const char *root, bool deep,
    size_t max_bytes, struct listing *out, bool *cut, struct status *st);

/* Milliseconds before the nth try (from 0) of something that failed. */
int64_t backoff_ms(unsigned n);

#endif
