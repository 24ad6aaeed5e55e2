/* Cancel tokens and lanes, with real workers. */
#include <stdatomic.h>

#include "agent/base/cancel.h"
#include "agent/base/clock.h"
#include "agent/base/lane.h"
#include "agent/base/lock.h"
#include "tests/test.h"

static void
count(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void
test_cancel_tree(void **state)
{
	atomic_int woken = 0;
	struct cancel *mount = cancel_create(NULL);
	struct cancel *turn = cancel_create(mount);
	struct cancel *exchange = cancel_create(turn);
	struct cancel *other = cancel_create(mount);

	(void)state;
	assert_true(cancel_set_wake(exchange, count, &woken));
	cancel_fire(turn);
	cancel_fire(turn);
	assert_true(cancel_fired(exchange));
	assert_false(cancel_fired(other));
	assert_int_equal(woken, 1);
	struct cancel *late = cancel_create(turn);
	assert_true(cancel_fired(late)); /* born under a fired parent */
	assert_false(cancel_set_wake(late, count, &woken));
	assert_int_equal(woken, 2);
	cancel_clear_wake(exchange);
	cancel_put(late);
	cancel_put(turn);
	cancel_put(mount);
	cancel_put(exchange);
	cancel_fire(other);
	cancel_put(other);
	assert_null(cancel_put(NULL));
	cancel_fire(NULL);
	assert_false(cancel_fired(NULL));
}

static void *
fire_soon(void *arg)
{
	cancel_sleep(NULL, 50);
	cancel_fire(arg);
	return NULL;
}

static void
test_cancel_wakes_sleeper(void **state)
{
	struct cancel *c = cancel_create(NULL);
	pthread_t worker = worker_start(fire_soon, c, "firer");
	int64_t start = clock_mono_ms();

	(void)state;
	assert_true(cancel_sleep(c, 20000));
	assert_true(clock_mono_ms() - start < 10000);
	worker_join(worker);
	assert_true(cancel_sleep(c, 20000)); /* fired already: at once */
	cancel_put(c);
	c = cancel_create(NULL);
	assert_false(cancel_sleep(c, 10));
	cancel_put(c);
}

#define JOBS 500

static struct {
	int order[JOBS];
	int next;
} seen;

static void
note(void *arg)
{
	seen.order[seen.next++] = (int)(intptr_t)arg;
}

static void
test_lane_keeps_order(void **state)
{
	struct lane *lane = lane_create("test", 1);

	(void)state;
	for (intptr_t i = 0; i < JOBS; i++)
		lane_submit(lane, note, (void *)i);
	lane_drain(lane);
	assert_int_equal(lane_load(lane), 0);
	assert_int_equal(seen.next, JOBS);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(seen.order[i], i);
	lane_destroy(lane);
}

/* Each job waits until all have begun: it takes that many workers. */
static struct {
	struct lock lock;
	struct cond all_here;
	int here;
} gate;

static void
meet(void *arg)
{
	lock_acquire(&gate.lock);
	gate.here++;
	cond_broadcast(&gate.all_here);
	while (gate.here < 4)
		if (!cond_wait(&gate.all_here, &gate.lock,
			clock_mono_ms() + 20000))
			break;
	if (gate.here == 4)
		atomic_fetch_add((atomic_int *)arg, 1);
	lock_release(&gate.lock);
}

static void
test_lane_runs_side_by_side(void **state)
{
	atomic_int met = 0, ran = 0;
	struct lane *lane = lane_create("test", 4);

	(void)state;
	lock_init(&gate.lock, RANK_OP);
	cond_init(&gate.all_here);
	for (int i = 0; i < 4; i++)
		lane_submit(lane, meet, &met);
	lane_drain(lane);
	assert_int_equal(met, 4);
	for (int i = 0; i < 100; i++)
		lane_submit(lane, count, &ran);
	lane_destroy(lane); /* runs what is queued */
	assert_int_equal(ran, 100);
	lane_destroy(NULL);
	cond_finish(&gate.all_here);
	lock_finish(&gate.lock);
}

/* A job that submits the next one runs them all before the lane is gone. */
static struct {
	struct lane *lane;
	atomic_int left;
} chain;

static void
submit_next(void *arg)
{
	if (atomic_fetch_sub(&chain.left, 1) > 1)
		lane_submit(chain.lane, submit_next, arg);
}

static void
test_lane_ends_with_its_jobs(void **state)
{
	(void)state;
	chain.lane = lane_create("test", 2);
	chain.left = 50;
	lane_submit(chain.lane, submit_next, NULL);
	lane_destroy(chain.lane);
	assert_int_equal(chain.left, 0);
	chain.lane = lane_create("a name longer than fifteen bytes", 1);
	lane_destroy(chain.lane);
}

/* Tokens that are made, waited on and dropped while their parent fires. */
struct storm {
	struct cancel *parent;
	atomic_int wakes, rounds;
};

static void
count_wake(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static void *
make_children(void *arg)
{
	struct storm *storm = arg;

	for (;;) {
		struct cancel *c = cancel_create(storm->parent);
		atomic_int woken = 0;
		bool set = cancel_set_wake(c, count_wake, &woken);
		atomic_fetch_add(&storm->rounds, 1);
		bool fired = cancel_fired(c);
		cancel_clear_wake(c);
		/* No wake runs any more, and it ran if the token fired while
		 * it was set. */
		int n = woken;
		cancel_put(c);
		if (!set || n > 0)
			atomic_fetch_add(&storm->wakes, n);
		if (fired || n > 0)
			return NULL;
	}
}

static void
test_cancel_storm(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct storm storm = { .parent = cancel_create(NULL) };
		pthread_t workers[3];
		for (size_t k = 0; k < ARRAY_SIZE(workers); k++)
			workers[k] =
			    worker_start(make_children, &storm, "storm");
		while (storm.rounds < 50)
			cancel_sleep(NULL, 1);
		cancel_fire(storm.parent);
		for (size_t k = 0; k < ARRAY_SIZE(workers); k++)
			worker_join(workers[k]);
		assert_int_equal(storm.wakes, 3);
		cancel_put(storm.parent);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancel_tree),
		cmocka_unit_test(test_cancel_wakes_sleeper),
		cmocka_unit_test(test_lane_keeps_order),
		cmocka_unit_test(test_lane_runs_side_by_side),
		cmocka_unit_test(test_lane_ends_with_its_jobs),
		cmocka_unit_test(test_cancel_storm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
