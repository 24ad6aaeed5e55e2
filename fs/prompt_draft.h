/*
 * The text that one open of `prompt` has written and not yet sent: where it
 * goes, whether it is fit, and whose close sends it (contract §2). Pure; one
 * worker at a time. Errors are negative errno values.
 *
 * A WRITE that is refused spoils the whole: half a prompt is not what was
 * meant, so the home owner's FLUSH drops it. The writer was told by the WRITE.
 */
#ifndef FS_PROMPT_DRAFT_H
#define FS_PROMPT_DRAFT_H

#include "agent/base/buf.h"
#include "agent/base/status.h"

struct prompt_draft {
	bool append; /* opened with O_APPEND */
	bool
	    reserved; /* a place in the queue is taken (the owner's business) */
	bool have_home;
	uint64_t home; /* lock_owner of the first FLUSH or WRITE */
	bool based;
	int64_t base; /* offset of the first byte */
	struct buf text;
	size_t checked; /* bytes of whole, valid characters */
	int spoiled;    /* negative errno, or 0 */
};

/* What a FLUSH has to do. */
enum prompt_flush {
	PROMPT_FLUSH_NOTHING,
	PROMPT_FLUSH_COMMIT,  /* the text is taken by prompt_draft_take() */
	PROMPT_FLUSH_REFUSED, /* spoiled, nothing is left; *err: not told yet */
};

void prompt_draft_init(struct prompt_draft *d, bool append);
void prompt_draft_finish(struct prompt_draft *d);
/* 0, or why not: EINVAL (gap, before the base), EFBIG, EILSEQ; in words too,
 * unless an earlier WRITE was told already. */
int prompt_draft_write(struct prompt_draft *d, uint64_t owner,
    const char *bytes, size_t len, int64_t off, struct status *st);
/* SETATTR(size) through the handle. */
void prompt_draft_truncate(struct prompt_draft *d, int64_t size);
/* By that owner. Incomplete UTF-8 at the end counts as spoiled. */
enum prompt_flush prompt_draft_flush(struct prompt_draft *d, uint64_t owner,
    int *err, struct status *st);
/* RELEASE: whatever is left, whoever wrote it. */
enum prompt_flush prompt_draft_release(struct prompt_draft *d, int *err,
    struct status *st);
/* Moves the text out and begins anew; the home stays. */
void prompt_draft_take(struct prompt_draft *d, struct buf *out);

/* Of the text of /proc/PID/stat: was that task killed by a signal? */
bool prompt_killed(const char *stat);

#endif
