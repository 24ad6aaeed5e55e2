/* The transcript file: whole entries, torn ends, removal. */
#include "agent/thread/transcript.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/test.h"

static char dir[] = "/tmp/transcript-XXXXXX";
static char path[64];

static int
setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/log", dir);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void
put_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void
has(struct transcript *t, const char *text)
{
	char out[256] = "";
	ssize_t n = transcript_read(t, out, sizeof out - 1, 0);

	assert_int_equal(n, strlen(text));
	assert_string_equal(out, text);
	assert_int_equal(transcript_size(t), strlen(text));
}

static void
test_append(void **state)
{
	struct status st = { 0 };
	bool missing;

	(void)state;
	unlink(path);
	struct transcript *t = transcript_create(path, &missing);
	assert_true(missing);
	has(t, "");
	assert_int_equal(transcript_append(t, "one\n", 4, &st), 0);
	assert_int_equal(transcript_append(t, "two\n", 4, &st), 0);
	has(t, "one\ntwo\n");
	char out[8] = "";
	assert_int_equal(transcript_read(t, out, 3, 4), 3);
	assert_string_equal(out, "two");
	assert_int_equal(transcript_read(t, out, 3, 8), 0);
	assert_int_equal(transcript_read(t, out, 3, 100), 0);
	transcript_destroy(t);
	t = transcript_create(path, &missing);
	assert_false(missing);
	has(t, "one\ntwo\n");
	transcript_destroy(t);
	transcript_destroy(NULL);
}

/* What a crash left behind the last line end is never shown. */
static void
test_torn(void **state)
{
	struct status st = { 0 };
	struct stat attr;
	bool missing;

	(void)state;
	put_file("whole\nhalf of a very long entry");
	struct transcript *t = transcript_create(path, &missing);
	has(t, "whole\n");
	assert_int_equal(transcript_append(t, "x\n", 2, &st), 0);
	has(t, "whole\nx\n");
	assert_int_equal(stat(path, &attr), 0);
	assert_int_equal(attr.st_size, 8);
	transcript_destroy(t);
	put_file("no line end at all");
	t = transcript_create(path, &missing);
	has(t, "");
	transcript_destroy(t);
}

static void
test_find_last(void **state)
{
	static const char *const ends[] = { "=== turn ", "[turn] done" };
	char line[64];
	bool missing;

	(void)state;
	put_file("=== turn 1 ===\n[turn] done in 1 s\n=== turn 2 ===\n"
		 "[user] x\n    [turn] done is what they wrote\n");
	struct transcript *t = transcript_create(path, &missing);
	transcript_find_last(t, ends, 2, line, sizeof line);
	assert_string_equal(line, "=== turn 2 ===");
	transcript_find_last(t, ends + 1, 1, line, sizeof line);
	assert_string_equal(line, "[turn] done in 1 s");
	transcript_find_last(t, ends, 0, line, sizeof line);
	assert_string_equal(line, "");
	transcript_destroy(t);
}

static void
test_removed(void **state)
{
	struct status st = { 0 };
	bool missing;

	(void)state;
	put_file("x\n");
	struct transcript *t = transcript_create(path, &missing);
	transcript_remove(t);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(transcript_append(t, "late\n", 5, &st), 0);
	assert_int_equal(access(path, F_OK), -1);
	has(t, "");
	transcript_destroy(t);
}

/* A failed append takes nothing with it. */
static void
test_refused(void **state)
{
	struct status st = { 0 };
	bool missing;

	(void)state;
	put_file("kept\n");
	struct transcript *t = transcript_create(path, &missing);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(transcript_append(t, "x\n", 2, &st), -1);
	assert_int_not_equal(st.code, STATUS_OK);
	assert_int_equal(transcript_size(t), 5);
	rmdir(path);
	transcript_destroy(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_find_last),
		cmocka_unit_test(test_removed),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
