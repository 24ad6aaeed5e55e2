/* Text in the forms of Go's standard library; see gotext.h. */
#include "agent/box/gotext.h"

#include <time.h>

#include "agent/base/path.h"

size_t
gotext_rune(const char *s, size_t len)
{
	if ((unsigned char)s[0] < 0x80)
		return 1;
	for (size_t n = 2; n <= 4 && n <= len; n++)
		if (utf8_valid(s, n))
			return n;
	return 0;
}

/* Appends one character (or bad byte) of a string; returns its length. */
static size_t
add_rune(struct buf *out, const char *s, size_t len)
{
	size_t n = gotext_rune(s, len);

	if (n == 0) {
		buf_puts(out, "\\ufffd");
		return 1;
	}
	if (n == 1 && (s[0] == '<' || s[0] == '>' || s[0] == '&'))
		buf_printf(out, "\\u%04x", (unsigned)s[0]);
	else if (n == 3 && memcmp(s, "\xe2\x80\xa8", 3) == 0)
		buf_puts(out, "\\u2028");
	else if (n == 3 && memcmp(s, "\xe2\x80\xa9", 3) == 0)
		buf_puts(out, "\\u2029");
	else
		buf_add(out, s, n);
	return n;
}

void
gotext_string(struct buf *out, const char *s, size_t len)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < len && !out->failed;) {
		unsigned char c = (unsigned char)s[i];
		size_t plain = 0;

		/* Runs of harmless bytes at once: outputs are long. */
		while (i + plain < len && s[i + plain] >= ' ' &&
		    !strchr("\"\\<>&\x7f", s[i + plain]))
			plain++;
		if (plain > 0) {
			buf_add(out, s + i, plain);
			i += plain;
		} else if (c == '"' || c == '\\') {
			buf_printf(out, "\\%c", c);
			i++;
		} else if (c == '\n' || c == '\r' || c == '\t') {
			buf_printf(out, "\\%c",
			    c == '\n'       ? 'n'
				: c == '\r' ? 'r'
					    : 't');
			i++;
		} else if (c < ' ') {
			buf_printf(out, "\\u%04x", c);
			i++;
		} else {
			i += add_rune(out, s + i, len - i);
		}
	}
	buf_putc(out, '"');
}

void
gotext_json(struct buf *out, const cJSON *json)
{
	auto_buf text = BUF_INIT(out->max);

	json_print(&text, json);
	/* <, >, & and bytes above 0x7f occur within strings only. */
	for (size_t i = 0; i < text.len;)
		i += add_rune(out, text.bytes + i, text.len - i);
	out->failed |= text.failed;
}

void
gotext_mode(char out[16], mode_t mode)
{
	size_t n = 0;

	if (S_ISDIR(mode))
		out[n++] = 'd';
	if (S_ISLNK(mode))
		out[n++] = 'L';
	if (S_ISBLK(mode) || S_ISCHR(mode))
		out[n++] = 'D';
	if (S_ISFIFO(mode))
		out[n++] = 'p';
	if (S_ISSOCK(mode))
		out[n++] = 'S';
	if (mode & S_ISUID)
		out[n++] = 'u';
	if (mode & S_ISGID)
		out[n++] = 'g';
	if (S_ISCHR(mode))
		out[n++] = 'c';
	if (mode & S_ISVTX)
		out[n++] = 't';
	if (n == 0)
		out[n++] = '-';
	for (unsigned bit = 0; bit < 9; bit++)
		out[n++] = (mode & (0400U >> bit) ? "rwx" : "---")[bit % 3];
	out[n] = '\0';
}

/* The fraction with its dot, without zeros at the end; "" if zero. */
static void
fraction(char out[16], long nsec)
{
	out[0] = '\0';
	if (nsec <= 0 || nsec > 999999999)
		return;
	snprintf(out, 16, ".%09u", (unsigned)nsec);
	size_t n = strlen(out);
	while (out[n - 1] == '0')
		out[--n] = '\0';
}

void
gotext_time(char out[64], const struct timespec *t)
{
	struct tm tm = { 0 };
	char part[16];

	gmtime_r(&t->tv_sec, &tm);
	fraction(part, t->tv_nsec);
	size_t n = strftime(out, 40, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(out + n, 64 - n, "%s +0000 UTC", part);
}

void
gotext_rfc3339(char out[64], const struct timespec *t)
{
	struct tm tm = { 0 };
	char part[16];

	gmtime_r(&t->tv_sec, &tm);
	fraction(part, t->tv_nsec);
	size_t n = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, 64 - n, "%sZ", part);
}

#define HTTP_TIME "%a, %d %b %Y %H:%M:%S GMT"

void
gotext_http_time(char out[40], time_t t)
{
	struct tm tm = { 0 };

	gmtime_r(&t, &tm);
	if (strftime(out, 40, HTTP_TIME, &tm) == 0)
		out[0] = '\0';
}

int
gotext_parse_http_time(const char *s, time_t *t)
{
	struct tm tm = { 0 };
	const char *end = strptime(s, HTTP_TIME, &tm);

	if (!end || *end)
		return -1;
	*t = timegm(&tm);
	return 0;
}

void
gotext_errno(char out[96], int err)
{
	char words[96];

	snprintf(out, 96, "%s", strerror_r(err, words, sizeof words));
	if (out[0] >= 'A' && out[0] <= 'Z')
		out[0] = (char)(out[0] - 'A' + 'a');
}

static void
add_byte(struct buf *out, unsigned value)
{
	const unsigned char byte = (unsigned char)value;

	buf_add(out, &byte, 1);
}

void
gotext_disposition(struct buf *out, const char *name, size_t len)
{
	buf_puts(out, "filename=\"");
	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)name[i];
		size_t n = gotext_rune(name + i, len - i);

		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c >= ' ' && c < 0x7f)
			buf_putc(out, (char)c);
		else if (n == 2 && (c == 0xc2 || c == 0xc3) &&
		    (c == 0xc3 || (unsigned char)name[i + 1] >= 0xa0))
			/* Latin-1 travels as its single byte. */
			add_byte(out,
			    (unsigned)(c & 3) << 6 | (name[i + 1] & 0x3fU));
		else if (c != '\r' && c != '\n' && c != '\0')
			buf_putc(out, '_');
		i += n ? n : 1;
	}
	buf_puts(out, "\"; filename*=utf-8''");
	buf_urlencode(out, name, len, false);
}

const char *
gotext_mime(const char *path)
{
	static const struct {
		char ending[8];
		const char *type;
	} table[] = {
		{ ".css", "text/css; charset=utf-8" },
		{ ".csv", "text/csv; charset=utf-8" },
		{ ".gif", "image/gif" },
		{ ".htm", "text/html; charset=utf-8" },
		{ ".html", "text/html; charset=utf-8" },
		{ ".jpeg", "image/jpeg" },
		{ ".jpg", "image/jpeg" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".json", "application/json" },
		{ ".pdf", "application/pdf" },
		{ ".png", "image/png" },
		{ ".svg", "image/svg+xml" },
		{ ".txt", "text/plain; charset=utf-8" },
		{ ".wasm", "application/wasm" },
		{ ".webp", "image/webp" },
		{ ".xml", "text/xml; charset=utf-8" },
	};

	const char *base = strrchr(path, '/');
	const char *dot = strrchr(base ? base : path, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(table); i++)
		if (strcasecmp(dot, table[i].ending) == 0)
			return table[i].type;
	return "application/octet-stream";
}

char *
gotext_trim(const char *s)
{
	static const char space[] = " \t\r\n\v\f";

	s += strspn(s, space);
	size_t n = strlen(s);
	while (n > 0 && strchr(space, s[n - 1]))
		n--;
	return xstrndup(s, n);
}
