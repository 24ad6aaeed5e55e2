/*
 * All sandboxes of this server: found by id or name, their life cycle, their
 * files below DIR, and what time does to them. One lock guards the list and
 * every guest; it is never held while a sandbox starts or stops: meanwhile
 * guest.transition is set, and others wait for its end.
 */
#ifndef AGENT_BOX_REGISTRY_H
#define AGENT_BOX_REGISTRY_H

#include "agent/base/lock.h"
#include "agent/box/guest.h"

struct registry {
	/* immutable */
	struct cage_settings settings;
	/* under lock */
	struct lock lock;
	struct cond change; /* a transition ended, or time has work */
	struct guest *first;
	bool stopping;
	bool trash_full; /* something waits to be removed */
	/* alone, outside `lock`: the order in which files are written */
	struct lock saving;
	pthread_t timer, sweeper;
};

/* Reads DIR, removes what was being deleted. Starts no worker. */
int registry_init(struct registry *r, const struct cage_settings *settings,
    struct status *st);
/* Starts the workers of time and removal. */
void registry_run(struct registry *r);
/* Stops every sandbox and joins the workers; what is asked later finds no
 * sandbox. [waits] */
void registry_stop(struct registry *r);
/* Frees, when no request is under way any more. */
void registry_finish(struct registry *r);

/* Finds by id, then by name; shares it (guest_put), or NULL. */
struct guest *registry_find(struct registry *r, const char *id_or_name);
void registry_put(struct registry *r, struct guest *g);
/* Gives all, each shared, newest first, and their number. */
struct guest **registry_all(struct registry *r, size_t *count);
/* The same for callers that hold the lock: no sharing. */
struct guest *registry_find_locked(struct registry *r, const char *id);
/* Takes a new guest and makes its folder; a name in use: EXISTS. Shares it. */
int registry_add(struct registry *r, struct guest *g, struct status *st);
/* Writes its file. [waits] */
void registry_save(struct registry *r, struct guest *g);
/* Drops it from the list and moves its folder to the trash. */
void registry_remove(struct registry *r, struct guest *g);
/* Wakes the worker of time: something about a time or a cage changed. */
void registry_wake(struct registry *r);

/* Milliseconds of so many minutes. */
int64_t registry_minutes(const struct registry *r, int64_t minutes);

#endif
