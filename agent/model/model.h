/*
 * A model: given a conversation and tools, streams one assistant message.
 * Implementations: script (recorded replies), shell (the prompt is a command);
 * the HTTP providers come beside them. Retries, budgets and history are the
 * turn's business, not the model's.
 */
#ifndef AGENT_MODEL_MODEL_H
#define AGENT_MODEL_MODEL_H

#include "agent/base/cancel.h"
#include "agent/base/status.h"
#include "agent/model/message.h"

struct model;

struct model_request { /* borrowed for the call */
	const char *system_prompt;
	const struct message *messages;
	size_t count;
	const char *tools;  /* JSON array of {name, description, parameters} */
	double temperature; /* < 0: the provider's default */
	int64_t max_tokens; /* 0: the provider's default */
	/* script: which reply comes next, from the store; advanced by one when
	 * a reply was delivered. first_call: this turn's first request. */
	int64_t *script_position;
	bool first_call;
};

/* Called on the turn's worker as the answer arrives. */
struct model_sink {
	void (*text)(void *arg, const char *bytes, size_t len);
	/* A line for the log (a retry), or NULL. */
	void (*note)(void *arg, const char *line);
	void *arg;
};

struct model_settings {       /* borrowed until model_open returns */
	const char *spec;     /* "provider:name" */
	const char *base_url; /* NULL = the provider's variable or its own */
	const char *api_key;  /* NULL = the provider's variable */
	/* Value of a variable or NULL; may be NULL itself. */
	const char *(*env)(void *arg, const char *name);
	void *env_arg;
};

enum model_check {
	MODEL_OK,
	MODEL_UNKNOWN,   /* no such provider, or malformed */
	MODEL_NOT_YET,   /* known provider that this version cannot talk to */
	MODEL_NEEDS_KEY, /* key_name says which variable */
	MODEL_BAD_FILE,  /* script: the file cannot be read or parsed */
};

/* What a spec needs; no network, may read the script's file. `st` gets one line
 * that says what to do whenever it is not MODEL_OK. have_key(arg, NAME) tells
 * whether a key variable is set. */
enum model_check model_check(const char *spec,
    bool (*have_key)(void *arg, const char *name), void *arg,
    struct status *st);
/* The spec with its defaults filled in ("nvidia" -> "nvidia:nvidia/…"), as
 * shown in log and state. Gives; NULL if unknown. */
char *model_full_spec(const char *spec);
/* The variable that holds the provider's key, or NULL. Static. */
const char *model_key_name(const char *spec);

/* NULL with st set. Owned by one worker at a time. */
struct model *model_open(const struct model_settings *settings,
    struct status *st);
void model_close(struct model *model);
/* Streams text into the sink and fills `reply` (initialised by the caller as
 * an AI message; partial on failure: text already shown is kept). */
int model_complete(struct model *model, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st);

#endif
