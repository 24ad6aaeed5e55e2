/*
 * The control plane: sandboxes by id or name, and what can be done to them
 * without going in. Every call is safe to repeat: creation is by name, a second
 * start or stop is told apart by the state that follows.
 */
#include <strings.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/json.h"
#include "agent/http/code.h"
#include "agent/http/url.h"
#include "agent/sandbox/internal.h"

#define ATTEMPTS       4
#define RETRY_MAX_MS   30000
#define CONNECT_MS     10000
#define ANSWER_WAIT_MS 60000 /* a creation answers within 30 s */

/* What an answer that is not 2xx means to us. */
static int
refused(const struct http_response *r, struct status *st)
{
	char message[180];
	enum status_code code = http_code(r->status);

	wire_message(&r->body, message, sizeof message);
	if (strcasestr(message, "state change in progress") ||
	    strcasestr(message, "not in valid state"))
		code = STATUS_BUSY;
	else if (strcasestr(message, "limit exceeded") ||
	    strcasestr(message, "quota"))
		code = STATUS_NO_SPACE;
	else if (code == STATUS_OK)
		code = STATUS_IO;
	if (r->status == 401)
		return status_set(st, STATUS_DENIED,
		    "the sandbox service refuses the API key%s%s",
		    message[0] ? ": " : "", message);
	return status_set(st, code, "%s (HTTP %d)",
	    message[0] ? message : "refused", r->status);
}

/* Shall we try again after this answer or failure? */
static bool
again(int rc, const struct http_response *r, const struct status *st)
{
	if (rc < 0)
		return st->code == STATUS_UNAVAILABLE;
	return r->status == 429 || r->status == 502 || r->status == 503 ||
	    r->status == 504;
}

static int
exchange(struct provider *p, const struct http_request *rq,
    struct http_response *r, struct cancel *c, struct status *st)
{
	for (unsigned n = 0;; n++) {
		struct http_request once = *rq;
		if (p->box) {
			if (box_ensure(p->box, c, st) < 0)
				return -1;
			once.unix_path = box_socket(p->box);
		}
		atomic_fetch_add(&p->control, 1);
		int rc = http_exchange(p->http, &once, r, c, st);
		if (n + 1 == ATTEMPTS || !again(rc, r, st))
			return rc;
		int64_t ms = backoff_ms(n + 2);
		if (rc == 0 && r->retry_after_ms >= 0)
			ms = MIN(MAX(r->retry_after_ms, ms),
			    (int64_t)RETRY_MAX_MS);
		if (cancel_sleep(c, ms))
			return status_set(st, STATUS_CANCELED, "canceled");
	}
}

/* url gains "/sandbox[/id][rest]". */
static int
call(struct provider *p, const char *method, const char *id, const char *rest,
    const struct buf *body, struct http_response *r, struct cancel *c,
    struct status *st)
{
	static const char *const headers[] = { "Accept: application/json",
		"Content-Type: application/json",
		"X-Daytona-Source: sandagentfs",
		"X-Daytona-SDK-Version: 0.190.0", NULL };
	auto_buf url = BUF_INIT(URL_MAX_BYTES);
	struct http_segment segment = { .bytes = body ? body->bytes : NULL,
		.len = body ? body->len : 0 };

	buf_printf(&url, "%s/sandbox", p->api_url);
	if (id)
		url_add_segment(&url, id);
	buf_puts(&url, rest);
	if (url.failed)
		return status_set(st, STATUS_INVALID, "the name is too long");
	struct http_request rq = {
		.method = method,
		.url = url.bytes,
		.token = p->api_key,
		.headers = headers,
		.body = &segment,
		.body_count = body ? 1 : 0,
		.deadlines = { .connect = CONNECT_MS,
		    .first = ANSWER_WAIT_MS,
		    .idle = CONNECT_MS,
		    .total = ANSWER_WAIT_MS },
	};
	return exchange(p, &rq, r, c, st);
}

int
control_call(struct provider *p, const char *method, const char *id,
    const char *rest, const struct buf *body, struct wire_sandbox *out,
    struct cancel *c, struct status *st)
{
	struct http_response r = { .body = BUF_INIT(CONTROL_MAX) };
	int rc = call(p, method, id, rest, body, &r, c, st);

	if (rc == 0 && (r.status < 200 || r.status > 299))
		rc = refused(&r, st);
	else if (rc == 0 && out)
		rc = wire_sandbox(r.body.bytes, r.body.len, out, st);
	buf_finish(&r.body);
	if (rc < 0 && st->code != STATUS_CANCELED)
		diag_debug("control %s%s: %s", method, rest, st->text);
	return rc;
}

int
control_toolbox_url(struct provider *p, struct wire_sandbox *s,
    struct cancel *c, struct status *st)
{
	struct http_response r = { .body = BUF_INIT(CONTROL_MAX) };
	const char *url = NULL;
	int rc = call(p, "GET", s->id, "/toolbox-proxy-url", NULL, &r, c, st);

	if (rc == 0 && r.status != 200)
		rc = refused(&r, st);
	if (rc == 0) {
		auto_json *json = json_parse(r.body.bytes, r.body.len, st);
		rc = json ? json_string(json, "url", &url, st) : -1;
		if (rc == 0)
			snprintf(s->toolbox, sizeof s->toolbox, "%s", url);
	}
	buf_finish(&r.body);
	return rc;
}
