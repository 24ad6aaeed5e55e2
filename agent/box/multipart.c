/*
 * See multipart.h. Everything is looked for behind a virtual line break before
 * the first byte, so that the first boundary is found like the others.
 */
#include "agent/box/multipart.h"

#define BOUNDARY_MAX 200
#define HEADERS_MAX  ((size_t)16384)

enum state {
	PREAMBLE,
	AFTER_BOUNDARY, /* "--" ends all, a line break begins headers */
	HEADERS,
	BODY,
	COMPLETE,
	INVALID,
};

struct multipart {
	struct multipart_events events;
	void *arg;
	enum state state;
	char mark[BOUNDARY_MAX + 8]; /* CR LF - - boundary */
	size_t mark_len;
	struct buf held;    /* not yet understood */
	struct buf headers; /* of the part that begins */
};

/* The value of parameter `name` in a header value, unquoted; false if absent. */
static bool
parameter(const char *s, const char *name, char *out, size_t size)
{
	size_t want = strlen(name);

	while ((s = strchr(s, ';'))) {
		s += 1 + strspn(s + 1, " \t");
		if (strncasecmp(s, name, want) != 0 || s[want] != '=')
			continue;
		s += want + 1;
		size_t n = 0;
		bool quoted = *s == '"';
		for (s += quoted; *s && n + 1 < size; s++) {
			if (quoted ? *s == '"' : !!strchr("; \t\r\n", *s))
				break;
			if (quoted && *s == '\\' && s[1])
				s++;
			out[n++] = *s;
		}
		out[n] = '\0';
		return true;
	}
	return false;
}

struct multipart *
multipart_create(const char *content_type,
    const struct multipart_events *events, void *arg)
{
	char boundary[BOUNDARY_MAX + 1];

	if (!content_type || strncasecmp(content_type, "multipart/", 10) != 0 ||
	    !parameter(content_type, "boundary", boundary, sizeof boundary) ||
	    !*boundary)
		return NULL;
	struct multipart *m = xcalloc(1, sizeof *m);
	m->events = *events;
	m->arg = arg;
	m->mark_len =
	    (size_t)snprintf(m->mark, sizeof m->mark, "\r\n--%s", boundary);
	/* Held bytes are at most one feed and a mark. */
	buf_init(&m->held, SIZE_MAX / 4);
	buf_init(&m->headers, HEADERS_MAX);
	buf_puts(&m->held, "\r\n");
	return m;
}

void
multipart_destroy(struct multipart *m)
{
	if (!m)
		return;
	buf_finish(&m->held);
	buf_finish(&m->headers);
	free(m);
}

static void
begin_part(struct multipart *m)
{
	char name[1024];
	bool has = false;

	for (char *line = m->headers.bytes; *line;) {
		size_t n = strcspn(line, "\r\n");
		char after = line[n];
		line[n] = '\0';
		if (strncasecmp(line, "content-disposition:", 20) == 0)
			has |= parameter(line, "name", name, sizeof name);
		line[n] = after;
		line += n + strspn(line + n, "\r\n");
	}
	m->events.part(m->arg, has ? name : "", has);
	buf_reset(&m->headers);
}

/* Passes on what cannot be the beginning of a mark. True: go on. */
static bool
step_body(struct multipart *m)
{
	const char *at =
	    memmem(m->held.bytes, m->held.len, m->mark, m->mark_len);
	size_t n = at                   ? (size_t)(at - m->held.bytes)
	    : m->held.len < m->mark_len ? 0
					: m->held.len - (m->mark_len - 1);

	if (n > 0 && m->state == BODY)
		m->events.bytes(m->arg, m->held.bytes, n);
	if (at) {
		if (m->state == BODY)
			m->events.end(m->arg);
		m->state = AFTER_BOUNDARY;
		n += m->mark_len;
	}
	buf_consume(&m->held, n);
	return at;
}

static bool
step_after_boundary(struct multipart *m)
{
	size_t blank = strspn(m->held.bytes, " \t");

	if (m->held.len < blank + 2)
		return false;
	if (memcmp(m->held.bytes, "--", 2) == 0)
		m->state = COMPLETE;
	else if (memcmp(m->held.bytes + blank, "\r\n", 2) == 0)
		m->state = HEADERS;
	else
		m->state = INVALID;
	/* The line break stays: an empty header block begins with it. */
	buf_consume(&m->held, m->state == HEADERS ? blank : 0);
	return true;
}

static bool
step_headers(struct multipart *m)
{
	const char *at = memmem(m->held.bytes, m->held.len, "\r\n\r\n", 4);

	if (!at) {
		if (m->held.len > HEADERS_MAX)
			m->state = INVALID;
		return false;
	}
	size_t n = (size_t)(at - m->held.bytes);
	buf_add(&m->headers, m->held.bytes, n);
	if (m->headers.failed) {
		m->state = INVALID;
		return false;
	}
	begin_part(m);
	m->state = BODY;
	buf_consume(&m->held, n + 4);
	return true;
}

void
multipart_feed(struct multipart *m, const char *bytes, size_t len)
{
	bool more = true;

	if (m->state == COMPLETE || m->state == INVALID)
		return;
	buf_add(&m->held, bytes, len);
	if (m->held.failed)
		m->state = INVALID;
	while (more) {
		switch (m->state) {
		case PREAMBLE:
		case BODY:
			more = step_body(m);
			break;
		case AFTER_BOUNDARY:
			more = step_after_boundary(m);
			break;
		case HEADERS:
			more = step_headers(m);
			break;
		case COMPLETE:
		case INVALID:
			return;
		}
	}
}

enum multipart_end
multipart_finish(struct multipart *m)
{
	switch (m->state) {
	case COMPLETE:
		return MULTIPART_COMPLETE;
	case BODY:
		/* What was held back is content after all. */
		if (m->held.len > 0)
			m->events.bytes(m->arg, m->held.bytes, m->held.len);
		return MULTIPART_CUT;
	case AFTER_BOUNDARY:
	case HEADERS:
		return MULTIPART_CUT;
	case PREAMBLE:
	case INVALID:
		break;
	}
	return MULTIPART_INVALID;
}
