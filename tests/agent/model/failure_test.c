/* Failures of model servers: their many shapes, kinds and waits. */
#include "agent/model/failure.h"

#include "agent/model/remote.h"
#include "tests/test.h"

static const struct {
	int status;
	const char *body;
	enum failure_kind kind;
	const char *words;
} bodies[] = {
	{ 429,
	    "{\"error\":{\"message\":\"You exceeded your current quota\","
	    "\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}",
	    FAILURE_BILLING, "exceeded" },
	{ 429, "{\"status\":429,\"title\":\"Too Many Requests\"}",
	    FAILURE_RATE_LIMIT, "Too Many Requests" },
	{ 429, "", FAILURE_RATE_LIMIT, "HTTP 429" },
	{ 400,
	    "{\"error\":{\"message\":\"This model's maximum context length is "
	    "8192 tokens\",\"code\":\"context_length_exceeded\"}}",
	    FAILURE_CONTEXT_LENGTH, "8192" },
	{ 401, "{\"error\":\"no key\"}", FAILURE_AUTH, "no key" },
	{ 402, "", FAILURE_BILLING, "HTTP 402" },
	{ 403, "<html>no</html>", FAILURE_AUTH, "<html>" },
	{ 404, "{\"detail\":\"Not Found\"}", FAILURE_NOT_FOUND, "Not Found" },
	{ 404, "<html><body>nothing here</body></html>", FAILURE_NOT_FOUND,
	    "404" },
	{ 408, "", FAILURE_TIMEOUT, "HTTP 408" },
	{ 409, "{\"object\":\"error\",\"message\":\"busy\",\"code\":\"3230\"}",
	    FAILURE_INVALID, "busy" },
	{ 413, "", FAILURE_INVALID, "HTTP 413" },
	{ 422,
	    "{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\","
	    "\"type\":\"value_error\"}]}",
	    FAILURE_INVALID, "field required" },
	{ 500,
	    "{\"error\":{\"message\":\"ResourceExhausted: Worker local total "
	    "request limit reached (33/32)\"}}",
	    FAILURE_OVERLOADED, "ResourceExhausted" },
	{ 500, "oops", FAILURE_SERVER, "oops" },
	{ 502, "", FAILURE_SERVER, "HTTP 502" },
	{ 503, "", FAILURE_OVERLOADED, "HTTP 503" },
	{ 504, "", FAILURE_TIMEOUT, "HTTP 504" },
	{ 529,
	    "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
	    "\"message\":\"Overloaded\"}}",
	    FAILURE_OVERLOADED, "Overloaded" },
	{ 400,
	    "{\"error\":{\"message\":\"bad call\",\"code\":\"tool_use_failed\","
	    "\"failed_generation\":\"x\"}}",
	    FAILURE_TOOL_USE, "bad call" },
	{ 502,
	    "{\"detail\":\"{\\\"error\\\":{\\\"message\\\":\\\"inner\\\","
	    "\\\"code\\\":429}}\"}",
	    FAILURE_RATE_LIMIT, "inner" },
};

static void
test_bodies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct failure f = { 0 };
		failure_from_body(&f, bodies[i].status, bodies[i].body,
		    strlen(bodies[i].body));
		if (f.kind != bodies[i].kind ||
		    !strstr(f.message, bodies[i].words))
			print_error("%d %s: %s, %s\n", bodies[i].status,
			    bodies[i].body, failure_word(f.kind), f.message);
		assert_int_equal(f.kind, bodies[i].kind);
		assert_non_null(strstr(f.message, bodies[i].words));
	}
}

static void
test_no_failure(void **state)
{
	static const char *const fine[] = { "{\"choices\":[]}",
		"{\"error\":null,\"choices\":[]}", "{\"error\":\"\"}", "{}",
		"{\"choices\":[],\"status\":500}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
		struct failure f = { 0 };
		cJSON *json = cJSON_Parse(fine[i]);
		assert_false(failure_from_json(&f, 0, json));
		assert_int_equal(f.kind, FAILURE_NONE);
		cJSON_Delete(json);
	}
}

static void
test_delays(void **state)
{
	struct failure f = { .kind = FAILURE_RATE_LIMIT };

	(void)state;
	assert_int_equal(remote_delay_ms(&f, 2, false, 1), 1000);
	assert_int_equal(remote_delay_ms(&f, 3, false, 1), 2000);
	assert_int_equal(remote_delay_ms(&f, 2, false, 0), 750);
	assert_int_equal(remote_delay_ms(&f, 2, true, 1), 4000);
	assert_int_equal(remote_delay_ms(&f, 6, true, 1), 60000);
	assert_int_equal(remote_delay_ms(&f, 7, true, 1), -1);
	f.retry_after_s = 3;
	assert_int_equal(remote_delay_ms(&f, 2, true, 1), 3000);
	f.retry_after_s = 121;
	assert_int_equal(remote_delay_ms(&f, 2, true, 1), -1);
	f = (struct failure){ .kind = FAILURE_AUTH };
	assert_int_equal(remote_delay_ms(&f, 2, false, 1), -1);
	f.kind = FAILURE_PROTOCOL;
	assert_int_equal(remote_delay_ms(&f, 2, false, 1), 1000);
	assert_int_equal(remote_delay_ms(&f, 3, false, 1), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_no_failure),
		cmocka_unit_test(test_delays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
