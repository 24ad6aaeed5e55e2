/* See place.h. */
#include "agent/box/place.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <link.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* Covered by a file system of our own, in our namespace alone. */
#define COVER "/mnt"

char *
place_path(const struct place *p, const char *fmt, ...)
{
	char *tail = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&tail, fmt, ap) < 0)
		abort();
	va_end(ap);
	char *path = xasprintf("%s/%s", p->data, tail);
	free(tail);
	return path;
}

static int
note_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *p = arg;

	(void)size;
	if (info->dlpi_name && info->dlpi_name[0] == '/' &&
	    p->lib_count < PLACE_LIBS_MAX)
		p->libs[p->lib_count++] = xstrdup(info->dlpi_name);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type == PT_INTERP && !p->loader)
			p->loader = xstrdup(
			    (const char *)(info->dlpi_addr + ph->p_vaddr));
	}
	return 0;
}

static int
open_data(struct place *p, const struct options *o, struct status *st)
{
	struct stat dir;

	if (mkdir(o->data, 0700) < 0 && errno != EEXIST)
		return status_errno(st, errno, "--data %s", o->data);
	p->data_fd = open(o->data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->data_fd < 0 || fstat(p->data_fd, &dir) < 0)
		return status_errno(st, errno, "--data %s", o->data);
	if (geteuid() == 0 && dir.st_uid != (uid_t)o->uid) {
		/* Files that another user's box left would be out of reach. */
		if (faccessat(p->data_fd, "sandboxes", F_OK, 0) == 0)
			return status_set(st, STATUS_DENIED,
			    "--data %s belongs to uid %u: run as that user, or "
			    "as root with --uid %u",
			    o->data, (unsigned)dir.st_uid,
			    (unsigned)dir.st_uid);
		if (fchown(p->data_fd, (uid_t)o->uid, (gid_t)o->uid) < 0)
			return status_errno(st, errno, "--data %s: chown",
			    o->data);
	} else if (geteuid() != 0 && dir.st_uid != geteuid()) {
		return status_set(st, STATUS_DENIED,
		    "--data %s belongs to uid %u: choose another directory",
		    o->data, (unsigned)dir.st_uid);
	}
	if (fchmod(p->data_fd, 0700) < 0)
		return status_errno(st, errno, "--data %s: chmod", o->data);
	/* Held for the life of the process. */
	if (flock(p->data_fd, LOCK_EX | LOCK_NB) < 0)
		return status_set(st, STATUS_BUSY,
		    "--data %s is in use by another sandagentfs-box", o->data);
	return 0;
}

/* Shows what `source` names at COVER/name; gives that path or NULL. */
static char *
show(const char *source, const char *name, bool dir)
{
	char *at = xasprintf(COVER "/%s", name);
	int made = dir ? mkdir(at, 0755) : mknod(at, S_IFREG | 0755, 0);

	if (made == 0 && mount(source, at, NULL, MS_BIND | MS_REC, NULL) == 0)
		return at;
	free(at);
	return NULL;
}

static void
replace(char **path, char *by)
{
	if (!by)
		return;
	free(*path);
	*path = by;
}

/* Opened within the new namespace: a mount that a descriptor from the old one
 * names cannot be bound (EINVAL). */
static int
reopen(const char *path)
{
	return path ? open(path, O_PATH | O_CLOEXEC) : -1;
}

static char *
show_fd(int fd, const char *name, bool dir)
{
	auto_free char *source = xasprintf("/proc/self/fd/%d", fd);

	return fd >= 0 ? show(source, name, dir) : NULL;
}

/* Best effort: without the rights to it the paths themselves must do, which is
 * checked later, as the user. */
static void
cover(struct place *p)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return;
	auto_fd int data = reopen(p->data);
	auto_fd int program = reopen(p->program);
	auto_fd int root = reopen(p->root);
	if (mount("none", COVER, "tmpfs", MS_NOSUID | MS_NODEV,
		"mode=755,size=64k") < 0)
		return;
	replace(&p->data, show_fd(data, "data", true));
	replace(&p->program, show_fd(program, "program", false));
	replace(&p->root, show_fd(root, "root", true));
}

int
place_open(struct place *p, const struct options *o, struct status *st)
{
	*p = (struct place){ .data_fd = -1 };
	if (open_data(p, o, st) < 0)
		return -1;
	p->data = realpath(o->data, NULL);
	p->program = realpath("/proc/self/exe", NULL);
	if (!p->data || !p->program)
		return status_errno(st, errno, "--data %s", o->data);
	if (o->root && !(p->root = realpath(o->root, NULL)))
		return status_errno(st, errno, "--root %s", o->root);
	dl_iterate_phdr(note_library, p);
	return 0;
}

static int
check(const char *path, const char *what, uid_t uid, struct status *st)
{
	if (!path || access(path, R_OK | X_OK) == 0)
		return 0;
	return status_errno(st, errno,
	    "%s cannot be reached by uid %u: choose another place", what,
	    (unsigned)uid);
}

int
place_give_up_root(struct place *p, const struct options *o, struct status *st)
{
	const uid_t uid = (uid_t)o->uid;

	if (geteuid() != 0)
		return 0;
	cover(p);
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return status_errno(st, errno, "cannot become uid %u",
		    (unsigned)uid);
	/* Readable again under its own user: /proc/self is used below. */
	prctl(PR_SET_DUMPABLE, 1);
	if (check(p->data, "--data", uid, st) < 0 ||
	    check(p->root, "--root", uid, st) < 0)
		return -1;
	return check(p->program, "the program", uid, st);
}

int
place_check_space(const struct place *p, const struct options *o,
    struct status *st)
{
	struct statvfs v;

	if (fstatvfs(p->data_fd, &v) < 0)
		return status_errno(st, errno, "--data");
	uint64_t free_mb = (uint64_t)v.f_bavail * v.f_frsize >> 20;
	if (free_mb < (uint64_t)o->reserve_mb)
		return status_set(st, STATUS_NO_SPACE,
		    "the disk is nearly full: %llu MB are free, %llu are "
		    "wanted (--reserve-mb)",
		    (unsigned long long)free_mb,
		    (unsigned long long)o->reserve_mb);
	return 0;
}

void
place_finish(struct place *p)
{
	if (p->data_fd >= 0)
		close(p->data_fd);
	p->data_fd = -1;
	for (size_t i = 0; i < p->lib_count; i++)
		free(p->libs[i]);
	free(p->data);
	free(p->root);
	free(p->program);
	free(p->loader);
}
