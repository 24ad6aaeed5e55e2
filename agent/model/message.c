/* Messages and their line in `messages`; see message.h. The stored record is in
 * record.c. */
#include "agent/model/message.h"

#include <sys/random.h>

#include "agent/base/clock.h"
#include "agent/model/arguments.h"

void
message_init(struct message *m, enum message_type type)
{
	*m = (struct message){
		.type = type,
		.content = xstrdup(""),
		.exit_code = -1,
		.usage = { .input_tokens = -1, .output_tokens = -1 },
	};
}

void
message_finish(struct message *m)
{
	for (size_t i = 0; i < m->call_count; i++) {
		free(m->calls[i].id);
		free(m->calls[i].name);
		free(m->calls[i].arguments);
		free(m->calls[i].invalid);
	}
	free(m->calls);
	free(m->id);
	free(m->content);
	free(m->blocks);
	free(m->reasoning);
	free(m->tool_call_id);
	free(m->name);
	*m = (struct message){ .type = m->type };
}

struct tool_call *
message_add_call(struct message *m, char *id, char *name, char *arguments)
{
	m->calls = xrealloc(m->calls, m->call_count + 1, sizeof *m->calls);
	struct tool_call *call = &m->calls[m->call_count++];
	*call = (struct tool_call){
		.id = id ? id : xstrdup(""),
		.name = name,
		.arguments = arguments,
	};
	return call;
}

char *
message_new_id(void)
{
	unsigned char r[16];

	for (size_t have = 0; have < sizeof r;) {
		ssize_t n = getrandom(r + have, sizeof r - have, 0);
		have += n > 0 ? (size_t)n : 0;
	}
	r[6] = (r[6] & 0x0f) | 0x40; /* UUID version 4 */
	r[8] = (r[8] & 0x3f) | 0x80;
	return xasprintf("run-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			 "%02x%02x%02x%02x%02x%02x",
	    r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10],
	    r[11], r[12], r[13], r[14], r[15]);
}

/* --- The line ------------------------------------------------------------- */

static void
put_string(struct buf *out, const char *key, const char *s)
{
	buf_printf(out, ",\"%s\":", key);
	if (s)
		json_print_string(out, s, strlen(s));
	else
		buf_puts(out, "null");
}

static void
put_count(struct buf *out, const char *key, int64_t n, bool known)
{
	buf_printf(out, ",\"%s\":", key);
	if (known)
		buf_printf(out, "%lld", (long long)n);
	else
		buf_puts(out, "null");
}

/* What runs is an object; what must not run is shown as it was written, unless
 * it is an object itself. */
static void
put_arguments(struct buf *out, const struct tool_call *call)
{
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 4);
	size_t len = strlen(call->arguments);
	enum arguments_status status =
	    arguments_read(call->arguments, len, !call->invalid, &object);

	if (status == ARGUMENTS_INVALID || object.failed)
		json_print_string(out, call->arguments, len);
	else
		buf_add(out, object.bytes, object.len);
}

static void
put_calls(struct buf *out, const struct message *m)
{
	buf_puts(out, ",\"tool_calls\":[");
	for (size_t i = 0; i < m->call_count; i++) {
		const struct tool_call *call = &m->calls[i];
		buf_puts(out, i > 0 ? ",{\"id\":" : "{\"id\":");
		json_print_string(out, call->id, strlen(call->id));
		put_string(out, "name", call->name);
		buf_puts(out, ",\"args\":");
		put_arguments(out, call);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void
put_usage(struct buf *out, const struct usage *usage)
{
	bool in = usage->input_tokens >= 0, o = usage->output_tokens >= 0;

	if (!in && !o) {
		buf_puts(out, ",\"usage\":null");
		return;
	}
	auto_buf members = BUF_INIT(200);
	put_count(&members, "input_tokens", usage->input_tokens, in);
	put_count(&members, "output_tokens", usage->output_tokens, o);
	buf_printf(out, ",\"usage\":{%s}", members.bytes + 1);
}

static void
put_time(struct buf *out, int64_t ts_ms)
{
	char text[32];

	if (ts_ms > 0)
		clock_rfc3339(text, ts_ms, true);
	put_string(out, "ts", ts_ms > 0 ? text : NULL);
}

static const char *
type_word(enum message_type type)
{
	switch (type) {
	case MESSAGE_HUMAN:
		return "human";
	case MESSAGE_AI:
		return "ai";
	case MESSAGE_TOOL:
		return "tool";
	case MESSAGE_SYSTEM:
		break;
	}
	return "system";
}

void
message_to_line(const struct message *m, struct buf *out)
{
	buf_printf(out, "{\"type\":\"%s\"", type_word(m->type));
	put_string(out, "id", m->id);
	put_string(out, "content", m->content);
	if (m->type == MESSAGE_AI) {
		put_calls(out, m);
		put_usage(out, &m->usage);
	} else if (m->type == MESSAGE_TOOL) {
		put_string(out, "tool_call_id", m->tool_call_id);
		put_string(out, "name", m->name);
		put_string(out, "status", m->failed ? "error" : "success");
		put_count(out, "exit_code", m->exit_code, m->exit_code >= 0);
	}
	put_count(out, "turn", m->turn, m->turn > 0);
	put_time(out, m->ts_ms);
	buf_puts(out, "}\n");
}
