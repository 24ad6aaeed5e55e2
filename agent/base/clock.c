/* Time; see clock.h. */
#include "agent/base/clock.h"

static int64_t
now_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_mono_ms(void)
{
	return now_ms(CLOCK_MONOTONIC);
}

int64_t
clock_wall_ms(void)
{
	return now_ms(CLOCK_REALTIME);
}

struct timespec
clock_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

void
clock_rfc3339(char out[32], int64_t wall_ms, bool with_ms)
{
	time_t s = (time_t)(wall_ms / 1000);
	struct tm tm;

	gmtime_r(&s, &tm);
	size_t n = strftime(out, 32, "%Y-%m-%dT%H:%M:%S", &tm);
	if (with_ms)
		n += (size_t)snprintf(out + n, 32 - n, ".%03d",
		    (int)(wall_ms % 1000));
	snprintf(out + n, 32 - n, "Z");
}

int64_t
clock_sooner(int64_t a, int64_t b)
{
	if (a == 0 || b == 0)
		return a ? a : b;
	return MIN(a, b);
}
