/*
 * The answer of Anthropic's Messages API as it streams in, also as gateways
 * serve it. Blocks are collected by index and kept for the replay: thinking
 * with its signature must go back unchanged. Pure.
 */
#ifndef AGENT_MODEL_ANTHROPIC_STREAM_H
#define AGENT_MODEL_ANTHROPIC_STREAM_H

#include "agent/http/sse.h"
#include "agent/model/answer.h"

struct anthropic_stream {
	struct answer *answer; /* borrowed */
	/* New text of the answer as it comes, may be NULL. */
	void (*text)(void *arg, const char *bytes, size_t len);
	void *arg;
	/* the stream's own */
	int status;
	bool is_stream;
	char message_id[128];
	bool open; /* a message has started */
	struct sse sse;
	struct buf body;
};

void anthropic_stream_init(struct anthropic_stream *s, struct answer *answer,
    int status, const char *content_type);
void anthropic_stream_finish(struct anthropic_stream *s);
/* False: nothing further is wanted. */
bool anthropic_stream_feed(struct anthropic_stream *s, const char *bytes,
    size_t len);
/* The body has ended or was cut. After answer_finish() call
 * anthropic_stream_blocks(). */
void anthropic_stream_end(struct anthropic_stream *s);
/* Puts the blocks for the replay into answer->blocks. */
void anthropic_stream_blocks(struct answer *answer);

#endif
