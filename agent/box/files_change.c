/* POST /files/folder, DELETE /files, POST /files/move, /files/permissions. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>

#include "agent/box/child.h"
#include "agent/box/files_open.h"
#include "agent/box/toolbox.h"
#include "agent/box/tree.h"

/* Octal digits only; -1 if it is none. */
static int
parse_mode(const char *s, mode_t *mode)
{
	char *end = NULL;

	if (s[0] < '0' || s[0] > '7')
		return -1;
	unsigned long v = strtoul(s, &end, 8);
	if (*end || v > 07777)
		return -1;
	*mode = (mode_t)v & 0777;
	return 0;
}

static enum MHD_Result
folder(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	auto_free char *text = http_param(r, "mode");
	mode_t mode = 0755;

	if (!path || !*path || !text || (*text && parse_mode(text, &mode) < 0))
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	if (files_make_dirs(path, mode, NULL) < 0)
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	return http_empty(r, MHD_HTTP_CREATED);
}

static enum MHD_Result delete (struct http_request *r) {
	auto_free char *path = http_param(r, "path");
	auto_free char *recursive = http_param(r, "recursive");
	struct stat st;

	if (!path || !*path || !recursive) return http_empty(r,
	    MHD_HTTP_BAD_REQUEST);
	if (stat(path, &st) < 0) return toolbox_errno(r, errno);
	int result = 0;
	if (!S_ISDIR(st.st_mode)) result = unlink(path);
	else if (strcmp(recursive, "true") == 0)
	    result = tree_remove(AT_FDCWD, path, false);
	else result = -1;
	return http_empty(r, result < 0 ? MHD_HTTP_BAD_REQUEST : 204);
}

/* To another file system: mv copies whole trees and keeps what it can. */
static int
move_across(const char *source, const char *destination)
{
	char *argv[] = { xstrdup("/bin/mv"), xstrdup("-T"), xstrdup("--"),
		xstrdup(source), xstrdup(destination), NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const struct child_spec spec = { .argv = argv,
		.envp = environ,
		.in = null,
		.out = null };
	struct child *child = null < 0 ? NULL : child_start(&spec);
	int status = -1;

	if (child)
		child_wait(child, 0, &status);
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
	errno = EIO;
	return status == 0 ? 0 : -1;
}

/* Unlike the daemon's, which copies and deletes when a rename fails, it loses
 * nothing: what cannot be renamed stays, and the answer says so. */
static enum MHD_Result
move(struct http_request *r)
{
	auto_free char *source = http_param(r, "source");
	auto_free char *destination = http_param(r, "destination");
	struct stat st;

	if (!source || !destination || !*source || !*destination)
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	auto_free char *parent = files_parent(destination);
	if (stat(source, &st) < 0 || stat(parent, &st) < 0)
		return toolbox_errno(r, errno);
	int result = renameat2(AT_FDCWD, source, AT_FDCWD, destination,
	    RENAME_NOREPLACE);
	if (result < 0 && errno == EXDEV) {
		if (lstat(destination, &st) == 0)
			errno = EEXIST;
		else
			result = move_across(source, destination);
	}
	if (result < 0 && errno == EEXIST)
		return http_empty(r, MHD_HTTP_CONFLICT);
	return result < 0 ? toolbox_errno(r, errno)
			  : http_empty(r, MHD_HTTP_OK);
}

/* A number, or a name of /etc/passwd or /etc/group; never NSS, whose modules a
 * foreign root file system does not fit. */
static int
find_id(const char *name, bool group, unsigned *id)
{
	char *end = NULL, text[4096];
	struct passwd pw, *found = NULL;
	struct group gr, *found_group = NULL;

	errno = 0;
	unsigned long v = strtoul(name, &end, 10);
	if (name[0] >= '0' && name[0] <= '9' && !*end && !errno &&
	    v < UINT32_MAX) {
		*id = (unsigned)v;
		return 0;
	}
	FILE *f = fopen(group ? "/etc/group" : "/etc/passwd", "re");
	int result = -1;
	while (f && result < 0) {
		int err = group
		    ? fgetgrent_r(f, &gr, text, sizeof text, &found_group)
		    : fgetpwent_r(f, &pw, text, sizeof text, &found);
		if (err)
			break;
		if (strcmp(group ? gr.gr_name : pw.pw_name, name) == 0) {
			*id = group ? gr.gr_gid : pw.pw_uid;
			result = 0;
		}
	}
	if (f)
		fclose(f);
	return result;
}

static enum MHD_Result
permissions(struct http_request *r)
{
	auto_free char *path = http_param(r, "path");
	auto_free char *text = http_param(r, "mode");
	auto_free char *owner = http_param(r, "owner");
	auto_free char *group = http_param(r, "group");
	unsigned uid = (unsigned)-1, gid = (unsigned)-1;
	mode_t mode;
	struct stat st;

	if (!path || !*path || !text || !owner || !group)
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	if (stat(path, &st) < 0)
		return toolbox_errno(r, errno);
	if (*text && (parse_mode(text, &mode) < 0 || chmod(path, mode) < 0))
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	if ((*owner && find_id(owner, false, &uid) < 0) ||
	    (*group && find_id(group, true, &gid) < 0) ||
	    ((*owner || *group) && chown(path, uid, gid) < 0))
		return http_empty(r, MHD_HTTP_BAD_REQUEST);
	return http_empty(r, MHD_HTTP_OK);
}

const struct http_handler files_folder_handler = { .finish = folder };
const struct http_handler files_delete_handler = { .finish = delete };
const struct http_handler files_move_handler = { .finish = move };
const struct http_handler files_permissions_handler = { .finish = permissions };
