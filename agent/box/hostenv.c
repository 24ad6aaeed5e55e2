/* See hostenv.h. */
#include "agent/box/hostenv.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/buf.h"

#define FILE_MAX ((size_t)8 << 20)

static bool
contains(const char *name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static bool
starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool
ends(const char *s, const char *with)
{
	size_t n = strlen(s), m = strlen(with);

	return n >= m && strcmp(s + n - m, with) == 0;
}

bool
hostenv_wanted(const char *name)
{
	static const char *const secret[] = { "KEY", "TOKEN", "SECRET",
		"PASSWORD", "CLIENT_CERT" };
	static const char *const exact[] = { "NIX_SSL_CERT_FILE",
		"NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "http_proxy",
		"https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY",
		"HTTPS_PROXY", "NO_PROXY", "ALL_PROXY" };

	if (contains(name, secret, ARRAY_SIZE(secret)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++)
		if (strcmp(name, exact[i]) == 0)
			return true;
	return starts(name, "PIP_") || starts(name, "OPENBLAS_") ||
	    starts(name, "SSL_CERT_") || ends(name, "_CA_BUNDLE");
}

/* 0 when there is a copy now; -1 when the source is no readable file. */
static int
copy_file(const struct place *p, const char *from, const char *name,
    const struct options *o)
{
	auto_buf text = BUF_INIT(FILE_MAX);
	struct stat st;
	auto_free char *to = place_path(p, "host/%s", name);
	auto_fd int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (in < 0 || fstat(in, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > FILE_MAX)
		return -1;
	char *room = buf_reserve(&text, (size_t)st.st_size + 1);
	ssize_t n = room ? read(in, room, (size_t)st.st_size) : -1;
	unlink(to);
	auto_fd int out =
	    open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (n < 0 || out < 0 || write_all(out, room, (size_t)n) < 0)
		return -1;
	if (geteuid() == 0 && fchown(out, (uid_t)o->uid, (gid_t)o->uid) < 0)
		return -1;
	return 0;
}

/* True if a sandbox shows the host's file at its own path. */
static bool
visible(const char *path, const struct options *o)
{
	static const char *const shown[] = { "/usr/", "/etc/ssl/", "/etc/pki/",
		"/etc/ca-certificates/", "/opt/" };
	struct stat st;

	if (o->root || stat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (starts(path, shown[i]))
			return st.st_mode & S_IROTH;
	return false;
}

static void
add(struct hostenv *h, char *var)
{
	if (h->var_count < HOSTENV_VARS_MAX)
		h->vars[h->var_count++] = var;
	else
		free(var);
}

static void
add_variable(struct hostenv *h, const struct place *p, const struct options *o,
    const char *name, const char *value)
{
	/* A path that is not there inside would break what reads it. */
	if (value[0] != '/' || visible(value, o))
		add(h, xasprintf("%s=%s", name, value));
	else if (copy_file(p, value, name, o) == 0)
		add(h, xasprintf("%s=" HOSTENV_INSIDE "/%s", name, name));
}

static bool
copy_pip_user(const struct place *p, const struct options *o)
{
	const char *home = getenv("HOME"); /* NOLINT(concurrency-mt-unsafe) */
	const char *config =
	    getenv("XDG_CONFIG_HOME"); /* NOLINT(concurrency-mt-unsafe) */
	bool done = false;

	if (config && *config == '/') {
		auto_free char *path = xasprintf("%s/pip/pip.conf", config);
		done = copy_file(p, path, "pip-user.conf", o) == 0;
	}
	if (!done && home && *home == '/') {
		auto_free char *path =
		    xasprintf("%s/.config/pip/pip.conf", home);
		auto_free char *old = xasprintf("%s/.pip/pip.conf", home);
		done = copy_file(p, path, "pip-user.conf", o) == 0 ||
		    copy_file(p, old, "pip-user.conf", o) == 0;
	}
	return done;
}

int
hostenv_read(struct hostenv *h, const struct place *p, const struct options *o,
    char *const *environment, struct status *st)
{
	auto_free char *dir = place_path(p, "host");

	*h = (struct hostenv){ 0 };
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return status_errno(st, errno, "%s", dir);
	if (geteuid() == 0 && chown(dir, (uid_t)o->uid, (gid_t)o->uid) < 0)
		return status_errno(st, errno, "%s: chown", dir);
	for (size_t i = 0; environment[i]; i++) {
		const char *eq = strchr(environment[i], '=');
		if (!eq || !eq[1])
			continue;
		auto_free char *name =
		    xstrndup(environment[i], (size_t)(eq - environment[i]));
		if (hostenv_wanted(name))
			add_variable(h, p, o, name, eq + 1);
	}
	h->pip_global = copy_file(p, "/etc/pip.conf", "pip.conf", o) == 0;
	h->pip_user = copy_pip_user(p, o);
	return 0;
}

void
hostenv_finish(struct hostenv *h)
{
	for (size_t i = 0; i < h->var_count; i++)
		free(h->vars[i]);
	h->var_count = 0;
}
