/*
 * The answer of a chat-completions server, as it streams in: the OpenAI
 * dialect with all that NIM, vLLM, Ollama, Gemini and gateways make of it.
 * Also takes an answer that is no stream, and an HTTP error. Pure.
 */
#ifndef AGENT_MODEL_OPENAI_STREAM_H
#define AGENT_MODEL_OPENAI_STREAM_H

#include "agent/http/sse.h"
#include "agent/model/answer.h"

struct openai_stream {
	struct answer *answer; /* borrowed */
	/* New text of the answer as it comes, may be NULL. */
	void (*text)(void *arg, const char *bytes, size_t len);
	void *arg;
	/* the stream's own */
	int status;
	bool is_stream;
	bool decided; /* the kind of body is known */
	bool json;
	struct sse sse;
	struct buf body;
};

/* status and content type of the response; content_type may be NULL. */
void openai_stream_init(struct openai_stream *s, struct answer *answer,
    int status, const char *content_type);
void openai_stream_finish(struct openai_stream *s);
/* False: nothing further is wanted ([DONE] or a failure was seen). */
bool openai_stream_feed(struct openai_stream *s, const char *bytes, size_t len);
/* The body has ended, or was cut: then answer_finish() decides. */
void openai_stream_end(struct openai_stream *s);

#endif
