/* See rootfs.h. */
#include "agent/box/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "agent/base/buf.h"

#define ENTRIES_MAX 512
#define SHM_BYTES   "268435456"

void
args_add(struct args *a, const char *s)
{
	if (a->count + 1 >= a->cap) {
		a->cap = MAX(a->cap * 2, (size_t)128);
		a->v = xrealloc(a->v, a->cap, sizeof *a->v);
	}
	a->v[a->count++] = xstrdup(s);
}

void
args_add_all(struct args *a, ...)
{
	va_list ap;
	const char *s;

	va_start(ap, a);
	while ((s = va_arg(ap, const char *)))
		args_add(a, s);
	va_end(ap);
}

void
args_end(struct args *a)
{
	args_add(a, "");
	free(a->v[--a->count]);
	a->v[a->count] = NULL;
}

void
args_finish(struct args *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct args){ 0 };
}

static bool
listed(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Shows host's `from` read-only at `to`; a link (such as /bin) stays one. */
static void
add_shared(struct args *a, const char *from, const char *to, bool keep_links)
{
	char target[4096];
	ssize_t n = keep_links ? readlink(from, target, sizeof target - 1) : -1;

	if (n > 0) {
		target[n] = '\0';
		args_add_all(a, "--symlink", target, to, NULL);
	} else {
		args_add_all(a, "--ro-bind-try", from, to, NULL);
	}
}

/* Everything in `from` but the names in `skip`. */
static void
add_entries(struct args *a, const char *from, const char *to,
    const char *const *skip, size_t skip_count, bool keep_links)
{
	DIR *dir = opendir(from);
	const struct dirent *e;
	size_t n = 0;

	/* A stream of our own: no other worker reads it. */
	while (dir && n < ENTRIES_MAX &&
	    (e = readdir(dir))) { /* NOLINT(concurrency-mt-unsafe) */
		if (strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0 ||
		    listed(e->d_name, skip, skip_count))
			continue;
		auto_free char *source = xasprintf("%s/%s", from, e->d_name);
		auto_free char *target = xasprintf("%s/%s", to, e->d_name);
		/* A file that only root reads has nothing for a sandbox. */
		if (access(source, R_OK) == 0)
			add_shared(a, source, target, keep_links);
		n++;
	}
	if (dir)
		closedir(dir);
}

static const char *const own_etc[] = { "passwd", "group", "hosts", "hostname",
	"shadow", "gshadow", "passwd-", "group-", "shadow-", "gshadow-", "mtab",
	"pip.conf", "xdg", "resolv.conf" };

/* Of the host's /etc only what programs need to work. */
static void
add_host_etc(struct args *a)
{
	static const char *const names[] = { "alternatives", "bash.bashrc",
		"ca-certificates", "ca-certificates.conf", "debian_version",
		"environment", "fonts", "gai.conf", "host.conf", "inputrc",
		"java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"locale.alias", "localtime", "login.defs", "magic",
		"mime.types", "networks", "nsswitch.conf", "os-release", "perl",
		"pki", "profile", "protocols", "python3", "rpc", "services",
		"shells", "ssl", "terminfo", "timezone" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *path = xasprintf("/etc/%s", names[i]);
		if (access(path, R_OK) == 0)
			add_shared(a, path, path, false);
	}
}

static void
add_etc(struct args *a, const struct place *p, const struct hostenv *h,
    const char *dir)
{
	static const char *const made[] = { "passwd", "group", "hosts",
		"hostname" };
	auto_free char *global = place_path(p, "host/pip.conf");
	auto_free char *user = place_path(p, "host/pip-user.conf");

	args_add_all(a, "--dir", "/etc", NULL);
	if (p->root) {
		auto_free char *etc = xasprintf("%s/etc", p->root);
		add_entries(a, etc, "/etc", own_etc, ARRAY_SIZE(own_etc), true);
	} else {
		add_host_etc(a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(made); i++) {
		auto_free char *from = xasprintf("%s/etc/%s", dir, made[i]);
		auto_free char *to = xasprintf("/etc/%s", made[i]);
		args_add_all(a, "--ro-bind", from, to, NULL);
	}
	args_add_all(a, "--ro-bind-try", "/etc/resolv.conf", "/etc/resolv.conf",
	    NULL);
	/* pip reads both, the second wins: the user's over the system's. */
	if (h->pip_global)
		args_add_all(a, "--ro-bind", global,
		    h->pip_user ? "/etc/xdg/pip/pip.conf" : "/etc/pip.conf",
		    NULL);
	if (h->pip_user)
		args_add_all(a, "--ro-bind", user, "/etc/pip.conf", NULL);
}

static void
add_system(struct args *a, const struct place *p)
{
	static const char *const host[] = { "usr", "bin", "sbin", "lib",
		"lib32", "lib64", "libx32", "nix", "gnu" };
	static const char *const special[] = { "proc", "dev", "sys", "run",
		"tmp", "home", "root", "etc", "opt", "var", "mnt", "media",
		"boot", "lost+found", ".dockerenv" };

	if (p->root) {
		add_entries(a, p->root, "", special, ARRAY_SIZE(special), true);
	} else {
		for (size_t i = 0; i < ARRAY_SIZE(host); i++) {
			auto_free char *path = xasprintf("/%s", host[i]);
			if (access(path, F_OK) == 0)
				add_shared(a, path, path, true);
		}
	}
	auto_free char *opt = xasprintf("%s/opt", p->root ? p->root : "");
	static const char *const own_opt[] = { "venv" };
	add_entries(a, opt, "/opt", own_opt, ARRAY_SIZE(own_opt), true);
	args_add_all(a, "--dir", "/var/lib", "--dir", "/var/cache", "--dir",
	    "/var/log", "--symlink", "/tmp", "/var/tmp", "--symlink", "/run",
	    "/var/run", "--dir", "/mnt", "--dir", "/root", NULL);
	/* How many processors there are; libraries look here. */
	args_add_all(a, "--ro-bind-try", "/sys/devices/system/cpu",
	    "/sys/devices/system/cpu", "--ro-bind-try",
	    "/sys/devices/system/node", "/sys/devices/system/node", NULL);
}

static void
add_program(struct args *a, const struct place *p)
{
	auto_free char *host = place_path(p, "host");

	args_add_all(a, "--ro-bind", p->program, ROOTFS_PROGRAM, "--ro-bind",
	    host, HOSTENV_INSIDE, NULL);
	if (p->loader)
		args_add_all(a, "--ro-bind", p->loader, ROOTFS_LOADER, NULL);
	for (size_t i = 0; i < p->lib_count; i++) {
		const char *name = strrchr(p->libs[i], '/') + 1;
		auto_free char *to = xasprintf(ROOTFS_LIB "/%s", name);
		args_add_all(a, "--ro-bind", p->libs[i], to, NULL);
	}
}

void
rootfs_add(struct args *a, const struct place *p, const struct hostenv *h,
    const char *dir, bool modern)
{
	static const struct {
		const char *from, *to;
	} own[] = { { "home", "/home/daytona" }, { "tmp", "/tmp" },
		{ "venv", "/opt/venv" } };

	auto_free char *shm = xasprintf("%s/shm", dir);

	/* What bubblewrap makes on its way is closed to others. */
	args_add_all(a, "--dir", "/home", "--dir", "/opt", "--dir", "/run",
	    "--dir", "/sys", "--proc", "/proc", "--dev", "/dev", NULL);
	if (modern)
		args_add_all(a, "--size", SHM_BYTES, "--perms", "1777",
		    "--tmpfs", "/dev/shm", NULL);
	else
		args_add_all(a, "--bind", shm, "/dev/shm", NULL);
	args_add_all(a, "--remount-ro", "/dev", NULL);
	add_system(a, p);
	add_etc(a, p, h, dir);
	add_program(a, p);
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		auto_free char *from = xasprintf("%s/%s", dir, own[i].from);
		args_add_all(a, "--bind", from, own[i].to, NULL);
	}
	args_add_all(a, "--remount-ro", "/", NULL);
}

static int
write_file(const char *dir, const char *name, const char *text,
    struct status *st)
{
	auto_free char *path = xasprintf("%s/etc/%s", dir, name);
	auto_fd int fd =
	    open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write_all(fd, text, strlen(text)) < 0)
		return status_errno(st, errno, "%s", path);
	return 0;
}

int
rootfs_write_etc(const struct place *p, const char *dir, struct status *st)
{
	auto_free char *bash = xasprintf("%s/bin/bash", p->root ? p->root : "");
	auto_free char *passwd = xasprintf("root:x:0:0:root:/root:/bin/sh\n"
					   "daytona:x:1000:1000::/home/daytona:"
					   "/bin/%s\n"
					   "nobody:x:65534:65534:nobody:"
					   "/nonexistent:/bin/false\n",
	    access(bash, X_OK) == 0 ? "bash" : "sh");

	if (write_file(dir, "passwd", passwd, st) < 0 ||
	    write_file(dir, "group",
		"root:x:0:\ndaytona:x:1000:\nnogroup:x:65534:\n", st) < 0 ||
	    write_file(dir, "hostname", "sandbox\n", st) < 0)
		return -1;
	auto_buf hosts = BUF_INIT((size_t)1 << 20);
	buf_puts(&hosts, "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n");
	auto_fd int fd = open("/etc/hosts", O_RDONLY | O_CLOEXEC);
	char *room = buf_reserve(&hosts, 65536);
	ssize_t n = fd < 0 ? 0 : read(fd, room, 65536);
	if (n > 0)
		buf_commit(&hosts, (size_t)n);
	return write_file(dir, "hosts", hosts.bytes, st);
}
