/* `.sandagentfs/stats`: counters, for scripts. */
#include "agent/thread/internal.h"

void
threads_stats(struct threads *ts, struct buf *out)
{
	struct sandbox_counters remote;

	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "turns", atomic_load(&ts->turns) },
		{ "turns_running", atomic_load(&ts->turns_running) },
		{ "model_calls", atomic_load(&ts->model_calls) },
		{ "tool_calls", atomic_load(&ts->tool_calls) },
	};

	lock_acquire(&ts->lock);
	size_t count = ts->count;
	lock_release(&ts->lock);
	sandbox_counters(ts->settings.provider, &remote);
	buf_printf(out, "threads %zu\n", count);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		buf_printf(out, "%s %llu\n", rows[i].name,
		    (unsigned long long)rows[i].value);
	buf_printf(out, "control_requests %llu\ntoolbox_requests %llu\n",
	    (unsigned long long)remote.control,
	    (unsigned long long)remote.toolbox);
}
