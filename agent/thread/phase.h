/* The phases of a thread, as `state` names them, and which follow which. Pure. */
#ifndef AGENT_THREAD_PHASE_H
#define AGENT_THREAD_PHASE_H

#include "agent/base/base.h"

enum phase {
	PHASE_IDLE,
	PHASE_RECEIVING, /* a prompt is being written */
	PHASE_QUEUED,
	PHASE_RUNNING,
	PHASE_APPROVAL, /* running, and it waits for a person */
	PHASE_FAILED,
	PHASE_CANCELLED,
	PHASE_INTERRUPTED,
	PHASE_COUNT,
};

/* The word in `state`. Static. */
const char *phase_word(enum phase phase);
/* May a thread go from one to the other? To itself: yes. */
bool phase_may_move(enum phase from, enum phase to);
/* A turn is being written, waits or runs. */
bool phase_is_busy(enum phase phase);

#endif
