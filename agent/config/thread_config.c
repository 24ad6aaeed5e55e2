/* A thread's `config`; see thread_config.h. */
#include "agent/config/thread_config.h"

#include <ctype.h>
#include <strings.h>

#include "agent/base/buf.h"
#include "agent/base/path.h"
#include "agent/config/value.h"

enum kind { TEXT, URL, NAMES, REAL, NUMBER, COUNT, ON_OFF };

#define AT(field) offsetof(struct thread_config, field)
#define YEAR      527040 /* in minutes */

static const struct key {
	const char *name;
	enum kind kind;
	size_t at; /* TEXT, URL, NAMES: char *; REAL: double; COUNT: int64_t;
		    * NUMBER, ON_OFF: int */
	int64_t low, high;
} keys[] = {
	{ "model", TEXT, AT(model), 0, 0 },
	{ "base_url", URL, AT(base_url), 0, 0 },
	{ "temperature", REAL, AT(temperature), 0, 2 },
	{ "max_tokens", COUNT, AT(max_tokens), 1, 10000000 },
	{ "system_prompt", TEXT, AT(system_prompt), 0, 0 },
	{ "approve", NAMES, AT(approve), 0, 0 },
	{ "tools", NAMES, AT(tools), 0, 0 },
	{ "recursion_limit", COUNT, AT(recursion_limit), 1, 1000000 },
	{ "ttl_minutes", NUMBER, AT(ttl_minutes), 0, YEAR },
	{ "stop_minutes", NUMBER, AT(stop_minutes), 0, YEAR },
	{ "snapshot", TEXT, AT(snapshot), 0, 0 },
	{ "network", ON_OFF, AT(network_off), 0, 0 },
	{ "cpu", NUMBER, AT(cpu), 1, 1024 },
	{ "memory", NUMBER, AT(memory), 1, 65536 },
	{ "disk", NUMBER, AT(disk), 1, 65536 },
};

void
thread_config_init(struct thread_config *c)
{
	*c = (struct thread_config){ .temperature = -1,
		.max_tokens = -1,
		.recursion_limit = -1,
		.ttl_minutes = -1,
		.stop_minutes = -1,
		.network_off = -1,
		.cpu = -1,
		.memory = -1,
		.disk = -1 };
}

void
thread_config_finish(struct thread_config *c)
{
	free(c->model);
	free(c->base_url);
	free(c->system_prompt);
	free(c->approve);
	free(c->tools);
	free(c->snapshot);
	for (size_t i = 0; i < 2 * c->env_count; i++)
		free(c->env[i]);
	free(c->env);
	thread_config_init(c);
}

/* Tool names, separated by commas; blanks are dropped. Gives; NULL: bad. */
static char *
names_list(const char *value)
{
	auto_buf out = BUF_INIT(64 << 10);

	for (const char *p = value; *p;) {
		size_t n = strcspn(p, ", \t"), sep = strspn(p + n, ", \t");
		for (size_t i = 0; i < n; i++)
			if (!isalnum((unsigned char)p[i]) &&
			    !strchr("_-", p[i]))
				return NULL;
		if (n > 64)
			return NULL;
		if (n > 0 && out.len > 0)
			buf_putc(&out, ',');
		buf_add(&out, p, n);
		p += n + sep;
	}
	return out.failed ? NULL : buf_take(&out);
}

static void
put_text(struct thread_config *c, size_t at, char *value)
{
	char **field = (char **)((char *)c + at);

	free(*field);
	*field = value;
}

static int
set_text(struct thread_config *c, const struct key *key, const char *value,
    struct status *st)
{
	auto_free char *text =
	    key->kind == NAMES ? names_list(value) : xstrdup(value);

	if (!text)
		return status_set(st, STATUS_INVALID,
		    "%s: must be names of tools, separated by commas",
		    key->name);
	if (key->kind != NAMES && !*value)
		return status_set(st, STATUS_INVALID,
		    "%s has no value: give one or remove the line", key->name);
	if (key->kind == URL && !value_is_url(value))
		return status_set(st, STATUS_INVALID,
		    "%s: must be a URL that begins with https:// or http://",
		    key->name);
	put_text(c, key->at, take(text));
	return 0;
}

static int
set_number(struct thread_config *c, const struct key *key, const char *value,
    struct status *st)
{
	int64_t number;

	if (value_number(value, key->low, key->high, &number) < 0)
		return status_set(st, STATUS_INVALID,
		    "%s: must be a whole number from %lld to %lld", key->name,
		    (long long)key->low, (long long)key->high);
	if (key->kind == COUNT)
		*(int64_t *)(void *)((char *)c + key->at) = number;
	else
		*(int *)(void *)((char *)c + key->at) = (int)number;
	return 0;
}

static int
set_value(struct thread_config *c, const struct key *key, const char *value,
    struct status *st)
{
	void *at = (char *)c + key->at;

	switch (key->kind) {
	case TEXT:
	case URL:
	case NAMES:
		return set_text(c, key, value, st);
	case NUMBER:
	case COUNT:
		return set_number(c, key, value, st);
	case REAL:
		if (value_real(value, (double)key->low, (double)key->high,
			at) == 0)
			return 0;
		return status_set(st, STATUS_INVALID,
		    "%s: must be a number from %lld to %lld", key->name,
		    (long long)key->low, (long long)key->high);
	case ON_OFF:
		if (strcmp(value, "on") == 0 || strcmp(value, "off") == 0) {
			*(int *)at = strcmp(value, "off") == 0;
			return 0;
		}
		return status_set(st, STATUS_INVALID, "%s: must be on or off",
		    key->name);
	}
	return status_set(st, STATUS_BUG, "key %s has no kind", key->name);
}

static bool
variable_name_valid(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static int
set_env(struct thread_config *c, const char *name, const char *value,
    struct status *st)
{
	if (!variable_name_valid(name))
		return status_set(st, STATUS_INVALID,
		    "env.%s: a variable's name is letters, digits and _", name);
	for (size_t i = 0; i < c->env_count; i++)
		if (strcmp(c->env[2 * i], name) == 0) {
			free(c->env[2 * i + 1]);
			c->env[2 * i + 1] = xstrdup(value);
			return 0;
		}
	c->env = xrealloc(c->env, 2 * c->env_count + 3, sizeof *c->env);
	c->env[2 * c->env_count] = xstrdup(name);
	c->env[2 * c->env_count + 1] = xstrdup(value);
	c->env[2 * ++c->env_count] = NULL;
	return 0;
}

static int
set_key(struct thread_config *c, const char *name, const char *value,
    struct status *st)
{
	if (strncmp(name, "env.", 4) == 0)
		return set_env(c, name + 4, value, st);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return set_value(c, &keys[i], value, st);
	return status_set(st, STATUS_INVALID,
	    "unknown key \"%.30s\": known are model, base_url, temperature, "
	    "max_tokens, system_prompt, approve, tools, recursion_limit, "
	    "ttl_minutes, stop_minutes, snapshot, env.NAME, network, cpu, "
	    "memory, disk",
	    name);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Cuts blanks at both ends, in place. */
static char *
trim(char *s)
{
	size_t len = strlen(s);

	while (len > 0 && is_blank(s[len - 1]))
		s[--len] = '\0';
	while (is_blank(*s))
		s++;
	return s;
}

/* A value in double quotes keeps its blanks, and \n, \t, \" and \\ mean what
 * they do in C: a system prompt may have several lines. A comment may follow.
 * In place. */
static int
unquote(char *value, struct status *st)
{
	char *to = value;

	for (char *p = value + 1; *p; p++) {
		if (*p == '"') {
			*to = '\0';
			p += 1 + strspn(p + 1, " \t");
			if (!*p || *p == '#')
				return 0;
			break;
		}
		if (*p == '\\' && p[1] && strchr("nt\"\\", p[1])) {
			p++;
			*to++ = (char)(*p == 'n' ? '\n'
				: *p == 't'      ? '\t'
						 : *p);
		} else {
			*to++ = *p;
		}
	}
	return status_set(st, STATUS_INVALID,
	    "the value's quotes do not match: \"…\"");
}

/* Cuts a comment that follows the value. Text for people keeps its "#". */
static void
cut_comment(const char *name, char *value)
{
	if (strcmp(name, "system_prompt") == 0 || strncmp(name, "env.", 4) == 0)
		return;
	for (char *p = value; *p; p++)
		if (*p == '#' && (p == value || is_blank(p[-1]))) {
			*p = '\0';
			trim(value);
			return;
		}
}

int
thread_config_line(struct thread_config *c, const char *line, size_t len,
    struct status *st)
{
	struct thread_config scratch;

	if (!utf8_valid(line, len) || memchr(line, '\0', len))
		return status_set(st, STATUS_INVALID, "not UTF-8 text");
	auto_free char *copy = xstrndup(line, len);
	char *name = trim(copy);
	if (!*name || *name == '#')
		return 0;
	char *eq = strchr(name, '=');
	if (!eq)
		return status_set(st, STATUS_INVALID,
		    "\"%.60s\" is not of the form key = value", name);
	*eq = '\0';
	char *value = trim(eq + 1);
	name = trim(name);
	if (*value != '"')
		cut_comment(name, value);
	else if (unquote(value, st) < 0)
		return -1;
	if (c)
		return set_key(c, name, value, st);
	thread_config_init(&scratch);
	int rc = set_key(&scratch, name, value, st);
	thread_config_finish(&scratch);
	return rc;
}

int
thread_config_parse(struct thread_config *c, const char *text,
    struct status *st)
{
	unsigned line = 1;

	for (const char *p = text; *p; line++) {
		size_t n = strcspn(p, "\n");
		if (thread_config_line(c, p, n, st) < 0)
			return status_wrap(st, "line %u", line);
		p += n + (p[n] == '\n');
	}
	return 0;
}
