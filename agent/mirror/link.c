/*
 * What readlink shows. The kernel of this machine follows the text, so it must
 * never lead out of the workspace, whatever other links it passes: leading ..
 * only as many as the link lies deep, and none after a name, because a name
 * may be a link to elsewhere. Absolute paths below the workspace become
 * relative ones; all that leaves it becomes a path that does not exist.
 */
#include "agent/mirror/internal.h"

/* Cannot be made in the sandbox's way of naming and says what happened. */
#define OUTSIDE ".outside-workspace"

struct parts {
	const char **part;
	size_t *len;
	size_t count;
};

static void
climb(struct buf *out, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_puts(out, i + 1 < depth ? "../" : "..");
}

static void
show_outside(struct buf *out, const char *target, unsigned depth)
{
	climb(out, depth);
	if (depth > 0)
		buf_putc(out, '/');
	buf_puts(out, OUTSIDE);
	while (*target) {
		size_t n = strcspn(target, "/");
		bool dots = n == 2 && memcmp(target, "..", 2) == 0;
		if (n > 0 && !dots) {
			buf_putc(out, '/');
			buf_add(out, target, n);
		}
		target += n + (target[n] == '/');
	}
}

/* Splits, dropping "." and resolving ".." against names before it. *up: the
 * leading ".." that are left. False if it goes above the root. */
static void
normalize(struct parts *p, const char *text, unsigned *up)
{
	*up = 0;
	while (*text) {
		size_t n = strcspn(text, "/");
		if (n == 2 && memcmp(text, "..", 2) == 0) {
			if (p->count > 0)
				p->count--;
			else
				++*up;
		} else if (n > 0 && !(n == 1 && *text == '.')) {
			p->part[p->count] = text;
			p->len[p->count++] = n;
		}
		text += n + (text[n] == '/');
	}
}

/* Is there a ".." after a name? */
static bool
has_inner_dots(const char *text)
{
	bool name = false;

	while (*text) {
		size_t n = strcspn(text, "/");
		bool dots = n == 2 && memcmp(text, "..", 2) == 0;
		if (dots && name)
			return true;
		if (n > 0 && !dots && !(n == 1 && *text == '.'))
			name = true;
		text += n + (text[n] == '/');
	}
	return false;
}

static void
show_parts(struct buf *out, const struct parts *p, size_t from, unsigned up)
{
	climb(out, up);
	for (size_t i = from; i < p->count; i++) {
		if (i > from || up > 0)
			buf_putc(out, '/');
		buf_add(out, p->part[i], p->len[i]);
	}
	if (up == 0 && from >= p->count)
		buf_putc(out, '.');
}

static bool
below_home(const struct parts *p)
{
	return p->count >= 2 && p->len[0] == 4 &&
	    memcmp(p->part[0], "home", 4) == 0 && p->len[1] == 7 &&
	    memcmp(p->part[1], "daytona", 7) == 0;
}

void
link_text(struct buf *out, const char *target, unsigned depth, bool raw)
{
	size_t most = strlen(target) / 2 + 1;
	struct parts p = { 0 };
	unsigned up;

	if (raw) {
		buf_puts(out, target);
		return;
	}
	p.part = xcalloc(most, sizeof *p.part);
	p.len = xcalloc(most, sizeof *p.len);
	normalize(&p, target, &up);
	if (*target == '/') {
		if (below_home(&p))
			show_parts(out, &p, 2, depth);
		else
			show_outside(out, target, depth);
	} else if (up > depth) {
		show_outside(out, target, depth);
	} else if (has_inner_dots(target)) {
		show_parts(out, &p, 0, up);
	} else {
		buf_puts(out, target);
	}
	free(p.part);
	free(p.len);
}

static bool
step_readlink(struct mirror_call *call)
{
	struct mirror *m = call->mirror;
	struct node *n = call_node(call);

	if (!n)
		return call_fail(call, STATUS_NOT_FOUND, "no such link");
	if (!n->target)
		return call_fail(call, STATUS_INVALID, "not a link");
	link_text(&call->bytes, n->target, node_depth(n), m->links_raw);
	return true;
}

void
mirror_readlink(struct mirror *m, uint32_t node, struct mirror_call *call)
{
	call_reset(m, call);
	call->node = node;
	call_start(call, LOOKUP_WAIT_MS, step_readlink);
}
