/*
 * Assembly; see server.h. Order of the start (contract §8): the mount point is
 * looked at, the store opened, the mount made, the terminal left, and only
 * then is there any worker. The fork comes before the store: what belongs to one
 * process (SQLite's locks) is never split over two.
 */
#include "fs/server.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "agent/base/clock.h"
#include "agent/base/path.h"
#include "agent/sandbox/sandbox.h"
#include "agent/store/store.h"
#include "fs/holder.h"
#include "fs/loop.h"
#include "fs/marks.h"
#include "fs/mountpoint.h"
#include "fs/reaper.h"
#include "fs/session.h"
#include "fs/start.h"
#include "fs/threaddir.h"

#define LOOP_WORKERS 4

struct server {
	const struct settings *settings;
	char *mountpoint; /* true path */
	bool ours;        /* there is a mount of ours, dead we hope */
	int signal_fd;
	struct start start;
	struct store *store;
	struct provider *provider;
	struct session *session;
	struct threads *threads;
	struct loop *loop;
};

static int
check_mountpoint(struct server *sv, struct status *st)
{
	const struct settings *s = sv->settings;

	sv->mountpoint = mountpoint_resolve(s->mountpoint, st);
	if (!sv->mountpoint ||
	    mountpoint_holds(sv->mountpoint, "state_dir", s->state_dir, st) <
		0 ||
	    mountpoint_holds(sv->mountpoint, "cache_dir", s->cache_dir, st) < 0)
		return -1;
	return mountpoint_check(sv->mountpoint, &sv->ours, st);
}

static int
open_store(struct server *sv, struct status *st)
{
	int64_t since = clock_mono_ms();
	int rc;

	do
		rc = store_open(sv->settings->state_dir, &sv->store, st);
	while (rc < 0 && st->code == STATUS_BUSY &&
	    holder_is_ending(sv->settings->state_dir, since));
	if (rc < 0 && st->code == STATUS_BUSY && sv->ours)
		return status_set(st, STATUS_BUSY,
		    "%s: already mounted: fusermount3 -u %s ends it",
		    sv->mountpoint, sv->mountpoint);
	if (rc < 0)
		return -1;
	if (sv->ours && mountpoint_replace(sv->mountpoint, st) < 0)
		return -1;
	return store_recover(sv->store, st);
}

/* The local sandbox server's program: beside ours. Gives. */
static char *
box_program(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[MAX(n, 0)] = '\0';
	char *slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	return xasprintf("%s/sandagentfs-box", self);
}

/* What would fail at the first prompt is said at the start. */
static int
check_provider(const struct settings *s, struct status *st)
{
	auto_free char *program = box_program();

	return s->local ? provider_check(program, st) : 0;
}

static struct provider *
make_provider(const struct settings *s, const char *owner)
{
	auto_free char *program = box_program();
	auto_free char *dir = xasprintf("%s/box", s->state_dir);
	struct provider_settings ps = { .local = s->local,
		.box_program = program,
		.box_dir = dir,
		.api_url = s->api_url,
		.api_key = settings_env(s, "DAYTONA_API_KEY"),
		.target = s->target,
		.owner = owner };
	return provider_create(&ps);
}

/* The last line that libfuse or fusermount3 wrote while mounting. */
static void
last_words(int fd, char out[256])
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	text[MAX(n, 0)] = '\0';
	size_t len = strlen(text);
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	const char *line = strrchr(text, '\n');
	escape_line(out, 256, line ? line + 1 : text,
	    strlen(line ? line + 1 : text));
}

/* libfuse and fusermount3 report on stderr; ours is to be the one line. */
static int
mount_session(struct server *sv, struct status *st)
{
	int words = memfd_create("mount", MFD_CLOEXEC);
	int saved = dup(2);
	char why[256];

	if (words >= 0)
		dup2(words, 2);
	int rc = fuse_session_mount(sv->session->fuse, sv->mountpoint);
	dup2(saved, 2);
	close(saved);
	last_words(words, why);
	if (words >= 0)
		close(words);
	if (rc == 0)
		return 0;
	return status_set(st, STATUS_IO,
	    "%s: cannot mount: %s (is fuse3 installed, and may you use "
	    "/dev/fuse?)",
	    sv->mountpoint, *why ? why : "the kernel refused");
}

/* What libfuse has to say once it serves. */
static void
note_libfuse(enum fuse_log_level level, const char *fmt, va_list ap)
{
	char line[512];

	vsnprintf(line, sizeof line, fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	diag(level <= FUSE_LOG_ERR ? DIAG_WARN : DIAG_DEBUG, "%s", line);
}

/* Before the first worker, which inherits the mask. */
static int
take_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A thread with its sandbox and files needs a handful. */
static void
raise_files(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return;
	lim.rlim_cur = MIN(lim.rlim_max, 65536);
	setrlimit(RLIMIT_NOFILE, &lim);
}

static const char *
env_value(void *arg, const char *name)
{
	return settings_env(arg, name);
}

static void
each_secret(void *arg, void (*fn)(void *, const char *), void *fn_arg)
{
	settings_secrets(arg, fn, fn_arg);
}

static enum thread_exit
exit_action(enum on_exit_action action)
{
	switch (action) {
	case ON_EXIT_STOP:
		return THREAD_EXIT_STOP;
	case ON_EXIT_KEEP:
		return THREAD_EXIT_KEEP;
	case ON_EXIT_DELETE:
		return THREAD_EXIT_DELETE;
	}
	return THREAD_EXIT_STOP;
}

static int
start_threads(struct server *sv, struct status *st)
{
	const struct settings *s = sv->settings;
	struct threads_settings ts = { .store = sv->store,
		.provider = sv->provider,
		.state_dir = s->state_dir,
		.cache_dir = s->cache_dir,
		.model = s->model,
		.base_url = s->base_url,
		.ttl_minutes = s->ttl_minutes,
		.stop_minutes = s->stop_minutes,
		.max_turns = s->max_turns,
		.links_raw = s->links_raw,
		.on_exit = exit_action(s->on_exit),
		.env = env_value,
		.secrets = each_secret,
		.env_arg = (void *)s,
		.changed = session_changed,
		.changed_arg = sv->session };

	if (threads_create(&ts, &sv->threads, st) < 0)
		return -1;
	sv->session->threads = sv->threads;
	return 0;
}

static int
prepare(struct server *sv, struct status *st)
{
	const struct settings *s = sv->settings;

	if (open_store(sv, st) < 0)
		return -1;
	auto_free char *diag_path = xasprintf("%s/diag", s->state_dir);
	if (diag_open(diag_path, s->debug ? DIAG_DEBUG : s->log_level,
		s->debug) < 0)
		return status_errno(st, errno, "%s", diag_path);
	sv->provider = make_provider(s, store_id(sv->store));
	if (session_create(s, &sv->session, st) < 0)
		return -1;
	marks_set_needed(sv->session->marks, threaddir_marks());
	return mount_session(sv, st);
}

/* From here on there are workers. */
static int
serve(struct server *sv, struct status *st)
{
	const struct settings *s = sv->settings;
	struct pollfd p = { .events = POLLIN };

	raise_files();
	if (!s->debug)
		fuse_set_log_func(note_libfuse);
	if (start_threads(sv, st) < 0)
		return -1;
	sv->session->reaper = reaper_create(sv->session);
	sv->loop = loop_start(sv->session, s->single ? 1 : LOOP_WORKERS);
	p.fd = sv->session->ready_fd;
	poll(&p, 1, -1);
	if (!atomic_load(&sv->session->joined))
		return status_set(st, STATUS_IO,
		    "%s: the kernel ended the mount at once", sv->mountpoint);
	auto_free char *line =
	    xasprintf("sandagentfs: %s · sandbox %s · model %s\n",
		sv->mountpoint, provider_word(sv->provider), s->model);
	diag_info("serving %s", sv->mountpoint);
	start_ready(&sv->start, line);
	loop_wait(sv->loop, sv->signal_fd, sv->mountpoint);
	return 0;
}

static void
say(const char *line)
{
	fprintf(stderr, "sandagentfs: %s\n", line);
	diag_info("%s", line);
}

static void
stop(struct server *sv)
{
	if (sv->loop)
		loop_stop(sv->loop);
	if (sv->session && sv->session->reaper)
		session_close(sv->session);
	else if (sv->session)
		fuse_session_unmount(sv->session->fuse);
	threads_destroy(sv->threads, say);
	session_destroy(sv->session);
	provider_destroy(sv->provider);
	store_close(sv->store);
	diag_info("ended");
	diag_close();
	free(sv->mountpoint);
}

int
server_run(const struct settings *settings, struct status *st)
{
	struct server sv = { .settings = settings, .signal_fd = -1 };
	int rc = check_mountpoint(&sv, st);

	if (rc == 0)
		rc = check_provider(settings, st);
	if (rc == 0) {
		start_fork(&sv.start, settings->foreground);
		sv.signal_fd = take_signals();
		rc = prepare(&sv, st);
	}
	if (rc == 0) {
		start_detach(&sv.start);
		rc = serve(&sv, st);
	}
	stop(&sv);
	if (sv.signal_fd >= 0)
		close(sv.signal_fd);
	return rc;
}
