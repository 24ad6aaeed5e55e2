/*
 * Why a model call failed, in a few kinds that decide whether to try again,
 * and how to find that out from what servers send. Pure.
 */
#ifndef AGENT_MODEL_FAILURE_H
#define AGENT_MODEL_FAILURE_H

#include <cjson/cJSON.h>

#include "agent/base/base.h"

enum failure_kind {
	FAILURE_NONE,
	FAILURE_TOOL_USE, /* Groq refused the model's own call */
	FAILURE_BILLING,  /* out of credit; OpenAI says so with 429 */
	FAILURE_CONTEXT_LENGTH,
	FAILURE_AUTH,
	FAILURE_OVERLOADED,
	FAILURE_RATE_LIMIT,
	FAILURE_TIMEOUT,
	FAILURE_SERVER,
	FAILURE_NOT_FOUND, /* no such model, or wrong base URL */
	FAILURE_INVALID,   /* our request was refused */
	FAILURE_CONNECT,   /* nothing was received */
	FAILURE_TRUNCATED, /* the stream was cut before its end */
	FAILURE_PROTOCOL,  /* the answer is not of the dialect */
	FAILURE_CANCELED,
};

struct failure {
	enum failure_kind kind;
	char message[400]; /* the server's words, one line, escaped */
	int retry_after_s; /* asked for by the server; 0 = not */
};

/* As in `state.error.code`, such as "rate_limit". Static. */
const char *failure_word(enum failure_kind kind);
/* How often in all a call that fails like this is made; 1 = never again. */
unsigned failure_attempts(enum failure_kind kind);
/* Sets kind from status (0 = unknown) and the words, first match wins. */
void failure_classify(struct failure *f, int status, const char *message,
    const char *type, const char *code);
/* A kind that needs no words of a server. */
void failure_set(struct failure *f, enum failure_kind kind,
    const char *message);
/* Is this JSON an error in any of the shapes that servers use? Then fills f. */
bool failure_from_json(struct failure *f, int status, const cJSON *body);
/* The body of an HTTP error: JSON of any shape, HTML or text. */
void failure_from_body(struct failure *f, int status, const char *body,
    size_t len);

#endif
