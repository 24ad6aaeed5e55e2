/* Lanes of jobs; see lane.h. Workers are detached and counted. */
#include "agent/base/lane.h"

#include "agent/base/clock.h"
#include "agent/base/lock.h"

#define IDLE_MS 10000

struct job {
	struct job *next;
	void (*run)(void *arg);
	void *arg;
};

struct lane {
	/* immutable */
	char name[16];
	unsigned max_workers;
	/* under lock */
	struct lock lock;
	struct cond work; /* a job came, or the end */
	struct cond done; /* a job or a worker ended */
	struct job *first, **last;
	unsigned workers, idle, queued, running;
	bool stopping;
};

struct lane *
lane_create(const char *name, unsigned max_workers)
{
	struct lane *lane = xcalloc(1, sizeof *lane);

	snprintf(lane->name, sizeof lane->name, "%s", name);
	lane->max_workers = max_workers;
	lock_init(&lane->lock, RANK_LANE);
	cond_init(&lane->work);
	cond_init(&lane->done);
	lane->last = &lane->first;
	return lane;
}

static struct job *
next_job_locked(struct lane *lane)
{
	int64_t deadline = clock_mono_ms() + IDLE_MS;

	lane->idle++;
	while (!lane->first && !lane->stopping)
		if (!cond_wait(&lane->work, &lane->lock, deadline))
			break;
	lane->idle--;
	struct job *job = lane->first;
	if (job) {
		lane->first = job->next;
		if (!lane->first)
			lane->last = &lane->first;
		lane->queued--;
		lane->running++;
	}
	return job;
}

static void *
work(void *arg)
{
	struct lane *lane = arg;
	struct job *job;

	lock_acquire(&lane->lock);
	while ((job = next_job_locked(lane))) {
		lock_release(&lane->lock);
		job->run(job->arg);
		free(job);
		lock_acquire(&lane->lock);
		lane->running--;
		cond_broadcast(&lane->done);
	}
	lane->workers--;
	/* The last touch of the lane: lane_destroy() frees it after this. */
	cond_broadcast(&lane->done);
	lock_release(&lane->lock);
	return NULL;
}

void
lane_submit(struct lane *lane, void (*run)(void *arg), void *arg)
{
	struct job *job = xcalloc(1, sizeof *job);

	job->run = run;
	job->arg = arg;
	lock_acquire(&lane->lock);
	*lane->last = job;
	lane->last = &job->next;
	lane->queued++;
	bool start =
	    lane->queued > lane->idle && lane->workers < lane->max_workers;
	if (start) {
		lane->workers++;
		pthread_detach(worker_start(work, lane, lane->name));
	} else {
		cond_signal(&lane->work);
	}
	lock_release(&lane->lock);
}

unsigned
lane_load(struct lane *lane)
{
	lock_acquire(&lane->lock);
	unsigned n = lane->queued + lane->running;
	lock_release(&lane->lock);
	return n;
}

void
lane_drain(struct lane *lane)
{
	wait_point();
	lock_acquire(&lane->lock);
	while (lane->queued + lane->running > 0)
		cond_wait(&lane->done, &lane->lock, 0);
	lock_release(&lane->lock);
}

void
lane_destroy(struct lane *lane)
{
	if (!lane)
		return;
	wait_point();
	lock_acquire(&lane->lock);
	lane->stopping = true;
	cond_broadcast(&lane->work);
	while (lane->workers > 0)
		cond_wait(&lane->done, &lane->lock, 0);
	lock_release(&lane->lock);
	cond_finish(&lane->work);
	cond_finish(&lane->done);
	lock_finish(&lane->lock);
	free(lane);
}
