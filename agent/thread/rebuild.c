/* The transcript as a rendering of the store; see internal.h. Pure. */
#include "agent/thread/internal.h"

void
rebuild_message(struct buf *out, const struct message *m, int64_t ms)
{
	switch (m->type) {
	case MESSAGE_HUMAN:
		entry_add(out, "user", m->content, strlen(m->content));
		return;
	case MESSAGE_TOOL:
		entry_result(out, m, ms);
		return;
	case MESSAGE_SYSTEM:
		return;
	case MESSAGE_AI:
		break;
	}
	if (*m->content) {
		auto_buf text = BUF_INIT(strlen(m->content) + 4);
		buf_printf(&text, "AI: %s", m->content);
		entry_add(out, "agent", text.bytes, text.len);
	}
	for (size_t i = 0; i < m->call_count; i++)
		entry_call(out, &m->calls[i]);
}

void
rebuild_end(struct buf *out, const struct stored_turn *turn)
{
	bool ran = turn->started_ms > 0 && turn->ended_ms >= turn->started_ms;
	struct tally tally = {
		.ms = ran ? turn->ended_ms - turn->started_ms : -1,
		.model_calls = turn->model_calls,
		.tool_calls = turn->tool_calls,
		.usage = turn->usage,
	};

	switch (turn->phase) {
	case TURN_QUEUED:
	case TURN_RUNNING:
		return;
	case TURN_DONE:
		entry_end(out, "done in", &tally, NULL);
		return;
	case TURN_FAILED:
		entry_end(out, "failed after", &tally, turn->error_text);
		return;
	case TURN_CANCELED:
		entry_end(out, "cancelled after", &tally, NULL);
		return;
	case TURN_INTERRUPTED:
		/* When it ended is not known: only when it was noticed. */
		tally.ms = -1;
		entry_end(out, "interrupted", &tally,
		    "sandagentfs ended in the middle of it");
		return;
	}
}

void
rebuild_turn(struct buf *out, const struct stored_turn *turn,
    const struct message *messages, size_t count)
{
	if (turn->started_ms > 0)
		entry_header(out, turn->turn, turn->started_ms, turn->model);
	for (size_t i = 0; i < count; i++)
		if (messages[i].turn == turn->turn)
			rebuild_message(out, &messages[i], -1);
	rebuild_end(out, turn);
}
