/* Conversations as providers accept them, and the two request bodies. */
#include "agent/model/history.h"

#include "agent/model/request.h"
#include "tests/test.h"

#define TEXT(s) ((char *)(uintptr_t)(s))

static const struct history_rules plain_rules = { 0 };

static struct message
human(const char *text)
{
	return (struct message){ .type = MESSAGE_HUMAN, .content = TEXT(text) };
}

static struct message
ai(const char *text, struct tool_call *calls, size_t count)
{
	return (struct message){ .type = MESSAGE_AI,
		.content = TEXT(text),
		.calls = calls,
		.call_count = count };
}

static struct message
result(const char *id, const char *text)
{
	return (struct message){ .type = MESSAGE_TOOL,
		.tool_call_id = TEXT(id),
		.name = TEXT("ls"),
		.content = TEXT(text) };
}

static struct tool_call
call(const char *id, const char *arguments)
{
	return (struct tool_call){ .id = TEXT(id),
		.name = TEXT("ls"),
		.arguments = TEXT(arguments) };
}

/* "role:content" of every message, one a line; calls and answered ids too. */
static char *
outline(const struct history *h)
{
	static const char roles[] = "suat";
	auto_buf b = BUF_INIT(1U << 20);

	for (size_t i = 0; i < h->count; i++) {
		const struct wire_message *m = &h->messages[i];
		buf_printf(&b, "%c:%s%s%s", roles[m->role],
		    m->content ? m->content : "-",
		    m->role == WIRE_TOOL ? "<" : "",
		    m->role == WIRE_TOOL ? m->call_id : "");
		for (size_t k = 0; k < m->call_count; k++)
			buf_printf(&b, " %s%s", m->calls[k].id,
			    m->calls[k].arguments);
		buf_putc(&b, '\n');
	}
	return buf_take(&b);
}

static void
check(const struct message *messages, size_t count,
    const struct history_rules *rules, const char *want)
{
	struct history h;

	history_build(&h, "S", messages, count, rules);
	auto_free char *got = outline(&h);
	assert_string_equal(got, want);
	history_finish(&h);
}

static void
test_plain(void **state)
{
	struct tool_call one = call("x", "{\"p\": 1}");
	struct message m[] = { human("hi"), ai("", &one, 1), result("x", "r"),
		ai("done", NULL, 0), human("more") };

	(void)state;
	check(m, 5, &plain_rules,
	    "s:S\nu:hi\na:- c00000001{\"p\": 1}\nt:r<c00000001\n"
	    "a:done\nu:more\n");
}

static void
test_results_paired(void **state)
{
	struct tool_call two[] = { call("a", "{}"), call("b", "{}") };
	struct tool_call again[] = { call("a", "{}") };
	struct message m[] = { human("hi"), ai("", two, 2), result("b", "rb"),
		result("zz", "orphan"), result("a", "ra"), ai("", again, 1),
		result("a", "ra2"), result("a", "late copy") };

	(void)state;
	check(m, 8, &plain_rules,
	    "s:S\nu:hi\na:- c00000001{} c00000002{}\n"
	    "t:ra<c00000001\nt:rb<c00000002\n"
	    "a:- c00000003{}\nt:ra2<c00000003\n");
}

static void
test_same_id_twice(void **state)
{
	struct tool_call two[] = { call("a", "{}"), call("a", "{}") };
	struct message m[] = { human("hi"), ai("", two, 2), result("a", "1"),
		result("a", "2") };

	(void)state;
	check(m, 4, &plain_rules,
	    "s:S\nu:hi\na:- c00000001{} c00000002{}\n"
	    "t:1<c00000001\nt:2<c00000002\n");
}

static void
test_unanswered_and_broken(void **state)
{
	struct tool_call two[] = { call("a", "{\"p\":"), call("b", "{'q':1}") };
	struct message m[] = { human("hi"), ai("", two, 2), result("b", " ") };

	(void)state;
	check(m, 3, &plain_rules,
	    "s:S\nu:hi\na:- c00000001{} c00000002{\"q\":1}\n"
	    "t:Error: interrupted before a result was produced.<c00000001\n"
	    "t:(no output)<c00000002\n");
}

static void
test_empty_ones(void **state)
{
	struct message m[] = { human(" "), ai("", NULL, 0), human("hi"),
		ai("there", NULL, 0) };

	(void)state;
	check(m, 4, &plain_rules, "s:S\nu:hi\na:there\nu:Continue.\n");
	check(m, 0, &plain_rules, "s:S\nu:Continue.\n");
}

static void
test_provider_rules(void **state)
{
	struct tool_call one = call("x", "{}");
	struct message m[] = { human("a"), human("b"), ai("", &one, 1),
		result("x", "r"), human("c") };
	const struct history_rules mistral = { .assistant_after_tool = true };
	const struct history_rules strict = { .alternate = true };

	(void)state;
	check(m, 5, &mistral,
	    "s:S\nu:a\nu:b\na:- c00000001{}\nt:r<c00000001\na:OK.\nu:c\n");
	check(m, 5, &strict,
	    "s:S\nu:a\n\nb\na:- c00000001{}\nt:r<c00000001\nu:c\n");
}

/* What was sent before is the beginning of what is sent next. */
static void
test_prefix_is_stable(void **state)
{
	struct tool_call one = call("x", "{}"), two = call("x", "{\"a\":1}");
	struct message m[] = { human("hi"), ai("", &one, 1), result("x", "r"),
		ai("", &two, 1), result("x", "s") };
	struct request_profile profile = { .model = "m" };
	auto_buf first = BUF_INIT(1U << 20), second = BUF_INIT(1U << 20);
	struct model_request request = { .system_prompt = "S",
		.messages = m,
		.count = 3,
		.temperature = -1 };

	(void)state;
	request_openai(&first, &profile, &request);
	request.count = 5;
	request_openai(&second, &profile, &request);
	const char *end = strstr(first.bytes, "],\"stream\"");
	assert_non_null(end);
	assert_memory_equal(first.bytes, second.bytes,
	    (size_t)(end - first.bytes));
}

static const char tools[] = "[{\"name\":\"ls\",\"description\":\"d\","
			    "\"parameters\":{\"type\":\"object\"}}]";

static void
test_openai_body(void **state)
{
	struct tool_call one = call("x", "{}");
	struct message m[] = { human("hi\x01"), ai("", &one, 1),
		result("x", "r") };
	struct request_profile profile = { .model = "m", .nim_thinking = true };
	struct model_request request = { .system_prompt = "S",
		.messages = m,
		.count = 3,
		.tools = tools,
		.temperature = 0.5,
		.max_tokens = 9 };
	auto_buf body = BUF_INIT(1U << 20);

	(void)state;
	request_openai(&body, &profile, &request);
	assert_string_equal(body.bytes,
	    "{\"model\":\"m\",\"messages\":["
	    "{\"role\":\"system\",\"content\":\"S\"},"
	    "{\"role\":\"user\",\"content\":\"hi\\u0001\"},"
	    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["
	    "{\"id\":\"c00000001\",\"type\":\"function\",\"function\":"
	    "{\"name\":\"ls\",\"arguments\":\"{}\"}}]},"
	    "{\"role\":\"tool\",\"content\":\"r\","
	    "\"tool_call_id\":\"c00000001\"}],\"stream\":true,"
	    "\"stream_options\":{\"include_usage\":true},\"max_tokens\":9,"
	    "\"temperature\":0.5,\"tools\":[{\"type\":\"function\","
	    "\"function\":{\"name\":\"ls\",\"description\":\"d\","
	    "\"parameters\":{\"type\":\"object\"}}}],"
	    "\"tool_choice\":\"auto\","
	    "\"chat_template_kwargs\":{\"enable_thinking\":true}}");
}

static void
test_anthropic_body(void **state)
{
	struct tool_call one = call("x", "{}");
	struct message m[] = { human("hi"), ai("look", &one, 1),
		result("x", "r"), human("and?") };
	struct request_profile profile = { .model = "claude" };
	struct model_request request = { .system_prompt = "S",
		.messages = m,
		.count = 4,
		.tools = tools,
		.temperature = -1 };
	auto_buf body = BUF_INIT(1U << 20);

	(void)state;
	m[1].blocks = TEXT("[{\"type\":\"thinking\",\"thinking\":\"t\","
			   "\"signature\":\"s\"},"
			   "{\"type\":\"text\",\"text\":\"look\"}]");
	request_anthropic(&body, &profile, &request);
	assert_string_equal(body.bytes,
	    "{\"model\":\"claude\",\"max_tokens\":16384,\"stream\":true,"
	    "\"system\":[{\"type\":\"text\",\"text\":\"S\","
	    "\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":["
	    "{\"role\":\"user\",\"content\":["
	    "{\"type\":\"text\",\"text\":\"hi\"}]},"
	    "{\"role\":\"assistant\",\"content\":["
	    "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"},"
	    "{\"type\":\"text\",\"text\":\"look\"},"
	    "{\"type\":\"tool_use\",\"id\":\"c00000001\",\"name\":\"ls\","
	    "\"input\":{}}]},"
	    "{\"role\":\"user\",\"content\":["
	    "{\"type\":\"tool_result\",\"tool_use_id\":\"c00000001\","
	    "\"content\":[{\"type\":\"text\",\"text\":\"r\"}]},"
	    "{\"type\":\"text\",\"text\":\"and?\","
	    "\"cache_control\":{\"type\":\"ephemeral\"}}]}],"
	    "\"tools\":[{\"name\":\"ls\",\"description\":\"d\","
	    "\"input_schema\":{\"type\":\"object\"}}],"
	    "\"tool_choice\":{\"type\":\"auto\"}}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_results_paired),
		cmocka_unit_test(test_same_id_twice),
		cmocka_unit_test(test_unanswered_and_broken),
		cmocka_unit_test(test_empty_ones),
		cmocka_unit_test(test_provider_rules),
		cmocka_unit_test(test_prefix_is_stable),
		cmocka_unit_test(test_openai_body),
		cmocka_unit_test(test_anthropic_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
