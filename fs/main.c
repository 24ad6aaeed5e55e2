/* sandagentfs: arguments, and what to say when something fails. */
#include "agent/model/model.h"
#include "fs/server.h"
#include "fs/version.h"

static int
fail(const struct status *st)
{
	fprintf(stderr, "sandagentfs: %s\n", st->text);
	return 1;
}

static int
print_version(void)
{
	auto_buf text = BUF_INIT(65536);

	version_text(&text);
	fputs(text.bytes, stdout);
	return fflush(stdout) == 0 ? 0 : 1;
}

static bool
have_key(void *arg, const char *name)
{
	return settings_env(arg, name) != NULL;
}

/* A missing key is said where the prompt is refused; a provider that nobody
 * knows, or a script that cannot be read, now. */
static int
check_model(struct settings *s, struct status *st)
{
	switch (model_check(s->model, have_key, s, st)) {
	case MODEL_OK:
	case MODEL_NOT_YET:
	case MODEL_NEEDS_KEY:
		return 0;
	case MODEL_UNKNOWN:
	case MODEL_BAD_FILE:
		return -1;
	}
	return -1;
}

static int
run(struct settings *s)
{
	struct status st = { 0 };

	if (s->help) {
		fputs(settings_usage(), stdout);
		return fflush(stdout) == 0 ? 0 : 1;
	}
	if (s->version)
		return print_version();
	if (check_model(s, &st) < 0 || server_run(s, &st) < 0)
		return fail(&st);
	return 0;
}

/* A command word, whose options are its own. */
static int
refuse_command(int argc, char **argv)
{
	const char *word = argv[argc - 1];

	for (int i = argc - 1; i > 0; i--)
		if (argv[i][0] != '-')
			word = argv[i];
	fprintf(stderr, "sandagentfs: %s: not available in this version\n",
	    word);
	return 1;
}

int
main(int argc, char **argv)
{
	struct settings s;
	struct status st = { 0 };
	int rc;

	if (argc < 2) {
		fputs(settings_usage(), stderr);
		return 1;
	}
	if (settings_load(&s, argc, argv, &st) < 0)
		rc = fail(&st);
	else if (!s.mountpoint && !s.help && !s.version)
		rc = refuse_command(argc, argv);
	else
		rc = run(&s);
	settings_finish(&s);
	return rc;
}
