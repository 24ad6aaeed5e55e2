/*
 * script:FILE, recorded replies: JSON Lines, one model reply a line, {"content",
 * "tool_calls": [{"name", "args"}], "delay_ms", "error"}, all optional, blank
 * lines skipped. `args` is kept byte for byte; a string is the raw argument
 * text itself, so that what is no JSON can be recorded too. delay_ms is the
 * time over which the reply arrives. One worker at a time.
 */
#ifndef AGENT_MODEL_SCRIPT_H
#define AGENT_MODEL_SCRIPT_H

#include "agent/model/model.h"

struct script;

/* Reads and checks the whole file (absolute path). NULL with `st` naming file
 * and line. */
struct script *script_open(const char *path, struct status *st);
void script_close(struct script *s);
/* The reply at *request->script_position, which is advanced also when the
 * line says `error`. A turn that begins after the last line begins at the
 * first; one that goes on after it fails. */
int script_complete(struct script *s, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st);

#endif
