/* Outcomes; see status.h. */
#include "agent/base/status.h"

#include <errno.h>
#include <stdarg.h>

#include "agent/base/path.h"

static void
fill(struct status *st, enum status_code code, const char *fmt, va_list ap)
{
	char raw[sizeof st->text];

	vsnprintf(raw, sizeof raw, fmt, ap);
	st->code = code;
	escape_line(st->text, sizeof st->text, raw, strlen(raw));
}

/* Adds ": " and the words, cut at a whole character. */
static void
append(struct status *st, const char *words)
{
	size_t used = strlen(st->text);
	size_t room = sizeof st->text - 1 - used;

	if (room <= 2)
		return;
	size_t n = utf8_prefix(words, strlen(words), room - 2);
	memcpy(st->text + used, ": ", 2);
	memcpy(st->text + used + 2, words, n);
	st->text[used + 2 + n] = '\0';
}

int
status_set(struct status *st, enum status_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(st, code, fmt, ap);
	va_end(ap);
	return -1;
}

int
status_errno(struct status *st, int err, const char *fmt, ...)
{
	va_list ap;
	char words[96];

	va_start(ap, fmt);
	fill(st, status_from_errno(err), fmt, ap);
	va_end(ap);
	/* The GNU strerror_r: thread-safe, returns the words. */
	append(st, strerror_r(err, words, sizeof words));
	return -1;
}

int
status_wrap(struct status *st, const char *fmt, ...)
{
	char inner[sizeof st->text];
	va_list ap;

	memcpy(inner, st->text, sizeof inner);
	va_start(ap, fmt);
	fill(st, st->code, fmt, ap);
	va_end(ap);
	append(st, inner);
	return -1;
}

const char *
status_word(enum status_code code)
{
	static const char *const words[] = {
		[STATUS_OK] = "ok",
		[STATUS_CANCELED] = "canceled",
		[STATUS_NOT_FOUND] = "not-found",
		[STATUS_EXISTS] = "exists",
		[STATUS_DENIED] = "denied",
		[STATUS_BUSY] = "busy",
		[STATUS_TIMEOUT] = "timeout",
		[STATUS_UNAVAILABLE] = "unavailable",
		[STATUS_INVALID] = "invalid",
		[STATUS_NOT_DIR] = "not-a-directory",
		[STATUS_IS_DIR] = "is-a-directory",
		[STATUS_NOT_EMPTY] = "not-empty",
		[STATUS_NOT_SUPPORTED] = "not-supported",
		[STATUS_TOO_BIG] = "too-big",
		[STATUS_NO_MEMORY] = "no-memory",
		[STATUS_NO_SPACE] = "no-space",
		[STATUS_IO] = "io",
		[STATUS_BUG] = "bug",
	};

	return (size_t)code < ARRAY_SIZE(words) ? words[code] : "unknown";
}

enum status_code
status_from_errno(int err)
{
	static const struct {
		int err;
		enum status_code code;
	} table[] = {
		{ 0, STATUS_OK },
		{ ECANCELED, STATUS_CANCELED },
		{ EINTR, STATUS_CANCELED },
		{ ENOENT, STATUS_NOT_FOUND },
		{ EEXIST, STATUS_EXISTS },
		{ EACCES, STATUS_DENIED },
		{ EPERM, STATUS_DENIED },
		{ EROFS, STATUS_DENIED },
		{ EBUSY, STATUS_BUSY },
		{ ETXTBSY, STATUS_BUSY },
		{ ETIMEDOUT, STATUS_TIMEOUT },
		{ EHOSTDOWN, STATUS_UNAVAILABLE },
		{ ECONNREFUSED, STATUS_UNAVAILABLE },
		{ EINVAL, STATUS_INVALID },
		{ ENAMETOOLONG, STATUS_INVALID },
		{ ELOOP, STATUS_INVALID },
		{ ENOTDIR, STATUS_NOT_DIR },
		{ EISDIR, STATUS_IS_DIR },
		{ ENOTEMPTY, STATUS_NOT_EMPTY },
		{ EOPNOTSUPP, STATUS_NOT_SUPPORTED },
		{ ENOSYS, STATUS_NOT_SUPPORTED },
		{ EFBIG, STATUS_TOO_BIG },
		{ E2BIG, STATUS_TOO_BIG },
		{ ENOMEM, STATUS_NO_MEMORY },
		{ ENOSPC, STATUS_NO_SPACE },
		{ EDQUOT, STATUS_NO_SPACE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].err == err)
			return table[i].code;
	return STATUS_IO;
}
