/*
 * A batch of file operations: contents first (within the script when they are
 * small, else one bulk upload to temporary names), then one script in order.
 * The batch has a name of its own in the scratch directory; one that failed
 * keeps it, so that the same batch, sent again, goes on where it stopped.
 */
#include <errno.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "agent/base/diag.h"
#include "agent/base/path.h"
#include "agent/sandbox/internal.h"
#include "agent/sandbox/push_text.h"
#include "agent/sandbox/shell.h"

#define INLINE_BYTES 65536
#define INLINE_FILES 16
#define UPLOAD_MS    120000 /* from the last byte sent to the answer */

struct push {
	struct sandbox *sb;
	enum sandbox_want want;
	struct push_op *ops;
	size_t count;
	bool sync;
	uint64_t hash;
	char id[24];
	struct cancel *c;
};

static uint64_t
mix(uint64_t h, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 1099511628211ULL;
	return h;
}

/* Of everything that makes two batches the same; contents by their file. */
static uint64_t
hash_of(const struct push_op *ops, size_t count)
{
	uint64_t h = 14695981039346656037ULL;

	for (size_t i = 0; i < count; i++) {
		const struct push_op *op = &ops[i];
		struct stat s = { 0 };
		h = mix(h, &op->kind, sizeof op->kind);
		h = mix(h, op->path, strlen(op->path) + 1);
		if (op->path2)
			h = mix(h, op->path2, strlen(op->path2) + 1);
		h = mix(h, &op->mode, sizeof op->mode);
		h = mix(h, &op->mtime, sizeof op->mtime);
		h = mix(h, &op->have_base, sizeof op->have_base);
		h = mix(h, &op->base, sizeof op->base);
		h = mix(h, &op->size, sizeof op->size);
		if (op->kind == PUSH_PUT && fstat(op->fd, &s) == 0) {
			h = mix(h, &s.st_ino, sizeof s.st_ino);
			h = mix(h, &s.st_mtim, sizeof s.st_mtim);
		}
	}
	return h;
}

/* The name of an earlier attempt of the same batch, or a new one. */
static void
name_batch(struct push *p)
{
	struct sandbox *sb = p->sb;
	uint64_t random = 0;

	p->hash = hash_of(p->ops, p->count);
	lock_acquire(&sb->lock);
	for (size_t i = 0; i < ARRAY_SIZE(sb->unsure); i++) {
		if (sb->unsure[i].hash == p->hash && sb->unsure[i].id[0])
			memcpy(p->id, sb->unsure[i].id, sizeof p->id);
	}
	lock_release(&sb->lock);
	if (p->id[0])
		return;
	if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
		abort();
	snprintf(p->id, sizeof p->id, "%016llx", (unsigned long long)random);
}

/* After it: does a later attempt need the name? */
static void
remember(struct push *p, bool unsure)
{
	struct sandbox *sb = p->sb;
	struct unsure_batch *u = NULL;

	lock_acquire(&sb->lock);
	for (size_t i = 0; i < ARRAY_SIZE(sb->unsure); i++)
		if (strcmp(sb->unsure[i].id, p->id) == 0)
			u = &sb->unsure[i];
	if (!u && unsure)
		u = &sb->unsure[sb->unsure_next++ % ARRAY_SIZE(sb->unsure)];
	if (u) {
		u->hash = p->hash;
		snprintf(u->id, sizeof u->id, "%s", unsure ? p->id : "");
	}
	lock_release(&sb->lock);
	if (!unsure)
		sandbox_finished(sb, xasprintf("p-%s", p->id));
}

static bool
goes_inline(const struct push *p)
{
	int64_t bytes = 0;
	size_t files = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->ops[i].kind != PUSH_PUT)
			continue;
		files++;
		bytes += MIN(p->ops[i].size, (int64_t)INLINE_BYTES + 1);
	}
	return bytes <= INLINE_BYTES / 2 ||
	    (bytes <= INLINE_BYTES && files <= INLINE_FILES);
}

static void
uploaded_badly(const struct http_response *r, struct status *st)
{
	char message[200];

	wire_message(&r->body, message, sizeof message);
	int err = shell_errno(message, strlen(message));
	if (!err && strcasestr(message, "no space left"))
		err = ENOSPC;
	if (err)
		status_errno(st, err, "upload");
	else
		toolbox_refused(r, st);
}

/* One multipart body: for each content its path, then its bytes. */
static int
upload(struct push *p, struct status *st)
{
	uint64_t random[2];
	char boundary[48], type[96];
	struct http_response r = { .body = BUF_INIT((size_t)4 << 20) };
	auto_buf heads = BUF_INIT((size_t)64 << 20);
	struct http_segment *body = xcalloc(p->count * 2 + 1, sizeof *body);
	size_t *ends = xcalloc(p->count + 1, sizeof *ends);
	size_t n = 0, from = 0;

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		abort();
	snprintf(boundary, sizeof boundary, "saf%016llx%016llx",
	    (unsigned long long)random[0], (unsigned long long)random[1]);
	for (size_t i = 0; i < p->count; i++) {
		if (p->ops[i].kind != PUSH_PUT)
			continue;
		buf_printf(&heads,
		    "%s--%s\r\nContent-Disposition: form-data; "
		    "name=\"files[%zu].path\"\r\n\r\n" SANDBOX_SCRATCH
		    "/p-%s.%zu\r\n--%s\r\nContent-Disposition: form-data; "
		    "name=\"files[%zu].file\"; filename=\"f\"\r\n"
		    "Content-Type: application/octet-stream\r\n\r\n",
		    n > 0 ? "\r\n" : "", boundary, i, p->id, i, boundary, i);
		ends[n / 2] = heads.len;
		body[n + 1] = (struct http_segment){ .fd = p->ops[i].fd,
			.len = (size_t)p->ops[i].size };
		n += 2;
	}
	buf_printf(&heads, "\r\n--%s--\r\n", boundary);
	/* The text stands still now. */
	for (size_t i = 0; i < n; i += 2) {
		body[i] = (struct http_segment){ .bytes = heads.bytes + from,
			.len = ends[i / 2] - from };
		from = ends[i / 2];
	}
	body[n] = (struct http_segment){ .bytes = heads.bytes + from,
		.len = heads.len - from };
	snprintf(type, sizeof type, "multipart/form-data; boundary=%s",
	    boundary);
	struct toolbox_call call = { .method = "POST",
		.path = "/files/bulk-upload",
		.content_type = type,
		.body = body,
		.body_count = n + 1,
		.want = p->want,
		.active = true,
		.first_ms = UPLOAD_MS };
	int rc = toolbox_call(p->sb, &call, &r, p->c, st);
	if (rc == 0 && (r.status < 200 || r.status > 299)) {
		uploaded_badly(&r, st);
		rc = -1;
	}
	buf_finish(&r.body);
	free(body);
	free(ends);
	return rc;
}

static int
read_content(const struct push_op *op, struct buf *out, struct status *st)
{
	int64_t at = 0;
	char *room = buf_reserve(out, (size_t)op->size);

	while (room && at < op->size) {
		ssize_t n =
		    pread(op->fd, room + at, (size_t)(op->size - at), at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return status_errno(st, errno, "%s", op->path);
		if (n == 0) {
			/* cut meanwhile: it will be pushed again */
			memset(room + at, 0, (size_t)(op->size - at));
			break;
		}
		at += n;
	}
	if (room)
		buf_commit(out, (size_t)op->size);
	return room ? 0 : status_set(st, STATUS_NO_MEMORY, "no memory");
}

/* Where the entry of an operation is afterwards; NULL: nowhere. */
static const char *
path_after(const struct push_op *op)
{
	switch (op->kind) {
	case PUSH_RENAME:
	case PUSH_RENAME_NOREPLACE:
	case PUSH_LINK:
		return op->path2;
	case PUSH_RMDIR:
	case PUSH_UNLINK:
	case PUSH_EXCHANGE:
		return NULL;
	case PUSH_PUT:
	case PUSH_MKDIR:
	case PUSH_SYMLINK:
	case PUSH_CHMOD:
	case PUSH_UTIMENS:
		break;
	}
	return op->path;
}

static bool
within(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

/* Does `later` put something else at the path, or take it away? */
static bool
disturbs(const struct push_op *later, const char *path)
{
	if (later->kind == PUSH_CHMOD || later->kind == PUSH_UTIMENS ||
	    later->kind == PUSH_LINK || later->kind == PUSH_MKDIR)
		return false;
	return within(path, later->path) ||
	    (later->path2 && later->kind != PUSH_SYMLINK &&
		within(path, later->path2));
}

/* The path whose entry at the end of the batch is that of operation i. */
static const char *
settled_path(const struct push *p, size_t i)
{
	const char *path = path_after(&p->ops[i]);

	for (size_t k = i + 1; path && k < p->count; k++)
		if (disturbs(&p->ops[k], path))
			path = NULL;
	return path;
}

static int
add_ops(struct push *p, struct buf *script, bool in_line, struct status *st)
{
	const char **paths = xcalloc(p->count + 1, sizeof *paths);
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->count; i++) {
		struct push_op *op = &p->ops[i];
		auto_buf content = BUF_INIT(INLINE_BYTES);
		bool with = in_line && op->kind == PUSH_PUT;
		if (with)
			rc = read_content(op, &content, st);
		if (rc == 0)
			push_text_op(script, i, op, with ? &content : NULL);
		const char *path = settled_path(p, i);
		if (path)
			paths[n++] = path;
	}
	push_text_end(script, paths, n, p->sync);
	free(paths);
	return rc;
}

static void
take_result(struct push_op *op, const char *word, size_t len)
{
	struct shell_part number = { .args = word, .args_len = len };
	int64_t n;

	op->result = (struct status){ 0 };
	if ((len == 2 && memcmp(word, "ok", 2) == 0) ||
	    (len == 4 && memcmp(word, "same", 4) == 0))
		return;
	if (len > 9 && memcmp(word, "conflict ", 9) == 0) {
		number.args += 9;
		number.args_len -= 9;
		if (shell_numbers(&number, &n, 1) == 1) {
			op->conflict = push_conflict_path(op->path, n);
			return;
		}
	}
	int err = shell_errno(word, len);
	if (err)
		status_errno(&op->result, err, "%s", op->path);
	else
		status_set(&op->result, STATUS_IO, "%s: %.*s", op->path,
		    (int)MIN(len, (size_t)100), word);
}

/* Lines "NUMBER how". 0 if every operation has one. */
static int
take_results(struct push *p, const struct script *s, struct status *st)
{
	struct shell_part part;
	size_t seen = 0;

	if (!shell_part(s->answer, s->answer_len, "res", 0, &part))
		return status_set(st, STATUS_IO, "the script said no results");
	const char *at = part.body, *end = part.body + part.body_len;
	for (size_t i = 0; i < p->count; i++) {
		free(p->ops[i].conflict);
		p->ops[i].conflict = NULL;
		status_set(&p->ops[i].result, STATUS_IO, "no result");
	}
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		if (!line)
			line = end;
		const char *blank = memchr(at, ' ', (size_t)(line - at));
		struct shell_part number = { .args = at,
			.args_len = blank ? (size_t)(blank - at) : 0 };
		int64_t i;
		if (blank && shell_numbers(&number, &i, 1) == 1 && i >= 0 &&
		    (size_t)i < p->count) {
			take_result(&p->ops[i], blank + 1,
			    (size_t)(line - blank - 1));
			seen++;
		}
		at = line + 1;
	}
	return seen >= p->count
	    ? 0
	    : status_set(st, STATUS_IO, "the script did only %zu of %zu", seen,
		  p->count);
}

static int
take_rows(struct push *p, const struct script *s, struct status *st)
{
	auto_buf rows = BUF_INIT((size_t)64 << 20);
	struct listing l = { 0 };

	if (script_bytes(s, "rows", 0, &rows, st) < 0 ||
	    wire_rows(rows.bytes, rows.len, NULL, &l, st) < 0) {
		listing_finish(&l);
		return -1;
	}
	for (size_t i = 0; i < p->count; i++) {
		struct push_op *op = &p->ops[i];
		const char *path =
		    op->conflict ? op->conflict : settled_path(p, i);
		op->after = (struct remote_entry){ 0 };
		for (size_t k = 0; path && k < l.count; k++)
			if (strcmp(l.entries[k].path, path) == 0)
				op->after = l.entries[k];
		op->after.path = op->after.target = NULL;
	}
	listing_finish(&l);
	return 0;
}

static int
push(struct push *p, struct status *st)
{
	struct features f;
	struct script s;
	struct shell_part part;
	int64_t has;
	bool in_line = goes_inline(p);

	if (sandbox_features(p->sb, p->want, &f, p->c, st) < 0)
		return -1;
	if (!in_line && upload(p, st) < 0)
		return -1;
	script_init(&s, p->want);
	sandbox_sweep(p->sb, &s.text, "");
	s.active = true;
	s.timeout_s = 300;
	rows_define(&s.text, f.find_printf);
	if (f.find_printf < 0)
		buf_puts(&s.text, "echo \"=saf=find $G\"\n");
	push_text_begin(&s.text, p->id);
	if (!in_line) /* whatever the server's umask is */
		buf_puts(&s.text, "chmod 644 $D.[0-9]* 2>/dev/null\n");
	int rc = add_ops(p, &s.text, in_line, st);
	if (rc == 0)
		rc = script_run(p->sb, &s, p->c, st);
	if (rc == 0 && shell_part(s.answer, s.answer_len, "find", 0, &part) &&
	    shell_numbers(&part, &has, 1) == 1)
		sandbox_learn(p->sb, s.generation,
		    (struct features){ has != 0, -1 });
	if (rc == 0)
		rc = script_error(&s, st);
	if (rc == 0)
		rc = take_results(p, &s, st);
	if (rc == 0)
		rc = take_rows(p, &s, st);
	script_finish(&s);
	return rc;
}

int
sandbox_push(struct sandbox *sb, enum sandbox_want want, struct push_op *ops,
    size_t count, bool sync, struct cancel *c, struct status *st)
{
	struct push p = { .sb = sb,
		.want = want,
		.ops = ops,
		.count = count,
		.sync = sync,
		.c = c };

	wait_point();
	for (size_t i = 0; i < count; i++) {
		bool text = ops[i].kind == PUSH_SYMLINK;
		if (!relpath_valid(ops[i].path) || !ops[i].path[0] ||
		    (ops[i].path2 && !text && !relpath_valid(ops[i].path2)))
			return status_set(st, STATUS_BUG, "not a path: %s",
			    ops[i].path);
		ops[i].conflict = NULL;
	}
	if (count == 0)
		return 0;
	name_batch(&p);
	int rc = push(&p, st);
	remember(&p, rc < 0);
	for (size_t i = 0; rc < 0 && i < count; i++) {
		free(ops[i].conflict);
		ops[i].conflict = NULL;
	}
	return rc < 0 ? status_wrap(st, "push %zu changes", count) : 0;
}
