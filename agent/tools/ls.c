/* ls: the names in a directory. */
#include "agent/base/path.h"
#include "agent/tools/files.h"
#include "agent/tools/result.h"
#include "agent/tools/table.h"

struct names {
	char **paths;
	size_t count;
};

static void
add(struct names *n, const char *dir, const char *name)
{
	n->paths = xrealloc(n->paths, n->count + 1, sizeof *n->paths);
	n->paths[n->count++] =
	    xasprintf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
list_mirror(const struct tool_context *ctx, const struct place *place,
    struct names *names, struct status *st)
{
	struct mirror_dir *dir;
	struct mirror_attr attr;
	const char *name;

	if (mirror_list(ctx->mirror, place->inside, &dir, ctx->cancel, st) < 0)
		return -1;
	for (size_t i = 0; mirror_dir_entry(dir, i, &name, &attr); i++)
		add(names, place->path, name);
	mirror_closedir(dir);
	return 0;
}

static int
list_far(const struct tool_context *ctx, const struct place *place,
    struct names *names, struct status *st)
{
	auto_buf all = BUF_INIT(4 << 20);

	if (far_list(ctx, place->path, &all, st) < 0)
		return -1;
	for (size_t at = 0; at < all.len; at += strlen(all.bytes + at) + 1)
		add(names, place->path, all.bytes + at);
	return 0;
}

static int
list(const struct tool_context *ctx, const struct place *place,
    struct names *names, struct status *st)
{
	if (place->inside) {
		if (list_mirror(ctx, place, names, st) == 0)
			return 0;
		if (files_mirror_is_final(st))
			return -1;
	}
	return list_far(ctx, place, names, st);
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	auto_place place;
	struct names names = { 0 };
	struct status st = { 0 };

	if (place_read(&place, json_string_or(args, "path", ""), &st) < 0)
		return result_status(r, &st);
	if (list(ctx, &place, &names, &st) < 0) {
		if (st.code == STATUS_CANCELED)
			return result_status(r, &st);
		return result_error(r, "Error: Path '%s': %s", place.path,
		    result_dir_code(&st));
	}
	if (names.count == 0)
		return result_set(r, "No files found");
	qsort(names.paths, names.count, sizeof *names.paths, compare);
	result_add_list(r, names.paths, names.count);
	for (size_t i = 0; i < names.count; i++)
		free(names.paths[i]);
	free(names.paths);
	return 0;
}

const struct tool tool_ls = {
	.name = "ls",
	.description =
	    "Lists the files and directories in a directory, as absolute "
	    "paths.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":"
	    "\"string\",\"description\":\"The directory. Absolute; a relative "
	    "path is taken below /home/daytona.\"}},\"required\":[\"path\"]}",
	.reads_only = true,
	.run = run,
};
