/*
 * Content of one file, by ranged GET. What servers do to ranges is told in
 * daytona-api §3.5: an ignored Range (200 with everything), 416 at or past the
 * end with the size, three different answers for an empty file.
 */
#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "agent/http/url.h"
#include "agent/sandbox/internal.h"
#include "agent/sandbox/shell.h"

#define RESUMES 3 /* of a transfer that broke, each of them with progress */

struct transfer {
	sandbox_sink sink;
	void *arg;
	int64_t off, len; /* wanted; len 0 = to the end */
	int64_t done;     /* bytes given to the sink */
	int64_t skip;     /* still to be thrown away: Range was ignored */
	int64_t total;    /* -1 = unknown */
	bool delivered;
	bool enough; /* ended by us: all that was wanted is there */
};

static int
begin(void *arg, const struct http_response *r, struct status *st)
{
	struct transfer *t = arg;
	int64_t at = t->off + t->done;

	if (r->status == 206) {
		if (r->range_first >= 0 && r->range_first != at &&
		    r->range_size != 0)
			return status_set(st, STATUS_IO,
			    "asked for byte %lld, got byte %lld", (long long)at,
			    (long long)r->range_first);
		t->total = r->range_size;
		t->skip = 0;
	} else {
		t->total = r->content_length;
		t->skip = at;
	}
	return 0;
}

static int
take_piece(void *arg, const void *bytes, size_t len, struct status *st)
{
	struct transfer *t = arg;
	const char *p = bytes;
	size_t skip = (size_t)MIN((int64_t)len, t->skip);

	t->skip -= (int64_t)skip;
	p += skip;
	len -= skip;
	if (t->len > 0)
		len = (size_t)MIN((int64_t)len, t->len - t->done);
	if (len > 0) {
		t->delivered = true;
		if (t->sink(t->arg, p, len, st) < 0)
			return -1;
		t->done += (int64_t)len;
	}
	/* The rest of an answer that ignored the range is not wanted. */
	if (t->len > 0 && t->done == t->len && t->total != t->off + t->len &&
	    t->skip == 0) {
		t->enough = true;
		return status_set(st, STATUS_OK, "enough");
	}
	return 0;
}

/* Says what a 400 of the old daemon, which has no words, is about. */
static int
explain(struct sandbox *sb, enum sandbox_want want, const char *path,
    struct cancel *c, struct status *st)
{
	struct script s;

	script_init(&s, want);
	shell_path(&s.text, "P", path);
	buf_puts(&s.text,
	    "if [ -d \"$P\" ]; then echo =saf=err EISDIR\n"
	    "elif [ ! -e \"$P\" ]; then e=$(cat -- \"$P\" 2>&1 </dev/null); "
	    "echo \"=saf=err ${e##*: }\"; fi\n");
	int rc = script_run(sb, &s, c, st);
	if (rc == 0)
		rc = script_error(&s, st);
	script_finish(&s);
	return rc < 0 ? -1 : status_set(st, STATUS_IO, "refused (HTTP 400)");
}

/* One request from off+done on. 0: the answer ended well. */
static int
request(struct sandbox *sb, enum sandbox_want want, const char *path,
    struct transfer *t, struct cancel *c, struct status *st)
{
	struct http_response r = { .body = BUF_INIT(65536) };
	auto_buf url = BUF_INIT(URL_MAX_BYTES);
	char range[64];
	int64_t from = t->off + t->done;

	buf_puts(&url, "/files/download");
	url_add_query(&url, "path", path, strlen(path));
	if (t->len > 0)
		snprintf(range, sizeof range, "Range: bytes=%lld-%lld",
		    (long long)from, (long long)(t->off + t->len - 1));
	else
		snprintf(range, sizeof range, "Range: bytes=%lld-",
		    (long long)from);
	t->delivered = false;
	struct toolbox_call call = { .method = "GET",
		.path = url.bytes,
		.range = from > 0 || t->len > 0 ? range : NULL,
		.want = want,
		.active = want != SANDBOX_LOOK,
		.begin = begin,
		.sink = take_piece,
		.arg = t,
		.delivered = &t->delivered };
	int rc = toolbox_call(sb, &call, &r, c, st);
	if (rc < 0 && t->enough)
		rc = 0;
	else if (rc == 0 && r.status == 416) {
		/* "bytes *\/SIZE"; an old server says so of an empty file */
		t->total = r.range_size >= 0 ? r.range_size : from;
	} else if (rc == 0 && (r.status == 200 || r.status == 206)) {
		if (t->done == 0 && !t->delivered)
			t->total =
			    r.status == 206 ? r.range_size : r.content_length;
	} else if (rc == 0 && r.status == 400 && r.body.len == 0) {
		rc = explain(sb, want, path, c, st);
	} else if (rc == 0) {
		rc = toolbox_refused(&r, st);
	}
	buf_finish(&r.body);
	return rc;
}

/* A second name for a file whose own the download cannot take (its last
 * component is not UTF-8): a symbolic link, which changes nothing of it. */
static int
make_alias(struct sandbox *sb, enum sandbox_want want, const char *path,
    char *alias, size_t size, struct cancel *c, struct status *st)
{
	struct script s;
	uint64_t hash = 14695981039346656037ULL;

	for (const char *p = path; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 1099511628211ULL;
	snprintf(alias, size, SANDBOX_SCRATCH "/l-%016llx",
	    (unsigned long long)hash);
	script_init(&s, want);
	shell_path(&s.text, "P", path);
	buf_printf(&s.text,
	    "[ -d " SANDBOX_SCRATCH " ] || mkdir -p -m 700 " SANDBOX_SCRATCH
	    " 2>/dev/null\n"
	    "if [ -e \"$P\" ]; then ln -sfn -- \"$P\" %s 2>/dev/null || "
	    "echo =saf=err EACCES; else echo =saf=err ENOENT; fi\n",
	    alias);
	int rc = script_run(sb, &s, c, st);
	if (rc == 0)
		rc = script_error(&s, st);
	script_finish(&s);
	return rc;
}

int
sandbox_get(struct sandbox *sb, enum sandbox_want want, const char *path,
    int64_t off, int64_t len, sandbox_sink sink, void *arg, int64_t *total,
    struct cancel *c, struct status *st)
{
	struct transfer t = { .sink = sink,
		.arg = arg,
		.off = off,
		.len = len,
		.total = -1 };
	auto_free char *whole = path[0] == '/'
	    ? xstrdup(path)
	    : xasprintf("%s%s%s", SANDBOX_HOME, *path ? "/" : "", path);
	const char *base = strrchr(whole, '/'), *name = whole;
	char alias[96];
	int rc = 0;

	wait_point();
	if (!utf8_valid(base, strlen(base))) {
		rc = make_alias(sb, want, whole, alias, sizeof alias, c, st);
		name = alias;
	}
	for (unsigned n = 0; rc == 0; n++) {
		int64_t before = t.done;
		rc = request(sb, want, name, &t, c, st);
		if (rc == 0)
			break;
		bool broke = st->code == STATUS_UNAVAILABLE ||
		    st->code == STATUS_TIMEOUT;
		if (!broke || t.done == before || n == RESUMES)
			break;
		rc = 0;
	}
	if (rc < 0)
		return status_wrap(st, "read %s", path);
	*total = t.total >= 0 ? t.total : t.off + t.done;
	return 0;
}
