/*
 * One request to a model server; see attempt.h. The deadlines are long where
 * servers queue (a NIM worker may be silent for minutes) and there is none for
 * the whole answer.
 */
#include "agent/model/attempt.h"

#include "agent/model/anthropic_stream.h"
#include "agent/model/openai_stream.h"

#define CONNECT_MS     15000
#define FIRST_BYTE_MS  300000
#define SILENCE_MS     120000
#define ERROR_BODY_MAX (256U << 10)

struct reader {
	const struct attempt *a;
	struct answer *answer;

	union {
		struct openai_stream openai;
		struct anthropic_stream anthropic;
	};

	bool begun;
	bool
	    enough; /* the answer is complete or failed: the rest is not read */
};

static void
show_text(void *arg, const char *bytes, size_t len)
{
	struct reader *r = arg;
	const struct model_sink *sink = r->a->sink;

	if (sink && sink->text)
		sink->text(sink->arg, bytes, len);
}

static void
start(struct reader *r, int status, const char *type)
{
	r->begun = true;
	if (r->a->anthropic) {
		anthropic_stream_init(&r->anthropic, r->answer, status, type);
		r->anthropic.text = show_text;
		r->anthropic.arg = r;
	} else {
		openai_stream_init(&r->openai, r->answer, status, type);
		r->openai.text = show_text;
		r->openai.arg = r;
	}
}

static bool
feed(struct reader *r, const void *bytes, size_t len)
{
	return r->a->anthropic
	    ? anthropic_stream_feed(&r->anthropic, bytes, len)
	    : openai_stream_feed(&r->openai, bytes, len);
}

static int
begin(void *arg, const struct http_response *response, struct status *st)
{
	(void)st;
	start(arg, response->status, response->content_type);
	return 0;
}

static int
take_piece(void *arg, const void *bytes, size_t len, struct status *st)
{
	struct reader *r = arg;

	if (feed(r, bytes, len))
		return 0;
	r->enough = true;
	return status_set(st, STATUS_OK, "the answer is complete");
}

static void
end(struct reader *r)
{
	if (r->a->anthropic) {
		anthropic_stream_end(&r->anthropic);
		anthropic_stream_finish(&r->anthropic);
	} else {
		openai_stream_end(&r->openai);
		openai_stream_finish(&r->openai);
	}
	answer_finish(r->answer, r->a->tools);
	if (r->a->anthropic)
		anthropic_stream_blocks(r->answer);
}

/* What broke the exchange, when the answer itself says nothing. */
static void
transport_failure(struct reader *r, const struct http_response *response,
    const struct status *st)
{
	struct failure *f = &r->answer->failure;

	if (st->code == STATUS_CANCELED)
		failure_set(f, FAILURE_CANCELED, "cancelled");
	else if (st->code == STATUS_TIMEOUT)
		failure_set(f, FAILURE_TIMEOUT, st->text);
	else if (st->code == STATUS_TOO_BIG)
		failure_set(f, FAILURE_PROTOCOL, st->text);
	else if (r->begun || response->status != 0)
		failure_set(f, FAILURE_TRUNCATED, st->text);
	else
		failure_set(f, FAILURE_CONNECT, st->text);
}

/* Asking for compression invites proxies to buffer the stream; an empty Expect
 * keeps libcurl from waiting a second with large bodies. */
static void
fill_headers(const char *headers[8], bool anthropic, const char *key)
{
	size_t n = 0;

	headers[n++] = "Content-Type: application/json";
	headers[n++] = "Accept: text/event-stream";
	headers[n++] = "Accept-Encoding: identity";
	headers[n++] = "Expect:";
	if (anthropic)
		headers[n++] = "anthropic-version: 2023-06-01";
	if (key)
		headers[n++] = key;
	headers[n] = NULL;
}

void
attempt_run(const struct attempt *a, struct answer *answer,
    struct cancel *cancel)
{
	struct reader r = { .a = a, .answer = answer };
	struct http_response response = { 0 };
	struct http_segment body = { .bytes = a->body->bytes,
		.len = a->body->len,
		.fd = -1 };
	auto_free char *key_header = NULL;
	const char *headers[8];
	struct status st = { 0 };

	if (a->anthropic && a->api_key)
		key_header = xasprintf("x-api-key: %s", a->api_key);
	fill_headers(headers, a->anthropic, key_header);
	struct http_request rq = {
		.method = "POST",
		.url = a->url,
		.token = a->anthropic ? NULL : a->api_key,
		.headers = headers,
		.body = &body,
		.body_count = 1,
		.deadlines = { CONNECT_MS, FIRST_BYTE_MS, SILENCE_MS, 0 },
		.begin = begin,
		.sink = take_piece,
		.arg = &r,
	};
	buf_init(&response.body, ERROR_BODY_MAX);
	int rc = http_exchange(a->http, &rq, &response, cancel, &st);

	if (!r.begun) {
		start(&r, response.status ? response.status : 200,
		    response.content_type);
		if (rc == 0)
			feed(&r, response.body.bytes, response.body.len);
	}
	bool broken = rc < 0 && !r.enough;
	bool canceled = broken && st.code == STATUS_CANCELED;
	end(&r);
	/* A finish reason that was seen counts, whatever the transport said
	 * afterwards; a user's cancel always does. */
	if (canceled || (broken && answer->failure.kind == FAILURE_TRUNCATED) ||
	    (broken && !r.begun))
		transport_failure(&r, &response, &st);
	if (response.retry_after_ms > 0)
		answer->failure.retry_after_s =
		    (int)MIN((response.retry_after_ms + 999) / 1000,
			(int64_t)86400);
	for (size_t i = 0;
	     answer->failure.kind != FAILURE_NONE && i < answer->call_count;
	     i++)
		answer->calls[i].runnable = false;
	buf_finish(&response.body);
}
