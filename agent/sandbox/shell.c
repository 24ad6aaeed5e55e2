/* Scripts and their answers; see shell.h. */
#include "agent/sandbox/shell.h"

#include <errno.h>

#include "agent/base/path.h"
#include "agent/sandbox/sandbox.h"

#define MARK "=saf="

void
shell_begin(struct buf *script)
{
	buf_puts(script,
	    "[ -n \"$ZSH_VERSION$BASH_VERSION\" ] && exec sh\n"
	    "printf '\\n" MARK "begin\\n'\n");
}

void
shell_assign(struct buf *script, const char *var, const char *bytes, size_t len)
{
	buf_printf(script, "%s=", var);
	if (utf8_valid(bytes, len)) {
		buf_shell_quote(script, bytes, len);
		buf_putc(script, '\n');
		return;
	}
	/* The dot keeps line ends that $() would cut. */
	buf_puts(script, "$(printf '%b.' '");
	for (size_t i = 0; i < len; i++)
		buf_printf(script, "\\0%03o", (unsigned char)bytes[i]);
	buf_printf(script, "'); %s=${%s%%.}\n", var, var);
}

void
shell_path(struct buf *script, const char *var, const char *path)
{
	if (path[0] == '/') {
		shell_assign(script, var, path, strlen(path));
		return;
	}
	auto_free char *whole =
	    xasprintf("%s%s%s", SANDBOX_HOME, path[0] ? "/" : "", path);
	shell_assign(script, var, whole, strlen(whole));
}

/* The next mark at the start of a line, from `at` on; NULL if none. */
static const char *
next_mark(const char *at, const char *answer, const char *end)
{
	while (at < end) {
		const char *p =
		    memmem(at, (size_t)(end - at), MARK, strlen(MARK));
		if (!p || p == answer || p[-1] == '\n')
			return p;
		at = p + 1;
	}
	return NULL;
}

bool
shell_part(const char *answer, size_t len, const char *name, size_t nth,
    struct shell_part *out)
{
	const char *end = answer + len, *p = next_mark(answer, answer, end);
	size_t name_len = strlen(name);

	while (p) {
		const char *word = p + strlen(MARK);
		const char *line = memchr(word, '\n', (size_t)(end - word));
		if (!line)
			line = end;
		const char *body = line < end ? line + 1 : end;
		const char *next = next_mark(body, answer, end);
		size_t n = (size_t)(line - word);
		bool same = n >= name_len &&
		    memcmp(word, name, name_len) == 0 &&
		    (n == name_len || word[name_len] == ' ');
		if (same && nth-- == 0) {
			size_t skip = MIN(name_len + 1, n);
			*out = (struct shell_part){ .args = word + skip,
				.args_len = n - skip,
				.body = body,
				.body_len =
				    (size_t)((next ? next : end) - body) };
			return true;
		}
		p = next;
	}
	return false;
}

bool
shell_whole(const char *answer, size_t len)
{
	struct shell_part begin, end;

	return shell_part(answer, len, "begin", 0, &begin) &&
	    shell_part(answer, len, "end", 0, &end) && end.args > begin.args;
}

size_t
shell_numbers(const struct shell_part *p, int64_t *out, size_t max)
{
	const char *s = p->args, *end = p->args + p->args_len;
	size_t n = 0;

	while (n < max) {
		while (s < end && *s == ' ')
			s++;
		bool negative = s < end && *s == '-';
		s += negative;
		int64_t v = 0;
		int digits = 0;
		while (s < end && *s >= '0' && *s <= '9' && digits < 18) {
			v = v * 10 + (*s++ - '0');
			digits++;
		}
		if (digits == 0)
			break;
		out[n++] = negative ? -v : v;
	}
	return n;
}

struct word {
	const char *text;
	int err;
};

static const struct word words[] = {
	{ "ENOENT", ENOENT },
	{ "EEXIST", EEXIST },
	{ "EACCES", EACCES },
	{ "EISDIR", EISDIR },
	{ "ENOTDIR", ENOTDIR },
	{ "EIO", EIO },
	{ "EINVAL", EINVAL },
	{ "No such file or directory", ENOENT },
	{ "File exists", EEXIST },
	{ "Permission denied", EACCES },
	{ "Operation not permitted", EPERM },
	{ "Is a directory", EISDIR },
	{ "Not a directory", ENOTDIR },
	{ "Directory not empty", ENOTEMPTY },
	{ "No space left on device", ENOSPC },
	{ "Disk quota exceeded", EDQUOT },
	{ "File too large", EFBIG },
	{ "File name too long", ENAMETOOLONG },
	{ "Too many levels of symbolic links", ELOOP },
	{ "Read-only file system", EROFS },
	{ "Device or resource busy", EBUSY },
	{ "Text file busy", ETXTBSY },
	{ "Invalid argument", EINVAL },
	{ "Invalid cross-device link", EXDEV },
	{ "Too many links", EMLINK },
	{ "Cannot allocate memory", ENOMEM },
	{ "Operation not supported", EOPNOTSUPP },
	{ "Input/output error", EIO },
	/* mv and ln without an errno */
	{ "is a directory", EISDIR },
	{ "with non-directory", EISDIR },
	{ "with directory", ENOTDIR },
	{ "to a subdirectory of itself", EINVAL },
	{ "hard link not allowed for directory", EPERM },
};

int
shell_errno(const char *text, size_t len)
{
	while (len > 0 && strchr(" \n\r", text[len - 1]))
		len--;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i].text);
		if (n <= len && memcmp(text + len - n, words[i].text, n) == 0)
			return words[i].err;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strchr(words[i].text, ' ') &&
		    memmem(text, len, words[i].text, strlen(words[i].text)))
			return words[i].err;
	return 0;
}
