/*
 * Models behind HTTP; see remote.h. What a server refuses of our optional
 * fields (stream_options, max_tokens, temperature) is learnt from its answer,
 * left out once and remembered.
 */
#include "agent/model/remote.h"

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/model/attempt.h"
#include "agent/model/request.h"

#define WAIT_BUDGET_MS    600000
#define RETRY_AFTER_MAX_S 120
#define BODY_MAX          (256U << 20)
/* NIM's free tier allows 40 requests a minute and key: 30, with a burst. */
#define NIM_INTERVAL_MS 2000
#define NIM_BURST       4

struct remote {
	/* immutable */
	char *model, *url, *api_key;
	bool anthropic, nim;
	struct http_client *http;
	/* one worker at a time */
	struct request_profile profile;
};

/* The bucket of one key for the whole process: a mount has one NIM key. */
static struct {
	struct lock lock;
	double tokens;
	int64_t filled_ms;
} pace = { .lock = { PTHREAD_MUTEX_INITIALIZER, RANK_HTTP },
	.tokens = NIM_BURST };

static const struct {
	const char *provider;
	struct request_profile profile;
} profiles[] = {
	{ "nvidia", { .nim_thinking = true } },
	{ "openai", { .completion_tokens = true, .images = true } },
	{ "openrouter", { .images = true } },
	{ "google_genai", { .images = true } },
	{ "mistralai", { .rules = { .assistant_after_tool = true } } },
	{ "deepseek", { .send_reasoning = true } },
	{ "perplexity", { .rules = { .alternate = true } } },
};

static bool
ends_with(const char *s, size_t len, const char *tail)
{
	size_t n = strlen(tail);

	return len >= n && memcmp(s + len - n, tail, n) == 0;
}

/* People give the address with a slash at the end, or the full path. */
static char *
endpoint(const char *base, bool anthropic)
{
	static const char *const openai_tail[] = { "/chat/completions", NULL };
	static const char *const anthropic_tail[] = { "/v1/messages",
		"/messages", "/v1", NULL };
	const char *const *tail = anthropic ? anthropic_tail : openai_tail;
	size_t len = strlen(base);

	while (len > 0 && base[len - 1] == '/')
		len--;
	for (size_t i = 0; tail[i]; i++)
		if (ends_with(base, len, tail[i]))
			len -= strlen(tail[i]);
	return xasprintf("%.*s%s", (int)len, base,
	    anthropic ? "/v1/messages" : "/chat/completions");
}

struct remote *
remote_create(const struct remote_settings *settings)
{
	struct remote *r = xcalloc(1, sizeof *r);

	r->anthropic = strcmp(settings->provider, "anthropic") == 0;
	r->nim = strcmp(settings->provider, "nvidia") == 0;
	r->model = xstrdup(settings->model);
	r->url = endpoint(settings->base_url, r->anthropic);
	r->api_key = settings->api_key ? xstrdup(settings->api_key) : NULL;
	r->http = http_client_create();
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		if (strcmp(settings->provider, profiles[i].provider) == 0)
			r->profile = profiles[i].profile;
	/* Only Nemotron's template knows the switch. */
	r->profile.nim_thinking &= strstr(r->model, "nemotron-3") != NULL;
	/* Mistral's order of messages holds wherever it is hosted. */
	r->profile.rules.assistant_after_tool |=
	    strcasestr(r->model, "mistral") != NULL;
	r->profile.model = r->model;
	return r;
}

void
remote_destroy(struct remote *r)
{
	if (!r)
		return;
	http_client_destroy(r->http);
	free(r->model);
	free(r->url);
	free(r->api_key);
	free(r);
}

int64_t
remote_delay_ms(const struct failure *failure, unsigned attempt, bool nim,
    double random)
{
	bool crowded = failure->kind == FAILURE_RATE_LIMIT ||
	    failure->kind == FAILURE_OVERLOADED;
	int64_t base = nim && crowded ? 4000 : 1000;
	int64_t cap = nim && crowded ? 60000 : 30000;

	if (attempt > failure_attempts(failure->kind) ||
	    failure->retry_after_s > RETRY_AFTER_MAX_S)
		return -1;
	if (failure->retry_after_s > 0)
		return (int64_t)failure->retry_after_s * 1000;
	int64_t delay = attempt < 12 ? base << (attempt - 2) : cap;
	return (int64_t)((double)MIN(delay, cap) * (0.75 + 0.25 * random));
}

/* Takes a token, waiting for it; true when cancelled. */
static bool
pace_request(const struct remote *r, struct cancel *cancel)
{
	while (r->nim) {
		lock_acquire(&pace.lock);
		int64_t now = clock_mono_ms();
		if (pace.filled_ms == 0)
			pace.filled_ms = now;
		pace.tokens = MIN((double)NIM_BURST,
		    pace.tokens +
			(double)(now - pace.filled_ms) / NIM_INTERVAL_MS);
		pace.filled_ms = now;
		bool got = pace.tokens >= 1;
		int64_t missing =
		    (int64_t)((1 - pace.tokens) * NIM_INTERVAL_MS) + 1;
		if (got)
			pace.tokens -= 1;
		lock_release(&pace.lock);
		if (got)
			break;
		if (cancel_sleep(cancel, missing))
			return true;
	}
	return cancel_fired(cancel);
}

/* A 400 that names an optional field of ours: without it, once more. */
static bool
learn(struct request_profile *profile, const struct failure *failure)
{
	const char *text = failure->message;

	if (failure->kind != FAILURE_INVALID)
		return false;
	if (strstr(text, "stream_options") && !profile->no_stream_options)
		return profile->no_stream_options = true;
	if (strstr(text, "max_completion_tokens") &&
	    !profile->completion_tokens)
		return profile->completion_tokens = true;
	if (strstr(text, "max_tokens") && profile->completion_tokens) {
		profile->completion_tokens = false;
		return true;
	}
	if (strstr(text, "temperature") && !profile->no_sampling)
		return profile->no_sampling = true;
	if (strstr(text, "chat_template_kwargs") && profile->nim_thinking) {
		profile->nim_thinking = false;
		return true;
	}
	return false;
}

static void
replace(char **field, const char *text)
{
	free(*field);
	*field = xstrdup(text);
}

/* The answer as a message: runnable calls, and for the others the reason. */
static void
take_answer(struct message *reply, struct answer *answer)
{
	replace(&reply->content, answer->content.bytes);
	if (answer->content.len == 0 && answer->refusal.len > 0)
		replace(&reply->content, answer->refusal.bytes);
	if (answer->reasoning.len > 0)
		replace(&reply->reasoning, answer->reasoning.bytes);
	reply->usage.input_tokens = answer->input_tokens;
	reply->usage.output_tokens = answer->output_tokens;
	if (answer->blocks) {
		auto_buf blocks = BUF_INIT(BODY_MAX);
		json_print(&blocks, answer->blocks);
		replace(&reply->blocks, blocks.bytes);
	}
	if (answer->failure.kind != FAILURE_NONE)
		return;
	for (size_t i = 0; i < answer->call_count; i++) {
		const struct answer_call *call = &answer->calls[i];
		bool repaired = call->status == ARGUMENTS_REPAIRED ||
		    call->status == ARGUMENTS_EMPTY;
		struct tool_call *c = message_add_call(reply, xstrdup(call->id),
		    xstrdup(call->name),
		    xstrdup(repaired ? call->object : call->arguments));
		if (call->runnable)
			continue;
		c->invalid = xstrdup(answer->finish == FINISH_LENGTH
			? "your output was cut by the token limit; send a "
			  "smaller call"
			: !*call->name ? "the call has no tool name"
				       : "the arguments are not a JSON object");
	}
}

static void
note(const struct model_sink *sink, const char *line)
{
	if (sink && sink->note)
		sink->note(sink->arg, line);
}

static int
give_up(const struct remote *r, const struct failure *f, struct status *st)
{
	static const struct {
		enum failure_kind kind;
		enum status_code code;
		const char *advice;
	} table[] = {
		{ FAILURE_CANCELED, STATUS_CANCELED, "" },
		{ FAILURE_AUTH, STATUS_DENIED,
		    ": check the provider's API key" },
		{ FAILURE_BILLING, STATUS_DENIED,
		    ": the account has no credit left" },
		{ FAILURE_NOT_FOUND, STATUS_NOT_FOUND,
		    ": check the model's name and base_url" },
		{ FAILURE_INVALID, STATUS_INVALID, "" },
		{ FAILURE_TOOL_USE, STATUS_INVALID, "" },
		{ FAILURE_CONTEXT_LENGTH, STATUS_TOO_BIG,
		    ": the conversation is too long for this model; start another "
		    "thread" },
		{ FAILURE_TIMEOUT, STATUS_TIMEOUT, ": try again later" },
		{ FAILURE_RATE_LIMIT, STATUS_BUSY, ": try again later" },
		{ FAILURE_OVERLOADED, STATUS_BUSY, ": try again later" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].kind == f->kind)
			return status_set(st, table[i].code, "%s: %s%s",
			    failure_word(f->kind), f->message, table[i].advice);
	(void)r;
	return status_set(st, STATUS_UNAVAILABLE, "%s: %s: try again later",
	    failure_word(f->kind), f->message);
}

static double
chance(void)
{
	return (double)(clock_wall_ms() % 997) / 997;
}

/* False: no further attempt. Waits out the delay. */
static bool
wait_to_retry(struct remote *r, const struct model_sink *sink,
    const struct failure *f, unsigned attempt, int64_t *waited,
    struct cancel *cancel)
{
	char line[560];
	int64_t delay = remote_delay_ms(f, attempt, r->nim, chance());

	if (delay < 0 || *waited + delay > WAIT_BUDGET_MS)
		return false;
	snprintf(line, sizeof line, "%s: %s; attempt %u of %u in %.1f s",
	    failure_word(f->kind), f->message, attempt,
	    failure_attempts(f->kind), (double)delay / 1000);
	note(sink, line);
	*waited += delay;
	return !cancel_sleep(cancel, delay);
}

int
remote_complete(struct remote *r, const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct cancel *cancel,
    struct status *st)
{
	auto_json *tools = request->tools ? cJSON_Parse(request->tools) : NULL;
	int64_t waited = 0;
	unsigned learnt = 0;
	struct failure failure;

	for (unsigned attempt = 1;;) {
		auto_buf body = BUF_INIT(BODY_MAX);
		struct answer answer;
		if (pace_request(r, cancel))
			return status_set(st, STATUS_CANCELED, "cancelled");
		if (r->anthropic)
			request_anthropic(&body, &r->profile, request);
		else
			request_openai(&body, &r->profile, request);
		if (body.failed)
			return status_set(st, STATUS_TOO_BIG,
			    "the conversation is over %u MiB", BODY_MAX >> 20);
		answer_init(&answer);
		attempt_run(&(struct attempt){ .http = r->http,
				.url = r->url,
				.api_key = r->api_key,
				.anthropic = r->anthropic,
				.body = &body,
				.tools = tools,
				.sink = sink },
		    &answer, cancel);
		failure = answer.failure;
		take_answer(reply, &answer);
		answer_deinit(&answer);
		if (failure.kind == FAILURE_NONE)
			return 0;
		if (learnt < 4 && learn(&r->profile, &failure)) {
			learnt++;
			continue;
		}
		if (!wait_to_retry(r, sink, &failure, ++attempt, &waited,
			cancel))
			break;
	}
	if (cancel_fired(cancel))
		failure_set(&failure, FAILURE_CANCELED, "cancelled");
	return give_up(r, &failure, st);
}
