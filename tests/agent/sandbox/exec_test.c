/* Commands in a real sandbox: exit codes, output, waiting, ending them. */
#include <pthread.h>

#include "agent/sandbox/exec_text.h"
#include "tests/agent/sandbox/fixture.h"
#include "tests/test.h"

struct outcome {
	struct exec_result r;
	uint64_t requests;
	int64_t ms;
};

static unsigned serial;

static void
execute(struct outcome *o, const char *command, int timeout_s,
    size_t output_max, struct cancel *c)
{
	struct status st = { 0 };
	struct sandbox_counters before, after;
	char id[32];
	struct exec_request rq = { .command = command,
		.id = id,
		.timeout_s = timeout_s,
		.output_max = output_max,
		.list = true };

	snprintf(id, sizeof id, "call-%u", ++serial);
	memset(o, 0, sizeof *o);
	o->r.output = BUF_INIT(output_max);
	sandbox_counters(fx.provider, &before);
	int64_t t = clock_mono_ms();
	if (sandbox_exec(fx.sb, SANDBOX_START, &rq, &o->r, c, &st) < 0)
		fail_msg("%s: %s", command, st.text);
	o->ms = clock_mono_ms() - t;
	sandbox_counters(fx.provider, &after);
	o->requests = after.toolbox - before.toolbox;
}

static void
done(struct outcome *o)
{
	buf_finish(&o->r.output);
	listing_finish(&o->r.listing);
}

static void
expect(const char *command, int code, const char *output)
{
	struct outcome o;

	execute(&o, command, 60, 65536, NULL);
	if (o.r.end != EXEC_EXITED || o.r.exit_code != code ||
	    (output && strcmp(o.r.output.bytes, output) != 0))
		fail_msg("%s: end %d, code %d, output %s", command,
		    (int)o.r.end, o.r.exit_code, o.r.output.bytes);
	assert_true(o.ms < 1500);
	assert_int_equal(o.requests, 1);
	done(&o);
}

static void
awkward_commands_end_at_once(void **state)
{
	(void)state;
	expect("echo hi", 0, "hi\n");
	expect("exit 3", 3, "");
	expect("kill -9 $$", 137, "");
	expect("kill -9 0", 137, "");
	expect("cat", 0, "");
	expect("echo 'unclosed", 2, NULL);
	expect("if then fi", 2, NULL);
	expect("echo out # comment", 0, "out\n");
	expect("set -e; false; echo no", 1, "");
	expect("setsid sleep 100 &", 0, "");
	expect("sleep 100 & echo started", 0, "started\n");
	expect("exec 3>&-; exec >&-; true", 0, "");
	expect("printf 'a\\0b\\377' | od -An -c", 0, NULL);
	expect("pwd; echo \"$PWD\"", 0, "/home/daytona\n/home/daytona\n");
	expect("echo \"${LC_ALL-none} ${ZDOTDIR-none}\"", 0, "none none\n");
	expect("trap 'echo got; exit 5' INT; kill -INT $$", 5, "got\n");
	expect("echo '\"quoted\" $HOME `x` \\\\'; echo \"it's\"", 0,
	    "\"quoted\" $HOME `x` \\\\\nit's\n");
}

static void
bytes_come_as_they_are(void **state)
{
	struct outcome o;

	(void)state;
	execute(&o, "printf 'a\\000b\\377\\n'", 10, 100, NULL);
	assert_int_equal(o.r.output.len, 5);
	assert_memory_equal(o.r.output.bytes, "a\0b\377\n", 5);
	done(&o);
}

static void
background_stays(void **state)
{
	(void)state;
	expect("sleep 1000 & echo $! > pid", 0, "");
	expect("kill -0 $(cat pid) && echo there", 0, "there\n");
	expect("kill $(cat pid); rm pid", 0, "");
}

static void
changes_come_along(void **state)
{
	struct outcome o;
	bool found = false;

	(void)state;
	execute(&o, "echo x > made-now", 10, 100, NULL);
	assert_true(o.r.have_listing);
	for (size_t i = 0; i < o.r.listing.count; i++)
		if (strcmp(o.r.listing.entries[i].path, "made-now") == 0)
			found = o.r.listing.entries[i].version.size == 2;
	assert_true(found);
	done(&o);
}

static void
floods_are_bounded(void **state)
{
	struct outcome o;

	(void)state;
	execute(&o,
	    "echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo last",
	    60, 10000, NULL);
	assert_int_equal(o.r.end, EXEC_EXITED);
	assert_int_equal(o.r.exit_code, 0);
	assert_true(o.r.truncated);
	assert_int_equal(o.r.output_bytes, 50000011);
	assert_true(o.r.output.len <= 10000 && o.r.output.len > 9800);
	assert_memory_equal(o.r.output.bytes, "first\n", 6);
	assert_string_equal(o.r.output.bytes + o.r.output.len - 5, "last\n");
	assert_non_null(strstr(o.r.output.bytes, "bytes left out"));
	assert_true(o.ms < 5000);
	done(&o);
}

static size_t flood_seen;

static void
count_live(void *arg, const char *bytes, size_t len)
{
	(void)arg;
	(void)bytes;
	flood_seen += len;
}

static void
endless_floods(void **state)
{
	struct status st = { 0 };
	struct exec_result r = { .output = BUF_INIT(20000) };
	struct exec_request rq = { .command = "yes | head -c 100000000 | "
					      "while read -r x; do echo $x; "
					      "done",
		.id = "flood",
		.timeout_s = 4,
		.output_max = 20000,
		.live = count_live };

	(void)state;
	assert_int_equal(sandbox_exec(fx.sb, SANDBOX_START, &rq, &r, NULL, &st),
	    0);
	assert_int_equal(r.end, EXEC_TIMED_OUT);
	assert_true(r.truncated);
	assert_true(r.output_bytes > 20000);
	assert_true(r.output.len <= 20000);
	assert_true(flood_seen > 0 && flood_seen < (32 << 20));
	buf_finish(&r.output);
}

/* An output file over its limit is cut; what is written later counts on. */
static void
output_files_are_cut(void **state)
{
	struct outcome o;
	auto_buf text = BUF_INIT(10000);

	(void)state;
	execute(&o, "echo 0123456789; sleep 1000 &", 10, 100, NULL);
	done(&o);
	auto_free char *id = xasprintf("call-%u", serial);
	exec_text_common(&text, id, 100);
	exec_text_trim(&text, 5);
	buf_puts(&text, "report\n");
	assert_non_null(strstr(run(text.bytes), "=saf=size 0 11\n"));
	assert_non_null(strstr(run(text.bytes), "=saf=size 0 11\n"));
}

static void
long_command_text(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);

	(void)state;
	buf_puts(&text, "x='");
	for (int i = 0; i < 300000; i++)
		buf_putc(&text, 'y');
	buf_puts(&text, "'; echo ${#x}; exit 4");
	expect(text.bytes, 4, "300000\n");
}

static void
note_live(void *arg, const char *bytes, size_t len)
{
	buf_add(arg, bytes, len);
}

static void
long_commands_are_followed(void **state)
{
	struct status st = { 0 };
	auto_buf seen = BUF_INIT(65536);
	struct exec_result r = { .output = BUF_INIT(65536) };
	struct exec_request rq = {
		.command = "for i in 1 2 3 4 5 6 7 8; do echo line $i; "
			   "sleep 0.5; done; exit 7",
		.id = "followed",
		.timeout_s = 30,
		.output_max = 65536,
		.live = note_live,
		.live_arg = &seen,
	};

	(void)state;
	int64_t t = clock_mono_ms();
	assert_int_equal(sandbox_exec(fx.sb, SANDBOX_START, &rq, &r, NULL, &st),
	    0);
	assert_true(clock_mono_ms() - t < 5600);
	assert_int_equal(r.end, EXEC_EXITED);
	assert_int_equal(r.exit_code, 7);
	assert_string_equal(r.output.bytes,
	    "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n"
	    "line 8\n");
	assert_non_null(strstr(seen.bytes, "line 1\nline 2\nline 3\n"));
	assert_non_null(strstr(seen.bytes, "line 7\n"));
	buf_finish(&r.output);
}

static void
time_is_kept(void **state)
{
	struct outcome o;

	(void)state;
	execute(&o, "echo begun; sleep 100 & sleep 100", 1, 1000, NULL);
	assert_int_equal(o.r.end, EXEC_TIMED_OUT);
	assert_true(o.ms < 2500);
	assert_string_equal(o.r.output.bytes, "begun\n");
	done(&o);
	execute(&o, "echo begun; sleep 4242", 3, 1000, NULL);
	assert_int_equal(o.r.end, EXEC_TIMED_OUT);
	assert_true(o.ms >= 2900 && o.ms < 4500);
	assert_string_equal(o.r.output.bytes, "begun\n");
	done(&o);
	expect("ps ax 2>/dev/null | grep -c '[s]leep 4242'", 1, NULL);
}

static void *
fire_later(void *arg)
{
	struct cancel *c = arg;

	usleep(600000);
	cancel_fire(c);
	return NULL;
}

static void *
fire_much_later(void *arg)
{
	struct cancel *c = arg;

	usleep(3200000);
	cancel_fire(c);
	return NULL;
}

static void
cancel_ends_it(void **state)
{
	void *(*const fire[])(void *) = { fire_later, fire_much_later };
	const int64_t at[] = { 600, 3200 };
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct cancel *c = cancel_create(NULL);
		pthread_t t;
		pthread_create(&t, NULL, fire[i], c);
		execute(&o, "echo begun; sleep 5353", 0, 1000, c);
		pthread_join(t, NULL);
		assert_int_equal(o.r.end, EXEC_CANCELED);
		assert_true(o.ms >= at[i] - 50 && o.ms < at[i] + 900);
		assert_string_equal(o.r.output.bytes, "begun\n");
		done(&o);
		cancel_put(c);
	}
	expect("ps ax 2>/dev/null | grep -c '[s]leep 5353'", 1, NULL);
}

static void
never_twice(void **state)
{
	struct status st = { 0 };
	struct exec_result r = { .output = BUF_INIT(1000) };
	struct exec_request rq = { .command = "echo ran >> ran; cat ran",
		.id = "the-same",
		.output_max = 1000 };
	struct sandbox_counters before, after;

	(void)state;
	for (int i = 0; i < 2; i++) {
		sandbox_counters(fx.provider, &before);
		assert_int_equal(sandbox_exec(fx.sb, SANDBOX_START, &rq, &r,
				     NULL, &st),
		    0);
		sandbox_counters(fx.provider, &after);
		assert_int_equal(after.toolbox - before.toolbox, 1);
		assert_int_equal(r.end, EXEC_EXITED);
		assert_string_equal(r.output.bytes, "ran\n");
	}
	buf_finish(&r.output);
}

static void *
stop_later(void *arg)
{
	struct status st;

	usleep(3000000);
	assert_int_equal(sandbox_stop(arg, NULL, &st), 0);
	return NULL;
}

/* The sandbox stops under a command: its outcome is unknown, and said so. */
static void
lost(void **state)
{
	struct sandbox *other = fixture_sandbox(fx.provider, "thread-test");
	struct outcome o;
	pthread_t t;

	(void)state;
	pthread_create(&t, NULL, stop_later, other);
	execute(&o, "echo begun; sleep 100", 60, 1000, NULL);
	pthread_join(t, NULL);
	assert_int_equal(o.r.end, EXEC_LOST);
	assert_true(o.ms < 12000);
	assert_string_equal(o.r.output.bytes, "begun\n");
	done(&o);
	/* the same command, asked for again in the restarted one: a process
	 * of its number may be there, and is another */
	struct status st = { 0 };
	char *id = xasprintf("call-%u", serial);
	struct exec_request rq = { .command = "echo again",
		.id = id,
		.output_max = 1000 };
	struct exec_result r = { .output = BUF_INIT(1000) };
	assert_int_equal(sandbox_exec(fx.sb, SANDBOX_START, &rq, &r, NULL, &st),
	    0);
	assert_int_equal(r.end, EXEC_LOST);
	assert_string_equal(r.output.bytes, "begun\n");
	buf_finish(&r.output);
	free(id);
	expect("echo on", 0, "on\n");
	sandbox_destroy(other);
}

static void
missing_directory_is_said(void **state)
{
	struct status st = { 0 };
	struct exec_result r = { .output = BUF_INIT(1000) };
	struct exec_request rq = { .command = "true",
		.id = "nowhere",
		.cwd = "/nowhere",
		.output_max = 1000 };

	(void)state;
	assert_int_equal(sandbox_exec(fx.sb, SANDBOX_START, &rq, &r, NULL, &st),
	    -1);
	assert_int_equal(st.code, STATUS_NOT_FOUND);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(awkward_commands_end_at_once),
		cmocka_unit_test(bytes_come_as_they_are),
		cmocka_unit_test(background_stays),
		cmocka_unit_test(changes_come_along),
		cmocka_unit_test(floods_are_bounded),
		cmocka_unit_test(endless_floods),
		cmocka_unit_test(output_files_are_cut),
		cmocka_unit_test(long_command_text),
		cmocka_unit_test(long_commands_are_followed),
		cmocka_unit_test(time_is_kept),
		cmocka_unit_test(cancel_ends_it),
		cmocka_unit_test(never_twice),
		cmocka_unit_test(lost),
		cmocka_unit_test(missing_directory_is_said),
	};

	return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
