/* Diagnostics: levels, escaping, two bounded files; fault points. */
#include "agent/base/diag.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/base/fault.h"
#include "tests/test.h"

static off_t
size_of(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 ? sb.st_size : -1;
}

static void
test_files(void **state)
{
	char dir[] = "/tmp/diag-test-XXXXXX", text[8192] = "";

	(void)state;
	assert_non_null(mkdtemp(dir));
	auto_free char *path = xasprintf("%s/diag", dir);
	auto_free char *old = xasprintf("%s/diag.1", dir);
	assert_int_equal(diag_open(path, DIAG_INFO, false), 0);
	diag_debug("not seen");
	diag_info("thread %d: %s", 7, "a\nb\x1b[2J");
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof text, f));
	assert_non_null(strstr(text, "Z info  thread 7: a\\nb\\x1b[2J\n"));
	assert_null(fgets(text, sizeof text, f));
	fclose(f);
	memset(text, 'x', 900);
	text[900] = '\0';
	for (int i = 0; i < 2500; i++)
		diag_warn("%s", text);
	assert_true(size_of(path) > 0 && size_of(path) <= 1 << 20);
	assert_true(size_of(old) > 1 << 19 && size_of(old) <= 1 << 20);
	diag_close();
	assert_int_equal(remove(path) + remove(old) + rmdir(dir), 0);
}

static void
test_levels(void **state)
{
	enum diag_level level = DIAG_ERROR;

	(void)state;
	assert_int_equal(diag_level_parse("debug", &level), 0);
	assert_int_equal(level, DIAG_DEBUG);
	assert_int_equal(diag_level_parse("loud", &level), -1);
}

/* Exit status of a child that visits point "b" three times, point "a" once. */
static int
visit(const char *fault)
{
	pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0) {
		setenv("FAULT", fault, 1);
		fault_point("a");
		for (int i = 0; i < 3; i++)
			fault_point("b");
		_exit(5);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void
test_fault_points(void **state)
{
	(void)state;
	assert_int_equal(visit("b:3"), -SIGKILL);
	assert_int_equal(visit("a:1"), -SIGKILL);
	assert_int_equal(visit("b:4"), 5);
	assert_int_equal(visit("a:2"), 5);
	assert_int_equal(visit("c:1"), 5);
	assert_int_equal(visit("b"), 5);
	assert_int_equal(visit(""), 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_fault_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
