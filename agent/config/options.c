/* The command line; see options.h. */
#include "agent/config/options.h"

#include <limits.h>
#include <strings.h>

#include "agent/config/settings.h"
#include "agent/config/value.h"

enum kind { TEXT, URL, NUMBER, SIZE, WORD };

struct word {
	const char *word; /* NULL ends the list */
	int64_t value;
};

static const struct word sandbox_words[] = { { "daytona", 0 }, { "local", 1 },
	{ NULL, 0 } };
static const struct word exit_words[] = { { "stop", ON_EXIT_STOP },
	{ "keep", ON_EXIT_KEEP }, { "delete", ON_EXIT_DELETE }, { NULL, 0 } };
static const struct word links_words[] = { { "safe", 0 }, { "raw", 1 },
	{ NULL, 0 } };
static const struct word level_words[] = { { "error", DIAG_ERROR },
	{ "warn", DIAG_WARN }, { "info", DIAG_INFO }, { "debug", DIAG_DEBUG },
	{ NULL, 0 } };
static const struct word on_words[] = { { "on", 1 }, { "off", 0 },
	{ NULL, 0 } };

#define AT(field) offsetof(struct options, field)
#define YEAR      527040 /* in minutes */

static const struct option_row {
	const char *name;
	enum kind kind;
	size_t at;         /* a char * or an int64_t of struct options */
	int64_t low, high; /* NUMBER, SIZE */
	const struct word *words;
} rows[] = {
	{ "model", TEXT, AT(model), 0, 0, NULL },
	{ "sandbox", WORD, AT(local), 0, 0, sandbox_words },
	{ "base_url", URL, AT(base_url), 0, 0, NULL },
	{ "api_url", URL, AT(api_url), 0, 0, NULL },
	{ "target", TEXT, AT(target), 0, 0, NULL },
	{ "ttl_minutes", NUMBER, AT(ttl_minutes), 0, YEAR, NULL },
	{ "stop_minutes", NUMBER, AT(stop_minutes), 0, YEAR, NULL },
	{ "on_exit", WORD, AT(on_exit), 0, 0, exit_words },
	{ "env_file", TEXT, AT(env_file), 0, 0, NULL },
	{ "state_dir", TEXT, AT(state_dir), 0, 0, NULL },
	{ "cache_dir", TEXT, AT(cache_dir), 0, 0, NULL },
	{ "cache_size", SIZE, AT(cache_size), 1 << 20, INT64_C(1) << 50, NULL },
	{ "max_turns", NUMBER, AT(max_turns), 1, 1000, NULL },
	{ "snapshots", WORD, AT(snapshots), 0, 0, on_words },
	{ "links", WORD, AT(links_raw), 0, 0, links_words },
	{ "log_level", WORD, AT(log_level), 0, 0, level_words },
	{ "fsname", TEXT, AT(fsname), 0, 0, NULL },
};

static int
set_word(const struct option_row *row, int64_t *out, const char *value,
    struct status *st)
{
	auto_buf list = BUF_INIT(200);

	for (const struct word *w = row->words; w->word; w++) {
		if (strcmp(w->word, value) == 0) {
			*out = w->value;
			return 0;
		}
		buf_printf(&list, "%s%s", list.len ? ", " : "", w->word);
	}
	return status_set(st, STATUS_INVALID, "%s=%s: must be one of %s",
	    row->name, value, list.bytes);
}

static int
set_number(const struct option_row *row, int64_t *out, const char *value,
    struct status *st)
{
	if (row->kind == SIZE) {
		if (value_size(value, row->low, row->high, out) == 0)
			return 0;
		return status_set(st, STATUS_INVALID,
		    "%s=%s: must be a size from 1M to 1024T, such as 500M or "
		    "2G",
		    row->name, value);
	}
	if (value_number(value, row->low, row->high, out) == 0)
		return 0;
	return status_set(st, STATUS_INVALID,
	    "%s=%s: must be a whole number from %lld to %lld", row->name, value,
	    (long long)row->low, (long long)row->high);
}

static int
set_text(const struct option_row *row, char **out, const char *value,
    struct status *st)
{
	if (!*value)
		return status_set(st, STATUS_INVALID,
		    "%s= has no value: give one or leave the option out",
		    row->name);
	if (row->kind == URL && !value_is_url(value))
		return status_set(st, STATUS_INVALID,
		    "%s=%s: must be a URL that begins with https:// or http://",
		    row->name, value);
	free(*out);
	*out = xstrdup(value);
	return 0;
}

static int
set_option(struct options *o, const struct option_row *row, const char *value,
    struct status *st)
{
	void *at = (char *)o + row->at;

	switch (row->kind) {
	case TEXT:
	case URL:
		return set_text(row, at, value, st);
	case NUMBER:
	case SIZE:
		return set_number(row, at, value, st);
	case WORD:
		return set_word(row, at, value, st);
	}
	return status_set(st, STATUS_BUG, "option %s has no kind", row->name);
}

/* The row of a name of `len` bytes; '-' counts as '_'. */
static const struct option_row *
find_row(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *row = rows[i].name;
		size_t n = 0;
		while (n < len && row[n] &&
		    (name[n] == row[n] || (name[n] == '-' && row[n] == '_')))
			n++;
		if (n == len && !row[n])
			return &rows[i];
	}
	return NULL;
}

/* A command of the first word has options of its own: not ours to judge. */
static int
unknown(const struct options *o, const char *name, size_t len,
    struct status *st)
{
	if (o->command)
		return 0;
	return status_set(st, STATUS_INVALID,
	    "unknown option \"%.*s\": see sandagentfs -h", (int)len, name);
}

/* Keys have no option: they would be seen by everybody in `ps`. */
static bool
looks_like_key(const char *name, size_t len)
{
	for (size_t i = 0; i + 3 <= len; i++)
		if (strncasecmp(name + i, "key", 3) == 0)
			return true;
	return false;
}

/* One member of an -o list, unescaped. */
static int
take_member(struct options *o, const char *member, struct status *st)
{
	size_t len = strcspn(member, "=");
	const struct option_row *row = find_row(member, len);

	if (row && !member[len])
		return status_set(st, STATUS_INVALID,
		    "option %s needs a value: -o %s=…", row->name, row->name);
	if (row)
		return set_option(o, row, member + len + 1, st);
	if (mount_word(&o->mount, member))
		return 0;
	if (looks_like_key(member, len))
		return status_set(st, STATUS_INVALID,
		    "option \"%.*s\": keys are read from the environment or "
		    ".env, never from the command line",
		    (int)len, member);
	if (strcmp(member, "debug") == 0) {
		o->debug = true;
		return 0;
	}
	return unknown(o, member, len, st);
}

/* Appends the byte that the escape at s stands for (libfuse: \, \\ \ooo);
 * its length. */
static size_t
add_escape(struct buf *out, const char *s)
{
	if (s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
	    s[3] >= '0' && s[3] <= '7') {
		int byte = (s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0';
		buf_putc(out, (char)byte);
		return 4;
	}
	buf_putc(out, s[1]);
	return 2;
}

static int
take_list(struct options *o, const char *list, struct status *st)
{
	auto_buf member = BUF_INIT(64 << 10);

	for (const char *s = list;;) {
		if (*s && *s != ',') {
			if (*s == '\\' && s[1])
				s += add_escape(&member, s);
			else
				buf_putc(&member, *s++);
			continue;
		}
		if (member.failed)
			return status_set(st, STATUS_INVALID,
			    "option -o: too long");
		if (member.len && take_member(o, member.bytes, st) < 0)
			return -1;
		if (!*s++)
			return 0;
		buf_reset(&member);
	}
}

struct args {
	char **at, **end;
};

/* The value that follows as an argument of its own, or NULL. */
static const char *
next(struct args *args)
{
	return args->at < args->end ? *args->at++ : NULL;
}

static int
take_long(struct options *o, const char *arg, struct args *args,
    struct status *st)
{
	size_t len = strcspn(arg, "=");
	const struct option_row *row = find_row(arg, len);
	const char *value = arg[len] ? arg + len + 1 : NULL;

	if (!row) {
		if (strcmp(arg, "help") == 0)
			o->help = true;
		else if (strcmp(arg, "version") == 0)
			o->version = true;
		else if (strcmp(arg, "foreground") == 0)
			o->foreground = true;
		else
			return take_member(o, arg, st);
		return 0;
	}
	if (!value)
		value = next(args);
	if (!value)
		return status_set(st, STATUS_INVALID,
		    "option --%s needs a value: --%s=…", row->name, row->name);
	return set_option(o, row, value, st);
}

/* A cluster of one-letter options; -o takes the rest or the next argument. */
static int
take_short(struct options *o, const char *arg, struct args *args,
    struct status *st)
{
	for (; *arg; arg++) {
		switch (*arg) {
		case 'f':
			o->foreground = true;
			break;
		case 'd':
			o->debug = o->foreground = true;
			break;
		case 's':
			o->single = true;
			break;
		case 'h':
			o->help = true;
			break;
		case 'V':
			o->version = true;
			break;
		case 'o': {
			const char *list = arg[1] ? arg + 1 : next(args);
			if (!list)
				return status_set(st, STATUS_INVALID,
				    "option -o needs a value: -o name=value");
			return take_list(o, list, st);
		}
		default: {
			char name[] = { '-', *arg, '\0' };
			return unknown(o, name, 2, st);
		}
		}
	}
	return 0;
}

static int
take_directory(struct options *o, const char *arg, struct status *st)
{
	/* What follows a command word is that command's. */
	if (o->command)
		return 0;
	if (!*arg)
		return status_set(st, STATUS_INVALID,
		    "the mount point is empty: give a directory");
	if (o->second)
		return status_set(st, STATUS_INVALID,
		    "too many arguments (%s): see sandagentfs -h", arg);
	*(o->first ? &o->second : &o->first) = xstrdup(arg);
	return 0;
}

static bool
is_command(const char *word)
{
	static const char *const words[] = { "threads", "export", "gc",
		"sandboxes" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

int
options_parse(struct options *o, int argc, char **argv, struct status *st)
{
	struct args args = { argv + 1, argv + argc };
	bool only_directories = false;
	int rc = 0;

	*o = (struct options){ .ttl_minutes = -1,
		.stop_minutes = -1,
		.cache_size = -1,
		.max_turns = -1,
		.local = -1,
		.on_exit = -1,
		.snapshots = -1,
		.links_raw = -1,
		.log_level = -1 };
	if (argc > 1 && is_command(argv[1])) {
		o->command = true;
		args.at++;
	}
	for (const char *arg; rc == 0 && (arg = next(&args));) {
		if (only_directories || arg[0] != '-' || !arg[1])
			rc = take_directory(o, arg, st);
		else if (strcmp(arg, "--") == 0)
			only_directories = true;
		else if (arg[1] == '-')
			rc = take_long(o, arg + 2, &args, st);
		else
			rc = take_short(o, arg + 1, &args, st);
	}
	return rc;
}

void
options_finish(struct options *o)
{
	free(o->first);
	free(o->second);
	free(o->model);
	free(o->base_url);
	free(o->api_url);
	free(o->target);
	free(o->env_file);
	free(o->state_dir);
	free(o->cache_dir);
	free(o->fsname);
	*o = (struct options){ 0 };
}
