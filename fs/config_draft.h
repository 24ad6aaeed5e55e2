/*
 * The image of `config` that one open edits: the old text, or nothing after
 * O_TRUNC, with the WRITEs in it. Applied whole at the home owner's FLUSH; if a
 * WRITE was refused, that FLUSH takes back what came since the last one. Pure; one worker at a time.
 */
#ifndef FS_CONFIG_DRAFT_H
#define FS_CONFIG_DRAFT_H

#include "agent/base/buf.h"

#define CONFIG_MAX 65536

struct config_draft {
	bool append, truncated;
	bool have_home;
	uint64_t home;
	unsigned flushes; /* by the home owner, without anything to apply */
	bool dirty, refused;
	struct buf text;
	struct buf before; /* what text was before the first WRITE since */
};

/* O_TRUNC: `truncated`; else the caller fills text with the old one. */
void config_draft_init(struct config_draft *d, bool append, bool truncated);
void config_draft_finish(struct config_draft *d);
/* 0 or negative errno: EINVAL (a gap), EFBIG. The caller checks the complete
 * lines and calls config_draft_refuse() if one is bad. */
int config_draft_write(struct config_draft *d, uint64_t owner,
    const char *bytes, size_t len, int64_t off);
void config_draft_refuse(struct config_draft *d);
void config_draft_truncate(struct config_draft *d, int64_t size);
/* Must the text be applied now? `> config` alone empties it, but a shell's
 * redirection flushes once before its first WRITE: so at the second FLUSH or
 * at RELEASE (`last`). */
bool config_draft_flush(struct config_draft *d, uint64_t owner, bool last);

#endif
