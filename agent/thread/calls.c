/*
 * The tool calls of one message. What only reads runs beside its like; what
 * writes or commands runs alone and in call order. Every call gets exactly one
 * result, whatever happens, and results are stored as their group ends: a crash
 * in the second command does not take the first one's result with it.
 */
#include "agent/base/clock.h"
#include "agent/base/fault.h"
#include "agent/thread/internal.h"
#include "agent/tools/tool.h"

/* Reads of one message that run at the same time. */
#define READERS 8

struct job {
	const struct run *run;
	const struct tool_call *call; /* borrows */
	struct message result;
	int64_t ms;
};

void
call_result(const struct run *r, struct message *out,
    const struct tool_call *call, const char *text)
{
	run_message(r, out, MESSAGE_TOOL);
	free(out->content);
	out->content = xstrdup(text);
	out->tool_call_id = xstrdup(call->id);
	out->name = xstrdup(call->name);
	out->failed = true;
}

static bool
reads_only(const struct tool_call *call)
{
	const struct tool *tool = tool_find(call->name);

	/* What does not run at all disturbs nobody. */
	return call->invalid || !tool || tool->reads_only;
}

/* What a person and the model must know about a call that did not end as
 * usual. */
static const char *
remark(const struct run *r, const struct tool_result *res)
{
	if (res->canceled)
		return atomic_load(&r->thread->threads->stopping)
		    ? "[interrupted: the mount ended while this ran; above is "
		      "what there was]"
		    : "[cancelled while this ran; above is what there was]";
	if (res->unknown)
		return "[whether this took effect is not known; it was not run "
		       "again]";
	return NULL;
}

static void
take_result(struct job *j, struct tool_result *res)
{
	const struct secrets *s = &j->run->thread->threads->secrets;
	const char *note = remark(j->run, res);
	auto_buf text = BUF_INIT((size_t)4 * TOOL_RESULT_MAX);

	secrets_mask(s, &text, res->text.bytes, res->text.len);
	if (note)
		buf_printf(&text, "%s%s",
		    text.len == 0 || text.bytes[text.len - 1] == '\n' ? ""
								      : "\n",
		    note);
	call_result(j->run, &j->result, j->call, text.bytes);
	j->result.failed = res->failed || res->canceled || res->unknown;
	j->result.exit_code = res->exit_code;
	j->result.blocks = take(res->blocks);
	secrets_mask_string(s, &j->result.blocks);
}

static void
execute(struct job *j)
{
	const struct run *r = j->run;
	struct thread *t = r->thread;
	auto_free char *id = message_new_id();
	struct live live;
	struct tool_result res = { 0 };
	struct tool_context ctx = { .mirror = thread_mirror(t),
		.sandbox = thread_sandbox(t),
		.cancel = r->turn->cancel,
		.call_id = id,
		.live = live_bytes,
		.live_arg = &live };

	live_init(&live, t, j->call->name);
	fault_point("turn.call");
	tool_run(j->call->name, j->call->arguments, r->settings.tools, &ctx,
	    &res);
	fault_point("turn.called");
	live_finish(&live);
	take_result(j, &res);
	tool_result_finish(&res);
	atomic_fetch_add(&t->threads->tool_calls, 1);
}

static void
run_job(void *arg)
{
	struct job *j = arg;
	const struct run *r = j->run;
	int64_t began = clock_mono_ms();

	if (j->call->invalid) {
		auto_free char *text = xasprintf("Error: this call of %s was "
						 "not run: %s. Correct it and "
						 "call again.",
		    j->call->name, j->call->invalid);
		call_result(r, &j->result, j->call, text);
	} else if (cancel_fired(r->turn->cancel)) {
		call_result(r, &j->result, j->call,
		    "Error: not run: the turn was cancelled before.");
	} else {
		execute(j);
	}
	j->ms = clock_mono_ms() - began;
}

static void
run_group(struct job *jobs, size_t count)
{
	if (count == 1) {
		run_job(jobs);
		return;
	}
	struct lane *lane =
	    lane_create("reads", (unsigned)MIN(count, (size_t)READERS));
	for (size_t i = 0; i < count; i++)
		lane_submit(lane, run_job, &jobs[i]);
	lane_destroy(lane);
}

static void
say_what_runs(const struct run *r, const struct job *jobs, size_t count)
{
	const struct tool_call *call = jobs[0].call;
	auto_buf text = BUF_INIT(ENTRY_MAX);

	buf_printf(&text, "%s ", call->name);
	if (count > 1)
		buf_printf(&text, "and %zu more ", count - 1);
	entry_cut(&text, call->arguments, strlen(call->arguments),
	    ENTRY_ARGUMENTS);
	thread_activity(r->thread, text.bytes);
}

static int
store_group(struct run *r, struct job *jobs, size_t count, struct status *st)
{
	struct thread *t = r->thread;
	struct message *list = xcalloc(count, sizeof *list);

	for (size_t i = 0; i < count; i++)
		list[i] = jobs[i].result; /* lent */
	messages_begin(t);
	int rc = store_turn_results(t->threads->settings.store, t->number,
	    r->turn->number, list, count, st);
	messages_end(t, list, count, rc == 0);
	free(list);
	auto_buf out = BUF_INIT(ENTRY_MAX);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rebuild_message(&out, &jobs[i].result, jobs[i].ms);
	thread_log_entries(t, &out);
	return rc;
}

/* Runs groups until all calls have a result, or one could not be stored;
 * *done counts those that have. */
static int
run_groups(struct run *r, struct job *jobs, size_t count, size_t *done,
    struct status *st)
{
	while (*done < count) {
		struct job *group = &jobs[*done];
		size_t n = 1;
		while (reads_only(group->call) && *done + n < count &&
		    reads_only(group[n].call))
			n++;
		say_what_runs(r, group, n);
		run_group(group, n);
		*done += n;
		if (store_group(r, group, n, st) < 0)
			return -1;
		fault_point("turn.results");
		thread_use(r->thread);
	}
	return 0;
}

int
calls_run(struct run *r, struct status *st)
{
	const struct message *ai = &r->messages[r->count - 1];
	size_t count = ai->call_count, done = 0;
	struct job *jobs = xcalloc(count, sizeof *jobs);

	for (size_t i = 0; i < count; i++) {
		jobs[i].run = r;
		jobs[i].call = &ai->calls[i];
	}
	int rc = run_groups(r, jobs, count, &done, st);
	/* From here on `ai` may move. */
	for (size_t i = 0; i < done; i++)
		run_add(r, &jobs[i].result);
	free(jobs);
	return rc;
}
