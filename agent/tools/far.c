/* Files by scripts; see far.h. */
#include "agent/tools/far.h"

#include "agent/sandbox/shell.h"
#include "agent/tools/media.h"
#include "agent/tools/result.h"

/* Lines of a large file come up to so many bytes: more is not shown. */
#define PAGE_MAX (5 * RESULT_CHARS)

/* Exit codes of our scripts. */
enum { NO_FILE = 41, A_DIR, NO_RIGHT, NO_DIR, NO_REGULAR, BIG, FAILED, NO_NUL };

static const char check_file[] = "[ -e \"$p\" ] || exit 41\n"
				 "[ -d \"$p\" ] && exit 42\n"
				 "[ -f \"$p\" ] || exit 45\n"
				 "[ -r \"$p\" ] || exit 43\n";
const char far_check_exists[] = "[ -e \"$p\" ] || exit 41\n";
const char far_check_dir[] = "[ -e \"$p\" ] || exit 41\n"
			     "[ -d \"$p\" ] || exit 44\n"
			     "[ -r \"$p\" ] && [ -x \"$p\" ] || exit 43\n";

int
far_failure(int exit_code, struct status *st)
{
	switch (exit_code) {
	case NO_FILE:
		return status_set(st, STATUS_NOT_FOUND, "no such file");
	case A_DIR:
		return status_set(st, STATUS_IS_DIR, "is a directory");
	case NO_RIGHT:
		return status_set(st, STATUS_DENIED, "permission denied");
	case NO_DIR:
		return status_set(st, STATUS_NOT_DIR, "not a directory");
	case NO_REGULAR:
		return status_set(st, STATUS_INVALID, "not a regular file");
	case NO_NUL:
		return status_set(st, STATUS_NOT_SUPPORTED,
		    "the sandbox's grep has no option -Z");
	case BIG:
		return status_set(st, STATUS_TOO_BIG, "the file is too big");
	default:
		return status_set(st, STATUS_IO,
		    "the sandbox's shell failed with exit code %d", exit_code);
	}
}

/* The script's output, 0 only for exit code 0. */
static int
run(const struct tool_context *ctx, const struct buf *script, struct buf *out,
    struct status *st)
{
	int exit_code = 0;

	if (script->failed)
		return status_set(st, STATUS_TOO_BIG, "too much at once");
	if (mirror_script(ctx->mirror, script->bytes, script->len, out,
		&exit_code, ctx->cancel, st) < 0)
		return -1;
	return exit_code == 0 ? 0 : far_failure(exit_code, st);
}

void
far_file_init(struct far_file *f)
{
	*f = (struct far_file){ 0 };
	buf_init(&f->probe, MEDIA_PROBE);
	buf_init(&f->text, 64 << 20);
}

void
far_file_finish(struct far_file *f)
{
	buf_finish(&f->probe);
	buf_finish(&f->text);
}

/* Takes a number and its LF off the front. */
static int
take_number(struct buf *out, int64_t *number, struct status *st)
{
	char *end = NULL;
	long long value = strtoll(out->bytes, &end, 10);

	if (end == out->bytes || *end != '\n' || value < 0)
		return status_set(st, STATUS_IO,
		    "unexpected answer of the sandbox's shell");
	*number = value;
	buf_consume(out, (size_t)(end + 1 - out->bytes));
	return 0;
}

int
far_read(const struct tool_context *ctx, const char *path, int64_t whole_max,
    int64_t offset, int64_t limit, struct far_file *f, struct status *st)
{
	auto_buf script = BUF_INIT(64 << 10);

	shell_path(&script, "p", path);
	buf_printf(&script,
	    "%s"
	    "s=$(wc -c <\"$p\") || exit 43\n"
	    "printf '%%d\\n' $((s))\n"
	    "if [ \"$s\" -le %lld ]; then cat -- \"$p\"; exit; fi\n"
	    "[ %lld -gt 0 ] || exit 46\n"
	    "n=$(wc -l <\"$p\")\n"
	    "[ -n \"$(tail -c 1 -- \"$p\" | tr '\\000' x)\" ] && n=$((n+1))\n"
	    "printf '%%d\\n' $((n))\n"
	    "head -c %d -- \"$p\"\n"
	    "tail -n +%lld -- \"$p\" | head -n %lld | head -c %d\n",
	    check_file, (long long)whole_max, (long long)limit, MEDIA_PROBE,
	    (long long)offset + 1, (long long)limit, PAGE_MAX);
	if (run(ctx, &script, &f->text, st) < 0 ||
	    take_number(&f->text, &f->size, st) < 0)
		return -1;
	f->whole = f->size <= whole_max;
	if (f->whole)
		return 0;
	if (take_number(&f->text, &f->lines, st) < 0)
		return -1;
	size_t probe = MIN(f->text.len, MEDIA_PROBE);
	buf_add(&f->probe, f->text.bytes, probe);
	buf_consume(&f->text, probe);
	return 0;
}

int
far_write(const struct tool_context *ctx, const char *path, const void *bytes,
    size_t len, struct status *st)
{
	auto_buf script = BUF_INIT(64 << 20);
	auto_buf out = BUF_INIT(1000);

	shell_path(&script, "p", path);
	buf_puts(&script,
	    "[ -d \"$p\" ] && exit 42\n"
	    "d=${p%/*}\n"
	    "if ! mkdir -p -- \"${d:-/}\" 2>/dev/null; then\n"
	    "	while [ -n \"$d\" ] && ! [ -e \"$d\" ]; do d=${d%/*}; done\n"
	    "	[ -d \"${d:-/}\" ] && exit 43\n"
	    "	exit 44\n"
	    "fi\n"
	    "{ true >>\"$p\"; } 2>/dev/null || exit 43\n"
	    "printf %s '");
	buf_base64(&script, bytes, len);
	buf_puts(&script, "' | base64 -d >\"$p\" || exit 47\n");
	return run(ctx, &script, &out, st);
}

int
far_list(const struct tool_context *ctx, const char *path, struct buf *names,
    struct status *st)
{
	auto_buf script = BUF_INIT(64 << 10);

	shell_path(&script, "p", path);
	buf_printf(&script,
	    "%scd -- \"$p\" || exit 43\n"
	    "find . ! -name . -prune -print0 | head -c %zu\n",
	    far_check_dir, names->max);
	if (run(ctx, &script, names, st) < 0)
		return -1;
	/* Each is "./NAME"; what was cut off has no NUL. */
	size_t to = 0;
	for (size_t at = 0; at < names->len;) {
		const char *name = names->bytes + at;
		size_t n = strnlen(name, names->len - at);
		if (at + n == names->len)
			break;
		at += n + 1;
		if (n <= 2)
			continue;
		memmove(names->bytes + to, name + 2, n - 1);
		to += n - 1;
	}
	names->len = to;
	return 0;
}
