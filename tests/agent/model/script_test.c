/* Recorded replies. */
#include "agent/model/script.h"

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "tests/test.h"

static char path[] = "/tmp/script-test-XXXXXX";

static int
set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 || close(fd) < 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

static void
put(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* What the sink saw. */
struct seen {
	struct buf text;
	unsigned pieces;
	struct cancel *cancel; /* fired at the first piece */
};

static void
on_text(void *arg, const char *bytes, size_t len)
{
	struct seen *seen = arg;

	buf_add(&seen->text, bytes, len);
	seen->pieces++;
	cancel_fire(seen->cancel);
}

static int
complete(struct model *m, int64_t *position, bool first, struct message *reply,
    struct seen *seen, struct cancel *cancel, struct status *st)
{
	struct model_request request = { .script_position = position,
		.first_call = first };
	struct model_sink sink = { .text = on_text, .arg = seen };

	message_init(reply, MESSAGE_AI);
	buf_init(&seen->text, 1 << 20);
	seen->pieces = 0;
	return model_complete(m, &request, &sink, reply, cancel, st);
}

static struct model *
open_model(struct status *st)
{
	auto_free char *spec = xasprintf("script:%s", path);
	struct model_settings settings = { .spec = spec };

	return model_open(&settings, st);
}

static void
expect(struct model *m, int64_t *position, bool first, const char *content)
{
	struct message reply;
	struct seen seen = { .pieces = 0 };
	struct status st = { 0 };

	if (complete(m, position, first, &reply, &seen, NULL, &st) < 0)
		fail_msg("%s", st.text);
	assert_string_equal(reply.content, content);
	assert_string_equal(seen.text.bytes, content);
	buf_finish(&seen.text);
	message_finish(&reply);
}

static void
expect_error(struct model *m, int64_t *position, bool first, const char *words)
{
	struct message reply;
	struct seen seen = { .pieces = 0 };
	struct status st = { 0 };

	assert_int_equal(complete(m, position, first, &reply, &seen, NULL, &st),
	    -1);
	assert_int_not_equal(st.code, STATUS_CANCELED);
	if (!strstr(st.text, words))
		fail_msg("%s", st.text);
	buf_finish(&seen.text);
	message_finish(&reply);
}

static void
test_order(void **state)
{
	struct status st = { 0 };
	int64_t position = 0;

	(void)state;
	put("{\"content\":\"one\"}\n\n{\"content\":\"two\"}\r\n"
	    "{\"content\":\"three\"}");
	struct model *m = open_model(&st);
	assert_non_null(m);
	expect(m, &position, true, "one");
	assert_int_equal(position, 1);
	expect(m, &position, false, "two");
	expect(m, &position, true, "three");
	assert_int_equal(position, 3);
	/* Within a turn there is no more … */
	expect_error(m, &position, false, path);
	assert_int_equal(position, 3);
	/* … but a new turn begins again. */
	expect(m, &position, true, "one");
	assert_int_equal(position, 1);
	/* A file that became shorter. */
	position = 77;
	expect(m, &position, true, "one");
	position = -1;
	expect(m, &position, true, "one");
	model_close(m);
}

static void
test_calls(void **state)
{
	struct message reply;
	struct seen seen = { .pieces = 0 };
	struct status st = { 0 };
	int64_t position = 0;

	(void)state;
	put("{\"content\":null,\"tool_calls\":[{\"name\":\"a\",\"args\":{ "
	    "\"n\": 12345678901234567890, \"s\":\"\\u00e9\\ud800\"} },"
	    "{\"name\":\"b\"},{\"args\":\"{broken \",\"name\":\"c\"},"
	    "{\"name\":\"d\",\"args\":\"{'x': 1,}\"}]}\n");
	struct model *m = open_model(&st);
	assert_non_null(m);
	assert_int_equal(complete(m, &position, true, &reply, &seen, NULL, &st),
	    0);
	assert_int_equal(seen.pieces, 0);
	assert_string_equal(reply.content, "");
	assert_int_equal(reply.call_count, 4);
	assert_string_equal(reply.calls[0].name, "a");
	assert_string_equal(reply.calls[0].arguments,
	    "{ \"n\": 12345678901234567890, \"s\":\"\\u00e9\\ud800\"}");
	assert_null(reply.calls[0].invalid);
	assert_string_equal(reply.calls[1].arguments, "{}");
	assert_string_equal(reply.calls[2].arguments, "{broken ");
	assert_non_null(reply.calls[2].invalid);
	/* What can be understood is, as with any other model. */
	assert_string_equal(reply.calls[3].arguments, "{\"x\":1}");
	assert_null(reply.calls[3].invalid);
	for (size_t i = 0; i < 3; i++) {
		const char *id = reply.calls[i].id;
		assert_true(strlen(id) > 16 && strlen(id) <= 64);
		assert_int_equal(
		    strspn(id,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"0123456789_-"),
		    strlen(id));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(id, reply.calls[k].id);
	}
	message_finish(&reply);
	buf_finish(&seen.text);
	model_close(m);
}

static void
test_pieces(void **state)
{
	static const char text[] = "논문 실험 결과를 정리했습니다. 끝.";
	struct message reply;
	struct seen seen = { .pieces = 0 };
	struct status st = { 0 };
	int64_t position = 0;

	(void)state;
	auto_free char *line =
	    xasprintf("{\"content\":\"%s\",\"delay_ms\":40}", text);
	put(line);
	struct model *m = open_model(&st);
	int64_t began = clock_mono_ms();
	assert_int_equal(complete(m, &position, true, &reply, &seen, NULL, &st),
	    0);
	assert_true(clock_mono_ms() - began >= 38);
	assert_int_equal(seen.pieces, 4);
	assert_string_equal(seen.text.bytes, text);
	assert_string_equal(reply.content, text);
	message_finish(&reply);
	buf_finish(&seen.text);
	model_close(m);
}

static void
test_error(void **state)
{
	struct message reply;
	struct seen seen = { .pieces = 0 };
	struct status st = { 0 };
	int64_t position = 0;

	(void)state;
	put("{\"content\":\"par\",\"error\":\"the model is on fire\"}\n"
	    "{\"content\":\"ok\"}\n");
	struct model *m = open_model(&st);
	assert_int_equal(complete(m, &position, true, &reply, &seen, NULL, &st),
	    -1);
	assert_string_equal(st.text, "the model is on fire");
	assert_string_equal(reply.content, "par");
	assert_string_equal(seen.text.bytes, "par");
	message_finish(&reply);
	buf_finish(&seen.text);
	/* Lines are taken in order, this one too. */
	expect(m, &position, false, "ok");
	model_close(m);
}

static void *
fire_later(void *arg)
{
	cancel_sleep(NULL, 20);
	cancel_fire(arg);
	return NULL;
}

static void
test_cancel(void **state)
{
	struct message reply;
	struct cancel *cancel = cancel_create(NULL);
	struct seen seen = { .cancel = NULL };
	struct status st = { 0 };
	int64_t position = 0;

	(void)state;
	put("{\"delay_ms\":60000,\"content\":\"never seen by anybody\"}\n");
	struct model *m = open_model(&st);
	pthread_t worker = worker_start(fire_later, cancel, "fire");
	int64_t began = clock_mono_ms();
	assert_int_equal(complete(m, &position, true, &reply, &seen, cancel,
			     &st),
	    -1);
	assert_int_equal(st.code, STATUS_CANCELED);
	assert_true(clock_mono_ms() - began < 5000);
	assert_int_equal(position, 0);
	worker_join(worker);
	message_finish(&reply);
	buf_finish(&seen.text);
	cancel_put(cancel);
	/* In the middle: what was shown stays. */
	seen.cancel = cancel = cancel_create(NULL);
	put("{\"content\":\"0123456789abcdef\"}\n");
	model_close(m);
	m = open_model(&st);
	assert_int_equal(complete(m, &position, true, &reply, &seen, cancel,
			     &st),
	    -1);
	assert_int_equal(st.code, STATUS_CANCELED);
	assert_string_equal(reply.content, "0123");
	assert_string_equal(seen.text.bytes, "0123");
	message_finish(&reply);
	buf_finish(&seen.text);
	cancel_put(cancel);
	model_close(m);
}

static void
test_bad_files(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "", "has no replies" },
		{ "\n \n", "has no replies" },
		{ "{\"content\":\"a\"}\n\nnonsense\n", "line 3: not JSON" },
		{ "[]", "line 1: not a JSON object" },
		{ "{\"content\":1}", "line 1: content: not a string" },
		{ "{\"error\":1}", "line 1: error: not a string" },
		{ "{\"delay_ms\":-1}", "line 1: delay_ms" },
		{ "{\"delay_ms\":\"1\"}", "line 1: delay_ms" },
		{ "{\"tool_calls\":{}}", "line 1: tool_calls: not an array" },
		{ "{\"tool_calls\":[{\"args\":{}}]}", "each needs a name" },
		{ "{\"tool_calls\":[{\"name\":\"\"}]}", "each needs a name" },
		{ "{\"tool_calls\":[{\"name\":\"x\",\"args\":[]}]}",
		    "args of x: not an object" },
	};
	struct status st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put(bad[i].text);
		assert_null(open_model(&st));
		if (!strstr(st.text, bad[i].words))
			fail_msg("%s", st.text);
		assert_non_null(strstr(st.text, path));
	}
	assert_null(script_open("/tmp", &st));
	assert_non_null(strstr(st.text, "not a regular file"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_bad_files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
