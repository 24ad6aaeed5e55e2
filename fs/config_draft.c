/* Edits of `config`; see config_draft.h. */
#include "fs/config_draft.h"

#include <errno.h>

void
config_draft_init(struct config_draft *d, bool append, bool truncated)
{
	*d = (struct config_draft){ .append = append, .truncated = truncated };
	buf_init(&d->text, CONFIG_MAX);
}

void
config_draft_finish(struct config_draft *d)
{
	buf_finish(&d->text);
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
	size_t at = (size_t)off, over = MIN(len, d->text.len - at);
	memcpy(d->text.bytes + at, bytes, over);
	buf_add(&d->text, bytes + over, len - over);
	if (d->text.failed) {
		d->refused = true;
		return -EFBIG;
	}
	d->dirty = true;
	return 0;
}

void
config_draft_truncate(struct config_draft *d, int64_t size)
{
	if (size < 0 || size >= (int64_t)d->text.len)
		return;
	d->text.len = (size_t)size;
	d->text.bytes[size] = '\0';
	d->dirty = true;
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
	bool emptied = d->truncated && (last || d->flushes > 1);
	bool apply = !d->refused && (d->dirty || emptied);
	if (apply)
		d->dirty = d->truncated = false;
	return apply;
}
