/*
 * Calls written as text; see textcalls.h. Each form is a row of a table: what
 * it begins with, what it ends with, how its inside is read.
 */
#include "agent/model/textcalls.h"

#include "agent/base/json.h"
#include "agent/model/arguments.h"

struct span {
	const char *p, *end;
};

struct finder {
	const cJSON *tools;
	struct slots *slots;
};

static const cJSON *
offered(const struct finder *f, const char *name)
{
	const cJSON *tool;

	cJSON_ArrayForEach(tool, f->tools) {
		if (strcmp(json_string_or(tool, "name", ""), name) == 0)
			return tool;
	}
	return NULL;
}

static bool
add(struct finder *f, const char *name, const char *arguments, size_t len)
{
	if (!offered(f, name))
		return false;
	struct slot *slot = slots_open(f->slots);
	if (!slot)
		return false;
	free(slot->name);
	slot->name = xstrdup(name);
	slot->from_text = true;
	buf_add(&slot->arguments, arguments, len);
	return true;
}

static struct span
trimmed(struct span s)
{
	while (s.p < s.end && *s.p && strchr(" \t\r\n", *s.p))
		s.p++;
	while (s.p < s.end && s.end[-1] && strchr(" \t\r\n", s.end[-1]))
		s.end--;
	return s;
}

/* {"name":…,"arguments"|"parameters": object or its text}. */
static bool
add_object(struct finder *f, const cJSON *call)
{
	const char *name = json_string_or(call, "name", NULL);
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(call, "arguments");
	auto_buf text = BUF_INIT(ARGUMENTS_MAX);

	if (!args)
		args = cJSON_GetObjectItemCaseSensitive(call, "parameters");
	if (!name || !args)
		return false;
	if (cJSON_IsString(args))
		buf_puts(&text, args->valuestring);
	else
		json_print(&text, args);
	return !text.failed && add(f, name, text.bytes, text.len);
}

/* One such object or an array of them; all must name offered tools. */
static bool
read_json(struct finder *f, struct span inside)
{
	inside = trimmed(inside);
	auto_json *json =
	    cJSON_ParseWithLength(inside.p, (size_t)(inside.end - inside.p));
	const cJSON *call;

	if (!cJSON_IsArray(json))
		return json && add_object(f, json);
	cJSON_ArrayForEach(call, json) {
		if (!add_object(f, call))
			return false;
	}
	return cJSON_GetArraySize(json) > 0;
}

static const char *
find(struct span s, const char *word)
{
	return s.p ? memmem(s.p, (size_t)(s.end - s.p), word, strlen(word))
		   : NULL;
}

/* The schema type of a parameter; "string" when nothing is known. */
static const char *
parameter_type(const cJSON *tool, const char *key)
{
	const cJSON *parameters =
	    cJSON_GetObjectItemCaseSensitive(tool, "parameters");
	const cJSON *properties =
	    cJSON_GetObjectItemCaseSensitive(parameters, "properties");

	return json_string_or(cJSON_GetObjectItemCaseSensitive(properties, key),
	    "type", "string");
}

static void
add_parameter(struct buf *object, const cJSON *tool, const char *key,
    struct span value)
{
	/* Exactly one newline at each end belongs to the markup. */
	if (value.p < value.end && *value.p == '\n')
		value.p++;
	if (value.p < value.end && value.end[-1] == '\n')
		value.end--;
	size_t len = (size_t)(value.end - value.p);
	bool is_text = strcmp(parameter_type(tool, key), "string") == 0;
	auto_json *json = is_text ? NULL : cJSON_ParseWithLength(value.p, len);

	buf_puts(object, object->len > 1 ? "," : "");
	json_print_string(object, key, strlen(key));
	buf_putc(object, ':');
	if (json)
		json_print(object, json);
	else
		json_print_string(object, value.p, len);
}

/* <function=NAME> (<parameter=KEY>VALUE</parameter>)* </function> */
static bool
read_xml(struct finder *f, struct span inside)
{
	auto_buf object = BUF_INIT(ARGUMENTS_MAX);
	const char *open = find(inside, "<function=");

	if (!open)
		return false;
	struct span rest = { open + 10, inside.end };
	const char *gt = find(rest, ">");
	if (!gt)
		return false;
	auto_free char *name = xstrndup(rest.p, (size_t)(gt - rest.p));
	const cJSON *tool = offered(f, name);
	if (!tool)
		return false;
	buf_putc(&object, '{');
	for (rest.p = gt + 1;;) {
		const char *key = find(rest, "<parameter=");
		if (!key)
			break;
		struct span after = { key + 11, rest.end };
		gt = find(after, ">");
		const char *close = find(after, "</parameter>");
		if (!gt || !close || close < gt)
			return false;
		auto_free char *word =
		    xstrndup(after.p, (size_t)(gt - after.p));
		add_parameter(&object, tool, word,
		    (struct span){ gt + 1, close });
		rest.p = close + 12;
	}
	buf_putc(&object, '}');
	return !object.failed && add(f, name, object.bytes, object.len);
}

static bool
read_tool_call(struct finder *f, struct span inside)
{
	return find(inside, "<function=") ? read_xml(f, inside)
					  : read_json(f, inside);
}

/* functions.NAME:0<|tool_call_argument_begin|>{…} */
static bool
read_kimi(struct finder *f, struct span inside)
{
	static const char mark[] = "<|tool_call_argument_begin|>";
	const char *args = find(inside, mark);

	if (!args)
		return false;
	struct span head = trimmed((struct span){ inside.p, args });
	if ((size_t)(head.end - head.p) > 10 &&
	    memcmp(head.p, "functions.", 10) == 0)
		head.p += 10;
	const char *colon = find(head, ":");
	auto_free char *name =
	    xstrndup(head.p, (size_t)((colon ? colon : head.end) - head.p));
	struct span rest =
	    trimmed((struct span){ args + sizeof mark - 1, inside.end });
	return add(f, name, rest.p, (size_t)(rest.end - rest.p));
}

/* v3: a JSON array; v11: NAME[ARGS]{…}, perhaps with [CALL_ID]. To the end. */
static bool
read_mistral(struct finder *f, struct span inside)
{
	inside = trimmed(inside);
	if (inside.p < inside.end && *inside.p == '[')
		return read_json(f, inside);
	const char *args = find(inside, "[ARGS]");
	if (!args)
		return false;
	const char *id = find((struct span){ inside.p, args }, "[CALL_ID]");
	struct span head = trimmed((struct span){ inside.p, id ? id : args });
	auto_free char *name = xstrndup(head.p, (size_t)(head.end - head.p));
	struct span rest = trimmed((struct span){ args + 6, inside.end });
	return add(f, name, rest.p, (size_t)(rest.end - rest.p));
}

static const struct form {
	const char *open;
	const char *close; /* NULL: to the end of the text */
	bool keeps_open;   /* the opening belongs to the inside */
	bool (*read)(struct finder *f, struct span inside);
} forms[] = {
	{ "<tool_call>", "</tool_call>", false, read_tool_call },
	{ "<function=", "</function>", true, read_xml },
	{ "[TOOL_CALLS]", NULL, false, read_mistral },
	{ "<TOOLCALL>", "</TOOLCALL>", false, read_json },
	{ "<toolcall>", "</toolcall>", false, read_json },
	{ "<|tool_call_begin|>", "<|tool_call_end|>", false, read_kimi },
};

/* Is this place inside a ``` fence? */
static bool
in_fence(const char *text, const char *place)
{
	unsigned fences = 0;

	for (const char *p = text; (p = strstr(p, "```")) && p < place; p += 3)
		fences++;
	return fences % 2 == 1;
}

/* The earliest markup from p on that is not inside a fence. */
static const struct form *
next_form(const char *text, struct span s, const char **at)
{
	const struct form *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *p = find(s, forms[i].open);
		while (p && in_fence(text, p))
			p = find((struct span){ p + 1, s.end }, forms[i].open);
		if (p && (!best || p < *at)) {
			best = &forms[i];
			*at = p;
		}
	}
	return best;
}

static void
keep(struct buf *out, struct span s)
{
	static const char *const wrappers[] = { "<|tool_calls_section_begin|>",
		"<|tool_calls_section_end|>" };

	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
		const char *p = find(s, wrappers[i]);
		if (p) {
			buf_add(out, s.p, (size_t)(p - s.p));
			s.p = p + strlen(wrappers[i]);
		}
	}
	buf_add(out, s.p, (size_t)(s.end - s.p));
}

/* The whole content is one call (Llama 3). */
static bool
is_bare_call(struct finder *f, const struct buf *content)
{
	static const char tag[] = "<|python_tag|>";
	struct span s = trimmed(
	    (struct span){ content->bytes, content->bytes + content->len });

	if ((size_t)(s.end - s.p) > sizeof tag &&
	    memcmp(s.p, tag, sizeof tag - 1) == 0)
		s.p += sizeof tag - 1;
	return s.p < s.end && *s.p == '{' && s.end[-1] == '}' &&
	    read_json(f, s);
}

void
textcalls_find(struct buf *content, const cJSON *tools, struct slots *slots)
{
	struct finder f = { .tools = tools, .slots = slots };
	auto_buf rest = BUF_INIT(content->max);
	struct span s = { content->bytes, content->bytes + content->len };
	const char *at = NULL;
	const struct form *form;
	size_t before = slots->count;

	if (is_bare_call(&f, content)) {
		buf_reset(content);
		return;
	}
	slots_truncate(slots, before);
	while ((form = next_form(content->bytes, s, &at))) {
		const char *inside = at + strlen(form->open);
		const char *close = form->close
		    ? find((struct span){ inside, s.end }, form->close)
		    : s.end;
		size_t tail = form->close ? strlen(form->close) : 0;
		size_t known = slots->count;
		if (close &&
		    form->read(&f,
			(struct span){ form->keeps_open ? at : inside,
			    close })) {
			keep(&rest, (struct span){ s.p, at });
			s.p = close + tail;
		} else {
			slots_truncate(slots, known);
			keep(&rest, (struct span){ s.p, inside });
			s.p = inside;
		}
	}
	if (slots->count == before)
		return;
	keep(&rest, s);
	struct span left =
	    trimmed((struct span){ rest.bytes, rest.bytes + rest.len });
	buf_reset(content);
	buf_add(content, left.p, (size_t)(left.end - left.p));
}

void
textcalls_strip(struct buf *content)
{
	static const char open[] = "<TOOLCALL>", close[] = "</TOOLCALL>";
	char *from;

	while ((from = memmem(content->bytes, content->len, open,
		    sizeof open - 1))) {
		struct span s = { from, content->bytes + content->len };
		const char *end = find(s, close);
		if (!end)
			return;
		end += sizeof close - 1;
		memmove(from, end, (size_t)(s.end - end) + 1);
		content->len -= (size_t)(end - from);
	}
}
