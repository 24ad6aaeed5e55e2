/* The local server as a child, with stand-ins for its program. */
#include "agent/sandbox/local.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "tests/test.h"

static char dir[64], *program, *data;

/* A program of sh: $parent and $ready are its descriptors, $data, $socket. */
static void
write_program(const char *script)
{
	FILE *f = fopen(program, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nsocket=$2 data=$4 parent=$6 ready=$8\n%s\n",
	    script);
	fclose(f);
	assert_int_equal(chmod(program, 0755), 0);
}

static char *
read_text(const char *name)
{
	char *path = xasprintf("%s/%s", data, name);
	FILE *f = fopen(path, "r");
	char text[100000];
	size_t n;

	free(path);
	if (!f)
		return xstrdup("");
	n = fread(text, 1, sizeof text - 1, f);
	text[n] = '\0';
	fclose(f);
	return xstrdup(text);
}

#define SERVE                                                  \
	"env >\"$data/env\"; echo $$ >\"$data/pid\"; "         \
	"ls -l /proc/$$/fd >\"$data/fds\"; echo ok >&$ready; " \
	"exec 4>&-; cat <&$parent; echo over >\"$data/over\"\n"

static int
set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof dir, "/tmp/saf-local-XXXXXX");
	assert_non_null(mkdtemp(dir));
	program = xasprintf("%s/box", dir);
	data = xasprintf("%s/data", dir);
	return 0;
}

static int
tear_down(void **state)
{
	char *command = xasprintf("rm -rf '%s'", dir);
	int rc = system(command);

	(void)state;
	free(command);
	free(program);
	free(data);
	return rc;
}

static pid_t
child_pid(void)
{
	char *text = read_text("pid");
	pid_t pid = (pid_t)strtol(text, NULL, 10);

	free(text);
	return pid;
}

static void
started_once_and_ended(void **state)
{
	struct status st = { 0 };

	(void)state;
	write_program(SERVE);
	struct box *box = box_create(program, data);
	assert_false(box_running(box));
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	assert_true(box_running(box));
	pid_t pid = child_pid();
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	assert_int_equal(child_pid(), pid);
	char *socket = xasprintf("%s/sock", data);
	assert_string_equal(box_socket(box), socket);
	free(socket);
	/* a session of its own, nothing of ours but five descriptors */
	assert_int_equal(getsid(pid), pid);
	char *fds = read_text("fds");
	assert_non_null(strstr(fds, " 3 -> pipe"));
	assert_non_null(strstr(fds, " 4 -> pipe"));
	assert_null(strstr(fds, " 5 -> pipe"));
	free(fds);
	box_destroy(box);
	char *over = read_text("over");
	assert_string_equal(over, "over\n");
	free(over);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void
started_again(void **state)
{
	struct status st = { 0 };

	(void)state;
	write_program(SERVE);
	struct box *box = box_create(program, data);
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	pid_t pid = child_pid();
	assert_int_equal(kill(pid, SIGKILL), 0);
	for (int i = 0; i < 100 && box_running(box); i++)
		usleep(10000);
	assert_false(box_running(box));
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	assert_int_not_equal(child_pid(), pid);
	box_destroy(box);
}

static void
secrets_stay_here(void **state)
{
	struct status st = { 0 };

	(void)state;
	assert_int_equal(setenv("SAF_TEST_API_KEY", "s3cret", 1), 0);
	assert_int_equal(setenv("Saf_token_x", "s3cret", 1), 0);
	assert_int_equal(setenv("SAF_TEST_PLAIN", "shown", 1), 0);
	write_program(SERVE);
	struct box *box = box_create(program, data);
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	char *env = read_text("env");
	assert_null(strstr(env, "s3cret"));
	assert_non_null(strstr(env, "SAF_TEST_PLAIN=shown\n"));
	assert_non_null(strstr(env, "PATH="));
	free(env);
	box_destroy(box);
	unsetenv("SAF_TEST_API_KEY");
	unsetenv("Saf_token_x");
	unsetenv("SAF_TEST_PLAIN");
}

static enum status_code
start_fails(const char *words)
{
	struct status st = { 0 };
	struct box *box = box_create(program, data);

	assert_int_equal(box_ensure(box, NULL, &st), -1);
	if (!strstr(st.text, words))
		fail_msg("%s", st.text);
	assert_false(box_running(box));
	box_destroy(box);
	return st.code;
}

static void
why_it_did_not_start(void **state)
{
	(void)state;
	assert_int_equal(start_fails("No such file"), STATUS_NOT_FOUND);
	write_program("echo 'error: install bubblewrap' >&$ready");
	assert_int_equal(start_fails("install bubblewrap"), STATUS_UNAVAILABLE);
	write_program("exit 1");
	assert_int_equal(start_fails("did not start"), STATUS_UNAVAILABLE);
	write_program("head -c 1000 /dev/zero >&$ready");
	assert_int_equal(start_fails("did not start"), STATUS_UNAVAILABLE);
}

static void *
fire_later(void *arg)
{
	usleep(200000);
	cancel_fire(arg);
	return NULL;
}

static void
starting_can_be_cancelled(void **state)
{
	struct status st = { 0 };
	struct cancel *c = cancel_create(NULL);
	pthread_t t;

	(void)state;
	write_program("cat <&$parent");
	struct box *box = box_create(program, data);
	pthread_create(&t, NULL, fire_later, c);
	int64_t at = clock_mono_ms();
	assert_int_equal(box_ensure(box, c, &st), -1);
	pthread_join(t, NULL);
	assert_int_equal(st.code, STATUS_CANCELED);
	assert_true(clock_mono_ms() - at < 2000);
	cancel_put(c);
	box_destroy(box);
}

static void
long_directories(void **state)
{
	struct status st = { 0 };
	struct stat s;

	(void)state;
	free(data);
	data = xasprintf("%s/%0120d", dir, 7);
	write_program(SERVE);
	struct box *box = box_create(program, data);
	assert_int_equal(box_ensure(box, NULL, &st), 0);
	assert_true(strlen(box_socket(box)) < 108);
	char *parent = xstrndup(box_socket(box),
	    (size_t)(strrchr(box_socket(box), '/') - box_socket(box)));
	assert_int_equal(stat(parent, &s), 0);
	assert_int_equal(s.st_mode & 0777, 0700);
	box_destroy(box);
	assert_int_equal(stat(parent, &s), -1);
	free(parent);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(started_once_and_ended),
		T(started_again),
		T(secrets_stay_here),
		T(why_it_did_not_start),
		T(starting_can_be_cancelled),
		T(long_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
