/*
 * Model answers: any bytes, cut into any pieces, in both dialects. Whatever
 * comes out must be valid UTF-8, must not depend on the cuts, and nothing of
 * a failed answer may run. The first byte chooses dialect and piece size.
 */
#include "agent/base/path.h"
#include "agent/model/anthropic_stream.h"
#include "agent/model/openai_stream.h"
#include "tests/fuzz/fuzz.h"

static void
feed_openai(struct answer *a, const char *bytes, size_t len, size_t piece)
{
	struct openai_stream s;

	openai_stream_init(&s, a, 200, "text/event-stream");
	for (size_t i = 0; i < len; i += piece)
		if (!openai_stream_feed(&s, bytes + i, MIN(piece, len - i)))
			break;
	openai_stream_end(&s);
	openai_stream_finish(&s);
}

static void
feed_anthropic(struct answer *a, const char *bytes, size_t len, size_t piece)
{
	struct anthropic_stream s;

	anthropic_stream_init(&s, a, 200, "text/event-stream");
	for (size_t i = 0; i < len; i += piece)
		if (!anthropic_stream_feed(&s, bytes + i, MIN(piece, len - i)))
			break;
	anthropic_stream_end(&s);
	anthropic_stream_finish(&s);
}

static void
run(struct answer *a, const char *bytes, size_t len, size_t piece,
    bool anthropic)
{
	static const char tools[] =
	    "[{\"name\":\"ls\",\"parameters\":{\"properties\":"
	    "{\"n\":{\"type\":\"integer\"}}}}]";
	cJSON *offered = cJSON_Parse(tools);

	answer_init(a);
	if (anthropic)
		feed_anthropic(a, bytes, len, piece);
	else
		feed_openai(a, bytes, len, piece);
	answer_finish(a, offered);
	if (anthropic)
		anthropic_stream_blocks(a);
	cJSON_Delete(offered);
}

static void
check(const struct answer *a)
{
	must(utf8_valid(a->content.bytes, a->content.len));
	must(utf8_valid(a->reasoning.bytes, a->reasoning.len));
	for (size_t i = 0; i < a->call_count; i++) {
		const struct answer_call *call = &a->calls[i];
		must(!call->runnable || a->failure.kind == FAILURE_NONE);
		must(!call->runnable || a->finish == FINISH_TOOL_CALLS);
		if (!call->object)
			continue;
		cJSON *object = cJSON_Parse(call->object);
		must(cJSON_IsObject(object));
		cJSON_Delete(object);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	struct answer cut, whole;

	if (len < 2)
		return 0;
	bool anthropic = input[0] & 1;
	size_t piece = 1 + (input[0] >> 1);
	const char *bytes = (const char *)input + 1;

	run(&cut, bytes, len - 1, piece, anthropic);
	run(&whole, bytes, len - 1, len, anthropic);
	check(&cut);
	must(strcmp(cut.content.bytes, whole.content.bytes) == 0);
	must(strcmp(cut.reasoning.bytes, whole.reasoning.bytes) == 0);
	must(cut.failure.kind == whole.failure.kind);
	must(cut.call_count == whole.call_count);
	answer_deinit(&cut);
	answer_deinit(&whole);
	return 0;
}
