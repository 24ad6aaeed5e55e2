/*
 * The control files of a thread: one row a file in control.c, one source file
 * each for what they do when they are opened.
 */
#ifndef FS_CONTROL_H
#define FS_CONTROL_H

#include "fs/handle.h"
#include "fs/inode.h"

enum control_file { /* the inode's node; order of the directory */
	CONTROL_PROMPT,
	CONTROL_LOG,
	CONTROL_MESSAGES,
	CONTROL_STATE,
	CONTROL_CTL,
	CONTROL_CONFIG,
	CONTROL_REPLY,
	CONTROL_FILES
};

struct control {
	const char *name;
	bool writable;
	/* Answers OPEN, parks if it must. Takes the share of the thread. */
	void (*open)(fuse_req_t req, struct thread *t, int flags);
	/* True size from memory, or -1: see disk_size. */
	int64_t (*size)(struct thread *t);
	/* [disk] */
	int64_t (*disk_size)(struct thread *t, struct status *st);
};

extern const struct control controls[CONTROL_FILES];

/* The number of the file of that name, or -1. */
int control_find(const char *name);
/* Answers LOOKUP of it. */
void control_reply_entry(fuse_req_t req, struct thread *t,
    enum control_file file);

void control_prompt_open(fuse_req_t req, struct thread *t, int flags);
int64_t control_prompt_size(struct thread *t);
void control_log_open(fuse_req_t req, struct thread *t, int flags);
void control_messages_open(fuse_req_t req, struct thread *t, int flags);
int64_t control_messages_size(struct thread *t, struct status *st);
void control_state_open(fuse_req_t req, struct thread *t, int flags);
int64_t control_state_size(struct thread *t);
void control_ctl_open(fuse_req_t req, struct thread *t, int flags);
int64_t control_ctl_size(struct thread *t);
void control_config_open(fuse_req_t req, struct thread *t, int flags);
int64_t control_config_size(struct thread *t);
void control_reply_open(fuse_req_t req, struct thread *t, int flags);

#endif
