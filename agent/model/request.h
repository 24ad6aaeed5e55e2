/*
 * The body of a model request in both dialects. Pure; byte-identical for an
 * identical prefix of the conversation.
 */
#ifndef AGENT_MODEL_REQUEST_H
#define AGENT_MODEL_REQUEST_H

#include "agent/model/history.h"
#include "agent/model/model.h"

struct request_profile {
	const char *model; /* the provider's name of it */
	/* OpenAI's own API wants max_completion_tokens. */
	bool completion_tokens;
	bool no_stream_options;
	bool no_sampling;    /* temperature refused */
	bool nim_thinking;   /* chat_template_kwargs.enable_thinking */
	bool send_reasoning; /* DeepSeek: reasoning_content goes back */
	bool images;         /* user messages may carry images */
	struct history_rules rules;
};

void request_openai(struct buf *out, const struct request_profile *profile,
    const struct model_request *request);
void request_anthropic(struct buf *out, const struct request_profile *profile,
    const struct model_request *request);

#endif
