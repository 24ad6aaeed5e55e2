/*
 * Repaired copies of a conversation; see history.h. Results are paired with
 * their calls within the stretch that follows an assistant message and ends at
 * the next one or at a user message: never over the whole conversation, where
 * ids repeat.
 */
#include "agent/model/history.h"

#include <ctype.h>

#include "agent/base/text.h"
#include "agent/model/arguments.h"

#define TEXT_MAX (64U << 20)

static char *
clean(const char *text)
{
	auto_buf b = BUF_INIT(TEXT_MAX);

	text_add_utf8(&b, text, strlen(text));
	return buf_take(&b);
}

static struct wire_message *
add(struct history *h, enum wire_role role, const char *content)
{
	if (h->count == h->cap) {
		h->cap = h->cap ? h->cap * 2 : 32;
		h->messages =
		    xrealloc(h->messages, h->cap, sizeof *h->messages);
	}
	struct wire_message *m = &h->messages[h->count++];
	*m = (struct wire_message){ .role = role,
		.content = content ? clean(content) : NULL };
	return m;
}

static bool
is_blank(const char *s)
{
	return !s || s[strspn(s, " \t\r\n")] == '\0';
}

/* One system message, first: some servers reject a second. */
static void
add_system(struct history *h, const char *prompt,
    const struct message *messages, size_t count, size_t *next)
{
	auto_buf all = BUF_INIT(TEXT_MAX);

	buf_puts(&all, prompt ? prompt : "");
	while (*next < count && messages[*next].type == MESSAGE_SYSTEM) {
		buf_puts(&all, all.len > 0 ? "\n\n" : "");
		buf_puts(&all, messages[(*next)++].content);
	}
	if (all.len > 0)
		add(h, WIRE_SYSTEM, all.bytes);
}

static char *
wire_name(const char *name)
{
	char *out = xstrndup(*name ? name : "unknown", 64);

	for (char *p = out; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			*p = '_';
	return out;
}

static char *
wire_arguments(const struct tool_call *call)
{
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 4);
	const char *raw = call->arguments;
	enum arguments_status status =
	    arguments_read(raw, strlen(raw), true, &object);

	if (status == ARGUMENTS_OK)
		return clean(raw);
	return status == ARGUMENTS_REPAIRED ? buf_take(&object) : xstrdup("{}");
}

/* Nine letters and digits satisfy every provider's rule, Mistral's included;
 * counted over the conversation, so the same prefix gives the same ids. */
static void
wire_id(char out[24], size_t number)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	size_t n = number;

	memcpy(out, "c00000000", 10);
	for (int i = 8; i > 0 && n > 0; i--) {
		out[i] = digits[n % 36];
		n /= 36;
	}
}

/* The result of call number k among the tool messages after it: by id, and where
 * several calls share one, by order. */
static const struct message *
find_result(const struct message *results, size_t count,
    const struct message *ai, size_t k)
{
	size_t same_id = 0;

	for (size_t i = 0; i < k; i++)
		same_id += strcmp(ai->calls[i].id, ai->calls[k].id) == 0;
	for (size_t i = 0; i < count; i++)
		if (strcmp(results[i].tool_call_id, ai->calls[k].id) == 0 &&
		    same_id-- == 0)
			return &results[i];
	return NULL;
}

static void
add_results(struct history *h, const struct message *ai,
    const struct message *results, size_t count, size_t first_id)
{
	for (size_t k = 0; k < ai->call_count; k++) {
		const struct message *r = find_result(results, count, ai, k);
		const char *text = r
		    ? r->content
		    : "Error: interrupted before a result was produced.";
		struct wire_message *m =
		    add(h, WIRE_TOOL, is_blank(text) ? "(no output)" : text);
		wire_id(m->call_id, first_id + k);
		m->failed = r ? r->failed : true;
		m->blocks = r ? r->blocks : NULL;
	}
}

static void
add_assistant(struct history *h, const struct message *ai, size_t first_id)
{
	bool empty = is_blank(ai->content);

	if (empty && ai->call_count == 0)
		return;
	struct wire_message *m =
	    add(h, WIRE_ASSISTANT, empty ? NULL : ai->content);
	m->reasoning = ai->reasoning ? clean(ai->reasoning) : NULL;
	m->blocks = ai->blocks;
	m->calls = xcalloc(ai->call_count, sizeof *m->calls);
	m->call_count = ai->call_count;
	for (size_t k = 0; k < ai->call_count; k++) {
		wire_id(m->calls[k].id, first_id + k);
		m->calls[k].name = wire_name(ai->calls[k].name);
		m->calls[k].arguments = wire_arguments(&ai->calls[k]);
	}
}

/* An assistant message and the results that follow it; returns the index of
 * what comes after. Results without a call are dropped with the stretch. */
static size_t
add_step(struct history *h, const struct message *messages, size_t count,
    size_t at, size_t *ids)
{
	const struct message *ai = &messages[at];
	size_t end = at + 1;

	while (end < count && messages[end].type == MESSAGE_TOOL)
		end++;
	add_assistant(h, ai, *ids);
	add_results(h, ai, ai + 1, end - at - 1, *ids);
	*ids += ai->call_count;
	return end;
}

static void
merge_into(struct wire_message *a, struct wire_message *b)
{
	char *joined = xasprintf("%s\n\n%s", a->content ? a->content : "",
	    b->content ? b->content : "");

	free(a->content);
	a->content = joined;
	free(b->content);
	free(b->reasoning);
}

static void
merge_neighbours(struct history *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->count; i++) {
		struct wire_message *m = &h->messages[i];
		struct wire_message *last = n > 0 ? &h->messages[n - 1] : NULL;
		bool mergeable = last && last->role == m->role &&
		    m->role != WIRE_TOOL && last->call_count == 0 &&
		    m->call_count == 0;
		if (mergeable)
			merge_into(last, m);
		else
			h->messages[n++] = *m;
	}
	h->count = n;
}

static bool
follows_tool(const struct history *h)
{
	return h->count > 0 && h->messages[h->count - 1].role == WIRE_TOOL;
}

void
history_build(struct history *h, const char *system_prompt,
    const struct message *messages, size_t count,
    const struct history_rules *rules)
{
	size_t at = 0, ids = 1;

	*h = (struct history){ 0 };
	add_system(h, system_prompt, messages, count, &at);
	while (at < count) {
		const struct message *m = &messages[at];
		if (m->type == MESSAGE_AI) {
			at = add_step(h, messages, count, at, &ids);
			continue;
		}
		at++;
		if (m->type == MESSAGE_TOOL || is_blank(m->content))
			continue;
		if (rules->assistant_after_tool && follows_tool(h))
			add(h, WIRE_ASSISTANT, "OK.");
		auto_free char *text = m->type == MESSAGE_SYSTEM
		    ? xasprintf("[system] %s", m->content)
		    : xstrdup(m->content);
		add(h, WIRE_USER, text);
	}
	if (rules->alternate)
		merge_neighbours(h);
	if (h->count == 0 || h->messages[h->count - 1].role == WIRE_ASSISTANT ||
	    h->messages[h->count - 1].role == WIRE_SYSTEM)
		add(h, WIRE_USER, "Continue.");
}

void
history_finish(struct history *h)
{
	for (size_t i = 0; i < h->count; i++) {
		struct wire_message *m = &h->messages[i];
		free(m->content);
		free(m->reasoning);
		for (size_t k = 0; k < m->call_count; k++) {
			free(m->calls[k].name);
			free(m->calls[k].arguments);
		}
		free(m->calls);
	}
	free(h->messages);
	*h = (struct history){ 0 };
}
