/* NAME: the directory of a thread, with its fixed names. */
#ifndef FS_THREADDIR_H
#define FS_THREADDIR_H

#include "fs/session.h"

/* Answers LOOKUP or MKDIR of a thread; borrows it. */
void threaddir_reply_entry(fuse_req_t req, struct thread *t);
/* The names that must carry marks before RMDIR ends a thread. */
unsigned threaddir_marks(void);

#endif
