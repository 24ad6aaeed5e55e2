/*
 * Ending a thread (contract §1). `rm -r NAME` removes the names of a thread
 * directory one by one; each such removal changes nothing and leaves a mark.
 * The RMDIR of NAME ends the thread if all its names carry marks and the last
 * removal is less than 60 s old. Opening or writing a control file clears
 * them; so does time, by the reaper's clock. While there are marks the mirror
 * queues removals and starts nothing.
 *
 * Any worker, no lock held; never waits.
 */
#ifndef FS_MARKS_H
#define FS_MARKS_H

#include "fs/session.h"

#define MARKS_MS 60000

/* The names of a thread directory: control files by their number (control.h),
 * then these. */
enum mark { MARK_CHECKPOINTS = 8, MARK_WORKSPACE, MARKS };

struct marks;

struct marks *marks_create(void);
void marks_destroy(struct marks *m);
/* `needed`: the bits that make the whole. */
void marks_set_needed(struct marks *m, unsigned needed);
/* Removal of that name. */
void marks_add(struct session *s, struct thread *t, unsigned mark);
/* A removal below NAME that leaves no mark of its own: keeps marks young. */
void marks_touch(struct session *s, int64_t thread);
/* Somebody goes on using the thread. */
void marks_clear(struct session *s, struct thread *t);
/* May RMDIR end it? */
bool marks_whole(struct session *s, int64_t thread);
/* The thread is gone. */
void marks_forget(struct session *s, int64_t thread);
/* Ends marks that are too old; gives the next time to look, 0 = never. */
int64_t marks_expire(struct session *s, int64_t now);

#endif
