/* write_file: a whole text file, new or over what is there. */
#include "agent/tools/files.h"
#include "agent/tools/result.h"
#include "agent/tools/table.h"

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	const char *content = json_string_or(args, "content", "");
	auto_place place;
	struct status st = { 0 };

	if (place_read(&place, json_string_or(args, "file_path", ""), &st) < 0)
		return result_status(r, &st);
	if (files_write(ctx, &place, content, strlen(content), &st) == 0)
		return result_set(r, "Updated file %s", place.path);
	if (st.code == STATUS_CANCELED)
		return result_status(r, &st);
	return result_error(r, "Failed to write file '%s': %s", place.path,
	    result_file_code(&st));
}

const struct tool tool_write_file = {
	.name = "write_file",
	.description = "Writes a text file: makes it, or replaces what is "
		       "there. Missing directories are made.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"file_path\":{\"type\":\"string\",\"description\":\"Absolute; a "
	    "relative path is taken below /home/daytona.\"},"
	    "\"content\":{\"type\":\"string\",\"description\":\"The whole new "
	    "content.\"}},\"required\":[\"file_path\",\"content\"]}",
	.run = run,
};
