/* The table of providers; see spec.h. */
#include "agent/model/spec.h"

#include <ctype.h>

#define NEMOTRON "nvidia/nemotron-3-ultra-550b-a55b"

static const struct model_provider providers[] = {
	{ "nvidia", DIALECT_OPENAI, { "NVIDIA_API_KEY" }, false,
	    { "NVIDIA_BASE_URL" }, "https://integrate.api.nvidia.com/v1",
	    NEMOTRON },
	{ "openai", DIALECT_OPENAI, { "OPENAI_API_KEY" }, false,
	    { "OPENAI_BASE_URL", "OPENAI_API_BASE" },
	    "https://api.openai.com/v1", NULL },
	{ "anthropic", DIALECT_ANTHROPIC, { "ANTHROPIC_API_KEY" }, false,
	    { "ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL" },
	    "https://api.anthropic.com", NULL },
	{ "ollama", DIALECT_OPENAI, { NULL }, false, { "OLLAMA_HOST" },
	    "http://localhost:11434/v1", NULL },
	{ "openrouter", DIALECT_OPENAI, { "OPENROUTER_API_KEY" }, false,
	    { "OPENROUTER_API_BASE" }, "https://openrouter.ai/api/v1", NULL },
	{ "groq", DIALECT_OPENAI, { "GROQ_API_KEY" }, false,
	    { "GROQ_BASE_URL", "GROQ_API_BASE" },
	    "https://api.groq.com/openai/v1", NULL },
	{ "deepseek", DIALECT_OPENAI, { "DEEPSEEK_API_KEY" }, false,
	    { "DEEPSEEK_API_BASE" }, "https://api.deepseek.com/v1", NULL },
	{ "mistralai", DIALECT_OPENAI, { "MISTRAL_API_KEY" }, false,
	    { "MISTRAL_BASE_URL" }, "https://api.mistral.ai/v1", NULL },
	{ "together", DIALECT_OPENAI, { "TOGETHER_API_KEY" }, false,
	    { "TOGETHER_API_BASE" }, "https://api.together.xyz/v1", NULL },
	{ "fireworks", DIALECT_OPENAI, { "FIREWORKS_API_KEY" }, false,
	    { "FIREWORKS_BASE_URL", "FIREWORKS_API_BASE" },
	    "https://api.fireworks.ai/inference/v1", NULL },
	{ "xai", DIALECT_OPENAI, { "XAI_API_KEY" }, false, { "XAI_API_BASE" },
	    "https://api.x.ai/v1", NULL },
	{ "perplexity", DIALECT_OPENAI, { "PPLX_API_KEY" }, false,
	    { "PERPLEXITY_BASE_URL" }, "https://api.perplexity.ai", NULL },
	{ "google_genai", DIALECT_OPENAI,
	    { "GOOGLE_API_KEY", "GEMINI_API_KEY" }, false,
	    { "GOOGLE_GEMINI_BASE_URL" },
	    "https://generativelanguage.googleapis.com/v1beta/openai", NULL },
	{ "cohere", DIALECT_OPENAI, { "COHERE_API_KEY" }, false,
	    { "CO_API_URL" }, "https://api.cohere.ai/compatibility/v1", NULL },
	{ "upstage", DIALECT_OPENAI, { "UPSTAGE_API_KEY" }, false, { NULL },
	    "https://api.upstage.ai/v1", NULL },
	{ "baseten", DIALECT_OPENAI, { "BASETEN_API_KEY" }, false,
	    { "BASETEN_BASE_URL", "BASETEN_API_BASE" },
	    "https://inference.baseten.co/v1", NULL },
	{ "huggingface", DIALECT_OPENAI, { "HUGGINGFACEHUB_API_TOKEN" }, false,
	    { "HF_INFERENCE_ENDPOINT" }, "https://router.huggingface.co/v1",
	    NULL },
	{ "litellm", DIALECT_OPENAI, { "LITELLM_API_KEY" }, true, { NULL },
	    "http://localhost:4000/v1", NULL },
	{ "openai_compatible", DIALECT_OPENAI, { "OPENAI_API_KEY" }, true,
	    { NULL }, NULL, NULL },
	{ "vllm", DIALECT_OPENAI, { "OPENAI_API_KEY" }, true, { NULL },
	    "http://localhost:8000/v1", NULL },
	{ "llamacpp", DIALECT_OPENAI, { "OPENAI_API_KEY" }, true, { NULL },
	    "http://localhost:8080/v1", NULL },
	{ "lmstudio", DIALECT_OPENAI, { "OPENAI_API_KEY" }, true, { NULL },
	    "http://localhost:1234/v1", NULL },
	{ "shell", DIALECT_SHELL, { NULL }, false, { NULL }, NULL, "" },
	{ "script", DIALECT_SCRIPT, { NULL }, false, { NULL }, NULL, NULL },
	{ "azure_openai", DIALECT_NONE, { "AZURE_OPENAI_API_KEY" }, false,
	    { "AZURE_OPENAI_ENDPOINT" }, NULL, NULL },
	{ "bedrock", DIALECT_NONE, { NULL }, false, { NULL }, NULL, NULL },
	{ "bedrock_converse", DIALECT_NONE, { NULL }, false, { NULL }, NULL,
	    NULL },
	{ "anthropic_bedrock", DIALECT_NONE, { NULL }, false, { NULL }, NULL,
	    NULL },
	{ "google_vertexai", DIALECT_NONE, { NULL }, false, { NULL }, NULL,
	    NULL },
	{ "google_anthropic_vertex", DIALECT_NONE, { NULL }, false, { NULL },
	    NULL, NULL },
	{ "ibm", DIALECT_NONE, { NULL }, false, { NULL }, NULL, NULL },
	{ "azure_ai", DIALECT_NONE, { NULL }, false, { NULL }, NULL, NULL },
};

/* What a model's name begins with tells whose it is. */
static const struct {
	const char *start, *provider;
} inferred[] = {
	{ "gpt-", "openai" },
	{ "o1", "openai" },
	{ "o3", "openai" },
	{ "chatgpt", "openai" },
	{ "text-davinci", "openai" },
	{ "claude", "anthropic" },
	{ "command", "cohere" },
	{ "accounts/fireworks", "fireworks" },
	{ "gemini", "google_genai" },
	{ "amazon.", "bedrock" },
	{ "anthropic.", "bedrock" },
	{ "meta.", "bedrock" },
	{ "mistral", "mistralai" },
	{ "mixtral", "mistralai" },
	{ "deepseek", "deepseek" },
	{ "grok", "xai" },
	{ "sonar", "perplexity" },
	{ "solar", "upstage" },
};

/* Upper case counts as lower, '-' as '_'. */
static const struct model_provider *
find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(providers); i++) {
		const char *known = providers[i].name;
		size_t n = 0;
		while (n < len && known[n] &&
		    (name[n] == '-'
			    ? known[n] == '_'
			    : tolower((unsigned char)name[n]) == known[n]))
			n++;
		if (n == len && !known[n])
			return &providers[i];
	}
	return NULL;
}

static const struct model_provider *
infer(const char *model)
{
	for (size_t i = 0; i < ARRAY_SIZE(inferred); i++)
		if (strncmp(model, inferred[i].start,
			strlen(inferred[i].start)) == 0)
			return find(inferred[i].provider,
			    strlen(inferred[i].provider));
	/* The default provider's names are all of the form owner/model. */
	if (strchr(model, '/') && !strchr(model, ':'))
		return &providers[0];
	return NULL;
}

static int
unknown(const char *text, size_t len, struct status *st)
{
	return status_set(st, STATUS_INVALID,
	    "unknown model provider \"%.*s\": use nvidia, openai, anthropic, "
	    "ollama, openrouter, groq, deepseek, mistralai, google_genai, "
	    "openai_compatible, vllm, shell, script or another known one",
	    (int)MIN(len, 40), text);
}

int
model_spec_read(struct model_spec *spec, const char *text, struct status *st)
{
	size_t len = strcspn(text, ":");
	const struct model_provider *p = find(text, len);

	spec->provider = p ? p : infer(text);
	if (!spec->provider)
		return unknown(text, len, st);
	spec->name = !p ? text : text[len] ? text + len + 1 : "";
	if (!*spec->name && spec->provider->model)
		spec->name = spec->provider->model;
	if (spec->provider->dialect == DIALECT_SHELL)
		return *spec->name ? status_set(st, STATUS_INVALID,
					 "model shell: takes no name")
				   : 0;
	if (!*spec->name)
		return status_set(st, STATUS_INVALID,
		    "model %s: has no name: write %s:%s", spec->provider->name,
		    spec->provider->name,
		    spec->provider->dialect == DIALECT_SCRIPT ? "FILE"
							      : "NAME");
	for (const char *c = spec->name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return status_set(st, STATUS_INVALID,
			    "the model's name has a control character");
	return 0;
}
