/* Using a mirror from a test: calls that wait, with one line each. */
#ifndef TESTS_AGENT_MIRROR_FAKE_USE_H
#define TESTS_AGENT_MIRROR_FAKE_USE_H

#include <pthread.h>
#include <semaphore.h>

#include "tests/agent/mirror/fake.h"

/* A mirror over a fresh fake sandbox in a directory of its own. */
struct world {
	char dir[64];
	struct fake fake;
	struct mirror *m;
	pthread_mutex_t lock;
	char notes[4096]; /* lines of the log, joined */
};

void world_init(struct world *w);
/* Destroys the mirror (what is not pushed stays queued) / makes it anew. */
void world_stop(struct world *w, int64_t drain_ms);
void world_start(struct world *w);
void world_finish(struct world *w);
/* A file of the sandbox, behind the mirror's back. */
void world_put(struct world *w, const char *path, const char *text);
char *world_get(struct world *w, const char *path); /* NULL: none */
void world_sh(struct world *w, const char *command);

struct done_call {
	struct mirror_call call;
	sem_t done;
};

void call_init(struct done_call *c);
/* Waits and frees what waiting needs. */
enum status_code call_wait(struct done_call *c);

/* Each returns the code of its call; numbers are nodes with a reference. */
enum status_code use_lookup(struct mirror *m, uint32_t dir, const char *name,
    uint32_t *node);
uint32_t use_path(struct mirror *m, const char *path); /* 0: none */
enum status_code use_getattr(struct mirror *m, uint32_t node,
    struct mirror_attr *attr);
enum status_code use_mkdir(struct mirror *m, uint32_t dir, const char *name,
    uint32_t *node);
enum status_code use_rmdir(struct mirror *m, uint32_t dir, const char *name);
enum status_code use_unlink(struct mirror *m, uint32_t dir, const char *name);
enum status_code use_rename(struct mirror *m, uint32_t dir, const char *name,
    uint32_t dir2, const char *name2, unsigned flags);
enum status_code use_symlink(struct mirror *m, uint32_t dir, const char *name,
    const char *target);
enum status_code use_link(struct mirror *m, uint32_t node, uint32_t dir,
    const char *name);
enum status_code use_readlink(struct mirror *m, uint32_t node, char out[4096]);
enum status_code use_open(struct mirror *m, uint32_t node, int flags,
    struct mirror_file **file);
enum status_code use_create(struct mirror *m, uint32_t dir, const char *name,
    int flags, struct mirror_file **file, uint32_t *node);
enum status_code use_flush(struct mirror_file *file);
enum status_code use_fsync(struct mirror_file *file);
enum status_code use_sync(struct mirror *m);
enum status_code use_setattr(struct mirror *m, uint32_t node, int what,
    mode_t mode, int64_t size, const struct timespec times[2]);
/* Gives what it read. */
char *use_read(struct mirror_file *file, int64_t off, size_t len, size_t *got);
/* Whole file by path, as text; NULL if it cannot be opened. */
char *use_cat(struct mirror *m, const char *path);
/* Opens or makes it, truncates, writes, closes. */
enum status_code use_write(struct mirror *m, const char *path,
    const char *text);
/* Names joined by blanks, sorted. */
char *use_ls(struct mirror *m, const char *path);
void use_sleep(int ms);

#endif
