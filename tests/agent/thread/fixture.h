/* Threads over a real store in a directory of its own, without a sandbox: the
 * local server's program does not exist, so whoever wants one is told so. */
#ifndef TESTS_AGENT_THREAD_FIXTURE_H
#define TESTS_AGENT_THREAD_FIXTURE_H

#include <ftw.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/json.h"
#include "agent/base/lock.h"
#include "agent/thread/thread.h"
#include "tests/test.h"

#define SECRET "sk-0123456789abcdef"

struct fixture {
	char dir[64];
	char model[128]; /* script:DIR/script */
	struct store *store;
	struct provider *provider;
	struct threads *threads;
	struct status st;
	int max_turns;
	struct lock lock;
	struct cond changed;
	uint64_t changes; /* under lock */
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

static inline void
on_changed(void *arg, int64_t thread)
{
	struct fixture *f = arg;

	(void)thread;
	lock_acquire(&f->lock);
	f->changes++;
	cond_broadcast(&f->changed);
	lock_release(&f->lock);
}

static inline const char *
fake_env(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "GROQ_API_KEY") == 0 ? SECRET : NULL;
}

static inline void
fake_secrets(void *arg, void (*fn)(void *, const char *), void *fn_arg)
{
	(void)arg;
	fn(fn_arg, SECRET);
}

static inline void
fixture_open(struct fixture *f)
{
	auto_free char *box = xasprintf("%s/box", f->dir);
	auto_free char *cache = xasprintf("%s/cache", f->dir);
	int rc = -1;
	struct provider_settings ps = { .local = true,
		.box_program = "/nonexistent/sandagentfs-box",
		.box_dir = box,
		.owner = "test" };

	/* A child that was killed while it started a program: that one holds
	 * the lock until it has failed to. */
	for (int i = 0; i < 200 && rc < 0; i++) {
		rc = store_open(f->dir, &f->store, &f->st);
		if (rc < 0 && f->st.code == STATUS_BUSY)
			usleep(10000);
	}
	SUCCEEDS(f, rc);
	SUCCEEDS(f, store_recover(f->store, &f->st));
	f->provider = provider_create(&ps);
	struct threads_settings ts = { .store = f->store,
		.provider = f->provider,
		.state_dir = f->dir,
		.cache_dir = cache,
		.model = f->model,
		.stop_minutes = 15,
		.max_turns = f->max_turns,
		.env = fake_env,
		.secrets = fake_secrets,
		.changed = on_changed,
		.changed_arg = f };
	SUCCEEDS(f, threads_create(&ts, &f->threads, &f->st));
}

static inline void
fixture_close(struct fixture *f)
{
	threads_destroy(f->threads, NULL);
	provider_destroy(f->provider);
	store_close(f->store);
	f->threads = NULL;
}

static inline int
remove_entry(const char *path, const struct stat *sb, int flag, struct FTW *ftw)
{
	(void)sb, (void)flag, (void)ftw;
	return remove(path);
}

/* Without threads: for a test that forks first. */
static inline int
fixture_setup_closed(void **state)
{
	struct fixture *f = xcalloc(1, sizeof *f);

	snprintf(f->dir, sizeof f->dir, "/tmp/thread-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->model, sizeof f->model, "script:%s/script", f->dir);
	auto_free char *diag = xasprintf("%s/diag", f->dir);
	assert_int_equal(diag_open(diag, DIAG_DEBUG, false), 0);
	f->max_turns = 4;
	lock_init(&f->lock, RANK_OP);
	cond_init(&f->changed);
	*state = f;
	return 0;
}

static inline int
fixture_setup(void **state)
{
	fixture_setup_closed(state);
	fixture_open(*state);
	return 0;
}

static inline int
fixture_teardown(void **state)
{
	struct fixture *f = *state;

	if (f->threads)
		fixture_close(f);
	diag_close();
	nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	cond_finish(&f->changed);
	lock_finish(&f->lock);
	free(f);
	return 0;
}

/* The recorded replies, one JSON object each. */
static inline void
script(struct fixture *f, const char *lines)
{
	FILE *file = fopen(f->model + 7, "w");

	assert_non_null(file);
	fputs(lines, file);
	assert_int_equal(fclose(file), 0);
}

static inline struct thread *
make(struct fixture *f, const char *name)
{
	int64_t number;

	SUCCEEDS(f, thread_make(f->threads, name, &number, &f->st));
	struct thread *t = thread_find(f->threads, name);
	assert_non_null(t);
	assert_int_equal(thread_number(t), number);
	return t;
}

static inline void
prompt(struct fixture *f, struct thread *t, const char *text)
{
	SUCCEEDS(f, thread_prompt_reserve(t, &f->st));
	SUCCEEDS(f, thread_prompt_accept(t, text, strlen(text), &f->st));
}

/* Until `done` says so; fails after ten seconds. */
static inline void
wait_until(struct fixture *f, bool (*done)(void *arg), void *arg)
{
	int64_t deadline = clock_mono_ms() + 10000;

	for (;;) {
		lock_acquire(&f->lock);
		uint64_t seen = f->changes;
		lock_release(&f->lock);
		if (done(arg))
			return;
		lock_acquire(&f->lock);
		bool in_time = true;
		while (f->changes == seen && in_time)
			in_time = cond_wait(&f->changed, &f->lock, deadline);
		lock_release(&f->lock);
		if (!in_time)
			fail_msg("waited too long");
	}
}

static inline bool
is_idle(void *arg)
{
	return !thread_busy(arg);
}

static inline void
wait_idle(struct fixture *f, struct thread *t)
{
	wait_until(f, is_idle, t);
}

/* A key of `state`: gives its value, an item of *tree. */
static inline cJSON *
state_of(struct thread *t, const char *key, cJSON **tree)
{
	auto_buf text = BUF_INIT(1 << 20);
	struct status st;

	thread_state_text(t, &text);
	assert_int_equal(text.bytes[text.len - 1], '\n');
	assert_null(memchr(text.bytes, '\n', text.len - 1));
	*tree = json_parse(text.bytes, text.len, &st);
	if (!*tree)
		fail_msg("%s: %s", st.text, text.bytes);
	cJSON *item = cJSON_GetObjectItemCaseSensitive(*tree, key);
	assert_non_null(item);
	return item;
}

static inline void
phase_is(struct thread *t, const char *word)
{
	auto_json *tree = NULL;

	assert_string_equal(state_of(t, "phase", &tree)->valuestring, word);
}

static inline bool
is_running(void *arg)
{
	auto_json *tree = NULL;

	return strcmp(state_of(arg, "phase", &tree)->valuestring, "running") ==
	    0;
}

static inline char *
log_of(struct thread *t)
{
	size_t size = (size_t)thread_log_size(t);
	char *text = xcalloc(size + 1, 1);

	assert_int_equal(thread_log_read(t, text, size, 0), size);
	return text;
}

static inline void
log_has(struct thread *t, const char *what)
{
	auto_free char *text = log_of(t);

	if (!strstr(text, what))
		fail_msg("no \"%s\" in the log:\n%s", what, text);
}

static inline void
messages_are(struct fixture *f, struct thread *t, struct buf *out)
{
	buf_reset(out);
	SUCCEEDS(f, thread_messages_text(t, out, &f->st));
	assert_int_equal(thread_messages_size(t), out->len);
}

#endif
