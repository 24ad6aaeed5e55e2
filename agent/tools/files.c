/* One file, through the mirror or by script; see files.h. */
#include "agent/tools/files.h"

bool
files_mirror_is_final(const struct status *st)
{
	switch (st->code) {
	case STATUS_NOT_FOUND:
	case STATUS_NOT_DIR:
	case STATUS_DENIED:
	case STATUS_INVALID:
	case STATUS_NOT_SUPPORTED:
	case STATUS_TOO_BIG:
		return false;
	default:
		return true;
	}
}

int
files_read(const struct tool_context *ctx, const struct place *place,
    int64_t offset, int64_t limit, struct far_file *f, struct status *st)
{
	if (place->inside) {
		f->text.max = FILES_MIRROR_MAX;
		if (mirror_read_file(ctx->mirror, place->inside, &f->text,
			ctx->cancel, st) == 0) {
			f->size = (int64_t)f->text.len;
			f->whole = true;
			return 0;
		}
		if (files_mirror_is_final(st))
			return -1;
		far_file_finish(f);
		far_file_init(f);
	}
	return far_read(ctx, place->path, FAR_WHOLE, offset, limit, f, st);
}

int
files_read_whole(const struct tool_context *ctx, const struct place *place,
    struct buf *text, struct status *st)
{
	if (place->inside) {
		text->max = FILES_EDIT_MAX;
		if (mirror_read_file(ctx->mirror, place->inside, text,
			ctx->cancel, st) == 0)
			return 0;
		if (files_mirror_is_final(st) || st->code == STATUS_TOO_BIG)
			return -1;
	}
	struct far_file f;
	far_file_init(&f);
	int rc = far_read(ctx, place->path, FILES_EDIT_MAX, 0, 0, &f, st);
	if (rc == 0) {
		buf_finish(text);
		*text = f.text;
		buf_init(&f.text, 0);
	}
	far_file_finish(&f);
	return rc;
}

int
files_write(const struct tool_context *ctx, const struct place *place,
    const void *bytes, size_t len, struct status *st)
{
	if (place->inside && *place->inside) {
		if (mirror_write_file(ctx->mirror, place->inside, bytes, len,
			ctx->cancel, st) == 0)
			return 0;
		if (files_mirror_is_final(st))
			return -1;
	}
	if (far_write(ctx, place->path, bytes, len, st) < 0)
		return -1;
	if (place->inside)
		mirror_forget_listings(ctx->mirror);
	return 0;
}
