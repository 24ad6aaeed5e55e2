/* Tool calls in pieces; see slots.h. */
#include "agent/model/slots.h"

#include "agent/model/arguments.h"

void
slots_truncate(struct slots *s, size_t count)
{
	while (s->count > count) {
		struct slot *slot = &s->slot[--s->count];
		free(slot->id);
		free(slot->name);
		buf_finish(&slot->arguments);
	}
}

void
slots_finish(struct slots *s)
{
	slots_truncate(s, 0);
	free(s->slot);
	*s = (struct slots){ 0 };
}

struct slot *
slots_open(struct slots *s)
{
	if (s->count >= SLOTS_MAX) {
		s->overflow = true;
		return NULL;
	}
	s->slot = xrealloc(s->slot, s->count + 1, sizeof *s->slot);
	struct slot *slot = &s->slot[s->count++];
	*slot = (struct slot){ .id = xstrdup(""), .name = xstrdup("") };
	buf_init(&slot->arguments, ARGUMENTS_MAX + 1);
	return slot;
}

/* Are the arguments so far one strict JSON object? */
static bool
is_complete(const struct slot *slot)
{
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 3);

	return arguments_read(slot->arguments.bytes, slot->arguments.len, false,
		   &object) == ARGUMENTS_OK;
}

static bool
opens_object(const struct slot_piece *piece)
{
	return piece->len > 0 && piece->arguments[0] == '{';
}

/* Does a piece with a name begin a new call, seen from this slot? */
static bool
begins_new(const struct slot *slot, const struct slot_piece *piece)
{
	if (!*slot->name)
		return false;
	if (strcmp(slot->name, piece->name) == 0)
		return opens_object(piece) && is_complete(slot);
	return slot->arguments.len > 0;
}

static struct slot *
find_index(struct slots *s, int64_t index)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->slot[i].has_index && s->slot[i].index == index)
			return &s->slot[i];
	return NULL;
}

static struct slot *
find_id(struct slots *s, const char *id)
{
	for (size_t i = s->count; i-- > 0;)
		if (*id && strcmp(s->slot[i].id, id) == 0)
			return &s->slot[i];
	return NULL;
}

/* NULL: a new slot is to be opened. */
static struct slot *
by_index(struct slots *s, const struct slot_piece *piece)
{
	struct slot *slot = find_index(s, piece->index);
	bool named = *piece->name != '\0';

	if (slot) { /* P1 */
		bool other =
		    *piece->id && *slot->id && strcmp(piece->id, slot->id) != 0;
		if (other)
			return named ? NULL : slot;
		return named && begins_new(slot, piece) ? NULL : slot;
	}
	/* P2 */
	slot = find_id(s, piece->id);
	if (slot && !named)
		return slot;
	struct slot *last = s->count > 0 ? &s->slot[s->count - 1] : NULL;
	bool bare = !*piece->id && !named;
	return bare && last && !last->has_index ? last : NULL;
}

static struct slot *
without_index(struct slots *s, const struct slot_piece *piece)
{
	struct slot *last = s->count > 0 ? &s->slot[s->count - 1] : NULL;
	bool named = *piece->name != '\0';

	if (*piece->id) { /* P3 */
		struct slot *slot = find_id(s, piece->id);
		if (slot)
			return named && begins_new(slot, piece) ? NULL : slot;
		return named ? NULL : last;
	}
	if (!named || !last) /* P5 */
		return last;
	if (!*last->name) /* P4 */
		return last;
	bool goes_on = strcmp(last->name, piece->name) == 0 &&
	    last->arguments.len > 0 && !is_complete(last) &&
	    !opens_object(piece);
	return goes_on ? last : NULL;
}

static void
set(char **field, const char *value)
{
	free(*field);
	*field = xstrdup(value);
}

static void
take_name(struct slot *slot, const char *name)
{
	size_t have = strlen(slot->name);

	if (have == 0) {
		set(&slot->name, name);
	} else if (strcmp(slot->name, name) != 0 && slot->arguments.len == 0) {
		/* Sent in fragments, or cumulatively. */
		bool cumulative = strncmp(name, slot->name, have) == 0;
		char *joined = cumulative ? xstrdup(name)
					  : xasprintf("%s%s", slot->name, name);
		free(slot->name);
		slot->name = joined;
	}
}

void
slots_add(struct slots *s, const struct slot_piece *given)
{
	struct slot_piece piece = *given;

	piece.id = piece.id ? piece.id : "";
	piece.name = piece.name ? piece.name : "";
	struct slot *slot =
	    piece.has_index ? by_index(s, &piece) : without_index(s, &piece);
	if (!slot) {
		/* P6: an empty piece never opens a call. */
		if (!*piece.id && !*piece.name && piece.len == 0)
			return;
		slot = slots_open(s);
		if (!slot)
			return;
	}
	if (!slot->has_index && piece.has_index) {
		slot->has_index = true;
		slot->index = piece.index;
	}
	if (!*slot->id && *piece.id)
		set(&slot->id, piece.id);
	if (*piece.name)
		take_name(slot, piece.name);
	if (piece.replaces)
		buf_reset(&slot->arguments);
	buf_add(&slot->arguments, piece.arguments, piece.len);
	s->overflow |= slot->arguments.failed;
}

static int
by_index_order(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

void
slots_sort(struct slots *s)
{
	for (size_t i = 0; i < s->count; i++) {
		if (!s->slot[i].has_index)
			return;
		for (size_t k = 0; k < i; k++)
			if (s->slot[k].index == s->slot[i].index)
				return;
	}
	if (s->count > 1)
		qsort(s->slot, s->count, sizeof *s->slot, by_index_order);
}
