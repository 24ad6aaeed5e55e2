/*
 * Inodes: the numbers by which the kernel names what it has looked up.
 *
 * Three kinds of number:
 *   id      the kernel's node id: a serial, never used twice in a mount, so
 *           the generation is always 0. 1 is the root.
 *   key     kind, thread, node, name: what it is. No pointers into agent/: the
 *           thread is found again by its number at each request.
 *   st_ino  what stat shows: inode_number(). Stays when the id changes.
 *
 * The table counts lookups as the kernel does. Any worker; its lock is taken
 * inside and nothing is called under it.
 */
#ifndef FS_INODE_H
#define FS_INODE_H

#include "agent/base/base.h"

enum inode_kind {
	INODE_ROOT,        /* ~/agents */
	INODE_THREAD,      /* NAME */
	INODE_CONTROL,     /* NAME/prompt …: node is enum control_file */
	INODE_CHECKPOINTS, /* NAME/checkpoints */
	INODE_CHECKPOINT,  /* NAME/checkpoints/STEP-ID.json: name */
	INODE_WORKSPACE,   /* NAME/workspace and below: node of the mirror */
	INODE_DIAGDIR,     /* .sandagentfs */
	INODE_DIAGFILE,    /* .sandagentfs/version …: node is its index */
	INODE_KINDS
};

#define INODE_NAME_MAX 80

struct inode {
	uint64_t id; /* not part of the key */
	enum inode_kind kind;
	int64_t thread;
	uint32_t node;
	char name[INODE_NAME_MAX];
};

struct inode_table;

struct inode_table *inode_table_create(void);
void inode_table_destroy(struct inode_table *t);
/* Adds one lookup to the inode of that key, made if there is none; `fresh`
 * always makes one (of its own until the kernel forgets it). Gives the id. */
uint64_t inode_get(struct inode_table *t, const struct inode *key, bool fresh);
/* Copies it; false if the kernel never looked it up. */
bool inode_find(struct inode_table *t, uint64_t id, struct inode *out);
/* Drops `count` lookups; out is what it was. False if unknown. */
bool inode_forget(struct inode_table *t, uint64_t id, uint64_t count,
    struct inode *out);
/* The next inode_get() of that key makes a new one; the old one stays valid
 * for those who stand in it. */
void inode_renew(struct inode_table *t, const struct inode *key);
/* The newest size that was shown: what a LOOKUP gives when the true one would
 * have to be waited for. */
void inode_set_size(struct inode_table *t, uint64_t id, int64_t size);
int64_t inode_size(struct inode_table *t, uint64_t id);
/* Inodes known; for stats. */
size_t inode_count(struct inode_table *t);

/* st_ino of anything but a workspace's files; with those, inode_number_of(). */
uint64_t inode_number(const struct inode *key);
/* Thread's number above bit 40, the mirror's 40 bits below (design.md §6). */
uint64_t inode_number_of(int64_t thread, uint64_t ino);

#endif
