/*
 * Failures of model servers; see failure.h. The order of the table matters:
 * OpenAI's "insufficient_quota" comes with 429, and NVIDIA's "worker limit
 * reached" with 500, 502 or no code at all.
 */
#include "agent/model/failure.h"

#include <strings.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/base/text.h"

static const struct rule {
	int low, high; /* a status within matches; 0, 0 = none */
	int low2, high2;
	const char *words[7];
	enum failure_kind kind;
} rules[] = {
	{ 0, 0, 0, 0, { "tool_use_failed" }, FAILURE_TOOL_USE },
	{ 402, 402, 0, 0,
	    { "insufficient_quota", "billing", "credit", "payment required" },
	    FAILURE_BILLING },
	{ 0, 0, 0, 0,
	    { "context_length_exceeded", "exceed_context_size",
		"maximum context length", "context window",
		"prompt is too long" },
	    FAILURE_CONTEXT_LENGTH },
	{ 401, 401, 403, 403,
	    { "authentication", "permission", "invalid_api_key",
		"unauthorized" },
	    FAILURE_AUTH },
	{ 503, 503, 529, 529,
	    { "overloaded", "resourceexhausted", "resource exhausted",
		"request limit reached", "at capacity", "unavailable" },
	    FAILURE_OVERLOADED },
	{ 429, 429, 0, 0, { "rate_limit", "rate limit", "too many requests" },
	    FAILURE_RATE_LIMIT },
	{ 408, 408, 504, 504, { "timeout", "timed out" }, FAILURE_TIMEOUT },
	{ 500, 599, 0, 0, { NULL }, FAILURE_SERVER },
	{ 404, 404, 0, 0, { "not_found" }, FAILURE_NOT_FOUND },
	{ 400, 400, 409, 422, { "invalid_request" }, FAILURE_INVALID },
};

const char *
failure_word(enum failure_kind kind)
{
	static const char *const words[] = {
		[FAILURE_NONE] = "none",
		[FAILURE_TOOL_USE] = "tool_use_failed",
		[FAILURE_BILLING] = "billing",
		[FAILURE_CONTEXT_LENGTH] = "context_length",
		[FAILURE_AUTH] = "auth",
		[FAILURE_OVERLOADED] = "overloaded",
		[FAILURE_RATE_LIMIT] = "rate_limit",
		[FAILURE_TIMEOUT] = "timeout",
		[FAILURE_SERVER] = "server",
		[FAILURE_NOT_FOUND] = "not_found",
		[FAILURE_INVALID] = "invalid_request",
		[FAILURE_CONNECT] = "connect",
		[FAILURE_TRUNCATED] = "truncated",
		[FAILURE_PROTOCOL] = "protocol",
		[FAILURE_CANCELED] = "cancelled",
	};

	return words[kind];
}

unsigned
failure_attempts(enum failure_kind kind)
{
	switch (kind) {
	case FAILURE_OVERLOADED:
	case FAILURE_RATE_LIMIT:
		return 6;
	case FAILURE_CONNECT:
	case FAILURE_TIMEOUT:
	case FAILURE_SERVER:
	case FAILURE_TRUNCATED:
		return 4;
	case FAILURE_TOOL_USE:
		return 3;
	case FAILURE_PROTOCOL:
		return 2;
	case FAILURE_NONE:
	case FAILURE_BILLING:
	case FAILURE_CONTEXT_LENGTH:
	case FAILURE_AUTH:
	case FAILURE_NOT_FOUND:
	case FAILURE_INVALID:
	case FAILURE_CANCELED:
		break;
	}
	return 1;
}

void
failure_set(struct failure *f, enum failure_kind kind, const char *message)
{
	f->kind = kind;
	escape_line(f->message, sizeof f->message, message, strlen(message));
}

static bool
matches(const struct rule *r, int status, const char *text)
{
	if (status &&
	    ((status >= r->low && status <= r->high) ||
		(status >= r->low2 && status <= r->high2)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(r->words) && r->words[i]; i++)
		if (strcasestr(text, r->words[i]))
			return true;
	return false;
}

void
failure_classify(struct failure *f, int status, const char *message,
    const char *type, const char *code)
{
	auto_free char *text = xasprintf("%s\n%s\n%s", message,
	    type ? type : "", code ? code : "");

	failure_set(f, FAILURE_SERVER, message);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (matches(&rules[i], status, text)) {
			f->kind = rules[i].kind;
			return;
		}
	}
}

static const cJSON *
get(const cJSON *obj, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(obj, name);
}

/* An HTTP status hidden in a field that may be a number or digits. */
static int
status_in(const cJSON *field)
{
	double v = 0;

	if (cJSON_IsNumber(field))
		v = field->valuedouble;
	else if (cJSON_IsString(field))
		v = (double)strtol(field->valuestring, NULL, 10);
	return v >= 400 && v < 600 ? (int)v : 0;
}

static bool
is_truthy(const cJSON *f)
{
	return f && !cJSON_IsNull(f) && !cJSON_IsFalse(f) &&
	    !(cJSON_IsString(f) && !f->valuestring[0]);
}

/* {"message","type","code"} of the error object or of the body itself. */
static void
from_fields(struct failure *f, int status, const cJSON *e)
{
	const cJSON *code = get(e, "code");
	const char *message = json_string_or(e, "message", NULL);
	const char *type = json_string_or(e, "type", "");
	int inner = status_in(code);

	if (!inner)
		inner = status_in(get(e, "status"));
	if (!message)
		message = *type ? type : "the server reported an error";
	failure_classify(f, inner ? inner : status, message, type,
	    cJSON_IsString(code) ? code->valuestring : "");
}

/* FastAPI's and NIM's detail: a text, a list of {"msg"}, or JSON as a text. */
static void
from_detail(struct failure *f, int status, const cJSON *detail)
{
	if (cJSON_IsString(detail)) {
		auto_json *inner = cJSON_Parse(detail->valuestring);
		/* One level only: the inner one has no detail of its own. */
		if (inner && is_truthy(get(inner, "error"))) {
			const cJSON *e = get(inner, "error");
			if (cJSON_IsObject(e)) {
				from_fields(f, status, e);
				return;
			}
		}
		failure_classify(f, status, detail->valuestring, "", "");
		return;
	}
	const cJSON *first = cJSON_IsArray(detail) ? detail->child : NULL;
	failure_classify(f, status, json_string_or(first, "msg", "refused"), "",
	    "");
}

bool
failure_from_json(struct failure *f, int status, const cJSON *body)
{
	const cJSON *error = get(body, "error");
	const cJSON *detail = get(body, "detail");
	bool answer = get(body, "choices") != NULL;
	int inner = answer ? 0 : status_in(get(body, "status"));

	if (cJSON_IsObject(error)) {
		from_fields(f, status, error);
	} else if (is_truthy(error)) {
		failure_classify(f, status,
		    cJSON_IsString(error) ? error->valuestring : "error", "",
		    "");
	} else if (strcmp(json_string_or(body, "object", ""), "error") == 0) {
		from_fields(f, status, body);
	} else if (inner) {
		const char *title = json_string_or(body, "title", "error");
		failure_classify(f, inner,
		    json_string_or(body, "detail", title), title, "");
	} else if (!answer && is_truthy(detail)) {
		from_detail(f, status, detail);
	} else {
		return false;
	}
	return true;
}

void
failure_from_body(struct failure *f, int status, const char *body, size_t len)
{
	auto_buf clean = BUF_INIT(1U << 20);

	text_scrub_json(&clean, body, MIN(len, (size_t)256 << 10), false);
	auto_json *json = cJSON_ParseWithLength(clean.bytes, clean.len);
	if (cJSON_IsObject(json) && failure_from_json(f, status, json))
		return;
	char text[340];
	int n = len > 0 ? (int)MIN(len, (size_t)300) : 0;
	snprintf(text, sizeof text, "HTTP %d%s%.*s", status, n ? ": " : "", n,
	    body);
	failure_classify(f, status, text, "", "");
}
