/* The prompt is a command; see shell.h. */
#include "agent/model/shell.h"

#include "agent/base/json.h"

static void
call_execute(const char *command, struct message *reply)
{
	auto_buf args = BUF_INIT(16 << 20);
	auto_free char *id = message_new_id();

	buf_puts(&args, "{\"command\":");
	json_print_string(&args, command, strlen(command));
	buf_putc(&args, '}');
	message_add_call(reply, xasprintf("call_%s", id + strcspn(id, "-") + 1),
	    xstrdup("execute"), buf_take(&args));
}

/* The output within a result of `execute`: the tool puts a line end and its
 * status line after it, and there is one exactly when the exit code is known.
 */
static size_t
output_length(const struct message *result)
{
	static const char start[] = "\n[Command ";
	const char *found = NULL;

	if (result->exit_code >= 0)
		for (const char *p = result->content;
		     (p = strstr(p, start)) != NULL; p++)
			found = p;
	return found ? (size_t)(found - result->content)
		     : strlen(result->content);
}

int
shell_complete(const struct model_request *request,
    const struct model_sink *sink, struct message *reply, struct status *st)
{
	const struct message *last =
	    request->count ? &request->messages[request->count - 1] : NULL;

	if (last && last->type == MESSAGE_HUMAN) {
		call_execute(last->content, reply);
		return 0;
	}
	if (!last || last->type != MESSAGE_TOOL)
		return status_set(st, STATUS_INVALID,
		    "shell: there is no prompt to run");
	size_t len = output_length(last);
	free(reply->content);
	reply->content = xstrndup(last->content, len);
	if (len && sink && sink->text)
		sink->text(sink->arg, reply->content, len);
	return 0;
}
