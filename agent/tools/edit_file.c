/* edit_file: exact replacing within a text file. */
#include "agent/base/path.h"
#include "agent/tools/files.h"
#include "agent/tools/replace.h"
#include "agent/tools/result.h"
#include "agent/tools/table.h"

/* Of the text that is repeated in an error, in bytes. */
#define QUOTE_MAX 2000

static int
read_failed(const struct place *place, const struct status *st,
    struct tool_result *r)
{
	switch (st->code) {
	case STATUS_CANCELED:
		return result_status(r, st);
	case STATUS_NOT_FOUND:
	case STATUS_NOT_DIR:
		return result_error(r, "Error: File '%s' not found",
		    place->path);
	case STATUS_IS_DIR:
	case STATUS_INVALID:
		return result_error(r, "Error: '%s' is not a regular file",
		    place->path);
	case STATUS_DENIED:
		return result_error(r,
		    "Error: Permission denied editing file "
		    "'%s'",
		    place->path);
	case STATUS_TOO_BIG:
		return result_error(r,
		    "Error: File '%s' is too large to edit (16 MiB at most)",
		    place->path);
	default:
		return result_error(r, "Error editing file '%s': %s",
		    place->path, st->text);
	}
}

static int
replace_failed(enum replace_end end, const struct place *place, const char *old,
    struct tool_result *r)
{
	int len = (int)utf8_prefix(old, strlen(old), QUOTE_MAX);

	if (end == REPLACE_NOT_FOUND)
		return result_error(r,
		    "Error: String not found in file: '%.*s'", len, old);
	if (end == REPLACE_SEVERAL)
		return result_error(r,
		    "Error: String '%.*s' appears multiple times. Use "
		    "replace_all=True to replace all occurrences.",
		    len, old);
	return result_error(r,
	    "Error editing file '%s': the result is too "
	    "large",
	    place->path);
}

static int
edit(const struct tool_context *ctx, const struct place *place,
    const cJSON *args, struct tool_result *r)
{
	const char *old = json_string_or(args, "old_string", "");
	const char *new = json_string_or(args, "new_string", "");
	auto_buf text = BUF_INIT(FILES_EDIT_MAX);
	auto_buf changed = BUF_INIT((size_t)2 * FILES_EDIT_MAX);
	struct status st = { 0 };
	size_t count;

	if (files_read_whole(ctx, place, &text, &st) < 0)
		return read_failed(place, &st, r);
	if (!utf8_valid(text.bytes, text.len))
		return result_error(r, "Error: File '%s' is not a text file",
		    place->path);
	enum replace_end end = replace_text(&changed, text.bytes, text.len, old,
	    new, json_bool_or(args, "replace_all", false), &count);
	if (end != REPLACE_OK)
		return replace_failed(end, place, old, r);
	if (files_write(ctx, place, changed.bytes, changed.len, &st) < 0)
		return read_failed(place, &st, r);
	return result_set(r,
	    "Successfully replaced %zu instance(s) of the string in '%s'",
	    count, place->path);
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	auto_place place;
	struct status st = { 0 };

	if (place_read(&place, json_string_or(args, "file_path", ""), &st) < 0)
		return result_status(r, &st);
	if (!*json_string_or(args, "old_string", ""))
		return result_error(r,
		    "Error: old_string cannot be empty. Provide the exact text "
		    "to replace.");
	return edit(ctx, &place, args, r);
}

const struct tool tool_edit_file = {
	.name = "edit_file",
	.description =
	    "Replaces a piece of a text file. old_string must be there "
	    "exactly, blanks and all, and only once unless replace_all is "
	    "true. Read the file first.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"file_path\":{\"type\":\"string\",\"description\":\"Absolute; a "
	    "relative path is taken below /home/daytona.\"},"
	    "\"old_string\":{\"type\":\"string\",\"description\":\"The exact "
	    "text to replace.\"},"
	    "\"new_string\":{\"type\":\"string\",\"description\":\"The text "
	    "in its place.\"},"
	    "\"replace_all\":{\"type\":\"boolean\",\"default\":false,"
	    "\"description\":\"Replace every occurrence.\"}},"
	    "\"required\":[\"file_path\",\"old_string\",\"new_string\"]}",
	.run = run,
};
