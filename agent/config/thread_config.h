/* A thread's `config` file (contract §6): lines `key = value`, # comments. */
#ifndef AGENT_CONFIG_THREAD_CONFIG_H
#define AGENT_CONFIG_THREAD_CONFIG_H

#include "agent/base/status.h"

struct thread_config { /* owns; NULL or -1 = not set here */
	char *model, *base_url, *system_prompt, *approve, *tools, *snapshot;
	double temperature; /* < 0 not set */
	int64_t max_tokens, recursion_limit;
	int ttl_minutes, stop_minutes;
	int network_off; /* -1 not set, 0 on, 1 off */
	int cpu, memory, disk;
	char **env;       /* NAME, VALUE, …, NULL */
	size_t env_count; /* pairs */
};

void thread_config_init(struct thread_config *c);
void thread_config_finish(struct thread_config *c);
/* One line without its LF: a comment, blank, or a known key with a good value;
 * else INVALID and what is wrong. Later lines win. c may be NULL: check only. */
int thread_config_line(struct thread_config *c, const char *line, size_t len,
    struct status *st);
/* A whole text. */
int thread_config_parse(struct thread_config *c, const char *text,
    struct status *st);

#endif
