/* read_file: some lines of a text file, or a picture, sound, film, document. */
#include "agent/tools/files.h"
#include "agent/tools/media.h"
#include "agent/tools/page.h"
#include "agent/tools/result.h"
#include "agent/tools/table.h"

static int
give_block(const struct place *place, const struct media *media,
    const struct far_file *f, struct tool_result *r)
{
	auto_buf block = BUF_INIT((size_t)2 * MEDIA_MAX);

	if (f->size > MEDIA_MAX)
		return result_error(r,
		    "Error: File '%s': Binary file exceeds maximum preview "
		    "size of %d bytes",
		    place->path, MEDIA_MAX);
	media_block(&block, media, f->text.bytes, f->text.len);
	r->blocks = buf_take(&block);
	return result_set(r, "[%s: %s, %lld bytes]", place->path, media->mime,
	    (long long)f->size);
}

static int
give_page(const struct place *place, const struct far_file *f, int64_t offset,
    int64_t limit, struct tool_result *r)
{
	struct page_source source = { .bytes = f->text.bytes,
		.len = f->text.len,
		.first_line = f->whole ? 0 : MAX(offset, 0),
		.total_lines = f->whole ? -1 : f->lines };
	int64_t total;

	if (page_print(&r->text, &source, offset, limit, &total) !=
	    PAGE_PAST_END)
		return 0;
	return result_error(r,
	    "Error: File '%s': Line offset %lld exceeds file length (%lld "
	    "lines)",
	    place->path, (long long)offset, (long long)total);
}

static int
give(const struct place *place, const struct far_file *f, int64_t offset,
    int64_t limit, struct tool_result *r)
{
	const struct buf *start = f->whole ? &f->text : &f->probe;
	struct media media;

	if (f->size > 0 && media_of(place->path, &media))
		return give_block(place, &media, f, r);
	if (media_is_text(start->bytes, start->len))
		return give_page(place, f, offset, limit, r);
	media = media_unknown(place->path);
	return give_block(place, &media, f, r);
}

static const char *
fault(const struct status *st)
{
	if (st->code == STATUS_IS_DIR || st->code == STATUS_INVALID)
		return "not_a_file";
	return st->code == STATUS_NOT_DIR ? "file_not_found"
					  : result_file_code(st);
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	int64_t offset = json_int_or(args, "offset", 0);
	int64_t limit = json_int_or(args, "limit", 100);
	auto_place place;
	struct far_file f;
	struct status st = { 0 };
	int rc = 0;

	if (place_read(&place, json_string_or(args, "file_path", ""), &st) < 0)
		return result_status(r, &st);
	far_file_init(&f);
	if (files_read(ctx, &place, MAX(offset, 0), MAX(limit, 1), &f, &st) ==
	    0)
		rc = give(&place, &f, offset, limit, r);
	else if (st.code == STATUS_CANCELED)
		rc = result_status(r, &st);
	else
		rc = result_error(r, "Error: File '%s': %s", place.path,
		    fault(&st));
	far_file_finish(&f);
	return rc;
}

const struct tool tool_read_file = {
	.name = "read_file",
	.description =
	    "Reads a file. Text comes as lines after a header that says which "
	    "lines they are and, if there are more, the offset to go on at; "
	    "images, audio, video and documents come as they are, up to "
	    "512,000 bytes. Read a file before you edit it.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"file_path\":{\"type\":\"string\",\"description\":\"Absolute; a "
	    "relative path is taken below /home/daytona.\"},"
	    "\"offset\":{\"type\":\"integer\",\"default\":0,\"description\":"
	    "\"Lines to skip.\"},"
	    "\"limit\":{\"type\":\"integer\",\"default\":100,\"description\":"
	    "\"Lines to read.\"}},\"required\":[\"file_path\"]}",
	.reads_only = true,
	.run = run,
};
