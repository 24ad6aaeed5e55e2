/*
 * Entries of the log as text (contract §3): an event starts at column 0, its
 * further lines with four blanks; control bytes are escaped, lengths bounded.
 * Secrets are not looked for: mask the text before. Pure.
 */
#ifndef AGENT_THREAD_ENTRY_H
#define AGENT_THREAD_ENTRY_H

#include "agent/base/buf.h"
#include "agent/model/message.h"

/* Enough for any entry. */
#define ENTRY_MAX ((size_t)4 << 20)
/* Characters that are shown. */
#define ENTRY_ARGUMENTS 200
#define ENTRY_RESULT    300
#define ENTRY_LIVE      200

/* "[label] text". Line ends at the end of the text are dropped. */
void entry_add(struct buf *out, const char *label, const char *text,
    size_t len);
/* "=== turn N · TIME · MODEL ===" */
void entry_header(struct buf *out, int64_t turn, int64_t ts_ms,
    const char *model);
/* "[agent] -> name(arguments)": one line. */
void entry_call(struct buf *out, const struct tool_call *call);
/* "[tools] <- name: text (1.2 s)". ms < 0: no duration is known. */
void entry_result(struct buf *out, const struct message *result, int64_t ms);
/* "[tools] .. name: line" */
void entry_live(struct buf *out, const char *name, const char *line,
    size_t len);

/* What a turn has come to, for its last line and for counting. */
struct tally {
	int64_t ms; /* how long it ran; < 0 unknown */
	int64_t model_calls, tool_calls;
	struct usage usage;
};

/* "[turn] WORD · 6 model calls · 5 tool calls · 21,403 tokens in, 1,377 out".
 * word: such as "done in"; the duration follows it. why: what to do, after a
 * colon behind the duration, or NULL. */
void entry_end(struct buf *out, const char *word, const struct tally *tally,
    const char *why);

/* One step of formatting, for `state` too: at most `max` characters, then
 * "...". */
void entry_cut(struct buf *out, const char *text, size_t len, size_t max);

#endif
