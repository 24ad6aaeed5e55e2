/*
 * A model behind HTTP: chat completions (NVIDIA NIM and every compatible
 * server) or Anthropic's Messages. One call of remote_complete() makes as many
 * attempts as the kind of failure allows, with back-off, the server's own
 * Retry-After and pacing; nothing of a failed attempt is ever executed.
 */
#ifndef AGENT_MODEL_REMOTE_H
#define AGENT_MODEL_REMOTE_H

#include "agent/model/failure.h"
#include "agent/model/model.h"

struct remote;

struct remote_settings {      /* borrowed until remote_create returns */
	const char *provider; /* "nvidia", "anthropic", … */
	const char *model;    /* the provider's name of it */
	const char *base_url; /* without a final slash */
	const char *api_key;  /* or NULL */
};

struct remote *remote_create(const struct remote_settings *settings);
/* Accepts NULL; no call is under way. */
void remote_destroy(struct remote *r);
/* [waits] As model_complete(). On failure `st` has the line for a person and
 * reply->content what was shown. */
int remote_complete(struct remote *r, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st);

/* The wait before attempt `attempt` (from 2), milliseconds; -1: do not try
 * again. random: 0 to 1. Pure. */
int64_t remote_delay_ms(const struct failure *failure, unsigned attempt,
    bool nim, double random);

#endif
