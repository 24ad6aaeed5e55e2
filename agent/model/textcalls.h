/*
 * Tool calls that a model wrote as text because its server ran the wrong
 * parser (Hermes, Qwen3-Coder and Nemotron XML, Mistral, older Nemotron, Llama,
 * Kimi). Only what names an offered tool and stands outside a code fence is
 * taken for a call. Pure.
 */
#ifndef AGENT_MODEL_TEXTCALLS_H
#define AGENT_MODEL_TEXTCALLS_H

#include <cjson/cJSON.h>

#include "agent/model/slots.h"

/* Moves the calls from the content into `slots` (marked from_text); the rest
 * of the text stays, trimmed. tools: JSON array of {name, parameters}. */
void textcalls_find(struct buf *content, const cJSON *tools,
    struct slots *slots);
/* Structured calls came: drops complete <TOOLCALL>…</TOOLCALL> blocks, which
 * Nemotron writes beside them. */
void textcalls_strip(struct buf *content);

#endif
