/*
 * What a sandbox told of a subtree: one row an entry, with lstat semantics.
 * Everything in it is untrusted; names were checked by name_valid() when it
 * was made (sandbox/wire.c), sizes and counts are bounded.
 */
#ifndef AGENT_SANDBOX_LISTING_H
#define AGENT_SANDBOX_LISTING_H

#include <time.h>

#include "agent/base/base.h"

/* What a file was when we looked: two equal versions are the same content. */
struct file_version {
	uint64_t ino;
	int64_t size; /* bytes */
	struct timespec mtime, ctime;
};

bool file_version_equal(const struct file_version *a,
    const struct file_version *b);

struct remote_entry {
	char *path;  /* relative to the workspace, "" = the workspace */
	mode_t mode; /* type and all twelve permission bits */
	uid_t uid;
	gid_t gid;
	nlink_t nlink;
	struct file_version version;
	char *target; /* of a symbolic link, else NULL; bytes */
	/* a directory whose content is not in this listing (heavy, too deep,
	 * unreadable, over the bounds): listed when somebody looks into it */
	bool unlisted;
};

struct listing {
	struct remote_entry *entries; /* parents before children */
	size_t count, cap;
	char *root;     /* the directory asked for, relative to the workspace */
	bool truncated; /* a bound was hit: some directories are `unlisted` */
};

/* Takes path and target. */
struct remote_entry *listing_add(struct listing *l, char *path, char *target);
void listing_finish(struct listing *l);

#endif
