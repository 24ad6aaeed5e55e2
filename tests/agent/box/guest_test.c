/* Sandboxes on paper: create requests, records, DTOs; options; host names of
 * variables. */
#include "agent/box/guest.h"

#include "agent/box/hostenv.h"
#include "tests/test.h"

static struct guest *
create(const char *body, struct status *st)
{
	auto_json *json = cJSON_Parse(body);

	assert_non_null(json);
	return guest_create(json, st);
}

static void
requests(void **state)
{
	static const char *const bad[] = { "{\"name\":\"<b>\"}",
		"{\"name\":\"a\\nb\"}", "{\"name\":\"x://y\"}",
		"{\"name\":\"WWW.x\"}", "{\"name\":\"\"}",
		"{\"autoStopInterval\":-1}", "{\"ttlMinutes\":1.5}",
		"{\"ttlMinutes\":\"5\"}", "{\"ttlMinutes\":99999999999}",
		"{\"labels\":[]}", "{\"labels\":{\"a\":1}}",
		"{\"env\":\"x\"}" };
	struct status st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (create(bad[i], &st))
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(st.code, STATUS_INVALID);
	}
	struct guest *g = create("{}", &st);
	assert_non_null(g);
	assert_string_equal(g->name, g->id);
	assert_true(uuid_valid(g->id));
	assert_int_equal(g->stop_minutes, 15);
	assert_int_equal(g->delete_minutes, -1);
	guest_destroy(g);
}

static void
a_record_comes_back(void **state)
{
	struct status st;
	auto_buf text = BUF_INIT(10000);

	(void)state;
	struct guest *g = create(
	    "{\"name\":\"n\xc3\xa9\",\"labels\":{\"a\":\"b\"},"
	    "\"env\":{\"E\":\"f\"},\"networkBlockAll\":true,\"public\":true,"
	    "\"autoStopInterval\":3,\"autoDeleteInterval\":0}",
	    &st);
	assert_non_null(g);
	g->destroy_at_ms = 1234567890123;
	g->state = GUEST_ARCHIVED;
	g->stopped_ms = 77;
	auto_json *record = guest_record(g);
	json_print(&text, record);
	struct guest *back = guest_parse(text.bytes, text.len, &st);
	assert_non_null(back);
	assert_string_equal(back->id, g->id);
	assert_string_equal(back->name, g->name);
	assert_true(back->network_off && back->shared_);
	assert_int_equal(back->stop_minutes, 3);
	assert_int_equal(back->delete_minutes, 0);
	assert_int_equal(back->destroy_at_ms, 1234567890123);
	assert_int_equal(back->stopped_ms, 77);
	assert_int_equal(back->state, GUEST_ARCHIVED);
	assert_string_equal(json_string_or(back->labels, "a", ""), "b");
	guest_destroy(back);
	/* One that ran when the server died stopped at no known time. */
	g->state = GUEST_STARTED;
	buf_reset(&text);
	auto_json *running = guest_record(g);
	json_print(&text, running);
	back = guest_parse(text.bytes, text.len, &st);
	assert_int_equal(back->state, GUEST_STOPPED);
	assert_true(back->stopped_ms > 77);
	guest_destroy(back);
	guest_destroy(g);
}

static void
damaged_records(void **state)
{
	static const char *const bad[] = { "", "{", "[]", "{}",
		"{\"id\":\"../../etc\"}",
		"{\"id\":\"6ccae70f-f39c-4f84-a7d9-2767bd533607\","
		"\"name\":\"<\"}" };
	struct status st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(guest_parse(bad[i], strlen(bad[i]), &st));
}

static void
descriptions(void **state)
{
	struct status st;
	struct options o = { .memory_mb = 100, .file_mb = 5000 };
	struct guest *g = create("{\"name\":\"n\"}", &st);

	(void)state;
	g->state = GUEST_STARTED;
	g->transition = "stopping";
	auto_json *json = guest_describe(g, "http://h:1", false, &o);
	assert_string_equal(json_string_or(json, "state", ""), "stopping");
	assert_string_equal(json_string_or(json, "desiredState", ""),
	    "stopped");
	assert_string_equal(json_string_or(json, "toolboxProxyUrl", ""),
	    "http://h:1/toolbox");
	assert_int_equal(json_int_or(json, "memory", -1), 1);
	assert_int_equal(json_int_or(json, "disk", -1), 4);
	assert_null(cJSON_GetObjectItem(json, "autoDestroyAt"));
	assert_null(cJSON_GetObjectItem(json, "errorReason"));
	g->transition = NULL;
	g->destroy_at_ms = 1000;
	auto_json *item = guest_describe(g, "http://h", true, &o);
	assert_string_equal(json_string_or(item, "autoDestroyAt", ""),
	    "1970-01-01T00:00:01.000Z");
	assert_null(cJSON_GetObjectItem(item, "env"));
	guest_destroy(g);
}

static void
variables(void **state)
{
	static const char *const in[] = { "PIP_INDEX_URL", "SSL_CERT_FILE",
		"CURL_CA_BUNDLE", "NIX_SSL_CERT_FILE", "https_proxy",
		"OPENBLAS_NUM_THREADS" };
	static const char *const out[] = { "NVIDIA_API_KEY", "PIP_TOKEN",
		"PIP_CLIENT_CERT", "HOME", "PATH", "DAYTONA_API_KEY",
		"SECRET_CA_BUNDLE", "OPENAI_API_KEY", "LD_PRELOAD",
		"XPIP_CERT" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		assert_true(hostenv_wanted(in[i]));
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		assert_false(hostenv_wanted(out[i]));
}

static void
command_lines(void **state)
{
	struct options o;
	struct status st;
	char *good[] = { (char[]){ "box" }, (char[]){ "--socket" },
		(char[]){ "/s" }, (char[]){ "--data" }, (char[]){ "/d" },
		(char[]){ "--uid" }, (char[]){ "5" }, NULL };
	char *twice[] = { (char[]){ "box" }, (char[]){ "--data" }, NULL };
	char *big[] = { (char[]){ "box" }, (char[]){ "--uid" },
		(char[]){ "99999999999" }, NULL };

	(void)state;
	assert_int_equal(options_parse(&o, 7, good, &st), 0);
	assert_string_equal(o.socket, "/s");
	assert_int_equal(o.uid, 5);
	assert_int_equal(o.parent_fd, -1);
	assert_true(o.memory_mb >= 512);
	assert_int_equal(options_parse(&o, 2, twice, &st), -1);
	assert_int_equal(options_parse(&o, 3, big, &st), -1);
	assert_non_null(strstr(st.text, "--uid"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(a_record_comes_back),
		cmocka_unit_test(damaged_records),
		cmocka_unit_test(descriptions),
		cmocka_unit_test(variables),
		cmocka_unit_test(command_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
