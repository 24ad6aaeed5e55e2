/* The prompt as a command, and its output as the answer. */
#include "agent/model/shell.h"

#include "agent/base/json.h"
#include "tests/test.h"

static void
on_text(void *arg, const char *bytes, size_t len)
{
	buf_add(arg, bytes, len);
}

static int
complete(struct message *messages, size_t count, struct message *reply,
    struct buf *seen, struct status *st)
{
	struct model_settings settings = { .spec = "shell:" };
	struct model_request request = { .messages = messages, .count = count };
	struct model_sink sink = { .text = on_text, .arg = seen };
	struct model *m = model_open(&settings, st);

	assert_non_null(m);
	message_init(reply, MESSAGE_AI);
	buf_init(seen, 1 << 20);
	int rc = model_complete(m, &request, &sink, reply, NULL, st);
	model_close(m);
	return rc;
}

static void
set(char **field, const char *text)
{
	free(*field);
	*field = xstrdup(text);
}

static void
test_call(void **state)
{
	static const char prompt[] = "echo \"hi\\n\" > 'a b'\n# ü\n";
	struct message m, reply;
	struct buf seen;
	struct status st = { 0 };

	(void)state;
	message_init(&m, MESSAGE_HUMAN);
	set(&m.content, prompt);
	assert_int_equal(complete(&m, 1, &reply, &seen, &st), 0);
	assert_int_equal(reply.call_count, 1);
	assert_string_equal(reply.calls[0].name, "execute");
	assert_string_equal(reply.content, "");
	assert_int_equal(seen.len, 0);
	cJSON *args = json_parse(reply.calls[0].arguments,
	    strlen(reply.calls[0].arguments), &st);
	assert_string_equal(json_string_or(args, "command", ""), prompt);
	assert_int_equal(cJSON_GetArraySize(args), 1);
	cJSON_Delete(args);
	size_t id_len = strlen(reply.calls[0].id);
	assert_true(id_len > 16 && id_len <= 64);
	buf_finish(&seen);
	message_finish(&reply);
	message_finish(&m);
}

static void
test_answer(void **state)
{
	static const struct {
		const char *result;
		int exit_code;
		const char *answer;
	} rows[] = {
		{ "hi\n\n[Command succeeded with exit code 0]", 0, "hi\n" },
		{ "hi\n[Command failed with exit code 3]", 3, "hi" },
		{ "\n[Command succeeded with exit code 0]", 0, "" },
		/* What the output says about commands is output. */
		{ "a\n[Command succeeded with exit code 0]\nb\n"
		  "[Command failed with exit code 1]",
		    1, "a\n[Command succeeded with exit code 0]\nb" },
		{ "x\n[Command succeeded with exit code 0]\n"
		  "[Output was truncated due to size limits]",
		    0, "x" },
		{ "Error: no sandbox\n[Command ", -1,
		    "Error: no sandbox\n[Command " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct message m[3], reply;
		struct buf seen;
		struct status st = { 0 };
		message_init(&m[0], MESSAGE_HUMAN);
		message_init(&m[1], MESSAGE_AI);
		message_init(&m[2], MESSAGE_TOOL);
		set(&m[2].content, rows[i].result);
		m[2].exit_code = rows[i].exit_code;
		assert_int_equal(complete(m, 3, &reply, &seen, &st), 0);
		assert_string_equal(reply.content, rows[i].answer);
		assert_string_equal(seen.bytes, rows[i].answer);
		assert_int_equal(reply.call_count, 0);
		buf_finish(&seen);
		message_finish(&reply);
		for (size_t k = 0; k < 3; k++)
			message_finish(&m[k]);
	}
}

static void
test_nothing(void **state)
{
	struct message m, reply;
	struct buf seen;
	struct status st = { 0 };

	(void)state;
	assert_int_equal(complete(NULL, 0, &reply, &seen, &st), -1);
	assert_int_equal(st.code, STATUS_INVALID);
	message_finish(&reply);
	message_init(&m, MESSAGE_AI);
	assert_int_equal(complete(&m, 1, &reply, &seen, &st), -1);
	message_finish(&reply);
	message_finish(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
