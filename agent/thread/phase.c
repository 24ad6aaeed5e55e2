/* Phases; see phase.h. */
#include "agent/thread/phase.h"

#define IS(phase) (1U << (phase))

/* How a turn can have ended. */
#define OUTCOMES                                                   \
	(IS(PHASE_IDLE) | IS(PHASE_FAILED) | IS(PHASE_CANCELLED) | \
	    IS(PHASE_INTERRUPTED))
#define WAITING (IS(PHASE_RECEIVING) | IS(PHASE_QUEUED))

static const struct {
	const char *word;
	unsigned next; /* a set */
} phases[PHASE_COUNT] = {
	[PHASE_IDLE] = { "idle", WAITING | IS(PHASE_RUNNING) },
	/* Given up: back to the last outcome. */
	[PHASE_RECEIVING] = { "receiving",
	    OUTCOMES | IS(PHASE_QUEUED) | IS(PHASE_RUNNING) },
	/* Cancelled before it began, or the place was full: a later prompt is
	 * still being written. */
	[PHASE_QUEUED] = { "queued",
	    IS(PHASE_RUNNING) | IS(PHASE_RECEIVING) | IS(PHASE_CANCELLED) |
		IS(PHASE_FAILED) },
	[PHASE_RUNNING] = { "running",
	    OUTCOMES | WAITING | IS(PHASE_APPROVAL) },
	[PHASE_APPROVAL] = { "approval",
	    OUTCOMES | WAITING | IS(PHASE_RUNNING) },
	[PHASE_FAILED] = { "failed", WAITING | IS(PHASE_RUNNING) },
	[PHASE_CANCELLED] = { "cancelled", WAITING | IS(PHASE_RUNNING) },
	[PHASE_INTERRUPTED] = { "interrupted", WAITING | IS(PHASE_RUNNING) },
};

const char *
phase_word(enum phase phase)
{
	return phases[phase].word;
}

bool
phase_may_move(enum phase from, enum phase to)
{
	return from == to || (phases[from].next & IS(to));
}

bool
phase_is_busy(enum phase phase)
{
	return phase == PHASE_RECEIVING || phase == PHASE_QUEUED ||
	    phase == PHASE_RUNNING || phase == PHASE_APPROVAL;
}
