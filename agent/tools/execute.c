/* execute: a shell command in the sandbox. */
#include "agent/base/path.h"
#include "agent/base/text.h"
#include "agent/tools/result.h"
#include "agent/tools/table.h"

#define TIMEOUT_DEFAULT 1800 /* seconds */
#define TIMEOUT_MAX     3600
/* What comes here of the output, head and tail, in bytes: a little more than
 * may be shown. */
#define OUTPUT_MAX (4 * RESULT_CHARS + 4096)
/* Room for what stands around the output, in bytes. */
#define NOTES 1024

/* Where the last `chars` characters of valid UTF-8 begin, or fewer if they are
 * over `max` bytes. */
static size_t
tail_start(const char *s, size_t len, size_t chars, size_t max)
{
	size_t at = len;

	while (at > 0 && len - at < max && chars > 0) {
		at--;
		chars -= ((unsigned char)s[at] & 0xc0) != 0x80;
	}
	while (at < len && ((unsigned char)s[at] & 0xc0) == 0x80)
		at++;
	return at;
}

/* Appends the output, of a long one its head and its tail. */
static void
add_output(struct tool_result *r, const struct exec_result *run)
{
	const size_t max = RESULT_BYTES - NOTES;
	auto_buf text = BUF_INIT(3 * run->output.len + 1);

	text_add_utf8(&text, run->output.bytes, run->output.len);
	if (text.len <= max &&
	    text_chars(text.bytes, text.len) <= RESULT_CHARS) {
		buf_add(&r->text, text.bytes, text.len);
		return;
	}
	size_t head = text_head(text.bytes, text.len, RESULT_CHARS / 2);
	head = MIN(head, utf8_prefix(text.bytes, text.len, max / 2));
	size_t tail =
	    tail_start(text.bytes, text.len, RESULT_CHARS / 2, max / 2);
	int64_t all = MAX(run->output_bytes, (int64_t)text.len);
	buf_add(&r->text, text.bytes, head);
	buf_printf(&r->text,
	    "\n[... %lld bytes of the output are left out here ...]\n",
	    (long long)all - (long long)(head + text.len - tail));
	buf_add(&r->text, text.bytes + tail, text.len - tail);
}

static void
add_status(struct tool_result *r, const struct exec_result *run, int code)
{
	if (code == 0)
		buf_puts(&r->text, "\n[Command succeeded with exit code 0]");
	else
		buf_printf(&r->text, "\n[Command failed with exit code %d]",
		    code);
	if (run->truncated)
		buf_puts(&r->text,
		    "\n[Output was truncated due to size limits]");
	r->exit_code = code;
}

static int
finish(const struct exec_result *run, int timeout, struct tool_result *r)
{
	switch (run->end) {
	case EXEC_EXITED:
		add_output(r, run);
		add_status(r, run, run->exit_code);
		return 0;
	case EXEC_TIMED_OUT:
		buf_printf(&r->text, "Command timed out after %d seconds\n",
		    timeout);
		add_output(r, run);
		add_status(r, run, 124);
		return 0;
	case EXEC_CANCELED:
		add_output(r, run);
		buf_puts(&r->text, "\n[Command was cancelled]");
		r->failed = true;
		r->canceled = true;
		return -1;
	case EXEC_LOST:
		break;
	}
	add_output(r, run);
	buf_puts(&r->text,
	    "\n[The sandbox was lost while the command ran. It may or may not "
	    "have run to its end: look before you run it again.]");
	r->failed = true;
	r->unknown = true;
	return 0;
}

static int
run(const struct tool_context *ctx, const cJSON *args, struct tool_result *r)
{
	const char *command = json_string_or(args, "command", "");
	int64_t timeout = json_int_or(args, "timeout", TIMEOUT_DEFAULT);
	struct exec_result result = { .exit_code = -1 };
	struct status st = { 0 };

	if (timeout < 0)
		return result_error(r,
		    "Error: timeout must be non-negative, got %lld.",
		    (long long)timeout);
	if (timeout > TIMEOUT_MAX)
		return result_error(r,
		    "Error: timeout %llds exceeds maximum allowed (%ds).",
		    (long long)timeout, TIMEOUT_MAX);
	if (!command[strspn(command, " \t\r\n")])
		return result_error(r, "Error: command cannot be empty.");
	struct exec_request request = { .command = command,
		.id = ctx->call_id,
		.timeout_s = (int)timeout,
		.output_max = OUTPUT_MAX,
		.list = true,
		.live = ctx->live,
		.live_arg = ctx->live_arg };
	buf_init(&result.output, OUTPUT_MAX);
	int rc = mirror_exec(ctx->mirror, &request, &result, ctx->cancel, &st);
	rc = rc < 0 ? result_status(r, &st) : finish(&result, (int)timeout, r);
	buf_finish(&result.output);
	return rc;
}

const struct tool tool_execute = {
	.name = "execute",
	.description =
	    "Runs a shell command in the sandbox, in /home/daytona, and gives "
	    "its output (standard output and error together) and exit code. "
	    "Standard input is empty. Every command starts afresh: cd and "
	    "variables do not last, files and background processes do. Quote "
	    "paths with blanks. Prefer read_file, grep and glob to cat, grep "
	    "and find.",
	.parameters =
	    "{\"type\":\"object\",\"properties\":{"
	    "\"command\":{\"type\":\"string\"},"
	    "\"timeout\":{\"type\":[\"integer\",\"null\"],\"default\":null,"
	    "\"description\":\"Seconds until the command is killed: 1800 "
	    "unless given, at most 3600; 0 means no limit.\"}},"
	    "\"required\":[\"command\"]}",
	.run = run,
};
