/* Phases: words, and which follow which. */
#include "agent/thread/phase.h"

#include "tests/test.h"

static void
test_words(void **state)
{
	static const char *const words[] = { "idle", "receiving", "queued",
		"running", "approval", "failed", "cancelled", "interrupted" };

	(void)state;
	assert_int_equal(ARRAY_SIZE(words), PHASE_COUNT);
	for (int p = 0; p < PHASE_COUNT; p++)
		assert_string_equal(phase_word((enum phase)p), words[p]);
}

static void
test_moves(void **state)
{
	(void)state;
	for (int p = 0; p < PHASE_COUNT; p++) {
		bool outcome = p == PHASE_IDLE || p >= PHASE_FAILED;
		assert_true(phase_may_move((enum phase)p, (enum phase)p));
		/* A turn ends as something, from wherever it ran. */
		assert_int_equal(phase_may_move(PHASE_RUNNING, (enum phase)p),
		    true);
		if (outcome)
			assert_true(
			    phase_may_move((enum phase)p, PHASE_RECEIVING));
		/* Only what runs can ask, and only what began can end. */
		if (p != PHASE_RUNNING && p != PHASE_APPROVAL)
			assert_false(
			    phase_may_move((enum phase)p, PHASE_APPROVAL));
	}
	assert_false(phase_may_move(PHASE_IDLE, PHASE_FAILED));
	assert_false(phase_may_move(PHASE_FAILED, PHASE_IDLE));
	assert_false(phase_may_move(PHASE_QUEUED, PHASE_IDLE));
	assert_true(phase_may_move(PHASE_QUEUED, PHASE_CANCELLED));
}

static void
test_busy(void **state)
{
	(void)state;
	for (int p = 0; p < PHASE_COUNT; p++)
		assert_int_equal(phase_is_busy((enum phase)p),
		    p >= PHASE_RECEIVING && p <= PHASE_APPROVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
