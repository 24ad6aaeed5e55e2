/*
 * `ctl`: the commands, one row each: word, what it says of itself, and what
 * runs. A command that waits for the remote goes on when the one who wrote it
 * leaves; it ends with the thread or the mount.
 */
#include "agent/base/diag.h"
#include "agent/thread/internal.h"

static int
run_cancel(struct thread *t, struct status *st)
{
	(void)st;
	queue_cancel(t);
	return 0;
}

static int
must_be_idle(struct thread *t, struct status *st)
{
	lock_acquire(&t->lock);
	bool busy = t->running != NULL;
	lock_release(&t->lock);
	return busy ? status_set(st, STATUS_BUSY,
			  "a turn runs in the sandbox: write cancel to ctl "
			  "first")
		    : 0;
}

static int
run_start(struct thread *t, struct status *st)
{
	int rc =
	    sandbox_ready(thread_sandbox(t), SANDBOX_CREATE, t->cancel, st);

	if (rc == 0)
		thread_use(t);
	return rc;
}

static int
run_stop(struct thread *t, struct status *st)
{
	struct mirror_view files;

	if (must_be_idle(t, st) < 0)
		return -1;
	mirror_view(thread_mirror(t), &files);
	if (files.queued > 0 &&
	    mirror_barrier(thread_mirror(t), t->cancel, st) < 0)
		return -1;
	return sandbox_stop(thread_sandbox(t), t->cancel, st);
}

static int
run_refresh(struct thread *t, struct status *st)
{
	(void)st;
	mirror_forget_listings(thread_mirror(t));
	return 0;
}

static int
run_delete_sandbox(struct thread *t, struct status *st)
{
	if (must_be_idle(t, st) < 0 ||
	    sandbox_delete(thread_sandbox(t), t->cancel, st) < 0)
		return -1;
	mirror_sandbox_gone(thread_mirror(t));
	return 0;
}

static const struct command {
	const char *word;
	const char *help;
	bool waits; /* for the remote */
	int (*run)(struct thread *t, struct status *st);
} commands[] = {
	{ "cancel", "end the running turn", false, run_cancel },
	{ "start", "make the sandbox, or start it", true, run_start },
	{ "stop", "stop the sandbox; its files stay", true, run_stop },
	{ "refresh", "forget cached listings of workspace/", false,
	    run_refresh },
	{ "delete-sandbox", "delete the sandbox with its files", true,
	    run_delete_sandbox },
};

static const char blanks[] = " \t\r\n";

/* NULL with st: unknown, or with words behind it. */
static const struct command *
find(const char *line, size_t len, struct status *st)
{
	while (len > 0 && strchr(blanks, line[len - 1]) && line[len - 1])
		len--;
	while (len > 0 && strchr(blanks, *line) && *line) {
		line++;
		len--;
	}
	size_t n = 0;
	while (n < len && line[n] != ' ' && line[n] != '\t')
		n++;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct command *c = &commands[i];
		if (strlen(c->word) != n || memcmp(c->word, line, n) != 0)
			continue;
		if (n == len)
			return c;
		status_set(st, STATUS_INVALID, "%s takes no arguments",
		    c->word);
		return NULL;
	}
	status_set(st, STATUS_INVALID,
	    "unknown command \"%.*s\": cat ctl lists them",
	    (int)MIN(n, (size_t)40), line);
	return NULL;
}

void
thread_ctl_help(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		buf_printf(out, "%-16s %s\n", commands[i].word,
		    commands[i].help);
}

int
thread_ctl_check(const char *line, size_t len, bool *waits, struct status *st)
{
	const struct command *c = find(line, len, st);

	if (!c)
		return -1;
	*waits = c->waits;
	return 0;
}

int
thread_ctl(struct thread *t, const char *line, size_t len, struct cancel *c,
    struct status *st)
{
	const struct command *command = find(line, len, st);

	(void)c; /* see above */
	if (!command)
		return -1;
	if (atomic_load(&t->ended))
		return status_set(st, STATUS_NOT_FOUND,
		    "the thread is being removed");
	int rc = command->run(t, st);
	if (rc < 0)
		diag_info("thread %lld: ctl %s: %s", (long long)t->number,
		    command->word, st->text);
	thread_notify(t);
	return rc;
}
