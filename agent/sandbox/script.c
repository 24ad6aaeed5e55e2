/* Running our scripts in a sandbox; see internal.h and shell.h. */
#include <errno.h>

#include "agent/sandbox/internal.h"
#include "agent/sandbox/shell.h"

#define SCRIPT_MAX ((size_t)64 << 20)

void
script_init(struct script *s, enum sandbox_want want)
{
	*s = (struct script){ .want = want, .timeout_s = 120 };
	s->text = BUF_INIT(SCRIPT_MAX);
	shell_begin(&s->text);
}

void
script_finish(struct script *s)
{
	buf_finish(&s->text);
	free(s->answer);
	s->answer = NULL;
}

static int
check(struct script *s, struct status *st)
{
	s->answer_len = strlen(s->answer);
	if (shell_whole(s->answer, s->answer_len))
		return 0;
	if (s->exit_code == -1)
		return status_set(st, STATUS_IO, "no shell in the sandbox: %s",
		    s->answer);
	return status_set(st, STATUS_IO,
	    "a script ended early in the sandbox, exit code %d", s->exit_code);
}

int
script_run(struct sandbox *sb, struct script *s, struct cancel *c,
    struct status *st)
{
	struct http_response r = { .body = BUF_INIT(ANSWER_MAX) };
	auto_buf body = BUF_INIT(SCRIPT_MAX * 2);

	buf_puts(&s->text, "printf '\\n=saf=end\\n'\n");
	wire_execute(&body, s->text.bytes, s->text.len, s->timeout_s);
	if (s->text.failed || body.failed)
		return status_set(st, STATUS_TOO_BIG, "the script is too long");
	struct http_segment segment = { .bytes = body.bytes, .len = body.len };
	struct toolbox_call call = { .method = "POST",
		.path = "/process/execute",
		.content_type = "application/json",
		.body = &segment,
		.body_count = 1,
		.want = s->want,
		.active = s->active,
		.first_ms = s->first_ms > 0 ? s->first_ms
		    : s->timeout_s > 0      ? (s->timeout_s + 10) * 1000
					    : 0 };
	int rc = toolbox_call(sb, &call, &r, c, st);
	s->generation = call.generation;
	if (rc == 0 && r.status != 200)
		rc = toolbox_refused(&r, st);
	if (rc == 0) {
		free(s->answer);
		s->answer = NULL;
		rc = wire_executed(&r.body, &s->exit_code, &s->answer, st);
	}
	buf_finish(&r.body);
	return rc < 0 ? -1 : check(s, st);
}

int
script_bytes(const struct script *s, const char *name, size_t nth,
    struct buf *out, struct status *st)
{
	struct shell_part p;

	if (!shell_part(s->answer, s->answer_len, name, nth, &p))
		return status_set(st, STATUS_IO, "the script said no %s", name);
	if (buf_unbase64(out, p.body, p.body_len) < 0)
		return status_set(st, out->failed ? STATUS_TOO_BIG : STATUS_IO,
		    "the script's %s is damaged", name);
	return 0;
}

int
script_error(const struct script *s, struct status *st)
{
	struct shell_part p;

	if (!shell_part(s->answer, s->answer_len, "err", 0, &p))
		return 0;
	int err = shell_errno(p.args, p.args_len);
	return status_errno(st, err ? err : EIO, "%.*s",
	    (int)MIN(p.args_len, (size_t)120), p.args);
}

int
sandbox_script(struct sandbox *sb, enum sandbox_want want, const char *script,
    size_t len, struct buf *out, int *exit_code, struct cancel *c,
    struct status *st)
{
	struct script s;
	struct shell_part p;
	int64_t code = 0;

	script_init(&s, want);
	/* 4: the answer; 3: the exit code, past the pipe. */
	buf_puts(&s.text,
	    "exec 4>&1\nprintf '=saf=out\\n'\n"
	    "c=$( { { (\n");
	buf_add(&s.text, script, len);
	buf_puts(&s.text,
	    "\n) </dev/null 2>/dev/null 3>&- 4>&-; printf '%d' \"$?\" >&3; }"
	    " | base64 >&4; } 3>&1 )\n"
	    "printf '\\n=saf=code %d\\n' \"$c\"\n");
	int rc = script_run(sb, &s, c, st);
	if (rc == 0)
		rc = script_bytes(&s, "out", 0, out, st);
	if (rc == 0 &&
	    (!shell_part(s.answer, s.answer_len, "code", 0, &p) ||
		shell_numbers(&p, &code, 1) != 1))
		rc = status_set(st, STATUS_IO, "the script said no code");
	if (rc == 0)
		*exit_code = (int)code;
	script_finish(&s);
	return rc;
}
