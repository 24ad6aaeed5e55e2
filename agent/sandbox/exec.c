/*
 * Running a command; see sandbox.h and exec_text.c. One request starts it and
 * waits up to 2 s. A longer one is watched by reading what its output file has
 * gained and whether its exit code is there; every now and then, and at the
 * end, one script tells all. Ending it is one script as well, sent without the
 * token that has fired.
 */
#include <errno.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/http/url.h"
#include "agent/sandbox/exec_text.h"
#include "agent/sandbox/internal.h"
#include "agent/sandbox/shell.h"

#define WAIT_S        2
#define POLL_FIRST_MS INT64_C(50)
#define POLL_MAX_MS   1000
#define LIVE_MAX      (INT64_C(256) << 10) /* bytes of one look at the output */
#define LIVE_LAG      (INT64_C(32) << 10)  /* of a flood only the newest */
#define OUT_FILE_MAX  ((int64_t)1 << 30)
#define STATUS_MS     4000  /* between two looks at the process */
#define LOST_MS       60000 /* nothing heard of the sandbox */
#define KILL_FIRST_MS 3000
#define LIST_BYTES    ((size_t)8 << 20)

enum run_state {
	RUN_NONE, /* no trace of it */
	RUN_RUNNING,
	RUN_ENDED,
	RUN_LOST, /* started, gone, and left no exit code */
};

struct run {
	struct sandbox *sb;
	const struct exec_request *rq;
	struct exec_result *result;
	struct cancel *c;
	int64_t deadline; /* 0 = none */
	struct features features;
	enum sandbox_want want;
	/* of the newest script */
	enum run_state state;
	int exit_code;
	bool killed, sent;
	int64_t size; /* of the output file */
	/* watching */
	int64_t have; /* how far the output file was read for `live` */
	int64_t kept; /* up to where result->output tells of it */
	int64_t wait_ms, status_ms, heard_ms;
};

static bool
id_valid(const char *id)
{
	size_t n = strspn(id,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n > 0 && n <= 64 && id[n] == '\0';
}

static enum run_state
read_state(const struct shell_part *p, int *exit_code)
{
	struct shell_part number = *p;
	int64_t code = 0;

	if (p->args_len >= 6 && memcmp(p->args, "ended ", 6) == 0) {
		number.args += 6;
		number.args_len -= 6;
		if (shell_numbers(&number, &code, 1) != 1)
			return RUN_LOST;
		*exit_code = (int)(code & 255);
		return RUN_ENDED;
	}
	if (p->args_len >= 7 && memcmp(p->args, "running", 7) == 0)
		return RUN_RUNNING;
	return p->args_len >= 4 && memcmp(p->args, "lost", 4) == 0 ? RUN_LOST
								   : RUN_NONE;
}

/* The output as the script gave it: whole, or head and tail with a note. */
static int
read_output(struct run *r, const struct script *s, int64_t cut,
    struct status *st)
{
	struct exec_result *result = r->result;
	struct shell_part tail;
	bool halves = shell_part(s->answer, s->answer_len, "tail", 0, &tail);
	int64_t total = r->size + cut;

	buf_reset(&result->output);
	result->output_bytes = total;
	result->truncated = halves || cut > 0;
	if (script_bytes(s, "head", 0, &result->output, st) < 0)
		return -1;
	if (!halves)
		return 0;
	size_t tail_max =
	    r->rq->output_max - r->rq->output_max / 2 - (size_t)EXEC_NOTE;
	if (r->rq->output_max >= (size_t)EXEC_NOTE * 4)
		buf_printf(&result->output, "\n[... %lld bytes left out ...]\n",
		    (long long)(total - (int64_t)result->output.len -
			(int64_t)tail_max));
	return script_bytes(s, "tail", 0, &result->output, st);
}

static void
read_listing(struct run *r, const struct script *s)
{
	struct shell_part p;
	struct status ignored;
	struct listing l = { 0 };
	bool cut = false;

	if (!shell_part(s->answer, s->answer_len, "list", 0, &p))
		return;
	int rc = list_read(s, "", true, LIST_BYTES, &l, &cut, &ignored);
	/* Not even the root: find knows no -printf. */
	if (rc == 0 && l.count == 0 && r->features.find_printf != 0)
		sandbox_learn(r->sb, s->generation, (struct features){ 0, -1 });
	/* A workspace too large for this is listed by who wants it. */
	if (rc < 0 || cut || l.count == 0) {
		listing_finish(&l);
		return;
	}
	listing_finish(&r->result->listing);
	r->result->listing = l;
	r->result->have_listing = true;
	if (r->features.find_printf < 0)
		sandbox_learn(r->sb, s->generation, (struct features){ 1, -1 });
}

/* Takes in what a script told. */
static int
read_report(struct run *r, const struct script *s, struct status *st)
{
	struct shell_part p;
	int64_t v[2];

	if (script_error(s, st) < 0)
		return -1;
	if (shell_part(s->answer, s->answer_len, "env", 0, &p) &&
	    shell_numbers(&p, v, 1) == 1)
		sandbox_learn(r->sb, s->generation,
		    (struct features){ -1, v[0] != 0 });
	r->killed = shell_part(s->answer, s->answer_len, "killed", 0, &p);
	if (!shell_part(s->answer, s->answer_len, "state", 0, &p))
		return status_set(st, STATUS_IO, "the script said no state");
	r->state = read_state(&p, &r->exit_code);
	if (!shell_part(s->answer, s->answer_len, "size", 0, &p) ||
	    shell_numbers(&p, v, 2) != 2)
		return status_set(st, STATUS_IO, "the script said no size");
	r->size = r->kept = v[0];
	if (read_output(r, s, v[1], st) < 0)
		return -1;
	read_listing(r, s);
	return 0;
}

/* The common end of every script here. */
static void
add_report(struct run *r, struct script *s)
{
	buf_puts(&s->text, "report\n");
	if (!r->rq->list)
		return;
	buf_puts(&s->text,
	    "if [ -n \"$rc\" ] && cd " SANDBOX_HOME " 2>/dev/null; then\n");
	list_text(&s->text, "", 0, LIST_BYTES, r->features.find_printf != 0);
	buf_puts(&s->text, "fi\n");
}

static int
start(struct run *r, struct status *st)
{
	const struct exec_request *rq = r->rq;
	struct script s;
	int wait_s = rq->timeout_s > 0 ? MIN(rq->timeout_s, WAIT_S) : WAIT_S;

	if (sandbox_features(r->sb, r->want, &r->features, r->c, st) < 0)
		return -1;
	script_init(&s, r->want);
	auto_free char *own = xasprintf("x-%s", rq->id);
	sandbox_sweep(r->sb, &s.text, own);
	s.active = true;
	s.timeout_s = 0; /* it would kill what waits for the command */
	exec_text_common(&s.text, rq->id, rq->output_max);
	exec_text_start(&s.text, rq->command, rq->cwd ? rq->cwd : SANDBOX_HOME,
	    wait_s, r->features.env_signals);
	add_report(r, &s);
	int rc = script_run(r->sb, &s, r->c, st);
	/* An exit code of -1: there was no shell to run anything. */
	r->sent = s.generation != 0 && !(s.answer && s.exit_code == -1);
	if (rc == 0) {
		struct status why;
		rc = read_report(r, &s, st);
		/* The script says why it did not start the command. */
		r->sent = script_error(&s, &why) == 0;
	}
	script_finish(&s);
	return rc;
}

/* One script of the watcher: what is there now. */
static int
inspect(struct run *r, bool kill, struct status *st)
{
	struct script s;

	script_init(&s, SANDBOX_LOOK);
	s.active = true;
	s.timeout_s = 60;
	exec_text_common(&s.text, r->rq->id, r->rq->output_max);
	if (kill) {
		s.first_ms = KILL_FIRST_MS;
		exec_text_kill(&s.text);
	} else if (r->size > OUT_FILE_MAX) {
		exec_text_trim(&s.text, OUT_FILE_MAX);
	}
	add_report(r, &s);
	int rc = script_run(r->sb, &s, kill ? NULL : r->c, st);
	if (rc == 0)
		rc = read_report(r, &s, st);
	script_finish(&s);
	return rc;
}

/* A piece of the output file, from offset `at` on. */
static void
live(struct run *r, const struct buf *piece, int64_t at)
{
	struct buf *kept = &r->result->output;
	size_t room = r->rq->output_max / 2;
	int64_t known = MAX(r->kept - at, INT64_C(0));

	if (r->rq->live)
		r->rq->live(r->rq->live_arg, piece->bytes, piece->len);
	if (known >= (int64_t)piece->len)
		return;
	/* For the case that no script answers any more: the newest. */
	size_t take = MIN(piece->len - (size_t)known, room);
	if (kept->len + take > room) {
		size_t drop = MIN(kept->len, kept->len + take - room);
		buf_consume(kept, drop);
		r->result->truncated = true;
	}
	buf_add(kept, piece->bytes + piece->len - take, take);
	r->kept = at + (int64_t)piece->len;
}

/* GET of a scratch file. 0: *status and the body. */
static int
fetch(struct run *r, const char *suffix, const char *range,
    struct http_response *a, struct status *st)
{
	auto_buf path = BUF_INIT(512);
	auto_free char *name =
	    xasprintf(SANDBOX_SCRATCH "/x-%s.%s", r->rq->id, suffix);

	buf_puts(&path, "/files/download");
	url_add_query(&path, "path", name, strlen(name));
	struct toolbox_call call = { .method = "GET",
		.path = path.bytes,
		.range = range,
		.want = SANDBOX_LOOK,
		.active = true,
		.first_ms = 10000,
		.idle_ms = 10000 };
	return toolbox_call(r->sb, &call, a, r->c, st);
}

/* 1: new output, 0: none, -1: st. */
static int
poll_output(struct run *r, struct status *st)
{
	struct http_response a = { .body = BUF_INIT((size_t)LIVE_MAX * 2) };
	char range[64];
	int rc;

	snprintf(range, sizeof range, "Range: bytes=%lld-%lld",
	    (long long)r->have, (long long)(r->have + LIVE_MAX - 1));
	rc = fetch(r, "out", range, &a, st);
	if (rc == 0 && a.status == 206 && a.range_first == r->have) {
		int64_t at = r->have;
		r->have += (int64_t)a.body.len;
		r->size = MAX(a.range_size, r->have);
		if (r->size - r->have > LIVE_LAG * 2)
			r->have = r->size - LIVE_LAG;
		rc = a.body.len > 0;
		if (rc > 0)
			live(r, &a.body, at);
	} else if (rc == 0 && a.status == 416 && a.range_size >= 0 &&
	    a.range_size < r->have) {
		r->have = r->kept = 0; /* it was cut */
	}
	/* A server without ranges: the end of it will be told by a script. */
	buf_finish(&a.body);
	return rc;
}

static int
poll_code(struct run *r, struct status *st)
{
	struct http_response a = { .body = BUF_INIT(4096) };
	int rc = fetch(r, "rc", NULL, &a, st);

	/* An empty file is one that is just being written. */
	if (rc == 0)
		rc = a.status == 200 && a.body.len > 0;
	buf_finish(&a.body);
	return rc;
}

/* After a failure to reach the sandbox: is it worth waiting? */
static bool
hopeless(struct run *r)
{
	struct sandbox *sb = r->sb;

	lock_acquire(&sb->lock);
	enum wire_move move = wire_move(&sb->known);
	bool absent = !sb->known.id[0];
	lock_release(&sb->lock);
	return absent || (move != MOVE_USE && move != MOVE_WAIT) ||
	    clock_mono_ms() - r->heard_ms > LOST_MS;
}

static int
finish(struct run *r, enum exec_end end)
{
	r->result->end = end;
	r->result->exit_code = end == EXEC_EXITED ? r->exit_code : 0;
	/* What never ran leaves a trace that keeps a late request from it. */
	if (r->sent && r->state != RUN_NONE)
		sandbox_finished(r->sb, xasprintf("x-%s", r->rq->id));
	return 0;
}

/* Time is over or the token fired. */
static int
end_early(struct run *r, enum exec_end end)
{
	struct status st;

	r->killed = false;
	if (inspect(r, true, &st) < 0) {
		diag_warn("command %s is not known to be gone: %s", r->rq->id,
		    st.text);
		return finish(r, end);
	}
	/* It was faster. */
	if (!r->killed && r->state == RUN_ENDED)
		end = EXEC_EXITED;
	return finish(r, end);
}

/* 1: go on, 0: it is over and *end holds. */
static int
watch_once(struct run *r, enum exec_end *end)
{
	struct status st;
	int fresh = poll_output(r, &st);
	int ended = fresh < 0 ? -1 : poll_code(r, &st);
	int64_t now = clock_mono_ms();

	if (cancel_fired(r->c))
		return 1;
	if (ended < 0) {
		*end = EXEC_LOST;
		r->wait_ms = POLL_MAX_MS;
		return !hopeless(r);
	}
	r->heard_ms = now;
	r->wait_ms = fresh > 0 ? POLL_FIRST_MS * 4
			       : MIN(r->wait_ms * 2, (int64_t)POLL_MAX_MS);
	if (!ended && now < r->status_ms && r->size <= OUT_FILE_MAX)
		return 1;
	r->status_ms = now + STATUS_MS;
	if (inspect(r, false, &st) < 0)
		return 1;
	*end = r->state == RUN_ENDED ? EXEC_EXITED : EXEC_LOST;
	return r->state == RUN_RUNNING;
}

static int
watch(struct run *r)
{
	enum exec_end end = EXEC_LOST;

	r->wait_ms = POLL_FIRST_MS;
	r->heard_ms = clock_mono_ms();
	r->status_ms = r->heard_ms + STATUS_MS;
	while (true) {
		int64_t wait = r->wait_ms;
		int64_t left = r->deadline - clock_mono_ms();
		if (r->deadline > 0 && left <= 0)
			return end_early(r, EXEC_TIMED_OUT);
		if (r->deadline > 0)
			wait = MIN(wait, left);
		if (cancel_sleep(r->c, wait) || cancel_fired(r->c))
			return end_early(r, EXEC_CANCELED);
		if (r->deadline > 0 && clock_mono_ms() >= r->deadline)
			continue;
		if (!watch_once(r, &end))
			return finish(r, end);
	}
}

int
sandbox_exec(struct sandbox *sb, enum sandbox_want want,
    const struct exec_request *request, struct exec_result *result,
    struct cancel *c, struct status *st)
{
	struct run r = { .sb = sb,
		.rq = request,
		.result = result,
		.c = c,
		.want = want };

	wait_point();
	result->have_listing = result->truncated = false;
	result->listing = (struct listing){ 0 };
	result->output_bytes = 0;
	if (!id_valid(request->id))
		return status_set(st, STATUS_BUG, "not an id of a command");
	if (request->timeout_s > 0)
		r.deadline =
		    clock_mono_ms() + (int64_t)request->timeout_s * 1000;
	if (start(&r, st) < 0) {
		if (!r.sent)
			return status_wrap(st, "start a command");
		if (st->code == STATUS_CANCELED)
			return end_early(&r, EXEC_CANCELED);
		/* No answer: it may run, or never have come there. */
		return watch(&r);
	}
	if (r.state == RUN_ENDED)
		return finish(&r, EXEC_EXITED);
	if (r.state != RUN_RUNNING)
		return finish(&r, EXEC_LOST);
	if (cancel_fired(c))
		return end_early(&r, EXEC_CANCELED);
	return watch(&r);
}
