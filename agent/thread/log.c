/* `log`: a thread's lines, without secrets, into its transcript. */
#include <stdarg.h>

#include "agent/base/diag.h"
#include "agent/thread/internal.h"

int64_t
thread_log_size(struct thread *t)
{
	return transcript_size(t->transcript);
}

ssize_t
thread_log_read(struct thread *t, char *out, size_t size, int64_t off)
{
	return transcript_read(t->transcript, out, size, off);
}

void
thread_log_entries(struct thread *t, const struct buf *entries)
{
	struct status st = { 0 };

	if (entries->len == 0 || atomic_load(&t->ended))
		return;
	if (entries->failed ||
	    transcript_append(t->transcript, entries->bytes, entries->len,
		&st) < 0)
		diag_err("thread %lld: %s", (long long)t->number,
		    entries->failed ? "log: out of memory" : st.text);
	thread_notify(t);
}

void
thread_log(struct thread *t, const char *label, const char *text)
{
	auto_buf masked = BUF_INIT(ENTRY_MAX), entry = BUF_INIT(ENTRY_MAX);

	secrets_mask(&t->threads->secrets, &masked, text, strlen(text));
	entry_add(&entry, label, masked.bytes, masked.len);
	thread_log_entries(t, &entry);
}

void
thread_logf(struct thread *t, const char *label, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	thread_log(t, label, text);
}
