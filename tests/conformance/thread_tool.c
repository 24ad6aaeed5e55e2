/*
 * The store by hand, for tests with LangGraph's own programs:
 *   thread_tool DIR say THREAD PROMPT REPLY [ARGUMENTS]
 * makes a turn (with a call of those arguments and its result), and
 *   thread_tool DIR show THREAD
 * prints the conversation as `messages` does.
 */
#include "agent/store/store.h"

static struct status st;

static void
must(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s: %s\n", what, st.text);
	exit(1);
}

struct search {
	const char *name;
	int64_t number;
};

static void
match(void *arg, const struct stored_thread *t)
{
	struct search *s = arg;

	if (strcmp(t->name, s->name) == 0)
		s->number = t->number;
}

static int64_t
find_thread(struct store *s, const char *name)
{
	struct search search = { .name = name };

	must(store_threads(s, match, &search, &st), "threads");
	if (search.number == 0)
		must(store_thread_make(s, name, &search.number, &st), name);
	return search.number;
}

static struct message
make(enum message_type type, int64_t turn, const char *content)
{
	struct message m;

	message_init(&m, type);
	m.id = message_new_id();
	m.turn = turn;
	m.ts_ms = 1796070000123;
	free(m.content);
	m.content = xstrdup(content);
	return m;
}

static void
call_and_result(struct store *s, int64_t thread, int64_t turn,
    const char *arguments)
{
	struct message ai = make(MESSAGE_AI, turn, "");
	struct message tool = make(MESSAGE_TOOL, turn, "12 bytes");

	message_add_call(&ai, xasprintf("call_%lld", (long long)turn),
	    xstrdup("execute"), xstrdup(arguments));
	ai.usage = (struct usage){ 100, 20 };
	tool.tool_call_id = xstrdup(ai.calls[0].id);
	tool.name = xstrdup("execute");
	tool.exit_code = 0;
	must(store_turn_reply(s, thread, turn, &ai, -1, &st), "reply");
	must(store_turn_results(s, thread, turn, &tool, 1, &st), "results");
	message_finish(&ai);
	message_finish(&tool);
}

static void
say(struct store *s, int64_t thread, const char *prompt, const char *reply,
    const char *arguments)
{
	int64_t turn = 0;

	must(store_turn_accept(s, thread, prompt, &turn, &st), "accept");
	struct message human = make(MESSAGE_HUMAN, turn, prompt);
	must(store_turn_start(s, thread, turn, "script:x", &human, &st),
	    "start");
	if (arguments)
		call_and_result(s, thread, turn, arguments);
	struct message ai = make(MESSAGE_AI, turn, reply);
	must(store_turn_reply(s, thread, turn, &ai, -1, &st), "reply");
	must(store_turn_end(s, thread, turn, TURN_DONE, NULL, NULL, &st),
	    "end");
	message_finish(&human);
	message_finish(&ai);
}

static void
show(struct store *s, int64_t thread)
{
	struct message *messages = NULL;
	size_t count = 0;
	struct buf out = BUF_INIT(64U << 20);

	must(store_messages(s, thread, &messages, &count, &st), "messages");
	for (size_t i = 0; i < count; i++) {
		message_to_line(&messages[i], &out);
		message_finish(&messages[i]);
	}
	fwrite(out.bytes, 1, out.len, stdout);
	buf_finish(&out);
	free(messages);
}

int
main(int argc, char **argv)
{
	struct store *s = NULL;

	if (argc < 4) {
		fputs("usage: thread_tool DIR say|show THREAD …\n", stderr);
		return 1;
	}
	must(store_open(argv[1], &s, &st), "open");
	must(store_recover(s, &st), "recover");
	int64_t thread = find_thread(s, argv[3]);
	if (strcmp(argv[2], "say") == 0 && argc >= 6)
		say(s, thread, argv[4], argv[5], argc > 6 ? argv[6] : NULL);
	else
		show(s, thread);
	store_close(s);
	return 0;
}
