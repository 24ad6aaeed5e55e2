/*
 * Paths of tools, resolved here: links inside the workspace are followed, one
 * that leaves it is refused. After waiting for a listing the walk starts over.
 */
#include <sys/stat.h>

#include "agent/mirror/internal.h"

#define LINKS_MAX 40

struct walk {
	struct mirror_call *call;
	struct node *at;
	char rest[2 * PATH_BYTES_MAX + 2];
	unsigned links;
};

static enum look
walk_fail(struct walk *w, enum status_code code, const char *what)
{
	status_set(&w->call->st, code, "%s", what);
	return LOOK_FAILED;
}

static bool
set_rest(struct walk *w, const char *first, const char *then)
{
	char text[sizeof w->rest];
	int n = snprintf(text, sizeof text, "%s/%s", first, then);

	if (n < 0 || (size_t)n >= sizeof text)
		return false;
	memcpy(w->rest, text, (size_t)n + 1);
	return true;
}

static enum look
follow(struct walk *w, const struct node *link)
{
	const char *target = link->target;
	char tail[sizeof w->rest];

	if (++w->links > LINKS_MAX)
		return walk_fail(w, STATUS_INVALID, "too many links");
	if (*target == '/') {
		const char *home = SANDBOX_HOME;
		if (!path_below(target, home))
			return walk_fail(w, STATUS_DENIED,
			    "a link that leaves the workspace");
		target += strlen(home);
		w->at = w->call->mirror->root;
	}
	snprintf(tail, sizeof tail, "%s", w->rest);
	if (!set_rest(w, target, tail))
		return walk_fail(w, STATUS_INVALID, "the path is too long");
	return LOOK_NOW;
}

static enum look
go_up(struct walk *w)
{
	if (w->at->number == MIRROR_ROOT || !w->at->names)
		return walk_fail(w, STATUS_DENIED,
		    "a path that leaves the workspace");
	w->at = w->at->names->dir;
	return LOOK_NOW;
}

/* One component. LOOK_FAILED with NOT_FOUND leaves it in rest. */
static enum look
go_down(struct walk *w, size_t len, bool last_followed)
{
	struct mirror *m = w->call->mirror;
	char name[PATH_NAME_MAX + 1];
	struct slot *s;

	if (!node_is_dir(w->at))
		return walk_fail(w, STATUS_NOT_DIR, "not a directory");
	if (len > PATH_NAME_MAX)
		return walk_fail(w, STATUS_INVALID, "a name is too long");
	memcpy(name, w->rest, len);
	name[len] = '\0';
	enum look look = name_look_locked(m, w->at, name, w->call, &s);
	if (look != LOOK_NOW)
		return look;
	if (!s)
		return walk_fail(w, STATUS_NOT_FOUND, "no such file");
	const char *rest = w->rest + len + strspn(w->rest + len, "/");
	memmove(w->rest, rest, strlen(rest) + 1);
	if (s->node->target && (*w->rest || last_followed))
		return follow(w, s->node);
	w->at = s->node;
	return LOOK_NOW;
}

enum look
walk_locked(struct mirror_call *call, bool follow_last, struct node **out)
{
	struct walk w = { .call = call, .at = call->mirror->root };
	enum look look = LOOK_NOW;

	if (strlen(call->name) > PATH_BYTES_MAX)
		return walk_fail(&w, STATUS_INVALID, "the path is too long");
	snprintf(w.rest, sizeof w.rest, "%s", call->name);
	while (look == LOOK_NOW) {
		size_t skip = strspn(w.rest, "/");
		memmove(w.rest, w.rest + skip, strlen(w.rest + skip) + 1);
		if (!*w.rest)
			break;
		size_t len = strcspn(w.rest, "/");
		bool dot = len == 1 && w.rest[0] == '.';
		bool dots = len == 2 && memcmp(w.rest, "..", 2) == 0;
		if (!dot && !dots) {
			look = go_down(&w, len, follow_last);
			continue;
		}
		if (dots)
			look = go_up(&w);
		memmove(w.rest, w.rest + len, strlen(w.rest + len) + 1);
	}
	*out = w.at;
	if (look == LOOK_FAILED && call->st.code == STATUS_NOT_FOUND) {
		free(call->name2);
		call->name2 = xstrdup(w.rest);
	}
	return look;
}
