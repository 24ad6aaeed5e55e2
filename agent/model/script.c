/* Recorded replies; see script.h. */
#include "agent/model/script.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/path.h"
#include "agent/base/span.h"
#include "agent/base/text.h"
#include "agent/model/arguments.h"

#define FILE_MAX  (64U << 20)
#define DELAY_MAX 3600000 /* ms */
#define PIECES    4U      /* that the text arrives in */

struct script {
	char *path;
	struct buf text;
	struct span *lines;
	size_t count;
};

static int
read_file(struct script *s, struct status *st)
{
	auto_fd int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat attr;

	if (fd < 0 || fstat(fd, &attr) < 0)
		return status_errno(st, errno, "script %s", s->path);
	if (!S_ISREG(attr.st_mode))
		return status_set(st, STATUS_INVALID,
		    "script %s: not a regular file", s->path);
	for (;;) {
		char *room = buf_reserve(&s->text, 64 << 10);
		if (!room)
			return status_set(st, STATUS_TOO_BIG,
			    "script %s: over 64 MiB", s->path);
		ssize_t n = read(fd, room, 64 << 10);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return status_errno(st, errno, "script %s", s->path);
		if (n == 0)
			return 0;
		buf_commit(&s->text, (size_t)n);
	}
}

static cJSON *
parse(struct span line, struct status *st)
{
	auto_buf text = BUF_INIT((size_t)FILE_MAX * 2);

	text_scrub_json(&text, line.bytes, line.len, false);
	return json_parse(text.bytes, text.len, st);
}

static int
check_calls(const cJSON *calls, struct status *st)
{
	const cJSON *call;

	if (calls && !cJSON_IsArray(calls) && !cJSON_IsNull(calls))
		return status_set(st, STATUS_INVALID,
		    "tool_calls: not an array");
	cJSON_ArrayForEach(call, calls) {
		const char *name;
		const cJSON *args =
		    cJSON_GetObjectItemCaseSensitive(call, "args");
		if (!cJSON_IsObject(call) ||
		    json_string(call, "name", &name, st) < 0 || !*name)
			return status_set(st, STATUS_INVALID,
			    "tool_calls: each needs a name");
		if (args && !cJSON_IsObject(args) && !cJSON_IsString(args))
			return status_set(st, STATUS_INVALID,
			    "args of %s: not an object", name);
	}
	return 0;
}

static int
check_line(struct span line, struct status *st)
{
	auto_json *reply = parse(line, st);

	if (!reply)
		return -1;
	if (!cJSON_IsObject(reply))
		return status_set(st, STATUS_INVALID, "not a JSON object");
	for (size_t i = 0; i < 2; i++) {
		const char *name = i == 0 ? "content" : "error";
		const cJSON *f = cJSON_GetObjectItemCaseSensitive(reply, name);
		if (f && !cJSON_IsString(f) && !cJSON_IsNull(f))
			return status_set(st, STATUS_INVALID,
			    "%s: not a string", name);
	}
	const cJSON *delay =
	    cJSON_GetObjectItemCaseSensitive(reply, "delay_ms");
	if (delay &&
	    (!cJSON_IsNumber(delay) || delay->valuedouble < 0 ||
		delay->valuedouble > DELAY_MAX))
		return status_set(st, STATUS_INVALID,
		    "delay_ms: not a number from 0 to %d", DELAY_MAX);
	return check_calls(cJSON_GetObjectItemCaseSensitive(reply,
			       "tool_calls"),
	    st);
}

static int
split(struct script *s, struct status *st)
{
	const char *p = s->text.bytes, *end = p + s->text.len;

	if (s->text.len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
		p += 3;
	for (unsigned number = 1; p < end; number++) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		struct span text = { p, (size_t)(stop - p) };
		p = nl ? nl + 1 : end;
		while (text.len && strchr(" \t\r", text.bytes[text.len - 1]))
			text.len--;
		if (text.len == 0)
			continue;
		if (check_line(text, st) < 0)
			return status_wrap(st, "script %s line %u", s->path,
			    number);
		s->lines = xrealloc(s->lines, s->count + 1, sizeof *s->lines);
		s->lines[s->count++] = text;
	}
	if (s->count == 0)
		return status_set(st, STATUS_INVALID,
		    "script %s: has no replies", s->path);
	return 0;
}

struct script *
script_open(const char *path, struct status *st)
{
	struct script *s = xcalloc(1, sizeof *s);

	s->path = xstrdup(path);
	buf_init(&s->text, FILE_MAX + (64U << 10));
	if (*path != '/')
		status_set(st, STATUS_INVALID,
		    "script %s: give the whole path, from /", path);
	else if (read_file(s, st) == 0 && split(s, st) == 0)
		return s;
	script_close(s);
	return NULL;
}

void
script_close(struct script *s)
{
	if (!s)
		return;
	free(s->path);
	free(s->lines);
	buf_finish(&s->text);
	free(s);
}

/* Streams the text in a few pieces; an equal part of the delay passes before
 * each. reply->content grows with what was shown. */
static int
stream(const char *text, int64_t delay_ms, const struct model_sink *sink,
    struct message *reply, struct cancel *cancel, struct status *st)
{
	size_t len = strlen(text), shown = 0;
	unsigned pieces = len / PIECES < 4 ? 1 : PIECES;

	free(reply->content);
	reply->content = xcalloc(len + 1, 1);
	for (unsigned i = 1; i <= pieces; i++) {
		int64_t pause =
		    delay_ms * i / pieces - delay_ms * (i - 1) / pieces;
		if ((pause > 0 && cancel_sleep(cancel, pause)) ||
		    cancel_fired(cancel))
			return status_set(st, STATUS_CANCELED, "cancelled");
		size_t to = utf8_prefix(text, len, len * i / pieces);
		memcpy(reply->content + shown, text + shown, to - shown);
		if (to > shown && sink && sink->text)
			sink->text(sink->arg, text + shown, to - shown);
		shown = to;
	}
	return 0;
}

static char *
new_call_id(void)
{
	auto_free char *id = message_new_id();

	return xasprintf("call_%s", id + strcspn(id, "-") + 1);
}

static void
add_call(struct message *reply, const cJSON *call, struct span text)
{
	const cJSON *args = cJSON_GetObjectItemCaseSensitive(call, "args");
	struct span raw = span_member(text, "args");
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 4);
	char *arguments = cJSON_IsString(args) ? xstrdup(args->valuestring)
	    : raw.bytes                        ? xstrndup(raw.bytes, raw.len)
					       : xstrdup("{}");
	struct tool_call *added = message_add_call(reply, new_call_id(),
	    xstrdup(json_string_or(call, "name", "")), arguments);

	switch (arguments_read(arguments, strlen(arguments), true, &object)) {
	case ARGUMENTS_OK:
		return;
	case ARGUMENTS_EMPTY:
	case ARGUMENTS_REPAIRED:
		free(added->arguments);
		added->arguments = buf_take(&object);
		return;
	case ARGUMENTS_INVALID:
		added->invalid = xstrdup("the arguments are no JSON object");
	}
}

static void
add_calls(struct message *reply, const cJSON *json, struct span line)
{
	const cJSON *call;
	struct span array = span_member(line, "tool_calls");
	struct span text = { 0 };

	cJSON_ArrayForEach(call,
	    cJSON_GetObjectItemCaseSensitive(json, "tool_calls")) {
		if (!span_next(array, &text))
			return;
		add_call(reply, call, text);
	}
}

int
script_complete(struct script *s, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st)
{
	int64_t *position = request->script_position;
	bool past = *position < 0 || (uint64_t)*position >= s->count;

	if (past && !request->first_call)
		return status_set(st, STATUS_INVALID,
		    "script %s ends within a turn: after %zu replies it needs "
		    "one without tool_calls",
		    s->path, s->count);
	if (past)
		*position = 0;
	struct span line = s->lines[*position];
	auto_json *json = parse(line, st);
	if (!json)
		return -1;
	const char *error = json_string_or(json, "error", NULL);
	const char *content = json_string_or(json, "content", "");
	const cJSON *delay = cJSON_GetObjectItemCaseSensitive(json, "delay_ms");
	if (stream(content, delay ? (int64_t)delay->valuedouble : 0, sink,
		reply, cancel, st) < 0)
		return -1;
	++*position;
	if (error)
		return status_set(st, STATUS_IO, "%s", error);
	add_calls(reply, json, line);
	return 0;
}
