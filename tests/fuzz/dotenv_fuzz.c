/* .env files and a thread's config: any bytes without NUL. */
#include "agent/config/dotenv.h"

#include "agent/config/thread_config.h"
#include "tests/fuzz/fuzz.h"

static const char *
outer(void *arg, const char *name)
{
	(void)arg;
	return *name == 'B' ? "value" : NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	auto_free char *text = xstrndup((const char *)input, len);
	struct thread_config config;
	struct dotenv d;
	struct status st;

	dotenv_parse(&d, text, strlen(text), outer, NULL);
	for (size_t i = 0; i < d.count; i++) {
		must(*d.names[i] && !strchr(d.names[i], '='));
		for (size_t k = 0; k < i; k++)
			must(strcmp(d.names[i], d.names[k]) != 0);
	}
	dotenv_finish(&d);
	thread_config_init(&config);
	if (thread_config_parse(&config, text, &st) < 0)
		must(st.code == STATUS_INVALID && *st.text);
	thread_config_finish(&config);
	return 0;
}
