/*
 * The providers of models that are known by name, and how "provider:name" is
 * read. A static table; pure.
 */
#ifndef AGENT_MODEL_SPEC_H
#define AGENT_MODEL_SPEC_H

#include "agent/base/status.h"

enum dialect {
	DIALECT_SHELL,  /* the prompt is a command */
	DIALECT_SCRIPT, /* recorded replies */
	DIALECT_OPENAI, /* and all that speak likewise */
	DIALECT_ANTHROPIC,
	DIALECT_NONE, /* known by name, not supported */
};

struct model_provider {
	const char *name;
	enum dialect dialect;
	const char *keys[2]; /* variables, the first set one wins; or none */
	bool key_optional;
	const char *url_variables[2];
	const char *base_url; /* NULL: must be given */
	const char *model;    /* default, or NULL: must be given */
};

struct model_spec {
	const struct model_provider *provider;
	const char *name; /* within the text that was read, or static */
};

/* Borrows `text`. INVALID, with some providers' names, if nothing known is
 * meant. Without a provider's name before the first colon the provider is
 * inferred from the model's. */
int model_spec_read(struct model_spec *spec, const char *text,
    struct status *st);

#endif
