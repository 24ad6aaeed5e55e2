/* See options.h. */
#include "agent/box/options.h"

#include <errno.h>
#include <limits.h>

const char options_usage[] =
    "usage: sandagentfs-box --listen 127.0.0.1:PORT --token-file FILE "
    "--data DIR\n"
    "       sandagentfs-box --socket PATH --data DIR\n"
    "Runs sandboxes on this machine behind the Daytona HTTP API.\n"
    "\n"
    "  --listen HOST:PORT  serve on a TCP port; 0 chooses one\n"
    "  --token-file FILE   its first line is the API key for --listen\n"
    "  --socket PATH       serve on a unix socket, without a key\n"
    "  --data DIR          where the sandboxes' files are kept\n"
    "  --root DIR          another root file system than this machine's\n"
    "  --uid N             when started as root: run as this user (64321)\n"
    "  --memory-mb N       of all processes of a sandbox (half of the "
    "machine's)\n"
    "  --processes N       of a sandbox (2048)\n"
    "  --file-mb N         the largest file (16384)\n"
    "  --files N           open in a process (20000)\n"
    "  --reserve-mb N      always left free on the data disk (1024)\n"
    "  --parent-fd N       end at end of file of this descriptor\n"
    "  --ready-fd N        report readiness or the error there\n"
    "  --check             only see whether sandboxes can be made here\n"
    "  --help, --version\n";

struct number {
	const char *name;
	int64_t *value;
	int64_t min, max;
};

struct text {
	const char *name;
	const char **value;
};

static int
parse_number(const struct number *n, const char *s, struct status *st)
{
	char *end = NULL;

	errno = 0;
	long long v = strtoll(s, &end, 10);
	if (errno || end == s || *end || v < n->min || v > n->max)
		return status_set(st, STATUS_INVALID,
		    "%s %s: a number from %lld to %lld is wanted", n->name, s,
		    (long long)n->min, (long long)n->max);
	*n->value = v;
	return 0;
}

static int64_t
default_memory_mb(void)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES);
	int64_t mb = (pages >> 10) * (sysconf(_SC_PAGESIZE) >> 10);

	return MAX(mb / 2, (int64_t)512);
}

static int
check(const struct options *o, struct status *st)
{
	if (o->help || o->version || o->check)
		return 0;
	if (o->inside)
		return o->listen_fd >= 0 && o->life_fd >= 0
		    ? 0
		    : status_set(st, STATUS_INVALID,
			  "--inside is not for people: see --help");
	if (!o->listen && !o->socket)
		return status_set(st, STATUS_INVALID,
		    "--listen or --socket is missing: see --help");
	if (!o->data)
		return status_set(st, STATUS_INVALID,
		    "--data DIR is missing: see --help");
	if (o->listen && !o->token_file)
		return status_set(st, STATUS_INVALID,
		    "--listen needs --token-file FILE with a key in it");
	return 0;
}

int
options_parse(struct options *o, int argc, char **argv, struct status *st)
{
	int64_t parent_fd = -1, ready_fd = -1, listen_fd = -1, life_fd = -1;
	*o = (struct options){ .uid = 64321,
		.minute_ms = 60000,
		.memory_mb = default_memory_mb(),
		.processes = 2048,
		.file_mb = 16384,
		.files = 20000,
		.reserve_mb = 1024 };
	const struct text texts[] = { { "--listen", &o->listen },
		{ "--socket", &o->socket }, { "--token-file", &o->token_file },
		{ "--data", &o->data }, { "--root", &o->root } };
	const struct number numbers[] = {
		{ "--uid", &o->uid, 1, UINT32_MAX - 1 },
		{ "--memory-mb", &o->memory_mb, 0, 1 << 30 },
		{ "--processes", &o->processes, 0, 1 << 22 },
		{ "--file-mb", &o->file_mb, 0, 1 << 30 },
		{ "--files", &o->files, 0, 1 << 20 },
		{ "--reserve-mb", &o->reserve_mb, 0, 1 << 30 },
		{ "--parent-fd", &parent_fd, 0, INT_MAX },
		{ "--ready-fd", &ready_fd, 0, INT_MAX },
		{ "--minute-ms", &o->minute_ms, 1, 60000 },
		{ "--listen-fd", &listen_fd, 0, INT_MAX },
		{ "--life-fd", &life_fd, 0, INT_MAX },
	};

	for (int i = 1; i < argc; i++) {
		bool known = false;
		o->help |= strcmp(argv[i], "--help") == 0;
		o->version |= strcmp(argv[i], "--version") == 0;
		o->check |= strcmp(argv[i], "--check") == 0;
		o->inside |= strcmp(argv[i], "--inside") == 0;
		if (o->help || o->version || o->check)
			return 0;
		if (strcmp(argv[i], "--inside") == 0)
			continue;
		const char *value = argv[i + 1];
		for (size_t k = 0; k < ARRAY_SIZE(texts) && value; k++)
			if (strcmp(argv[i], texts[k].name) == 0) {
				*texts[k].value = value;
				known = true;
			}
		for (size_t k = 0; k < ARRAY_SIZE(numbers) && value; k++)
			if (strcmp(argv[i], numbers[k].name) == 0) {
				if (parse_number(&numbers[k], value, st) < 0)
					return -1;
				known = true;
			}
		if (!known)
			return status_set(st, STATUS_INVALID,
			    "%s: unknown or without its value: see --help",
			    argv[i]);
		i++;
	}
	o->parent_fd = (int)parent_fd;
	o->ready_fd = (int)ready_fd;
	o->listen_fd = (int)listen_fd;
	o->life_fd = (int)life_fd;
	return check(o, st);
}
