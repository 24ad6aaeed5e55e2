/* A store in a directory of its own, and short ways to fill it. */
#ifndef TESTS_AGENT_STORE_FIXTURE_H
#define TESTS_AGENT_STORE_FIXTURE_H

#include <ftw.h>
#include <sys/stat.h>

#include "agent/store/store.h"
#include "tests/test.h"

struct fixture {
	char dir[64];
	struct store *store;
	struct status st;
};

#define SUCCEEDS(f, call)                                        \
	do {                                                     \
		(f)->st.text[0] = '\0';                          \
		if ((call) != 0)                                 \
			fail_msg("%s: %s", #call, (f)->st.text); \
	} while (0)

#define REFUSED(f, wanted, call)                               \
	do {                                                   \
		assert_int_equal((call), -1);                  \
		assert_string_equal(status_word((f)->st.code), \
		    status_word(wanted));                      \
	} while (0)

static inline int
remove_entry(const char *path, const struct stat *sb, int flag, struct FTW *ftw)
{
	(void)sb, (void)flag, (void)ftw;
	return remove(path);
}

static inline void
fixture_open(struct fixture *f)
{
	SUCCEEDS(f, store_open(f->dir, &f->store, &f->st));
	SUCCEEDS(f, store_recover(f->store, &f->st));
}

static inline int
fixture_setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof *f);

	snprintf(f->dir, sizeof f->dir, "/tmp/store-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	*state = f;
	return 0;
}

static inline int
fixture_setup_open(void **state)
{
	fixture_setup(state);
	fixture_open(*state);
	return 0;
}

static inline int
fixture_teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static inline void
fixture_reopen(struct fixture *f)
{
	store_close(f->store);
	f->store = NULL;
	fixture_open(f);
}

static inline int64_t
make_thread(struct fixture *f, const char *name)
{
	int64_t number = 0;

	SUCCEEDS(f, store_thread_make(f->store, name, &number, &f->st));
	return number;
}

static inline struct message
new_message(enum message_type type, int64_t turn, const char *content)
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

/* A prompt that was accepted and started. */
static inline int64_t
begin_turn(struct fixture *f, int64_t thread, const char *prompt)
{
	int64_t turn = 0;

	SUCCEEDS(f, store_turn_accept(f->store, thread, prompt, &turn, &f->st));
	struct message human = new_message(MESSAGE_HUMAN, turn, prompt);
	SUCCEEDS(f,
	    store_turn_start(f->store, thread, turn, "script:x", &human,
		&f->st));
	message_finish(&human);
	return turn;
}

/* A reply with one call of that id, or none (NULL). */
static inline void
add_reply(struct fixture *f, int64_t thread, int64_t turn, const char *content,
    const char *call_id)
{
	struct message ai = new_message(MESSAGE_AI, turn, content);

	ai.usage = (struct usage){ .input_tokens = 10, .output_tokens = 3 };
	if (call_id)
		message_add_call(&ai, xstrdup(call_id), xstrdup("ls"),
		    xstrdup("{\"path\": \"/\"}"));
	SUCCEEDS(f, store_turn_reply(f->store, thread, turn, &ai, -1, &f->st));
	message_finish(&ai);
}

static inline void
add_result(struct fixture *f, int64_t thread, int64_t turn, const char *call_id,
    const char *content)
{
	struct message tool = new_message(MESSAGE_TOOL, turn, content);

	tool.tool_call_id = xstrdup(call_id);
	tool.name = xstrdup("ls");
	SUCCEEDS(f,
	    store_turn_results(f->store, thread, turn, &tool, 1, &f->st));
	message_finish(&tool);
}

static inline void
end_turn(struct fixture *f, int64_t thread, int64_t turn)
{
	SUCCEEDS(f,
	    store_turn_end(f->store, thread, turn, TURN_DONE, NULL, NULL,
		&f->st));
}

static inline void
free_messages(struct message *messages, size_t count)
{
	for (size_t i = 0; i < count; i++)
		message_finish(&messages[i]);
	free(messages);
}

/* The contents of a conversation, joined by '|'. Gives. */
static inline char *
contents(struct fixture *f, int64_t thread)
{
	struct message *messages = NULL;
	size_t count = 0;
	struct buf all = BUF_INIT(1 << 20);

	SUCCEEDS(f,
	    store_messages(f->store, thread, &messages, &count, &f->st));
	for (size_t i = 0; i < count; i++) {
		buf_puts(&all, i > 0 ? "|" : "");
		buf_puts(&all, messages[i].content);
	}
	free_messages(messages, count);
	return buf_take(&all);
}

static inline void
assert_contents(struct fixture *f, int64_t thread, const char *wanted)
{
	auto_free char *have = contents(f, thread);

	assert_string_equal(have, wanted);
}

#endif
