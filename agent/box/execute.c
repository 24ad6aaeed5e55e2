/*
 * POST /process/execute: a command is fed to a shell's standard input, both
 * outputs come back merged when every holder of the pipe has gone.
 */
#include "agent/box/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>

#include "agent/base/clock.h"
#include "agent/base/lock.h"
#include "agent/box/child.h"
#include "agent/box/command.h"
#include "agent/box/gotext.h"
#include "agent/box/toolbox.h"
#include "agent/box/venv.h"

/* Kept of a command's output; the rest is read and dropped. */
#define OUTPUT_MAX ((size_t)64 << 20)

static char *const *base_env;

void
execute_init(char *const *envp)
{
	base_env = envp;
}

const char *
execute_shell(void)
{
	static const char *const shells[] = { "/usr/bin/bash", "/bin/bash",
		"/usr/local/bin/bash" };

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (access(shells[i], X_OK) == 0)
			return shells[i];
	return "/bin/sh";
}

static bool
same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return strncmp(a, b, n) == 0 && b[n] == '=';
}

char **
execute_env(char *const *base, char *const *extra, size_t count)
{
	size_t n = 0;

	while (base[n])
		n++;
	char **env = xcalloc(n + count + 1, sizeof *env);
	memcpy(env, base, n * sizeof *env);
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;
		while (at < n && !same_name(extra[i], env[at]))
			at++;
		env[at] = extra[i];
		n = MAX(n, at + 1);
	}
	return env;
}

/* A command under way. */
struct run {
	struct child *child;
	int in, out; /* -1 when closed */
	const char *text;
	size_t text_len, text_done;
	int64_t deadline; /* 0 = none, or passed */
	bool timed_out;
	struct buf output;
};

static int
start(struct run *run, const struct command *c)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };
	auto_free char *shell = xstrdup(execute_shell());
	char *argv[] = { shell, NULL };
	auto_free char **env = execute_env(base_env, c->envs, c->env_count);

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		int err = errno;
		if (in[0] >= 0) {
			close(in[0]);
			close(in[1]);
		}
		errno = err;
		return -1;
	}
	const struct child_spec spec = { .argv = argv,
		.envp = env,
		.cwd = c->cwd ? c->cwd : TOOLBOX_HOME,
		.in = in[0],
		.out = out[1] };
	run->child = child_start(&spec);
	int err = errno;
	close(in[0]);
	close(out[1]);
	run->in = in[1];
	run->out = out[0];
	if (run->child) {
		fcntl(run->in, F_SETFL, O_NONBLOCK);
		fcntl(run->out, F_SETFL, O_NONBLOCK);
		return 0;
	}
	close(run->in);
	close(run->out);
	errno = err;
	return -1;
}

static void
feed(struct run *run)
{
	ssize_t n = write(run->in, run->text + run->text_done,
	    run->text_len - run->text_done);

	if (n > 0)
		run->text_done += (size_t)n;
	else if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 || run->text_done == run->text_len) {
		close(run->in);
		run->in = -1;
	}
}

static void
collect(struct run *run)
{
	char piece[65536];
	ssize_t n = read(run->out, piece, sizeof piece);

	if (n > 0) {
		size_t room = OUTPUT_MAX - run->output.len;
		buf_add(&run->output, piece, MIN((size_t)n, room));
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(run->out);
		run->out = -1;
	}
}

static int
remaining(struct run *run)
{
	if (run->deadline == 0)
		return -1;
	int64_t left = run->deadline - clock_mono_ms();
	if (left <= 0) {
		child_kill(run->child);
		run->timed_out = true;
		run->deadline = 0;
		return -1;
	}
	return (int)MIN(left, (int64_t)3600000);
}

/* Until everybody who holds the output pipe has gone: as the daemon does, a
 * child in a session of its own can delay the answer past the deadline. */
static int
attend(struct run *run)
{
	int status = 0;

	wait_point();
	while (run->out >= 0) {
		struct pollfd fds[2] = { { .fd = run->out, .events = POLLIN },
			{ .fd = run->in, .events = POLLOUT } };
		int ms = remaining(run);
		if (poll(fds, 2, ms) < 0 && errno != EINTR)
			break;
		if (run->in >= 0 && fds[1].revents)
			feed(run);
		if (fds[0].revents)
			collect(run);
	}
	if (run->in >= 0)
		close(run->in);
	while (!child_wait(run->child, run->deadline, &status))
		remaining(run);
	return status;
}

static enum MHD_Result
reply(struct http_request *r, int exit_code, const char *text, size_t len)
{
	struct buf body = BUF_INIT(OUTPUT_MAX * 6 + 64);

	buf_printf(&body, "{\"exitCode\":%d,\"result\":", exit_code);
	gotext_string(&body, text, len);
	buf_putc(&body, '}');
	return http_reply_buf(r, MHD_HTTP_OK, HTTP_JSON, &body);
}

static enum MHD_Result
execute(struct http_request *r, const struct command *c)
{
	struct run run = { .in = -1,
		.out = -1,
		.text = c->text,
		.text_len = strlen(c->text) };

	buf_init(&run.output, OUTPUT_MAX);
	venv_wait();
	if (start(&run, c) < 0) {
		char words[96];
		auto_buf text = BUF_INIT(512);
		gotext_errno(words, errno);
		buf_printf(&text, "fork/exec %s: %s", execute_shell(), words);
		return reply(r, -1, text.bytes, text.len);
	}
	if (c->timeout_s > 0)
		run.deadline = clock_mono_ms() + c->timeout_s * 1000;
	int status = attend(&run);
	enum MHD_Result result = run.timed_out
	    ? toolbox_error(r, MHD_HTTP_REQUEST_TIMEOUT, "REQUEST_TIMEOUT",
		  "request timeout: command execution timeout")
	    : reply(r, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		  run.output.bytes, run.output.len);
	buf_finish(&run.output);
	return result;
}

static enum MHD_Result
finish(struct http_request *r)
{
	struct command c = { 0 };
	auto_buf error = BUF_INIT(CONNECTION_TEXT_MAX);
	enum MHD_Result result;

	if (command_parse(&c, &r->body, &error) < 0) {
		result = toolbox_error(r, MHD_HTTP_BAD_REQUEST, "BAD_REQUEST",
		    error.bytes);
	} else {
		buf_finish(&r->body);
		result = execute(r, &c);
	}
	command_finish(&c);
	return result;
}

const struct http_handler execute_handler = { .body_max = COMMAND_MAX,
	.finish = finish };
