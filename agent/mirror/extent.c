/* Which bytes of a sparse file are there; pure. */
#include "agent/mirror/internal.h"

/* Index of the first extent that ends at or after `at`. */
static size_t
find(const struct extents *e, int64_t at)
{
	size_t low = 0, high = e->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		if (e->list[mid].to < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void
extents_add(struct extents *e, int64_t from, int64_t to)
{
	if (from >= to)
		return;
	size_t i = find(e, from), end = i;

	while (end < e->count && e->list[end].from <= to) {
		from = MIN(from, e->list[end].from);
		to = MAX(to, e->list[end].to);
		end++;
	}
	if (end == i) {
		if (e->count == e->cap) {
			e->cap = MAX(e->cap * 2, (size_t)8);
			e->list = xrealloc(e->list, e->cap, sizeof *e->list);
		}
		memmove(e->list + i + 1, e->list + i,
		    (e->count - i) * sizeof *e->list);
		e->count++;
	} else {
		memmove(e->list + i + 1, e->list + end,
		    (e->count - end) * sizeof *e->list);
		e->count -= end - i - 1;
	}
	e->list[i] = (struct extent){ from, to };
}

int64_t
extents_missing(const struct extents *e, int64_t from)
{
	size_t i = find(e, from + 1);

	if (i < e->count && e->list[i].from <= from)
		return e->list[i].to;
	return from;
}

int64_t
extents_present(const struct extents *e, int64_t from, int64_t end)
{
	size_t i = find(e, from + 1);

	if (i == e->count)
		return end;
	return MIN(MAX(e->list[i].from, from), end);
}

void
extents_finish(struct extents *e)
{
	free(e->list);
	*e = (struct extents){ 0 };
}
