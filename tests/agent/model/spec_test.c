/* "provider:name" and the table of providers. */
#include "agent/model/spec.h"

#include "agent/model/model.h"
#include "tests/test.h"

static void
test_full(void **state)
{
	static const char *const rows[][2] = {
		{ "nvidia", "nvidia:nvidia/nemotron-3-ultra-550b-a55b" },
		{ "nvidia:", "nvidia:nvidia/nemotron-3-ultra-550b-a55b" },
		{ "nvidia:nvidia/nemotron-3-ultra-550b-a55b",
		    "nvidia:nvidia/nemotron-3-ultra-550b-a55b" },
		{ "ollama:llama3.1:8b", "ollama:llama3.1:8b" },
		{ "OpenAI:gpt-5", "openai:gpt-5" },
		{ "google-genai:gemini-3", "google_genai:gemini-3" },
		{ "claude-x", "anthropic:claude-x" },
		{ "gpt-5", "openai:gpt-5" },
		{ "gemini-3", "google_genai:gemini-3" },
		{ "mistral-large", "mistralai:mistral-large" },
		{ "meta/llama-3.1", "nvidia:meta/llama-3.1" },
		{ "shell", "shell:" },
		{ "shell:", "shell:" },
		{ "script:/a:b", "script:/a:b" },
		/* Unknown or malformed. */
		{ "llama3.1:8b", NULL },
		{ "nosuch:thing", NULL },
		{ "nosuch", NULL },
		{ "nosuch:owner/model", NULL },
		{ "", NULL },
		{ ":", NULL },
		{ "openai", NULL },
		{ "openai:", NULL },
		{ "script:", NULL },
		{ "shell:ls", NULL },
		{ "openai:a\nb", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_free char *full = model_full_spec(rows[i][0]);
		if (!rows[i][1])
			assert_null(full);
		else
			assert_string_equal(full, rows[i][1]);
	}
}

static void
test_words(void **state)
{
	struct model_spec spec;
	struct status st;

	(void)state;
	assert_int_equal(model_spec_read(&spec, "nosuch:x", &st), -1);
	assert_int_equal(st.code, STATUS_INVALID);
	assert_non_null(strstr(st.text,
	    "unknown model provider \"nosuch\": use nvidia, openai, "));
	assert_non_null(strstr(st.text, "another known one"));
	assert_int_equal(model_spec_read(&spec, "groq", &st), -1);
	assert_non_null(strstr(st.text, "write groq:NAME"));
	assert_int_equal(model_spec_read(&spec, "script", &st), -1);
	assert_non_null(strstr(st.text, "write script:FILE"));
}

static void
test_keys(void **state)
{
	(void)state;
	assert_string_equal(model_key_name("nvidia:x"), "NVIDIA_API_KEY");
	assert_string_equal(model_key_name("perplexity:x"), "PPLX_API_KEY");
	assert_string_equal(model_key_name("huggingface:x"),
	    "HUGGINGFACEHUB_API_TOKEN");
	assert_null(model_key_name("ollama:x"));
	assert_null(model_key_name("shell:"));
	assert_null(model_key_name("nosuch:x"));
}

static bool
has_key(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "NVIDIA_API_KEY") == 0 ||
	    strcmp(name, "GEMINI_API_KEY") == 0;
}

static void
test_check(void **state)
{
	struct status st = { 0 };

	(void)state;
	assert_int_equal(model_check("shell:", NULL, NULL, &st), MODEL_OK);
	assert_int_equal(model_check("nosuch:x", NULL, NULL, &st),
	    MODEL_UNKNOWN);
	assert_int_equal(model_check("nvidia", NULL, NULL, &st),
	    MODEL_NEEDS_KEY);
	assert_int_equal(st.code, STATUS_DENIED);
	assert_non_null(strstr(st.text, "set NVIDIA_API_KEY"));
	assert_int_equal(model_check("nvidia", has_key, NULL, &st), MODEL_OK);
	/* The second name serves, too. */
	assert_int_equal(model_check("google_genai:x", has_key, NULL, &st),
	    MODEL_OK);
	assert_int_equal(model_check("openai:x", has_key, NULL, &st),
	    MODEL_NEEDS_KEY);
	assert_int_equal(model_check("vllm:x", has_key, NULL, &st), MODEL_OK);
	assert_int_equal(model_check("ollama:x", has_key, NULL, &st), MODEL_OK);
	assert_int_equal(model_check("bedrock:x", NULL, NULL, &st),
	    MODEL_NOT_YET);
	assert_int_equal(model_check("script:/no/such", NULL, NULL, &st),
	    MODEL_BAD_FILE);
	assert_non_null(strstr(st.text, "/no/such"));
	assert_int_equal(model_check("script:a.jsonl", NULL, NULL, &st),
	    MODEL_BAD_FILE);
	assert_non_null(strstr(st.text, "give the whole path"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
