/* Edits of `config`; see config_draft.h. */
#include "fs/config_draft.h"

#include <errno.h>

void
config_draft_init(struct config_draft *d, bool append, bool truncated)
{
	*d = (struct config_draft){ .append = append, .truncated = truncated };
	buf_init(&d->text, CONFIG_MAX);
	buf_init(&d->before, CONFIG_MAX);
}

void
config_draft_finish(struct config_draft *d)
{
	buf_finish(&d->text);
	buf_finish(&d->before);
}

/* About to change: keeps what was. */
static void
keep(struct config_draft *d)
{
	if (d->dirty)
		return;
	buf_reset(&d->before);
	buf_add(&d->before, d->text.bytes, d->text.len);
	d->dirty = true;
}

static void
take_back(struct config_draft *d)
{
	if (d->dirty) {
		buf_reset(&d->text);
		buf_add(&d->text, d->before.bytes, d->before.len);
	}
	d->dirty = d->refused = false;
}

static void
set_home(struct config_draft *d, uint64_t owner)
{
	if (!d->have_home)
		d->home = owner;
	d->have_home = true;
}

void
config_draft_refuse(struct config_draft *d)
{
	d->refused = true;
}

int
config_draft_write(struct config_draft *d, uint64_t owner, const char *bytes,
    size_t len, int64_t off)
{
	set_home(d, owner);
	if (d->refused)
		return -EINVAL;
	if (d->append)
		off = (int64_t)d->text.len;
	if (off < 0 || off > (int64_t)d->text.len) {
		d->refused = true;
		return -EINVAL;
	}
	keep(d);
	size_t at = (size_t)off, over = MIN(len, d->text.len - at);
	memcpy(d->text.bytes + at, bytes, over);
	buf_add(&d->text, bytes + over, len - over);
	if (d->text.failed) {
		d->refused = true;
		return -EFBIG;
	}
	return 0;
}

void
config_draft_truncate(struct config_draft *d, int64_t size)
{
	if (size < 0 || size >= (int64_t)d->text.len)
		return;
	keep(d);
	d->text.len = (size_t)size;
	d->text.bytes[size] = '\0';
}

bool
config_draft_flush(struct config_draft *d, uint64_t owner, bool last)
{
	if (!last) {
		set_home(d, owner);
		if (d->home != owner)
			return false;
		d->flushes++;
	}
	if (d->refused) {
		/* O_TRUNC alone must not empty the file now. */
		d->truncated = false;
		take_back(d);
		return false;
	}
	bool emptied = d->truncated && (last || d->flushes > 1);
	bool apply = d->dirty || emptied;
	if (apply)
		d->dirty = d->truncated = false;
	return apply;
}
