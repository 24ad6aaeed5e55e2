/*
 * One request to the model: its text is shown as it comes, the reply masked,
 * counted and stored before anything of it runs. What was said before a stream
 * was cut is kept, its calls are not.
 */
#include "agent/base/clock.h"
#include "agent/model/model.h"
#include "agent/thread/internal.h"

/* Shows what is safe to show. */
static void
show(struct run *r, const char *bytes, size_t len, bool end)
{
	auto_buf out = BUF_INIT((size_t)64 << 20);

	mask_stream_add(&r->mask, bytes, len, end, &out);
	if (out.len == 0)
		return;
	answer_add(r->thread, r->turn->answer, out.bytes, out.len, !r->shown);
	r->shown = true;
}

static void
on_text(void *arg, const char *bytes, size_t len)
{
	show(arg, bytes, len, false);
}

static void
on_note(void *arg, const char *line)
{
	thread_log(((struct run *)arg)->thread, "model", line);
}

static void
mask_reply(const struct run *r, struct message *reply)
{
	const struct secrets *s = &r->thread->threads->secrets;

	secrets_mask_string(s, &reply->content);
	secrets_mask_string(s, &reply->reasoning);
	secrets_mask_string(s, &reply->blocks);
	for (size_t i = 0; i < reply->call_count; i++) {
		secrets_mask_string(s, &reply->calls[i].name);
		secrets_mask_string(s, &reply->calls[i].arguments);
		secrets_mask_string(s, &reply->calls[i].invalid);
	}
}

/* Nothing runs from a reply that did not end. */
static void
drop_calls(struct message *reply)
{
	for (size_t i = 0; i < reply->call_count; i++) {
		free(reply->calls[i].id);
		free(reply->calls[i].name);
		free(reply->calls[i].arguments);
		free(reply->calls[i].invalid);
	}
	free(reply->calls);
	reply->calls = NULL;
	reply->call_count = 0;
}

static int64_t
sum(int64_t a, int64_t b)
{
	return b < 0 ? a : MAX(a, (int64_t)0) + b;
}

static void
add_usage(struct usage *to, const struct usage *more)
{
	to->input_tokens = sum(to->input_tokens, more->input_tokens);
	to->output_tokens = sum(to->output_tokens, more->output_tokens);
}

static void
count_reply(struct run *r, const struct message *reply)
{
	struct thread *t = r->thread;

	for (size_t i = 0; i < reply->call_count; i++)
		r->tally.tool_calls += reply->calls[i].invalid == NULL;
	r->tally.model_calls++;
	atomic_fetch_add(&t->threads->model_calls, 1);
	add_usage(&r->tally.usage, &reply->usage);
	lock_acquire(&t->lock);
	add_usage(&t->turn_usage, &reply->usage);
	add_usage(&t->usage, &reply->usage);
	lock_release(&t->lock);
}

static int
store_reply(struct run *r, struct message *reply, struct status *st)
{
	struct thread *t = r->thread;

	messages_begin(t);
	int rc = store_turn_reply(t->threads->settings.store, t->number,
	    r->turn->number, reply, t->script_position, st);
	if (rc == 0)
		count_reply(r, reply);
	messages_end(t, reply, 1, rc == 0);
	if (rc < 0)
		return -1;
	auto_buf out = BUF_INIT(ENTRY_MAX * 4);
	rebuild_message(&out, reply, -1);
	thread_log_entries(t, &out);
	run_add(r, reply);
	return 0;
}

int
run_ask(struct run *r, struct status *st)
{
	struct thread *t = r->thread;
	struct status ignored;
	struct message reply;
	struct model_sink sink = { .text = on_text, .note = on_note, .arg = r };
	struct model_request request = {
		.system_prompt = r->settings.system_prompt,
		.messages = r->messages,
		.count = r->count,
		.tools = r->tools,
		.temperature = r->settings.temperature,
		.max_tokens = r->settings.max_tokens,
		.script_position = &t->script_position,
		.first_call = r->tally.model_calls == 0,
	};

	thread_activity(t, "waiting for the model");
	run_message(r, &reply, MESSAGE_AI);
	r->shown = false;
	int rc = model_complete(r->model, &request, &sink, &reply,
	    r->turn->cancel, st);
	show(r, "", 0, true);
	reply.ts_ms = clock_wall_ms();
	mask_reply(r, &reply);
	if (rc < 0)
		drop_calls(&reply);
	if (rc == 0)
		rc = store_reply(r, &reply, st);
	else if (*reply.content)
		(void)store_reply(r, &reply, &ignored);
	message_finish(&reply);
	return rc;
}
