/* See venv.h. */
#include "agent/box/venv.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/base/clock.h"
#include "agent/base/diag.h"
#include "agent/base/lock.h"
#include "agent/box/child.h"

#define PYTHON "/usr/bin/python3"
/* Names the interpreter for which the venv was made. */
#define MARK        VENV_DIR "/.made-for"
#define DEADLINE_MS 60000

static struct {
	/* under lock */
	struct lock lock;
	struct cond done;
	bool started, ended;
	/* one worker */
	char *const *envp;
} venv;

/* Run as `pip`: says what to install where the system has no pip either. */
static const char pip_script[] =
    "#!/bin/sh\n"
    "if " VENV_DIR "/bin/python3 -c 'import pip' 2>/dev/null; then\n"
    "\texec " VENV_DIR "/bin/python3 -m pip \"$@\"\n"
    "fi\n"
    "echo 'pip: this machine has no pip: install python3-pip "
    "(apt install python3-pip) and start the sandbox again' >&2\n"
    "exit 1\n";

static bool
is_current(const char *python)
{
	char was[PATH_MAX] = "";
	ssize_t n = readlink(MARK, was, sizeof was - 1);

	return n > 0 && strcmp(was, python) == 0;
}

static int
run(const char *a, const char *b, const char *c, const char *d, const char *e)
{
	char *argv[] = { xstrdup(PYTHON), xstrdup(a), xstrdup(b), xstrdup(c),
		xstrdup(d), xstrdup(e), NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct child_spec spec = { .argv = argv,
		.envp = venv.envp,
		.cwd = "/",
		.in = null,
		.out = null };
	struct child *child = null < 0 ? NULL : child_start(&spec);
	int status = -1;
	int64_t deadline = clock_mono_ms() + DEADLINE_MS;

	if (child && !child_wait(child, deadline, &status)) {
		child_kill(child);
		child_wait(child, 0, &status);
	}
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
	return status;
}

static void
write_script(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0) /* pip itself, installed by the user */
		return;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0)
		return;
	if (write_all(fd, pip_script, sizeof pip_script - 1) < 0)
		diag_warn("venv: %s could not be written", path);
	close(fd);
}

static void
make(void)
{
	auto_free char *python = realpath(PYTHON, NULL);

	if (!python || is_current(python))
		return;
	if (run("-m", "venv", "--without-pip", "--system-site-packages",
		VENV_DIR) != 0) {
		diag_warn("venv: python3 -m venv failed: install python3-venv "
			  "and python3-pip (apt install python3-venv "
			  "python3-pip)");
		return;
	}
	write_script(VENV_DIR "/bin/pip");
	write_script(VENV_DIR "/bin/pip3");
	if ((unlink(MARK) < 0 && errno != ENOENT) || symlink(python, MARK) < 0)
		diag_warn("venv: %s could not be made", MARK);
}

static void *
work(void *arg)
{
	make();
	lock_acquire(&venv.lock);
	venv.ended = true;
	cond_broadcast(&venv.done);
	lock_release(&venv.lock);
	return arg;
}

void
venv_start(char *const *envp)
{
	lock_init(&venv.lock, RANK_LANE);
	cond_init(&venv.done);
	venv.envp = envp;
	venv.started = true;
	pthread_detach(worker_start(work, NULL, "venv"));
}

void
venv_wait(void)
{
	wait_point();
	if (!venv.started)
		return;
	lock_acquire(&venv.lock);
	while (!venv.ended)
		cond_wait(&venv.done, &venv.lock, 0);
	lock_release(&venv.lock);
}
