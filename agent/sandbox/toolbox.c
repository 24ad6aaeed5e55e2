/*
 * One call to a sandbox's toolbox. Everything that we send may be done twice
 * (scripts are written so, reads are reads, uploads go to names of their own),
 * so whatever goes wrong on the way is tried again within a budget; an answer
 * of the daemon itself is an answer, good or bad.
 */
#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/http/code.h"
#include "agent/sandbox/internal.h"

#define TROUBLE_MS      45000 /* from the first failure on */
#define TROUBLE_LOOK_MS 5000
#define RETRY_MAX_MS    30000
#define CONNECT_MS      10000
#define FIRST_MS        30000
#define IDLE_MS         30000
#define GHOST_TRIES     4

struct attempt {
	struct sandbox *sb;
	struct toolbox_call *call;
	struct http_response *r;
	struct cancel *c;
	unsigned tries;
	int64_t trouble_ms; /* when it began, or 0 */
	bool restarted;
};

static int
send_once(struct attempt *a, const struct endpoint *e, struct status *st)
{
	struct toolbox_call *call = a->call;
	struct provider *p = a->sb->provider;
	const char *headers[6];
	size_t n = 0;
	auto_buf type = BUF_INIT(256), url = BUF_INIT(URL_MAX_BYTES);

	headers[n++] = "X-Daytona-SDK-Version: 0.190.0";
	headers[n++] = "X-Daytona-Source: sandagentfs";
	if (call->want == SANDBOX_LOOK && !call->active)
		headers[n++] = "X-Daytona-Skip-Last-Activity-Update: true";
	if (call->range)
		headers[n++] = call->range;
	if (call->content_type) {
		buf_printf(&type, "Content-Type: %s", call->content_type);
		headers[n++] = type.bytes;
	}
	headers[n] = NULL;
	buf_printf(&url, "%s%s", e->base, call->path);
	if (url.failed)
		return status_set(st, STATUS_INVALID, "the path is too long");
	struct http_request rq = {
		.method = call->method,
		.url = url.bytes,
		.unix_path = p->box ? box_socket(p->box) : NULL,
		.token = p->api_key,
		.headers = headers,
		.body = call->body,
		.body_count = call->body_count,
		.deadlines = { .connect = CONNECT_MS,
		    .first = call->first_ms > 0 ? call->first_ms : FIRST_MS,
		    .idle = call->idle_ms > 0 ? call->idle_ms : IDLE_MS },
		.begin = call->begin,
		.sink = call->sink,
		.arg = call->arg,
	};
	atomic_fetch_add(&p->toolbox, 1);
	call->generation = e->generation;
	return http_exchange(p->http, &rq, a->r, a->c, st);
}

/* A record that says "started" over a container that is gone: stopping it is
 * what makes the next start bring it back. */
static void
lay_ghost(struct attempt *a)
{
	struct sandbox *sb = a->sb;
	struct wire_sandbox s;
	struct status st;

	a->restarted = true;
	if (control_call(sb->provider, "GET", sb->name, "", NULL, &s, a->c,
		&st) < 0 ||
	    wire_move(&s) != MOVE_USE)
		return;
	diag_warn("%s is said to run and does not: stopped", sb->name);
	if (control_call(sb->provider, "POST", s.id, "/stop?force=true", NULL,
		&s, a->c, &st) == 0)
		sandbox_note(sb, &s);
}

/* 0: try again after a while, -1: st holds. */
static int
trouble(struct attempt *a, enum wire_fault fault, struct status *st)
{
	bool look = a->call->want == SANDBOX_LOOK;
	int64_t now = clock_mono_ms();
	int64_t budget = look ? TROUBLE_LOOK_MS : TROUBLE_MS;
	int64_t wait = backoff_ms(a->tries++);

	if (fault != FAULT_BUSY)
		sandbox_doubt(a->sb, a->call->generation);
	if (fault == FAULT_BUSY && a->r->retry_after_ms > 0)
		wait = MIN(a->r->retry_after_ms, (int64_t)RETRY_MAX_MS);
	if (a->trouble_ms == 0)
		a->trouble_ms = now;
	/* A sandbox that is gone is found again at once, or it is the key. */
	bool give_up = fault == FAULT_GONE && a->r->status == 401
	    ? a->tries > GHOST_TRIES
	    : now + wait - a->trouble_ms > budget;
	if (give_up)
		return -1;
	if (fault == FAULT_GONE && a->r->status == 404 && !look &&
	    !a->restarted && a->tries >= GHOST_TRIES)
		lay_ghost(a);
	if (cancel_sleep(a->c, wait))
		return status_set(st, STATUS_CANCELED, "canceled");
	return 0;
}

static void
say_fault(const struct http_response *r, enum wire_fault fault,
    struct status *st)
{
	char message[200];

	wire_message(&r->body, message, sizeof message);
	status_set(st,
	    fault == FAULT_GONE && r->status == 401 ? STATUS_DENIED
		: fault == FAULT_BUSY               ? STATUS_BUSY
						    : STATUS_UNAVAILABLE,
	    "the sandbox does not answer: HTTP %d%s%s", r->status,
	    message[0] ? ", " : "", message);
}

int
toolbox_call(struct sandbox *sb, struct toolbox_call *call,
    struct http_response *r, struct cancel *c, struct status *st)
{
	struct attempt a = { .sb = sb, .call = call, .r = r, .c = c };

	while (true) {
		struct endpoint e;
		if (sandbox_endpoint(sb, call->want, &e, c, st) < 0)
			return -1;
		int rc = send_once(&a, &e, st);
		if (call->active)
			atomic_store(&sb->used_ms, clock_mono_ms());
		endpoint_finish(&e);
		enum wire_fault fault = FAULT_DOWN;
		if (rc == 0) {
			fault = wire_fault(r);
			if (fault == FAULT_NONE)
				return 0;
			say_fault(r, fault, st);
		} else if (st->code != STATUS_UNAVAILABLE) {
			if (st->code == STATUS_TIMEOUT)
				sandbox_doubt(sb, call->generation);
			return -1;
		}
		if (call->delivered && *call->delivered) {
			sandbox_doubt(sb, call->generation);
			return -1;
		}
		if (trouble(&a, fault, st) < 0)
			return -1;
	}
}

int
toolbox_refused(const struct http_response *r, struct status *st)
{
	char message[200];
	enum status_code code = http_code(r->status);

	wire_message(&r->body, message, sizeof message);
	return status_set(st, code == STATUS_OK ? STATUS_IO : code,
	    "%s (HTTP %d)", message[0] ? message : "refused by the sandbox",
	    r->status);
}
