/*
 * Finished answers; see answer.h. A call runs only when the stream came to its
 * end and the finish reason, corrected, is "tool calls": a prefix of arguments
 * can parse, and so can arguments cut by the token limit.
 */
#include "agent/model/answer.h"

#include <ctype.h>
#include <strings.h>
#include <sys/random.h>

#include "agent/base/text.h"
#include "agent/model/textcalls.h"
#include "agent/model/thinking.h"

#define TEXT_MAX (64U << 20)

void
answer_init(struct answer *a)
{
	*a = (struct answer){ .input_tokens = -1, .output_tokens = -1 };
	buf_init(&a->content, TEXT_MAX);
	buf_init(&a->reasoning, TEXT_MAX);
	buf_init(&a->refusal, TEXT_MAX);
}

void
answer_deinit(struct answer *a)
{
	buf_finish(&a->content);
	buf_finish(&a->reasoning);
	buf_finish(&a->refusal);
	slots_finish(&a->slots);
	cJSON_Delete(a->blocks);
	for (size_t i = 0; i < a->call_count; i++) {
		free(a->calls[i].id);
		free(a->calls[i].name);
		free(a->calls[i].arguments);
		free(a->calls[i].object);
	}
	free(a->calls);
	*a = (struct answer){ 0 };
}

enum finish
finish_from(const char *raw)
{
	static const struct {
		const char *raw;
		enum finish finish;
	} table[] = {
		{ "", FINISH_STOP },
		{ "stop", FINISH_STOP },
		{ "end_turn", FINISH_STOP },
		{ "eos", FINISH_STOP },
		{ "stop_sequence", FINISH_STOP },
		{ "tool_calls", FINISH_TOOL_CALLS },
		{ "function_call", FINISH_TOOL_CALLS },
		{ "tool_use", FINISH_TOOL_CALLS },
		{ "length", FINISH_LENGTH },
		{ "max_tokens", FINISH_LENGTH },
		{ "model_length", FINISH_LENGTH },
		{ "model_context_window_exceeded", FINISH_LENGTH },
		{ "content_filter", FINISH_CONTENT_FILTER },
		{ "safety", FINISH_CONTENT_FILTER },
		{ "refusal", FINISH_CONTENT_FILTER },
		{ "pause_turn", FINISH_PAUSE },
		{ "error", FINISH_ERROR },
		{ "insufficient_system_resource", FINISH_ERROR },
		{ "abort", FINISH_ERROR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (strcasecmp(raw, table[i].raw) == 0)
			return table[i].finish;
	return FINISH_OTHER;
}

static void
judge(struct answer *a)
{
	a->finish = finish_from(a->finish_raw);
	if (a->failure.kind != FAILURE_NONE)
		return;
	if (a->finish == FINISH_ERROR)
		failure_set(&a->failure, FAILURE_SERVER,
		    "the server ended the answer with an error");
	else if (!a->any_chunk || (!*a->finish_raw && !a->done))
		failure_set(&a->failure, FAILURE_TRUNCATED,
		    "the stream was cut before its end");
	else if (a->content.failed || a->reasoning.failed || a->slots.overflow)
		failure_set(&a->failure, FAILURE_PROTOCOL,
		    "the answer is too large");
}

static void
rejoin(struct buf *b)
{
	auto_buf clean = BUF_INIT(b->max);

	text_add_joined(&clean, b->bytes, b->len);
	struct buf old = *b;
	*b = clean;
	clean = old;
}

static bool
id_taken(const struct answer *a, size_t before, const char *id)
{
	for (size_t i = 0; i < before; i++)
		if (strcmp(a->calls[i].id, id) == 0)
			return true;
	return false;
}

static char *
generated_id(void)
{
	uint64_t r = 0;

	if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
		r = (uint64_t)(uintptr_t)&r;
	return xasprintf("call_%016llx", (unsigned long long)r);
}

static void
add_call(struct answer *a, const struct slot *slot, bool complete, bool run)
{
	struct answer_call *call = &a->calls[a->call_count];
	auto_buf object = BUF_INIT((size_t)ARGUMENTS_MAX * 4);
	auto_buf raw = BUF_INIT((size_t)ARGUMENTS_MAX * 3);

	text_add_joined(&raw, slot->arguments.bytes, slot->arguments.len);
	call->id = *slot->id && !id_taken(a, a->call_count, slot->id)
	    ? xstrdup(slot->id)
	    : generated_id();
	call->name = xstrdup(slot->name);
	call->arguments = xstrdup(raw.bytes);
	call->status = arguments_read(raw.bytes, raw.len, complete, &object);
	if (call->status != ARGUMENTS_INVALID)
		call->object = buf_take(&object);
	call->from_text = slot->from_text;
	call->runnable = run && call->object && *call->name;
	a->call_count++;
}

void
answer_finish(struct answer *a, const cJSON *tools)
{
	rejoin(&a->content);
	rejoin(&a->reasoning);
	judge(a);
	bool whole = a->failure.kind == FAILURE_NONE;

	thinking_split(&a->content, &a->reasoning);
	slots_sort(&a->slots);
	bool may_call = a->finish == FINISH_STOP || a->finish == FINISH_OTHER ||
	    a->finish == FINISH_TOOL_CALLS;
	if (a->slots.count > 0)
		textcalls_strip(&a->content);
	else if (whole && may_call && tools)
		textcalls_find(&a->content, tools, &a->slots);

	if (whole && a->slots.count > 0 &&
	    (a->finish == FINISH_STOP || a->finish == FINISH_OTHER))
		a->finish = FINISH_TOOL_CALLS;
	else if (a->slots.count == 0 && a->finish == FINISH_TOOL_CALLS)
		a->finish = FINISH_STOP;

	bool complete = whole && a->finish != FINISH_LENGTH;
	bool run = whole && a->finish == FINISH_TOOL_CALLS;
	a->calls = xcalloc(a->slots.count, sizeof *a->calls);
	for (size_t i = 0; i < a->slots.count; i++)
		add_call(a, &a->slots.slot[i], complete, run);
}
