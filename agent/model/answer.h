/*
 * One answer of a model while it streams in and when it is finished: the same
 * for every dialect. The streams (openai_stream.h, anthropic_stream.h) fill
 * it; answer_finish() then decides what of it may be executed. Pure.
 */
#ifndef AGENT_MODEL_ANSWER_H
#define AGENT_MODEL_ANSWER_H

#include "agent/base/json.h"
#include "agent/model/arguments.h"
#include "agent/model/failure.h"
#include "agent/model/slots.h"

enum finish {
	FINISH_STOP,
	FINISH_TOOL_CALLS,
	FINISH_LENGTH,
	FINISH_CONTENT_FILTER,
	FINISH_PAUSE,
	FINISH_ERROR,
	FINISH_OTHER,
};

struct answer_call {
	char *id; /* unique within the answer */
	char *name;
	char *arguments; /* raw, byte for byte */
	char *object;    /* JSON object to run with; NULL when invalid */
	enum arguments_status status;
	bool runnable;
	bool from_text;
};

struct answer { /* answer_init; owns everything */
	/* while it streams */
	struct buf content, reasoning, refusal;
	struct slots slots;
	cJSON *blocks;       /* Anthropic's, for the replay, or NULL */
	char finish_raw[64]; /* "" until seen */
	bool done;           /* [DONE] or message_stop */
	bool any_chunk;
	int64_t input_tokens, output_tokens; /* -1 unknown */
	struct failure failure;              /* kind NONE: none so far */
	/* set by answer_finish */
	enum finish finish;
	struct answer_call *calls;
	size_t call_count;
};

void answer_init(struct answer *a);
void answer_deinit(struct answer *a);
/* The normalised word of a raw finish reason; "" counts as stop. */
enum finish finish_from(const char *raw);
/*
 * The body has ended. Judges completeness, splits inline thinking off, finds
 * calls that were written as text (only if `tools`, a JSON array of {name,
 * parameters}, is given), reads arguments, makes ids unique. When the answer
 * failed, failure.kind says so and no call is runnable.
 */
void answer_finish(struct answer *a, const cJSON *tools);

#endif
