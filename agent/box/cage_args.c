/* See cage_args.h. */
#include "agent/box/cage_args.h"

static void
add_number(struct args *a, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)value);
	args_add_all(a, name, text, NULL);
}

static void
add_namespaces(struct args *a, bool network, bool modern)
{
	args_add_all(a, "bwrap", "--unshare-user", "--unshare-pid",
	    "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	    "--as-pid-1", "--new-session", "--uid", "1000", "--gid", "1000",
	    "--hostname", "sandbox", NULL);
	if (!network)
		args_add(a, "--unshare-net");
	if (modern)
		args_add(a, "--disable-userns");
}

void
cage_args(struct args *a, const struct cage_settings *s,
    const struct cage_request *request, const char *dir)
{
	const struct options *o = s->options;

	add_namespaces(a, request->network, s->modern);
	rootfs_add(a, s->place, s->hostenv, dir, s->modern);
	add_number(a, "--info-fd", CAGE_FD_INFO);
	args_add_all(a, "--chdir", "/home/daytona", "--", NULL);
	if (s->place->loader)
		args_add_all(a, ROOTFS_LOADER, "--library-path", ROOTFS_LIB,
		    NULL);
	args_add_all(a, ROOTFS_PROGRAM, "--inside", NULL);
	add_number(a, "--listen-fd", CAGE_FD_LISTEN);
	add_number(a, "--life-fd", CAGE_FD_LIFE);
	add_number(a, "--memory-mb", o->memory_mb);
	add_number(a, "--processes", o->processes);
	add_number(a, "--file-mb", o->file_mb);
	add_number(a, "--files", o->files);
	add_number(a, "--reserve-mb", o->reserve_mb);
	args_end(a);
}
