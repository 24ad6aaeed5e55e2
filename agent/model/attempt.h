/* One request to a model server and its whole answer. Within agent/model. */
#ifndef AGENT_MODEL_ATTEMPT_H
#define AGENT_MODEL_ATTEMPT_H

#include "agent/http/exchange.h"
#include "agent/model/answer.h"
#include "agent/model/model.h"

struct attempt { /* borrowed */
	struct http_client *http;
	const char *url;
	const char *api_key; /* or NULL */
	bool anthropic;
	const struct buf *body;
	const cJSON *tools; /* offered, or NULL */
	const struct model_sink *sink;
};

/* [waits] Fills the answer (initialised), its failure too. */
void attempt_run(const struct attempt *a, struct answer *answer,
    struct cancel *cancel);

#endif
