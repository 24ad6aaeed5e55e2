/* The table of tools and how a call gets to one; see tool.h. */
#include "agent/tools/table.h"

#include "agent/base/path.h"
#include "agent/base/text.h"
#include "agent/tools/result.h"
#include "agent/tools/schema.h"

/* Of the arguments that are repeated in an error, in bytes. */
#define QUOTE_MAX 1000

const struct tool *const tools[] = { &tool_ls, &tool_read_file,
	&tool_write_file, &tool_edit_file, &tool_glob, &tool_grep,
	&tool_execute, NULL };

/* Is `name` one of the comma-separated words? NULL allows all. */
static bool
is_allowed(const char *allowed, const char *name)
{
	size_t len = strlen(name);

	if (!allowed)
		return true;
	for (const char *s = allowed; *s;) {
		s += strspn(s, ", \t");
		size_t n = strcspn(s, ", \t");
		if (n == len && memcmp(s, name, n) == 0)
			return true;
		s += n;
	}
	return false;
}

const struct tool *
tool_find(const char *name)
{
	for (size_t i = 0; tools[i]; i++)
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}

static cJSON *
parse_schema(const struct tool *tool)
{
	struct status st;
	cJSON *schema =
	    json_parse(tool->parameters, strlen(tool->parameters), &st);

	if (!schema)
		abort(); /* the tool's own text */
	return schema;
}

char *
tools_schema(const char *allowed)
{
	auto_json *array = cJSON_CreateArray();
	auto_buf out = BUF_INIT(1 << 20);

	for (size_t i = 0; tools[i]; i++) {
		if (!is_allowed(allowed, tools[i]->name))
			continue;
		cJSON *one = cJSON_CreateObject();
		cJSON_AddStringToObject(one, "name", tools[i]->name);
		cJSON_AddStringToObject(one, "description",
		    tools[i]->description);
		cJSON_AddItemToObject(one, "parameters",
		    parse_schema(tools[i]));
		cJSON_AddItemToArray(array, one);
	}
	json_print(&out, array);
	return buf_take(&out);
}

static void
unknown(const char *name, const char *allowed, struct tool_result *r)
{
	auto_buf names = BUF_INIT(4096);

	for (size_t i = 0; tools[i]; i++)
		if (is_allowed(allowed, tools[i]->name))
			buf_printf(&names, "%s%s", names.len ? ", " : "",
			    tools[i]->name);
	result_error(r, "Error: %.*s is not a valid tool, try one of [%s].",
	    (int)utf8_prefix(name, strlen(name), 200), name, names.bytes);
}

/* The arguments as a tree; NULL: they are none, and the result says so. */
static cJSON *
parse(const char *name, const char *arguments, struct tool_result *r)
{
	size_t len = strlen(arguments);
	auto_buf text = BUF_INIT(2 * len + 16);
	struct status st;

	if (!arguments[strspn(arguments, " \t\r\n")])
		return cJSON_CreateObject();
	text_scrub_json(&text, arguments, len, false);
	cJSON *args = json_parse(text.bytes, text.len, &st);
	if (cJSON_IsObject(args))
		return args;
	result_error(r,
	    "Error: the arguments of %s are %s: %.*s\nPlease fix the error and "
	    "try again.",
	    name, args ? "not a JSON object" : st.text,
	    (int)utf8_prefix(arguments, len, QUOTE_MAX), arguments);
	cJSON_Delete(args);
	return NULL;
}

static cJSON *
check(const struct tool *tool, const cJSON *args, struct tool_result *r)
{
	auto_json *schema = parse_schema(tool);
	auto_buf errors = BUF_INIT(8192), given = BUF_INIT(64 << 20);
	cJSON *fit = schema_check(schema, args, &errors);

	if (fit)
		return fit;
	json_print(&given, args);
	result_error(r,
	    "Error invoking tool '%s' with kwargs %.*s with error:\n%s"
	    "Please fix the error and try again.",
	    tool->name, (int)utf8_prefix(given.bytes, given.len, QUOTE_MAX),
	    given.bytes, errors.bytes);
	return NULL;
}

void
tool_run(const char *name, const char *arguments, const char *allowed,
    const struct tool_context *ctx, struct tool_result *result)
{
	const struct tool *tool = tool_find(name);

	result_init(result);
	if (!tool || !is_allowed(allowed, name)) {
		unknown(name, allowed, result);
		return;
	}
	auto_json *args = parse(name, arguments, result);
	if (!args)
		return;
	auto_json *fit = check(tool, args, result);
	if (!fit)
		return;
	if (cancel_fired(ctx->cancel)) {
		result_error(result,
		    "Error: the call was cancelled before it "
		    "began.");
		result->canceled = true;
		return;
	}
	(void)tool->run(ctx, fit, result);
}
