/*
 * shell: no model at all. A prompt becomes one `execute` call, and the answer
 * is what the command printed. So scripts and tests use the whole machinery
 * without a key.
 */
#ifndef AGENT_MODEL_SHELL_H
#define AGENT_MODEL_SHELL_H

#include "agent/model/model.h"

int shell_complete(const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct status *st);

#endif
