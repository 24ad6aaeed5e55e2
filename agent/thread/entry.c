/* Entries of the log; see entry.h. */
#include "agent/thread/entry.h"

#include "agent/base/clock.h"
#include "agent/base/path.h"

/* Bytes of a text that an entry shows: a prompt may be a mebibyte, and all of
 * it is in `messages`. */
#define TEXT_MAX ((size_t)64 << 10)

/* Appends one line's text, harmless. */
static void
add_escaped(struct buf *out, const char *text, size_t len)
{
	/* A byte becomes four at most, and escape_line() adds a NUL. */
	size_t room = len * 4 + 1;
	char *p = buf_reserve(out, room);

	if (p)
		buf_commit(out, escape_line(p, room, text, len));
}

/* Appends text whose further lines are continuation lines. */
static void
add_lines(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;

	for (;;) {
		const char *lf = memchr(text, '\n', (size_t)(end - text));
		add_escaped(out, text, (size_t)((lf ? lf : end) - text));
		if (!lf)
			return;
		buf_puts(out, "\n    ");
		text = lf + 1;
	}
}

static size_t
without_line_ends(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	return len;
}

/* Bytes of the first `max` characters. */
static size_t
characters(const char *text, size_t len, size_t max)
{
	size_t i = 0;

	for (size_t n = 0; i < len && n < max; n++) {
		size_t more = 3; /* of what is no UTF-8, each byte counts */
		i++;
		while (more-- > 0 && i < len &&
		    ((unsigned char)text[i] & 0xc0) == 0x80)
			i++;
	}
	return i;
}

void
entry_cut(struct buf *out, const char *text, size_t len, size_t max)
{
	size_t n = characters(text, len, max);

	buf_add(out, text, n);
	if (n < len)
		buf_puts(out, "...");
}

void
entry_add(struct buf *out, const char *label, const char *text, size_t len)
{
	size_t whole = without_line_ends(text, len);
	size_t n = utf8_prefix(text, whole, TEXT_MAX);

	buf_printf(out, "[%s] ", label);
	add_lines(out, text, n);
	buf_puts(out, n < whole ? "...\n" : "\n");
}

void
entry_header(struct buf *out, int64_t turn, int64_t ts_ms, const char *model)
{
	char time[32];

	clock_rfc3339(time, ts_ms, false);
	buf_printf(out, "=== turn %lld · %s · ", (long long)turn, time);
	add_escaped(out, model, strlen(model));
	buf_puts(out, " ===\n");
}

/* Arguments with one blank after each ':' and ',' and none elsewhere, as the
 * lines have always looked, however the model spaced them. What is no JSON
 * comes out with its strings whole. */
static void
add_arguments(struct buf *out, const char *json)
{
	bool in_string = false;

	for (const char *p = json; *p; p++) {
		if (in_string) {
			buf_putc(out, *p);
			if (*p == '\\' && p[1])
				buf_putc(out, *++p);
			else if (*p == '"')
				in_string = false;
			continue;
		}
		if (strchr(" \t\r\n", *p))
			continue;
		buf_putc(out, *p);
		if (*p == ':' || *p == ',')
			buf_putc(out, ' ');
		in_string = *p == '"';
	}
}

void
entry_call(struct buf *out, const struct tool_call *call)
{
	auto_buf whole = BUF_INIT(ENTRY_MAX), cut = BUF_INIT(ENTRY_MAX);
	const char *raw = call->arguments ? call->arguments : "";

	/* A bound before the work: only the beginning is shown. */
	auto_free char *head = xstrndup(raw, (size_t)16 * ENTRY_ARGUMENTS);
	if (call->invalid)
		buf_puts(&whole, head);
	else
		add_arguments(&whole, head);
	entry_cut(&cut, whole.bytes, whole.len, ENTRY_ARGUMENTS);
	buf_puts(out, "[agent] -> ");
	add_escaped(out, call->name,
	    utf8_prefix(call->name, strlen(call->name), 100));
	buf_putc(out, '(');
	add_escaped(out, cut.bytes, cut.len);
	buf_puts(out, ")\n");
}

static void
add_duration(struct buf *out, int64_t ms)
{
	buf_printf(out, "%lld.%lld s", (long long)(ms / 1000),
	    (long long)(ms % 1000 / 100));
}

static void
begin_tool_line(struct buf *out, const char *arrow, const char *name)
{
	buf_printf(out, "[tools] %s ", arrow);
	add_escaped(out, name, utf8_prefix(name, strlen(name), 100));
	buf_puts(out, ": ");
}

void
entry_result(struct buf *out, const struct message *result, int64_t ms)
{
	auto_buf cut = BUF_INIT(ENTRY_MAX);
	size_t len =
	    without_line_ends(result->content, strlen(result->content));

	entry_cut(&cut, result->content, len, ENTRY_RESULT);
	begin_tool_line(out, "<-", result->name ? result->name : "tool");
	add_lines(out, cut.bytes, cut.len);
	if (ms >= 0) {
		buf_puts(out, " (");
		add_duration(out, ms);
		buf_putc(out, ')');
	}
	buf_putc(out, '\n');
}

void
entry_live(struct buf *out, const char *name, const char *line, size_t len)
{
	auto_buf cut = BUF_INIT(ENTRY_MAX);

	entry_cut(&cut, line, len, ENTRY_LIVE);
	begin_tool_line(out, "..", name);
	add_escaped(out, cut.bytes, cut.len);
	buf_putc(out, '\n');
}

/* 21403 as 21,403. */
static void
add_grouped(struct buf *out, int64_t n)
{
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)n);

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			buf_putc(out, ',');
		buf_putc(out, digits[i]);
	}
}

static void
add_count(struct buf *out, int64_t n, const char *what)
{
	buf_puts(out, " · ");
	add_grouped(out, n);
	buf_printf(out, " %s%s", what, n == 1 ? "" : "s");
}

void
entry_end(struct buf *out, const char *word, const struct tally *tally,
    const char *why)
{
	const struct usage *usage = &tally->usage;

	buf_printf(out, "[turn] %s", word);
	if (tally->ms >= 0) {
		buf_putc(out, ' ');
		add_duration(out, tally->ms);
	}
	if (why) {
		buf_puts(out, ": ");
		add_escaped(out, why, strlen(why));
	}
	add_count(out, tally->model_calls, "model call");
	add_count(out, tally->tool_calls, "tool call");
	buf_puts(out, " · ");
	add_grouped(out, MAX(usage->input_tokens, (int64_t)0));
	buf_puts(out, " tokens in, ");
	add_grouped(out, MAX(usage->output_tokens, (int64_t)0));
	buf_puts(out, " out\n");
}
