/*
 * Which requests make which prompts (contract §2): each row of the idioms as
 * the kernel sends them, then the refusals.
 */
#include "fs/prompt_draft.h"

#include <errno.h>

#include "agent/thread/thread.h"
#include "tests/test.h"

#define A 11U /* who opened */
#define B 22U /* a child */

/* What the draft under test has sent so far, prompts parted by '|'. */
struct sent {
	struct prompt_draft draft;
	struct buf all;
	int err;
};

static void
begin(struct sent *s, bool append)
{
	prompt_draft_init(&s->draft, append);
	buf_init(&s->all, 1 << 22);
	s->err = 0;
}

static void
end(struct sent *s)
{
	prompt_draft_finish(&s->draft);
	buf_finish(&s->all);
}

static int
put(struct sent *s, uint64_t owner, const char *text, int64_t off)
{
	struct status st = { 0 };

	return prompt_draft_write(&s->draft, owner, text, strlen(text), off,
	    &st);
}

static void
commit(struct sent *s, enum prompt_flush what)
{
	struct buf text;

	if (what != PROMPT_FLUSH_COMMIT)
		return;
	prompt_draft_take(&s->draft, &text);
	buf_add(&s->all, text.bytes, text.len);
	buf_putc(&s->all, '|');
	buf_finish(&text);
}

static enum prompt_flush
flush(struct sent *s, uint64_t owner)
{
	struct status st = { 0 };
	enum prompt_flush what =
	    prompt_draft_flush(&s->draft, owner, &s->err, &st);

	commit(s, what);
	return what;
}

static void
release(struct sent *s)
{
	struct status st = { 0 };

	commit(s, prompt_draft_release(&s->draft, &s->err, &st));
}

static void
a_redirection_is_one(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_NOTHING);
	assert_int_equal(put(&s, A, "l1\n", 0), 0);
	assert_int_equal(put(&s, A, "l2\n", 3), 0);
	flush(&s, A);
	release(&s);
	assert_string_equal(s.all.bytes, "l1\nl2\n|");
	end(&s);
}

static void
a_child_neither_cuts_nor_holds(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	flush(&s, A);
	put(&s, A, "a\n", 0);
	put(&s, B, "date\n", 2);
	assert_int_equal(flush(&s, B), PROMPT_FLUSH_NOTHING);
	put(&s, A, "b\n", 7);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "a\ndate\nb\n|");
	flush(&s, B);
	release(&s);
	assert_string_equal(s.all.bytes, "a\ndate\nb\n|");
	end(&s);
}

static void
two_commands_are_two(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	put(&s, A, "one\n", 0);
	flush(&s, A);
	/* The kernel's offset goes on: a new base. */
	put(&s, A, "two\n", 4);
	flush(&s, A);
	flush(&s, A);
	release(&s);
	assert_string_equal(s.all.bytes, "one\n|two\n|");
	end(&s);
}

static void
release_sweeps_up(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	put(&s, A, "a", 0);
	flush(&s, A);
	put(&s, B, "late", 1);
	flush(&s, B);
	release(&s);
	assert_string_equal(s.all.bytes, "a|late|");
	end(&s);
}

static void
nothing_written_is_nothing(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	assert_int_equal(put(&s, A, "", 0), 0);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_NOTHING);
	release(&s);
	assert_int_equal(s.all.len, 0);
	end(&s);
}

static void
appends_whatever_the_offset(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, true);
	put(&s, A, "a", 100);
	put(&s, A, "b", 7);
	put(&s, A, "c", 0);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "abc|");
	end(&s);
}

static void
offsets_are_relative(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	assert_int_equal(put(&s, A, "hello", 50), 0);
	assert_int_equal(put(&s, A, "J", 50), 0);
	assert_int_equal(put(&s, A, "y!", 54), 0);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "Jelly!|");
	end(&s);
}

static void
gaps_spoil_it(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	put(&s, A, "hello", 50);
	assert_int_equal(put(&s, A, "x", 56), -EINVAL);
	assert_int_equal(put(&s, A, "!", 55), -EINVAL);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_REFUSED);
	assert_int_equal(put(&s, A, "again", 56), 0);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "again|");
	assert_int_equal(put(&s, A, "b", 60), 0);
	assert_int_equal(put(&s, A, "below", 59), -EINVAL);
	end(&s);
}

static void
truncation_cuts_unsent_text(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	prompt_draft_truncate(&s.draft, 0); /* an editor, before its WRITE */
	put(&s, A, "hello", 50);
	prompt_draft_truncate(&s.draft, 55); /* rsync --inplace */
	prompt_draft_truncate(&s.draft, 60);
	prompt_draft_truncate(&s.draft, 52);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "he|");
	put(&s, A, "gone", 52);
	prompt_draft_truncate(&s.draft, 52);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_NOTHING);
	put(&s, A, "anywhere", 3);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "he|anywhere|");
	end(&s);
}

static void
characters_may_come_in_pieces(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	assert_int_equal(put(&s, A, "\xf0\x9f", 0), 0);
	assert_int_equal(put(&s, A, "\x98", 2), 0);
	assert_int_equal(put(&s, A, "\x80", 3), 0);
	flush(&s, A);
	assert_string_equal(s.all.bytes, "\xf0\x9f\x98\x80|");
	assert_int_equal(put(&s, A, "\xe2\x82", 4), 0);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_REFUSED);
	assert_int_equal(s.err, -EILSEQ);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_NOTHING);
	assert_int_equal(put(&s, A, "ok \xff", 0), -EILSEQ);
	release(&s);
	assert_string_equal(s.all.bytes, "\xf0\x9f\x98\x80|");
	end(&s);
}

static void
overwriting_is_checked(void **state)
{
	struct sent s;

	(void)state;
	begin(&s, false);
	put(&s, A, "a\xe2\x82\xac z", 0);
	assert_int_equal(put(&s, A, "b", 0), 0);
	assert_int_equal(put(&s, A, "\xe2\x82\xad", 1), 0);
	assert_int_equal(put(&s, A, "x", 2), -EILSEQ);
	end(&s);
}

static void
nul_is_refused(void **state)
{
	struct sent s;
	struct status st = { 0 };

	(void)state;
	begin(&s, false);
	assert_int_equal(prompt_draft_write(&s.draft, A, "a\0b", 3, 0, &st),
	    -EILSEQ);
	assert_int_not_equal(st.text[0], '\0');
	end(&s);
}

static void
one_mebibyte_and_no_more(void **state)
{
	struct sent s;
	struct status st = { 0 };
	char *piece = xcalloc(1, 65536);

	(void)state;
	memset(piece, 'x', 65536);
	begin(&s, false);
	for (int64_t off = 0; off < THREAD_PROMPT_MAX; off += 65536)
		assert_int_equal(prompt_draft_write(&s.draft, A, piece, 65536,
				     off, &st),
		    0);
	flush(&s, A);
	assert_int_equal(s.all.len, THREAD_PROMPT_MAX + 1);
	for (int64_t off = 0; off < THREAD_PROMPT_MAX; off += 65536)
		prompt_draft_write(&s.draft, A, piece, 65536, off, &st);
	assert_int_equal(put(&s, A, "x", THREAD_PROMPT_MAX), -EFBIG);
	/* Half of it is not what was meant; the WRITE has told. */
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_REFUSED);
	assert_int_equal(s.err, 0);
	assert_int_equal(flush(&s, A), PROMPT_FLUSH_NOTHING);
	assert_int_equal(s.all.len, THREAD_PROMPT_MAX + 1);
	free(piece);
	end(&s);
}

static void
killed_tasks_are_told_apart(void **state)
{
	(void)state;
	assert_true(prompt_killed("12 (cat) Z 1 12 12 0 -1 4195340 0 0"));
	assert_false(prompt_killed("12 (cat) R 1 12 12 0 -1 4194316 0 0"));
	/* A name may look like fields. */
	assert_false(
	    prompt_killed("12 (a) R 1 1 1 0 -1 1024 0) R 1 12 12 0 -1 0 0"));
	assert_false(prompt_killed(""));
	assert_false(prompt_killed("12 (cat) Z 1 12"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_redirection_is_one),
		cmocka_unit_test(a_child_neither_cuts_nor_holds),
		cmocka_unit_test(two_commands_are_two),
		cmocka_unit_test(release_sweeps_up),
		cmocka_unit_test(nothing_written_is_nothing),
		cmocka_unit_test(appends_whatever_the_offset),
		cmocka_unit_test(offsets_are_relative),
		cmocka_unit_test(gaps_spoil_it),
		cmocka_unit_test(truncation_cuts_unsent_text),
		cmocka_unit_test(characters_may_come_in_pieces),
		cmocka_unit_test(overwriting_is_checked),
		cmocka_unit_test(nul_is_refused),
		cmocka_unit_test(one_mebibyte_and_no_more),
		cmocka_unit_test(killed_tasks_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
