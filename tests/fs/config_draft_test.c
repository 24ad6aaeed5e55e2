/* Edits of `config`: what is applied, and when (contract §6). */
#include "fs/config_draft.h"

#include <errno.h>

#include "tests/test.h"

#define A 11U
#define B 22U

static void
begin(struct config_draft *d, const char *old, bool append, bool truncated)
{
	config_draft_init(d, append, truncated);
	if (!truncated)
		buf_puts(&d->text, old);
}

static int
put(struct config_draft *d, uint64_t owner, const char *text, int64_t off)
{
	return config_draft_write(d, owner, text, strlen(text), off);
}

static void
a_redirection_replaces(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", false, true);
	assert_false(config_draft_flush(&d, A, false));
	assert_int_equal(put(&d, A, "b = 2\n", 0), 0);
	assert_false(config_draft_flush(&d, B, false));
	assert_true(config_draft_flush(&d, A, false));
	assert_string_equal(d.text.bytes, "b = 2\n");
	assert_false(config_draft_flush(&d, 0, true));
	config_draft_finish(&d);
}

static void
appending_adds(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", true, false);
	assert_int_equal(put(&d, A, "b = 2\n", 0), 0);
	assert_true(config_draft_flush(&d, A, false));
	assert_string_equal(d.text.bytes, "a = 1\nb = 2\n");
	config_draft_finish(&d);
}

static void
an_editor_writes_in_place(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", false, false);
	config_draft_truncate(&d, 0);
	assert_int_equal(put(&d, A, "c = 3\n", 0), 0);
	assert_true(config_draft_flush(&d, A, false));
	assert_string_equal(d.text.bytes, "c = 3\n");
	config_draft_finish(&d);
}

/* A refused line: the old file stays, also after O_TRUNC. */
static void
a_refusal_keeps_the_old(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", false, true);
	config_draft_flush(&d, A, false);
	put(&d, A, "zork\n", 0);
	config_draft_refuse(&d);
	assert_int_equal(put(&d, A, "b = 2\n", 5), -EINVAL);
	assert_false(config_draft_flush(&d, A, false));
	assert_false(config_draft_flush(&d, A, false));
	assert_false(config_draft_flush(&d, 0, true));
	config_draft_finish(&d);
}

/* The descriptor goes on: `exec 3>> config; echo bad >&3; echo good >&3`. */
static void
after_a_refusal_it_goes_on(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", true, false);
	put(&d, A, "b = 2\n", 0);
	put(&d, A, "zork\n", 0);
	config_draft_refuse(&d);
	assert_false(config_draft_flush(&d, A, false));
	assert_string_equal(d.text.bytes, "a = 1\n");
	assert_int_equal(put(&d, A, "c = 3\n", 0), 0);
	assert_true(config_draft_flush(&d, A, false));
	assert_string_equal(d.text.bytes, "a = 1\nc = 3\n");
	config_draft_finish(&d);
}

static void
emptying_waits_for_the_end(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", false, true);
	assert_false(config_draft_flush(&d, A, false));
	assert_true(config_draft_flush(&d, A, false));
	assert_int_equal(d.text.len, 0);
	config_draft_finish(&d);
	begin(&d, "a = 1\n", false, true);
	assert_false(config_draft_flush(&d, A, false));
	assert_true(config_draft_flush(&d, 0, true));
	config_draft_finish(&d);
}

static void
reading_changes_nothing(void **state)
{
	struct config_draft d;

	(void)state;
	begin(&d, "a = 1\n", false, false);
	assert_false(config_draft_flush(&d, A, false));
	assert_false(config_draft_flush(&d, 0, true));
	config_draft_finish(&d);
}

static void
bounds(void **state)
{
	struct config_draft d;
	char *big = xcalloc(1, CONFIG_MAX + 2);

	(void)state;
	memset(big, '#', CONFIG_MAX + 1);
	begin(&d, "a = 1\n", false, false);
	assert_int_equal(put(&d, A, "x", 7), -EINVAL);
	config_draft_finish(&d);
	begin(&d, "", false, true);
	assert_int_equal(put(&d, A, big, 0), -EFBIG);
	assert_false(config_draft_flush(&d, A, false));
	config_draft_finish(&d);
	free(big);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redirection_replaces),
		cmocka_unit_test(appending_adds),
		cmocka_unit_test(an_editor_writes_in_place),
		cmocka_unit_test(a_refusal_keeps_the_old),
		cmocka_unit_test(after_a_refusal_it_goes_on),
		cmocka_unit_test(emptying_waits_for_the_end),
		cmocka_unit_test(reading_changes_nothing),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
