/* Fault points; see fault.h. */
#include "agent/base/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "agent/base/base.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char wanted[64];  /* name of the point, "" for none; then constant */
static atomic_long left; /* visits until it strikes */

static void
read_variable(void)
{
	const char *text = getenv("FAULT"); // NOLINT(concurrency-mt-unsafe)
	const char *colon = text ? strrchr(text, ':') : NULL;

	if (!colon || (size_t)(colon - text) >= sizeof wanted)
		return;
	memcpy(wanted, text, (size_t)(colon - text));
	atomic_store(&left, strtol(colon + 1, NULL, 10));
}

void
fault_point(const char *name)
{
	pthread_once(&once, read_variable);
	if (wanted[0] == '\0' || strcmp(wanted, name) != 0)
		return;
	if (atomic_fetch_sub(&left, 1) == 1)
		kill(getpid(), SIGKILL);
}
