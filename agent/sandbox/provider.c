/* Where sandboxes come from; see sandbox.h. */
#include "agent/base/clock.h"
#include "agent/sandbox/internal.h"

#define LOCAL_API "http://localhost/api"

static char *
copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

struct provider *
provider_create(const struct provider_settings *settings)
{
	struct provider *p = xcalloc(1, sizeof *p);

	lock_init(&p->lock, RANK_SANDBOX);
	p->http = http_client_create();
	p->target = copy(settings->target);
	p->owner = copy(settings->owner);
	if (settings->local) {
		p->box = box_create(settings->box_program, settings->box_dir);
		p->api_url = xstrdup(LOCAL_API);
	} else {
		size_t n = strlen(settings->api_url);
		while (n > 0 && settings->api_url[n - 1] == '/')
			n--;
		p->api_url = xstrndup(settings->api_url, n);
		p->api_key = copy(settings->api_key);
	}
	return p;
}

void
provider_destroy(struct provider *p)
{
	if (!p)
		return;
	/* Before the child is told to go: it closes its connections. */
	http_client_destroy(p->http);
	box_destroy(p->box);
	free(p->api_url);
	if (p->api_key)
		explicit_bzero(p->api_key, strlen(p->api_key));
	free(p->api_key);
	free(p->target);
	free(p->owner);
	lock_finish(&p->lock);
	free(p);
}

const char *
provider_word(const struct provider *p)
{
	return p->box ? "local" : "daytona";
}

void
sandbox_counters(struct provider *p, struct sandbox_counters *out)
{
	out->control = atomic_load(&p->control);
	out->toolbox = atomic_load(&p->toolbox);
}

int64_t
backoff_ms(unsigned n)
{
	int64_t ms = n < 6 ? (int64_t)50 << n : 2000;

	/* Spread, so that many workers do not come back together. */
	return ms + clock_wall().tv_nsec / 1000 % (ms / 4 + 1);
}
