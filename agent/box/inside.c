/* See inside.h. */
#include "agent/box/inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/box/child.h"
#include "agent/box/descriptors.h"
#include "agent/box/execute.h"
#include "agent/box/toolbox.h"
#include "agent/box/venv.h"
#include "agent/box/watchdog.h"

/* For the processes of a sandbox that is stopped gently. */
#define GRACE_MS 1000

static void
await_end(int life_fd)
{
	struct pollfd p = { .fd = life_fd, .events = POLLIN };
	char byte;

	for (;;) {
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return;
		if (p.revents && read(life_fd, &byte, 1) <= 0)
			return;
	}
}

_Noreturn void
inside_run(const struct options *o)
{
	const struct child_limits limits = {
		.processes = (uint64_t)o->processes,
		.data_bytes = (uint64_t)o->memory_mb << 20,
		.file_bytes = (uint64_t)o->file_mb << 20,
		.files = (uint64_t)o->files,
	};

	/* Also the folder's lock, which is this process's alone. */
	descriptors_keep_private();
	/* Commands run as the same user: keep them out of this process's
	 * memory and descriptors. */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "sandagentfs-box");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	umask(022);
	if (chdir(TOOLBOX_HOME) < 0) {
		diag_err("inside: %s cannot be entered", TOOLBOX_HOME);
		_exit(INSIDE_FAILED);
	}
	child_set_limits(&limits);
	child_init();
	execute_init(environ);
	venv_start(environ);
	watchdog_start((uint64_t)o->memory_mb << 20,
	    (uint64_t)o->reserve_mb << 20);
	if (!http_server_start(o->listen_fd, toolbox_route, NULL, true)) {
		diag_err("inside: cannot serve");
		_exit(INSIDE_FAILED);
	}
	await_end(o->life_fd);
	child_end_all(clock_mono_ms() + GRACE_MS);
	_exit(INSIDE_OK);
}
