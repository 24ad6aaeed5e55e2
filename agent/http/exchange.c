/* One HTTP exchange; see exchange.h. */
#include "agent/http/exchange.h"

#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/lock.h"
#include "agent/http/code.h"
#include "agent/http/header.h"
#include "agent/http/pool.h"

#define REUSE_IDLE_S  25
#define SINK_BUFFER   (256 << 10)
#define ERROR_BODY    (64 << 10)
#define SEND_BUFFER   (64 << 10)
#define POLL_MAX_MS   60000
#define DEFAULT_AGENT "sandagentfs/" SAF_VERSION

struct exchange {
	const struct http_request *rq;
	struct http_response *r;
	struct http_slot *slot;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
	/* the next byte of the body to send */
	size_t segment, at;
	int64_t body_len;
	/* deadlines */
	int64_t started_ms, active_ms;
	bool answered;  /* a byte of the answer came */
	bool body_seen; /* `begin` was called */
	bool failed;    /* a callback of ours said no: st holds */
	struct status st;
};

static size_t
send_body(char *out, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;
	size_t room = size * count, done = 0;

	x->active_ms = clock_mono_ms();
	while (done < room && x->segment < x->rq->body_count) {
		const struct http_segment *s = &x->rq->body[x->segment];
		size_t n = MIN(s->len - x->at, room - done);
		if (n == 0) {
			x->segment++;
			x->at = 0;
			continue;
		}
		if (s->bytes) {
			memcpy(out + done, (const char *)s->bytes + x->at, n);
		} else {
			ssize_t got = pread(s->fd, out + done, n,
			    (off_t)(s->off + (int64_t)x->at));
			if (got < 0 && errno == EINTR)
				continue;
			if (got < 0) {
				x->failed = true;
				status_errno(&x->st, errno,
				    "read the file to send");
				return CURL_READFUNC_ABORT;
			}
			/* Cut meanwhile; the length has been promised. */
			if (got == 0)
				memset(out + done, 0, n);
			else
				n = (size_t)got;
		}
		done += n;
		x->at += n;
	}
	return done;
}

/* For a request that curl sends again: back to the start only. */
static int
rewind_body(void *arg, curl_off_t off, int origin)
{
	struct exchange *x = arg;

	if (off != 0 || origin != SEEK_SET)
		return CURL_SEEKFUNC_CANTSEEK;
	x->segment = x->at = 0;
	return CURL_SEEKFUNC_OK;
}

static size_t
take_header(char *line, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;

	x->answered = true;
	x->active_ms = clock_mono_ms();
	http_header_line(x->r, line, size * count);
	return size * count;
}

static int
take_piece(struct exchange *x, const char *bytes, size_t len)
{
	const struct http_request *rq = x->rq;
	struct buf *body = &x->r->body;

	if (http_code(x->r->status) != STATUS_OK) {
		size_t room = MIN(body->max, (size_t)ERROR_BODY);
		if (body->len < room)
			buf_add(body, bytes, MIN(len, room - body->len));
		return 0;
	}
	if (!x->body_seen && rq->begin && rq->begin(rq->arg, x->r, &x->st) < 0)
		return -1;
	x->body_seen = true;
	if (rq->sink)
		return rq->sink(rq->arg, bytes, len, &x->st);
	buf_add(body, bytes, len);
	if (body->failed)
		return status_set(&x->st, STATUS_TOO_BIG,
		    "the answer is over %zu bytes", body->max);
	return 0;
}

static size_t
take_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct exchange *x = arg;

	if (take_piece(x, bytes, size * count) < 0) {
		x->failed = true;
		return size * count + 1;
	}
	x->active_ms = clock_mono_ms();
	return size * count;
}

static int
add_header(struct exchange *x, const char *name, const char *value)
{
	char *line = xasprintf("%s%s", name, value);
	bool harmless = true;

	for (const char *p = line; *p; p++)
		harmless = harmless && (unsigned char)*p >= 0x20 && *p != 0x7f;
	struct curl_slist *more =
	    harmless ? curl_slist_append(x->headers, line) : NULL;
	free(line);
	if (!more)
		return status_set(&x->st, STATUS_INVALID,
		    "a header or key with control characters");
	x->headers = more;
	return 0;
}

static int
set_headers(struct exchange *x)
{
	const struct http_request *rq = x->rq;

	/* No waiting for "100 Continue". */
	if (add_header(x, "Expect:", "") < 0 ||
	    (rq->token &&
		add_header(x, "Authorization: Bearer ", rq->token) < 0))
		return -1;
	for (const char *const *h = rq->headers; h && *h; h++)
		if (add_header(x, "", *h) < 0)
			return -1;
	curl_easy_setopt(x->slot->easy, CURLOPT_HTTPHEADER, x->headers);
	return 0;
}

static void
set_method(struct exchange *x)
{
	CURL *e = x->slot->easy;
	const char *method = x->rq->method;

	for (size_t i = 0; i < x->rq->body_count; i++)
		x->body_len += (int64_t)x->rq->body[i].len;
	if (x->body_len > 0 || strcmp(method, "POST") == 0) {
		curl_easy_setopt(e, CURLOPT_POST, 1L);
		curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)x->body_len);
		curl_easy_setopt(e, CURLOPT_READFUNCTION, send_body);
		curl_easy_setopt(e, CURLOPT_READDATA, x);
		curl_easy_setopt(e, CURLOPT_SEEKFUNCTION, rewind_body);
		curl_easy_setopt(e, CURLOPT_SEEKDATA, x);
		if (x->body_len > SEND_BUFFER)
			curl_easy_setopt(e, CURLOPT_UPLOAD_BUFFERSIZE,
			    (long)SINK_BUFFER);
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "POST") != 0)
		curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, method);
}

static void
set_transport(struct exchange *x, const struct http_client *client)
{
	const struct http_request *rq = x->rq;
	CURL *e = x->slot->easy;

	curl_easy_setopt(e, CURLOPT_URL, rq->url);
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, (long)REUSE_IDLE_S);
	curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(e, CURLOPT_USERAGENT, DEFAULT_AGENT);
	curl_easy_setopt(e, CURLOPT_ERRORBUFFER, x->error);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(e, CURLOPT_PROTOCOLS,
	    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	/* A cancelled look-up of a name must not be waited for. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
#endif
	if (client->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, client->ca_file);
	if (rq->unix_path) {
		curl_easy_setopt(e, CURLOPT_UNIX_SOCKET_PATH, rq->unix_path);
		curl_easy_setopt(e, CURLOPT_PROXY, "");
	}
	if (rq->deadlines.connect > 0)
		curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
		    (long)rq->deadlines.connect);
	curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(e, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, x);
	if (rq->sink)
		curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)SINK_BUFFER);
}

/* Milliseconds until the next deadline; 0 or less: it has passed. */
static int64_t
time_left(const struct exchange *x)
{
	const struct http_deadlines *d = &x->rq->deadlines;
	int64_t now = clock_mono_ms(), left = POLL_MAX_MS;
	int quiet = x->answered ? d->idle : d->first;

	if (d->total > 0)
		left = MIN(left, x->started_ms + d->total - now);
	if (quiet > 0)
		left = MIN(left,
		    x->active_ms + quiet + (x->answered ? 0 : d->connect) -
			now);
	return left;
}

static int
transfer_failed(struct exchange *x, CURLcode code)
{
	const char *why = x->error[0] ? x->error : curl_easy_strerror(code);

	if (x->failed)
		return -1;
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return status_set(&x->st, STATUS_TIMEOUT, "%s", why);
	case CURLE_OUT_OF_MEMORY:
		return status_set(&x->st, STATUS_NO_MEMORY, "%s", why);
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return status_set(&x->st, STATUS_INVALID, "not a usable URL");
	default:
		return status_set(&x->st, STATUS_UNAVAILABLE, "%s", why);
	}
}

/* Runs the transfer to its end. */
static int
drive(struct exchange *x, struct cancel *c)
{
	CURLM *multi = x->slot->multi;
	int running = 1, queued;

	x->started_ms = x->active_ms = clock_mono_ms();
	while (true) {
		CURLMcode code = curl_multi_perform(multi, &running);
		if (code != CURLM_OK)
			return status_set(&x->st, STATUS_IO, "%s",
			    curl_multi_strerror(code));
		if (running == 0)
			break;
		if (cancel_fired(c))
			return status_set(&x->st, STATUS_CANCELED, "canceled");
		int64_t left = time_left(x);
		if (left <= 0)
			return status_set(&x->st, STATUS_TIMEOUT,
			    x->answered ? "the answer stopped coming"
					: "no answer in time");
		curl_multi_poll(multi, NULL, 0, (int)left, NULL);
	}
	CURLMsg *m = curl_multi_info_read(multi, &queued);
	while (m && m->msg != CURLMSG_DONE)
		m = curl_multi_info_read(multi, &queued);
	return transfer_failed(x, m ? m->data.result : CURLE_RECV_ERROR);
}

static void
count(struct http_client *client, struct exchange *x)
{
	curl_off_t up = 0, down = 0;
	long asked = 0, headers = 0, connections = 0;
	CURL *e = x->slot->easy;

	curl_easy_getinfo(e, CURLINFO_SIZE_UPLOAD_T, &up);
	curl_easy_getinfo(e, CURLINFO_SIZE_DOWNLOAD_T, &down);
	curl_easy_getinfo(e, CURLINFO_REQUEST_SIZE, &asked);
	curl_easy_getinfo(e, CURLINFO_HEADER_SIZE, &headers);
	curl_easy_getinfo(e, CURLINFO_NUM_CONNECTS, &connections);
	x->r->begun = asked > 0;
	atomic_fetch_add(&client->exchanges, 1);
	atomic_fetch_add(&client->bytes_sent, (uint64_t)(up + asked));
	atomic_fetch_add(&client->bytes_received, (uint64_t)(down + headers));
	atomic_fetch_add(&client->connections, (uint64_t)connections);
}

static void
wake(void *arg)
{
	curl_multi_wakeup(arg);
}

static int
run(struct http_client *client, struct exchange *x, struct cancel *c)
{
	/* Several exchanges may run under one token, which wakes only one. */
	struct cancel *own = c ? cancel_create(c) : NULL;
	int rc = -1;

	set_transport(x, client);
	set_method(x);
	if (set_headers(x) == 0) {
		curl_multi_add_handle(x->slot->multi, x->slot->easy);
		cancel_set_wake(own, wake, x->slot->multi);
		rc = drive(x, own);
		cancel_clear_wake(own);
		count(client, x);
		curl_multi_remove_handle(x->slot->multi, x->slot->easy);
	}
	cancel_put(own);
	return rc;
}

/* Scheme, host and port as written, or the socket: enough to find a kept
 * connection; nothing is decided by it. */
static void
origin_of(const struct http_request *rq, char *out, size_t size)
{
	const char *p = strstr(rq->url, "://");
	size_t n = p ? (size_t)(p - rq->url) + 3 : 0;

	n += strcspn(rq->url + n, "/?#");
	snprintf(out, size, "%s%.*s", rq->unix_path ? rq->unix_path : "",
	    (int)MIN(n, (size_t)200), rq->url);
}

int
http_exchange(struct http_client *client, const struct http_request *rq,
    struct http_response *response, struct cancel *c, struct status *st)
{
	struct exchange x = { .rq = rq, .r = response };
	char origin[280];

	wait_point();
	http_header_reset(response);
	buf_reset(&response->body);
	response->begun = false;
	if (cancel_fired(c))
		return status_set(st, STATUS_CANCELED, "canceled");
	origin_of(rq, origin, sizeof origin);
	x.slot = http_slot_get(client, origin);
	if (!x.slot)
		return status_set(st, STATUS_NO_MEMORY, "no memory for curl");
	int rc = run(client, &x, c);
	if (diag_enabled(DIAG_DEBUG))
		diag_debug("http %s %.*s: %d, %s, %lld ms", rq->method,
		    (int)strcspn(rq->url, "?"), rq->url, response->status,
		    rc == 0 ? "whole" : x.st.text,
		    (long long)(clock_mono_ms() - x.started_ms));
	http_slot_put(client, x.slot);
	curl_slist_free_all(x.headers);
	if (rc < 0)
		*st = x.st;
	return rc;
}
