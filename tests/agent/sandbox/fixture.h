/*
 * A provider over a real sandagentfs-box, the one beside this test's build,
 * with its data in a temporary directory. Where there is
 * no box or it cannot make sandboxes the tests are skipped, with the reason.
 */
#ifndef TESTS_AGENT_SANDBOX_FIXTURE_H
#define TESTS_AGENT_SANDBOX_FIXTURE_H

#include <limits.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/sandbox/sandbox.h"
#include "tests/test.h"

struct fixture {
	char dir[64];
	char *box;
	void (*prepare)(void); /* set before: may replace fx.box */
	struct provider *provider;
	struct sandbox *sb;
	char events[64][400];
	unsigned event_count;
};

static struct fixture fx;

static void
fixture_event(void *arg, const char *line)
{
	struct fixture *f = arg;

	if (f->event_count < ARRAY_SIZE(f->events))
		snprintf(f->events[f->event_count++], sizeof f->events[0], "%s",
		    line);
}

static __attribute__((unused)) bool
fixture_said(const char *start)
{
	for (unsigned i = 0; i < fx.event_count; i++)
		if (strncmp(fx.events[i], start, strlen(start)) == 0)
			return true;
	return false;
}

static struct provider *
fixture_provider(void)
{
	struct provider_settings s = { .local = true,
		.box_program = fx.box,
		.box_dir = fx.dir,
		.owner = "store-1" };

	return provider_create(&s);
}

static struct sandbox *
fixture_sandbox(struct provider *p, const char *name)
{
	struct sandbox_options o = { 0 };
	struct sandbox *sb = sandbox_create(p, name, &o);

	sandbox_on_event(sb, fixture_event, &fx);
	return sb;
}

/* Group set-up: a running sandbox fx.sb, or exit status 0 with a reason. */
static __attribute__((unused)) int
fixture_start(void **state)
{
	char self[PATH_MAX];
	struct status st = { 0 };
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(self, '/') = '\0';
	fx.box = xasprintf("%s/sandagentfs-box", self);
	if (access(fx.box, X_OK) != 0) {
		printf("SKIPPED: %s is not built\n", fx.box);
		exit(0);
	}
	snprintf(fx.dir, sizeof fx.dir, "/tmp/sandagentfs-test-XXXXXX");
	assert_non_null(mkdtemp(fx.dir));
	assert_int_equal(chmod(fx.dir, 0755), 0);
	if (fx.prepare)
		fx.prepare();
	fx.provider = fixture_provider();
	fx.sb = fixture_sandbox(fx.provider, "thread-test");
	if (sandbox_ready(fx.sb, SANDBOX_CREATE, NULL, &st) < 0) {
		printf("SKIPPED: no sandbox here: %s\n", st.text);
		exit(0);
	}
	return 0;
}

static __attribute__((unused)) int
fixture_end(void **state)
{
	(void)state;
	sandbox_destroy(fx.sb);
	provider_destroy(fx.provider);
	free(fx.box);
	char *command =
	    xasprintf("chmod -R u+rwX '%s'; rm -rf '%s'", fx.dir, fx.dir);
	int rc = system(command);
	free(command);
	return rc;
}

/* The output of a script that must succeed; in a static buffer. */
static __attribute__((unused)) const char *
run(const char *script)
{
	static char text[65536];
	auto_buf out = BUF_INIT(sizeof text - 1);
	struct status st = { 0 };
	int code = -1;

	if (sandbox_script(fx.sb, SANDBOX_START, script, strlen(script), &out,
		&code, NULL, &st) < 0)
		fail_msg("%s: %s", script, st.text);
	if (code != 0)
		fail_msg("%s: exit code %d: %s", script, code, out.bytes);
	memcpy(text, out.bytes, out.len + 1);
	return text;
}

#endif
