/* Listings as scripts and the old listing call print them; see wire.h. */
#include <sys/stat.h>
#include <zlib.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/wire.h"

#define ROWS_MAX 1000000

/* Reads one field of digits in the base; -1 at anything else. */
static int64_t
field(const char **p, const char *end, int base)
{
	int64_t v = 0;
	int digits = 0;

	while (*p < end && digits < 19) {
		char c = **p;
		int d = c >= '0' && c <= '9' ? c - '0'
		    : c >= 'a' && c <= 'f'   ? c - 'a' + 10
					     : 99;
		if (d >= base)
			break;
		if (v > (INT64_MAX - d) / base)
			return -1;
		v = v * base + d;
		digits++;
		(*p)++;
	}
	if (digits == 0 || *p >= end || **p != ' ')
		return -1;
	(*p)++;
	return v;
}

/* Seconds, perhaps negative, perhaps with a fraction of any length. */
static int
time_field(const char **p, const char *end, struct timespec *out)
{
	bool negative = *p < end && **p == '-';
	int64_t s = 0, ns = 0, unit = 100000000;
	const char *from;

	*p += negative;
	for (from = *p; *p < end && **p >= '0' && **p <= '9' && *p - from < 18;
	     (*p)++)
		s = s * 10 + (**p - '0');
	if (*p == from)
		return -1;
	if (*p < end && **p == '.') {
		for ((*p)++; *p < end && **p >= '0' && **p <= '9'; (*p)++) {
			ns += (**p - '0') * unit;
			unit /= 10;
		}
	}
	if (*p >= end || **p != ' ')
		return -1;
	(*p)++;
	/* find prints -1.75 as floor and fraction: -2.25 */
	out->tv_sec = negative ? -s : s;
	out->tv_nsec = ns;
	return 0;
}

static mode_t
type_bits(char letter)
{
	switch (letter) {
	case 'f':
		return S_IFREG;
	case 'd':
		return S_IFDIR;
	case 'l':
		return S_IFLNK;
	case 'p':
		return S_IFIFO;
	case 's':
		return S_IFSOCK;
	case 'c':
		return S_IFCHR;
	case 'b':
		return S_IFBLK;
	default:
		return 0;
	}
}

struct row {
	struct remote_entry e;
	int64_t dev;
	const char *path;
	size_t path_len;
};

static int
parse_row(const char *p, size_t len, struct row *r)
{
	const char *end = p + len;
	struct remote_entry *e = &r->e;

	if (len < 8 || p[1] != ' ' || p[3] != ' ')
		return -1;
	*r = (struct row){ .e.unlisted = p[0] == 'u' };
	char type = p[2];
	p += 4;
	int64_t mode = field(&p, end, type == 'h' ? 16 : 8);
	e->mode = type == 'h' ? (mode_t)mode
			      : type_bits(type) | ((mode_t)mode & 07777);
	int64_t nlink = field(&p, end, 10), uid = field(&p, end, 10);
	int64_t gid = field(&p, end, 10);
	e->version.size = field(&p, end, 10);
	if (mode < 0 || nlink < 0 || uid < 0 || gid < 0 ||
	    e->version.size < 0 || !(e->mode & S_IFMT) ||
	    time_field(&p, end, &e->version.mtime) < 0 ||
	    time_field(&p, end, &e->version.ctime) < 0)
		return -1;
	int64_t ino = field(&p, end, 10);
	r->dev = field(&p, end, 10);
	if (ino < 0 || r->dev < 0)
		return -1;
	e->nlink = (nlink_t)nlink;
	e->uid = (uid_t)uid;
	e->gid = (gid_t)gid;
	e->version.ino = (uint64_t)ino;
	r->path = p;
	r->path_len = (size_t)(end - p);
	return 0;
}

/* The row's path below the workspace, or NULL. */
static char *
full_path(const struct row *r, const char *root)
{
	const char *p = r->path;
	size_t n = r->path_len;
	char *path;

	if (!root) {
		size_t home = strlen(SANDBOX_HOME);
		if (n < home || memcmp(p, SANDBOX_HOME, home) != 0 ||
		    (n > home && p[home] != '/'))
			return NULL;
		size_t skip = MIN(home + 1, n);
		path = xstrndup(p + skip, n - skip);
	} else {
		path = xasprintf("%s%s%.*s", root, *root && n > 0 ? "/" : "",
		    (int)MIN(n, (size_t)PATH_BYTES_MAX), p);
	}
	if (n <= PATH_BYTES_MAX && strlen(path) <= PATH_BYTES_MAX &&
	    relpath_valid(path))
		return path;
	free(path);
	return NULL;
}

int
wire_rows(const char *rows, size_t len, const char *root, struct listing *out,
    struct status *st)
{
	const char *p = rows, *end = rows + len;
	int64_t dev = -1;

	while (p < end) {
		const char *nul = memchr(p, 0, (size_t)(end - p));
		const char *target = nul ? nul + 1 : end;
		const char *stop = target < end
		    ? memchr(target, 0, (size_t)(end - target))
		    : NULL;
		struct row r;
		if (!stop)
			return status_set(st, STATUS_IO, "a cut listing");
		if (out->count >= ROWS_MAX)
			return status_set(st, STATUS_TOO_BIG,
			    "a listing of over %d entries", ROWS_MAX);
		char *path = NULL;
		if (parse_row(p, (size_t)(nul - p), &r) == 0)
			path = full_path(&r, root);
		if (path) {
			bool link = S_ISLNK(r.e.mode);
			struct remote_entry *e = listing_add(out, path,
			    link ? xstrndup(target, (size_t)(stop - target))
				 : NULL);
			r.e.path = e->path;
			r.e.target = e->target;
			*e = r.e;
			dev = dev < 0 ? r.dev : dev;
			/* another file system: find did not go in */
			if (root && S_ISDIR(e->mode) && r.dev != dev)
				e->unlisted = true;
		}
		p = stop + 1;
	}
	return 0;
}

/* Of Go's mode text: what stands before the nine letters. */
static mode_t
go_mode(const char *mode, bool dir)
{
	size_t n = strlen(mode);
	mode_t bits = dir ? S_IFDIR : S_IFREG;

	if (n < 9)
		return bits;
	for (size_t i = 0; i < n - 9; i++) {
		switch (mode[i]) {
		case 'p':
			bits = S_IFIFO;
			break;
		case 'S':
			bits = S_IFSOCK;
			break;
		case 'D':
			bits = S_IFBLK;
			break;
		case 'c':
			bits = S_IFCHR;
			break;
		case 'u':
			bits |= S_ISUID;
			break;
		case 'g':
			bits |= S_ISGID;
			break;
		case 't':
			bits |= S_ISVTX;
			break;
		default:
			break;
		}
	}
	return bits;
}

/* RFC 3339 with a fraction and an offset. */
static struct timespec
go_time(const char *text)
{
	struct tm tm = { 0 };
	struct timespec ts = { 0 };
	const char *p = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	long unit = 100000000;
	int hours = 0, minutes = 0;

	if (!p)
		return ts;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, unit /= 10)
			ts.tv_nsec += (*p - '0') * unit;
	if ((*p == '+' || *p == '-') && strlen(p) >= 6) {
		int sign = *p == '-' ? -1 : 1;
		hours = ((p[1] - '0') * 10 + (p[2] - '0')) * sign;
		minutes = ((p[4] - '0') * 10 + (p[5] - '0')) * sign;
	}
	ts.tv_sec = timegm(&tm) - hours * 3600L - minutes * 60L;
	return ts;
}

static void
add_file(struct listing *out, const cJSON *f, const char *root)
{
	const char *name = json_string_or(f, "name", "");
	bool dir = json_bool_or(f, "isDir", false);

	/* A name that was not UTF-8 cannot be asked for by what came of it. */
	if (!name_valid(name, strlen(name)) || strstr(name, "\xef\xbf\xbd") ||
	    (!*root && strcmp(name, ".daytona") == 0))
		return;
	char *path = xasprintf("%s%s%s", root, *root ? "/" : "", name);
	if (!relpath_valid(path)) {
		free(path);
		return;
	}
	struct remote_entry *e = listing_add(out, path, NULL);
	e->mode = go_mode(json_string_or(f, "mode", ""), dir) |
	    ((mode_t)strtoul(json_string_or(f, "permissions", "0"), NULL, 8) &
		0777);
	e->uid = (uid_t)strtoul(json_string_or(f, "owner", "0"), NULL, 10);
	e->gid = (gid_t)strtoul(json_string_or(f, "group", "0"), NULL, 10);
	e->nlink = 1;
	e->version.size = MAX(json_int_or(f, "size", 0), 0);
	e->version.mtime = e->version.ctime =
	    go_time(json_string_or(f, "modifiedAt", ""));
	e->unlisted = dir;
}

int
wire_files(const struct buf *body, const char *root, struct listing *out,
    struct status *st)
{
	auto_json *json = json_parse(body->bytes, body->len, st);
	const cJSON *f;

	if (!json)
		return -1;
	if (!cJSON_IsArray(json))
		return status_set(st, STATUS_INVALID, "not a list of files");
	struct remote_entry *top = listing_add(out, xstrdup(root), NULL);
	top->mode = S_IFDIR | 0755;
	top->nlink = 1;
	cJSON_ArrayForEach(f, json)
		add_file(out, f, root);
	return 0;
}

static int
inflate_all(z_stream *z, struct buf *out, struct status *st)
{
	int rc = Z_OK;

	while (rc == Z_OK) {
		size_t room = MIN((size_t)256 << 10, out->max - out->len);
		char *p = room > 0 ? buf_reserve(out, room) : NULL;
		if (!p)
			return status_set(st, STATUS_TOO_BIG,
			    "a listing of over %zu bytes", out->max);
		z->next_out = (Bytef *)p;
		z->avail_out = (uInt)room;
		rc = inflate(z, Z_NO_FLUSH);
		buf_commit(out, room - z->avail_out);
		if (rc == Z_BUF_ERROR ||
		    (rc == Z_OK && z->avail_in == 0 && z->avail_out > 0))
			break;
	}
	return rc == Z_STREAM_END
	    ? 0
	    : status_set(st, STATUS_IO, "a cut or damaged listing");
}

int
wire_gunzip(struct buf *out, const void *bytes, size_t len, struct status *st)
{
	const unsigned char *b = bytes;
	z_stream z = { 0 };

	if (len < 2 || b[0] != 0x1f || b[1] != 0x8b) {
		buf_add(out, bytes, len);
		return out->failed
		    ? status_set(st, STATUS_TOO_BIG,
			  "a listing of over %zu bytes", out->max)
		    : 0;
	}
	if (len > UINT32_MAX || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return status_set(st, STATUS_NO_MEMORY, "no memory to unpack");
	/* zlib does not write there; its type has no const */
	z.next_in = (z_const Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)len;
	int rc = inflate_all(&z, out, st);
	inflateEnd(&z);
	return rc;
}
