/*
 * `state`: one JSON object in one line, every key always there, from memory.
 * What the thread knows is copied under its lock; sandbox and mirror are asked
 * after that.
 */
#include "agent/base/clock.h"
#include "agent/thread/internal.h"

/* By code: the words of the message say what happened. */
const char *
trouble_advice(enum status_code code)
{
	switch (code) {
	case STATUS_OK:
		return "";
	case STATUS_CANCELED:
		return "write a prompt to go on";
	case STATUS_NOT_FOUND:
		return "check the name in the message";
	case STATUS_EXISTS:
		return "choose another name";
	case STATUS_DENIED:
		return "set the key in the environment or in .env, then mount "
		       "again";
	case STATUS_BUSY:
		return "wait for a turn to end, or write cancel to ctl";
	case STATUS_TIMEOUT:
	case STATUS_UNAVAILABLE:
		return "try again later; log says what did not answer";
	case STATUS_INVALID:
	case STATUS_NOT_DIR:
	case STATUS_IS_DIR:
	case STATUS_NOT_EMPTY:
		return "correct what the message names, then write the prompt "
		       "again";
	case STATUS_NOT_SUPPORTED:
		return "set another model in config (shell: or script:FILE)";
	case STATUS_TOO_BIG:
		return "make it smaller, or go on in another prompt";
	case STATUS_NO_MEMORY:
		return "free memory, then write the prompt again";
	case STATUS_NO_SPACE:
		return "free space on the disk of the state directory";
	case STATUS_IO:
	case STATUS_BUG:
		return "see log, then write the prompt again";
	}
	return "see log";
}

static void
put_key(struct buf *out, const char *key)
{
	buf_printf(out, ",\"%s\":", key);
}

/* An empty string is what is unknown. */
static void
put_string(struct buf *out, const char *key, const char *s)
{
	put_key(out, key);
	if (s && *s)
		json_print_string(out, s, strlen(s));
	else
		buf_puts(out, "null");
}

static void
put_number(struct buf *out, const char *key, int64_t n)
{
	put_key(out, key);
	buf_printf(out, "%lld", (long long)n);
}

static void
put_time(struct buf *out, const char *key, int64_t wall_ms)
{
	char text[32] = "";

	if (wall_ms > 0)
		clock_rfc3339(text, wall_ms, true);
	put_string(out, key, text);
}

static void
put_usage(struct buf *out, const struct usage *u)
{
	const int64_t counts[] = { u->input_tokens, u->output_tokens };
	static const char *const names[] = { "input_tokens", "output_tokens" };

	for (size_t i = 0; i < 2; i++) {
		buf_printf(out, "%c\"%s\":", i == 0 ? '{' : ',', names[i]);
		if (counts[i] < 0)
			buf_puts(out, "null");
		else
			buf_printf(out, "%lld", (long long)counts[i]);
	}
	buf_putc(out, '}');
}

static void
put_activity_locked(struct buf *out, const struct thread *t)
{
	put_key(out, "activity");
	if (t->activity_ms == 0) {
		buf_puts(out, "null");
		return;
	}
	buf_puts(out, "{\"what\":");
	json_print_string(out, t->activity, strlen(t->activity));
	put_time(out, "since", t->activity_ms);
	buf_putc(out, '}');
}

static void
put_error_locked(struct buf *out, const struct trouble *trouble)
{
	put_key(out, "error");
	if (trouble->code == STATUS_OK) {
		buf_puts(out, "null");
		return;
	}
	const char *code = status_word(trouble->code);
	buf_puts(out, "{\"code\":");
	json_print_string(out, code, strlen(code));
	put_string(out, "message", trouble->text);
	put_string(out, "do", trouble_advice(trouble->code));
	buf_putc(out, '}');
}

static void
put_checkpoint(struct buf *out, const struct checkpoint *c)
{
	put_key(out, "checkpoint");
	if (!c->id[0]) {
		buf_puts(out, "null");
		return;
	}
	buf_puts(out, "{\"id\":");
	json_print_string(out, c->id, strlen(c->id));
	put_string(out, "parent", c->parent);
	put_number(out, "step", c->step);
	put_time(out, "ts", c->ts_ms);
	buf_putc(out, '}');
}

/* The keys before `sandbox`. */
static void
put_thread_locked(struct buf *out, const struct thread *t)
{
	auto_free char *model = thread_model_locked(t);

	buf_puts(out, "{\"thread_id\":");
	json_print_string(out, t->name, strlen(t->name));
	put_string(out, "phase", phase_word(t->phase));
	put_number(out, "turn", t->turn);
	put_number(out, "queue", t->waiting);
	put_string(out, "model", model);
	put_activity_locked(out, t);
	/* Of a later version: no tool for it, nothing asks yet. */
	buf_puts(out, ",\"todos\":null,\"pending\":[]");
	put_error_locked(out, &t->trouble);
	buf_puts(out, ",\"usage\":{\"turn\":");
	put_usage(out, &t->turn_usage);
	buf_puts(out, ",\"thread\":");
	put_usage(out, &t->usage);
	buf_putc(out, '}');
}

static void
put_sandbox(struct buf *out, const char *provider, const char *name,
    const struct sandbox_view *s, const struct mirror_view *files)
{
	buf_puts(out, ",\"sandbox\":{\"provider\":");
	json_print_string(out, provider, strlen(provider));
	put_string(out, "name", name);
	put_string(out, "id", s->id);
	put_string(out, "state", s->state);
	put_string(out, "expires_at", s->expires_at);
	buf_printf(out,
	    ",\"workspace\":{\"synced\":%s,\"dirty\":%u,\"failed\":[",
	    files->queued == 0 ? "true" : "false", files->queued);
	if (files->failed_path[0])
		json_print_string(out, files->failed_path,
		    strlen(files->failed_path));
	buf_puts(out, "]}}");
}

void
thread_state_text(struct thread *t, struct buf *out)
{
	struct sandbox_view sandbox;
	struct mirror_view files;

	lock_acquire(&t->lock);
	auto_free char *name = xasprintf("thread-%s", t->name);
	put_thread_locked(out, t);
	struct checkpoint checkpoint = t->checkpoint;
	lock_release(&t->lock);
	(void)workspace_view(t, &sandbox, &files);
	put_sandbox(out, provider_word(t->threads->settings.provider), name,
	    &sandbox, &files);
	put_checkpoint(out, &checkpoint);
	buf_puts(out, "}\n");
}

bool
thread_busy(struct thread *t)
{
	lock_acquire(&t->lock);
	/* Who waits for an approval is to be told. */
	bool busy = phase_is_busy(t->phase) && t->phase != PHASE_APPROVAL &&
	    !atomic_load(&t->ended);
	lock_release(&t->lock);
	return busy;
}

uint64_t
thread_generation(struct thread *t)
{
	lock_acquire(&t->lock);
	uint64_t generation = t->generation;
	lock_release(&t->lock);
	return generation;
}

void
thread_trouble_locked(struct thread *t, enum status_code code, const char *text)
{
	auto_buf masked = BUF_INIT(ENTRY_MAX);

	lock_assert_held(&t->lock);
	secrets_mask(&t->threads->secrets, &masked, text, strlen(text));
	t->trouble.code = code;
	snprintf(t->trouble.text, sizeof t->trouble.text, "%s", masked.bytes);
}
