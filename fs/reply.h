/*
 * What the kernel is told: error numbers, attributes, entries. Any worker.
 */
#ifndef FS_REPLY_H
#define FS_REPLY_H

#include "fs/inode.h"
#include "fs/session.h"

/* Positive errno of a status; 0 for OK. CANCELED is ECANCELED: only the reaper
 * answers EINTR, since programs that see it without a signal try for ever. */
int reply_errno(enum status_code code);
void reply_status(fuse_req_t req, const struct status *st);

/* Attributes of what is not the sandbox's: owner, times, st_ino. size -1: a
 * directory. */
void reply_fill(const struct session *s, const struct inode *key, mode_t mode,
    int64_t size, int64_t changed_ms, struct stat *out);
/* Attributes of a file of a workspace. */
void reply_fill_mirror(const struct session *s, int64_t thread,
    const struct mirror_attr *attr, struct stat *out);

/* Answers LOOKUP and its kin with that inode: adds the lookup, gives it back
 * if nobody is there any more. Seconds of validity. st_size -1: the size that
 * was shown last. */
void reply_entry(fuse_req_t req, const struct inode *key,
    const struct stat *attr, double entry_s, double attr_s);
/* STATFS of what is not in a workspace: the file system of the state. */
void reply_statfs(fuse_req_t req);
/* "No such name", which the kernel may remember for `seconds`. */
void reply_no_entry(fuse_req_t req, double seconds);

#endif
