/* Thinking that a model wrote into its content, between <think> tags. Pure. */
#ifndef AGENT_MODEL_THINKING_H
#define AGENT_MODEL_THINKING_H

#include "agent/base/buf.h"

/* Moves inline thinking of a finished content into `reasoning`. Where a
 * reasoning field was sent (reasoning is not empty) only a stray closing tag
 * at the start is dropped. A <think> in the middle of an answer is text. */
void thinking_split(struct buf *content, struct buf *reasoning);

#endif
