/* Listings, reads, scripts and the life of a real local sandbox. */
#include <pthread.h>
#include <signal.h>

#include "tests/agent/sandbox/fixture.h"

static struct remote_entry *
find(struct listing *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->entries[i].path, path) == 0)
			return &l->entries[i];
	return NULL;
}

static void
list(struct listing *l, const char *path, bool deep)
{
	struct status st = { 0 };

	if (sandbox_list(fx.sb, SANDBOX_LOOK, path, deep, l, NULL, &st) < 0)
		fail_msg("%s: %s", path, st.text);
}

static void
made_and_said(void **state)
{
	struct sandbox_view v;

	(void)state;
	sandbox_view(fx.sb, &v);
	assert_string_equal(v.state, "started");
	assert_true(v.ours && v.created && v.started);
	assert_string_equal(provider_word(fx.provider), "local");
	assert_int_equal(fx.event_count, 1);
	char *line = xasprintf("created thread-test (id=%s, ttl=none)", v.id);
	assert_string_equal(fx.events[0], line);
	free(line);
}

static void
subtrees(void **state)
{
	struct sandbox_counters before, after;
	struct listing l;

	(void)state;
	run("cd; mkdir -p p/src/deep p/node_modules/x p/.git/objects/aa "
	    "p/locked; echo 12345 >p/src/deep/f; mkfifo p/fifo; "
	    "ln -s /etc/passwd p/out; ln p/src/deep/f p/src/g; "
	    "touch p/locked/x; chmod 0 p/locked; "
	    "touch -h -d @1234567890.987654321 p/src/g");
	list(&l, "p", true);
	assert_string_equal(l.root, "p");
	assert_string_equal(l.entries[0].path, "p");
	assert_int_equal(find(&l, "p/src/deep/f")->version.size, 6);
	assert_int_equal(find(&l, "p/src/g")->nlink, 2);
	assert_int_equal(find(&l, "p/src/g")->version.mtime.tv_nsec, 987654321);
	assert_string_equal(find(&l, "p/out")->target, "/etc/passwd");
	assert_true(S_ISFIFO(find(&l, "p/fifo")->mode));
	assert_true(find(&l, "p/node_modules")->unlisted);
	assert_null(find(&l, "p/node_modules/x"));
	assert_true(find(&l, "p/.git/objects")->unlisted);
	assert_false(find(&l, "p/.git")->unlisted);
	assert_true(find(&l, "p/locked")->unlisted);
	assert_false(find(&l, "p/src")->unlisted);
	listing_finish(&l);
	sandbox_counters(fx.provider, &before);
	list(&l, "p", false);
	sandbox_counters(fx.provider, &after);
	assert_int_equal(after.toolbox - before.toolbox, 1);
	assert_int_equal(after.control - before.control, 0);
	assert_true(find(&l, "p/src")->unlisted);
	assert_null(find(&l, "p/src/g"));
	assert_false(l.entries[0].unlisted);
	listing_finish(&l);
	list(&l, "p/node_modules", true);
	assert_non_null(find(&l, "p/node_modules/x"));
	listing_finish(&l);
	list(&l, "p/.git", true);
	assert_true(find(&l, "p/.git/objects")->unlisted);
	listing_finish(&l);
	list(&l, "", true);
	assert_string_equal(l.entries[0].path, "");
	assert_null(find(&l, ".daytona"));
	listing_finish(&l);
}

static enum status_code
list_fails(const char *path)
{
	struct status st = { 0 };
	struct listing l;

	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, path, true, &l, NULL,
			     &st),
	    -1);
	return st.code;
}

static void
listings_refused(void **state)
{
	(void)state;
	run("cd; echo >file; ln -sf nowhere dangling");
	assert_int_equal(list_fails("absent"), STATUS_NOT_FOUND);
	assert_int_equal(list_fails("file"), STATUS_NOT_DIR);
	assert_int_equal(list_fails("dangling"), STATUS_NOT_DIR);
}

static void
large_trees(void **state)
{
	struct listing l;

	(void)state;
	run("mkdir /home/daytona/big && cd /home/daytona/big && "
	    "for i in 1 2 3 4 5 6 7 8 9; do mkdir d$i; "
	    "( cd d$i; seq -f file%g 2000 | xargs touch ); done");
	int64_t t = clock_mono_ms();
	list(&l, "big", true);
	print_message("18,000 entries: %lld ms\n",
	    (long long)(clock_mono_ms() - t));
	assert_int_equal(l.count, 18010);
	assert_false(l.truncated);
	listing_finish(&l);
	run("rm -rf /home/daytona/big");
}

static int
gather(void *arg, const void *bytes, size_t len, struct status *st)
{
	struct buf *b = arg;

	buf_add(b, bytes, len);
	return b->failed ? status_set(st, STATUS_TOO_BIG, "too big") : 0;
}

static void
get(const char *path, int64_t off, int64_t len, const char *expected,
    int64_t size)
{
	auto_buf b = BUF_INIT(1 << 20);
	struct status st = { 0 };
	int64_t total = -7;

	if (sandbox_get(fx.sb, SANDBOX_LOOK, path, off, len, gather, &b, &total,
		NULL, &st) < 0)
		fail_msg("%s: %s", path, st.text);
	assert_string_equal(b.bytes, expected);
	assert_int_equal(total, size);
}

static enum status_code
get_fails(const char *path)
{
	auto_buf b = BUF_INIT(1000);
	struct status st = { 0 };
	int64_t total;

	assert_int_equal(sandbox_get(fx.sb, SANDBOX_LOOK, path, 0, 0, gather,
			     &b, &total, NULL, &st),
	    -1);
	return st.code;
}

static void
reads(void **state)
{
	(void)state;
	run("cd; printf 0123456789 >ten; : >empty; mkdir -p dir; "
	    "printf odd >'dir/a;+%&\"x'; "
	    "printf bytes >\"$(printf 'n\\377')\"");
	get("ten", 0, 0, "0123456789", 10);
	get("ten", 3, 4, "3456", 10);
	get("ten", 3, 0, "3456789", 10);
	get("ten", 8, 100, "89", 10);
	get("ten", 10, 5, "", 10);
	get("ten", 99, 0, "", 10);
	get("/home/daytona/ten", 9, 1, "9", 10);
	get("empty", 0, 0, "", 0);
	get("empty", 0, 10, "", 0);
	get("empty", 5, 10, "", 0);
	get("dir/a;+%&\"x", 0, 0, "odd", 3);
	get("n\xff", 1, 3, "yte", 5);
	assert_int_equal(get_fails("absent"), STATUS_NOT_FOUND);
	assert_int_equal(get_fails("dir"), STATUS_IS_DIR);
	assert_int_equal(get_fails("ten/x"), STATUS_NOT_DIR);
	assert_int_equal(get_fails("absent\xff"), STATUS_NOT_FOUND);
}

static int
refuse(void *arg, const void *bytes, size_t len, struct status *st)
{
	(void)arg;
	(void)bytes;
	(void)len;
	return status_set(st, STATUS_NO_SPACE, "no room here");
}

static void
sinks_may_stop(void **state)
{
	struct status st = { 0 };
	int64_t total;

	(void)state;
	run("head -c 3000000 /dev/zero >/home/daytona/zeros");
	assert_int_equal(sandbox_get(fx.sb, SANDBOX_LOOK, "zeros", 0, 0, refuse,
			     NULL, &total, NULL, &st),
	    -1);
	assert_int_equal(st.code, STATUS_NO_SPACE);
}

static void
scripts(void **state)
{
	static const char script[] =
	    "printf 'a\\000b'; echo no >&2; cat; exit 5";
	auto_buf out = BUF_INIT(100);
	struct status st = { 0 };
	int code = -1;

	(void)state;
	assert_int_equal(sandbox_script(fx.sb, SANDBOX_LOOK, script,
			     strlen(script), &out, &code, NULL, &st),
	    0);
	assert_int_equal(code, 5);
	assert_int_equal(out.len, 3);
	assert_memory_equal(out.bytes, "a\0b", 3);
}

static void
space(void **state)
{
	struct sandbox_space s = { 0 };
	struct status st = { 0 };

	(void)state;
	assert_int_equal(sandbox_space(fx.sb, SANDBOX_LOOK, &s, NULL, &st), 0);
	assert_true(s.block_size >= 512 && s.blocks > s.available &&
	    s.available > 0 && s.free >= s.available);
}

static void
another_process(void **state)
{
	struct sandbox *other = fixture_sandbox(fx.provider, "thread-test");
	struct sandbox *absent = fixture_sandbox(fx.provider, "thread-none");
	struct status st = { 0 };
	struct sandbox_view v, w;
	unsigned said = fx.event_count;

	(void)state;
	assert_int_equal(sandbox_ready(other, SANDBOX_START, NULL, &st), 0);
	sandbox_view(fx.sb, &v);
	sandbox_view(other, &w);
	assert_string_equal(v.id, w.id);
	assert_true(w.ours && !w.created && !w.started);
	assert_int_equal(sandbox_ready(other, SANDBOX_CREATE, NULL, &st), 0);
	assert_int_equal(fx.event_count, said + 1);
	assert_non_null(strstr(fx.events[said], "found thread-test (id="));
	assert_int_equal(sandbox_ready(absent, SANDBOX_LOOK, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
	assert_int_equal(sandbox_ready(absent, SANDBOX_START, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
	sandbox_doom(absent);
	assert_int_equal(sandbox_ready(absent, SANDBOX_CREATE, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
	sandbox_destroy(absent);
	sandbox_destroy(other);
}

static void
foreign(void **state)
{
	struct provider_settings s = { .local = true,
		.box_program = fx.box,
		.box_dir = fx.dir,
		.owner = "store-2" };
	struct sandbox *mine = fixture_sandbox(fx.provider, "thread-theirs");
	struct status st = { 0 };
	struct sandbox_view v;

	(void)state;
	assert_int_equal(sandbox_ready(mine, SANDBOX_CREATE, NULL, &st), 0);
	assert_int_equal(sandbox_stop(mine, NULL, &st), 0);
	sandbox_destroy(mine);
	/* another store, after the first has gone */
	sandbox_destroy(fx.sb);
	provider_destroy(fx.provider);
	fx.provider = provider_create(&s);
	struct sandbox *sb = fixture_sandbox(fx.provider, "thread-theirs");
	assert_int_equal(sandbox_ready(sb, SANDBOX_CREATE, NULL, &st), 0);
	sandbox_view(sb, &v);
	assert_false(v.ours);
	assert_true(v.started);
	assert_true(fixture_said(
	    "thread-theirs belongs to somebody else: it is used and left"));
	assert_int_equal(sandbox_delete(sb, NULL, &st), -1);
	assert_int_equal(st.code, STATUS_DENIED);
	sandbox_destroy(sb);
	provider_destroy(fx.provider);
	fx.provider = fixture_provider();
	fx.sb = fixture_sandbox(fx.provider, "thread-test");
}

static void
stop_and_start(void **state)
{
	struct status st = { 0 };
	struct sandbox_view v;
	struct listing l;

	(void)state;
	assert_int_equal(sandbox_ready(fx.sb, SANDBOX_START, NULL, &st), 0);
	run("echo kept >/home/daytona/kept");
	assert_int_equal(sandbox_stop(fx.sb, NULL, &st), 0);
	assert_true(fixture_said("stopped thread-test"));
	sandbox_view(fx.sb, &v);
	assert_false(v.started);
	assert_int_equal(sandbox_stop(fx.sb, NULL, &st), 0);
	/* looking does not start it */
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, "", false, &l, NULL,
			     &st),
	    -1);
	assert_int_equal(st.code, STATUS_UNAVAILABLE);
	assert_string_equal(run("cat /home/daytona/kept"), "kept\n");
	assert_true(fixture_said("started thread-test (id="));
}

/* Somebody else stops it, or it stops by itself: the next call starts it. */
static void
stopped_behind_our_back(void **state)
{
	struct sandbox *other = fixture_sandbox(fx.provider, "thread-test");
	struct status st = { 0 };
	struct listing l;

	(void)state;
	run("true");
	assert_int_equal(sandbox_stop(other, NULL, &st), 0);
	assert_string_equal(run("echo there"), "there\n");
	assert_int_equal(sandbox_stop(other, NULL, &st), 0);
	assert_int_equal(sandbox_list(fx.sb, SANDBOX_LOOK, "", false, &l, NULL,
			     &st),
	    -1);
	assert_int_equal(st.code, STATUS_UNAVAILABLE);
	sandbox_destroy(other);
}

/* The server is killed: the next call starts it again. */
static void
server_killed(void **state)
{
	auto_free char *command = xasprintf(
	    "for p in $(pgrep -f -- '[-]-data %s'); do kill -9 $p; done",
	    fx.dir);

	(void)state;
	run("echo before >/home/daytona/before");
	assert_int_equal(system(command), 0);
	assert_string_equal(run("cat /home/daytona/before"), "before\n");
}

static void *
make_ready(void *arg)
{
	struct status st = { 0 };

	return (void *)(intptr_t)sandbox_ready(arg, SANDBOX_CREATE, NULL, &st);
}

static void
many_at_once(void **state)
{
	struct sandbox *sb = fixture_sandbox(fx.provider, "thread-many");
	pthread_t t[8];
	unsigned said = fx.event_count;
	struct status st;
	void *rc;

	(void)state;
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, make_ready, sb);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &rc);
		assert_null(rc);
	}
	assert_int_equal(fx.event_count, said + 1);
	assert_int_equal(sandbox_delete(sb, NULL, &st), 0);
	assert_true(fixture_said("deleted thread-many"));
	assert_int_equal(sandbox_delete(sb, NULL, &st), 0);
	sandbox_destroy(sb);
}

static void
touching(void **state)
{
	struct sandbox *sb = fixture_sandbox(fx.provider, "thread-ttl");
	struct sandbox_options o = { .ttl_minutes = 60, .stop_minutes = 15 };
	struct sandbox_counters before, after;
	struct sandbox_view v;
	struct status st = { 0 };

	(void)state;
	sandbox_set_options(sb, &o);
	assert_int_equal(sandbox_ready(sb, SANDBOX_CREATE, NULL, &st), 0);
	sandbox_view(sb, &v);
	assert_true(v.expires_at[0] != '\0');
	char *line = xasprintf("created thread-ttl (id=%s, ttl=60min)", v.id);
	assert_true(fixture_said(line));
	free(line);
	assert_int_equal(sandbox_touch(sb, NULL, &st), 0);
	sandbox_counters(fx.provider, &before);
	assert_int_equal(sandbox_touch(sb, NULL, &st), 0);
	sandbox_counters(fx.provider, &after);
	assert_int_equal(after.control, before.control);
	assert_int_equal(sandbox_delete(sb, NULL, &st), 0);
	sandbox_destroy(sb);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_and_said),
		cmocka_unit_test(subtrees),
		cmocka_unit_test(listings_refused),
		cmocka_unit_test(large_trees),
		cmocka_unit_test(reads),
		cmocka_unit_test(sinks_may_stop),
		cmocka_unit_test(scripts),
		cmocka_unit_test(space),
		cmocka_unit_test(another_process),
		cmocka_unit_test(foreign),
		cmocka_unit_test(stop_and_start),
		cmocka_unit_test(stopped_behind_our_back),
		cmocka_unit_test(server_killed),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(touching),
	};

	return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
