/* Options, environment and defaults put together; see settings.h. */
#include "agent/config/settings.h"

#include <errno.h>
#include <strings.h>

#include "agent/config/environment.h"
#include "agent/config/options.h"

#define DEFAULT_MODEL   "nvidia:nvidia/nemotron-3-ultra-550b-a55b"
#define DEFAULT_API_URL "https://app.daytona.io/api"

/* An absolute path without ".", ".." and doubled slashes. Lexical: the mount
 * point may be a dead mount, where any look hangs. Gives. */
static char *
absolute(const char *cwd, const char *path)
{
	auto_buf out = BUF_INIT(1 << 20);
	auto_free char *whole =
	    *path == '/' ? xstrdup(path) : xasprintf("%s/%s", cwd, path);

	for (const char *p = whole; *p;) {
		size_t n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0) {
			while (out.len && out.bytes[--out.len] != '/')
				;
			if (out.cap)
				out.bytes[out.len] = '\0';
		} else if (n > 0 && !(n == 1 && *p == '.')) {
			buf_putc(&out, '/');
			buf_add(&out, p, n);
		}
		p += n + (p[n] == '/');
	}
	if (out.len == 0)
		buf_putc(&out, '/');
	return buf_take(&out);
}

/* The directory of an XDG variable, or of HOME and `below`; NULL: neither.
 * Gives. */
static char *
home_dir(const char *variable, const char *below)
{
	/* Options are read before the first worker starts. */
	const char *xdg = getenv(variable); /* NOLINT(concurrency-mt-unsafe) */
	const char *home = getenv("HOME");  /* NOLINT(concurrency-mt-unsafe) */

	if (xdg && *xdg == '/')
		return xasprintf("%s/sandagentfs", xdg);
	if (home && *home == '/')
		return xasprintf("%s/%s/sandagentfs", home, below);
	return NULL;
}

static int
set_directories(struct settings *s, const struct options *o, const char *cwd,
    struct status *st)
{
	auto_free char *state = home_dir("XDG_STATE_HOME", ".local/state");
	auto_free char *cache = home_dir("XDG_CACHE_HOME", ".cache");

	if (o->state_dir || state)
		s->state_dir =
		    absolute(cwd, o->state_dir ? o->state_dir : state);
	else
		return status_set(st, STATUS_INVALID,
		    "HOME is not set: say where to keep the conversations with "
		    "-o state_dir=DIR");
	if (o->cache_dir || cache)
		s->cache_dir =
		    absolute(cwd, o->cache_dir ? o->cache_dir : cache);
	else
		s->cache_dir = xasprintf("%s/cache", s->state_dir);
	return 0;
}

static void
note_dropped(const char *line)
{
	diag_warn("%s", line);
}

static bool
dotenv_disabled(void)
{
	static const char *const words[] = { "1", "true", "t", "yes", "y" };
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): before the first worker */
	const char *value = getenv("PYTHON_DOTENV_DISABLED");

	for (size_t i = 0; value && i < ARRAY_SIZE(words); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* An env_file that was asked for is read whatever the environment says. */
static int
read_variables(struct environment *env, const char *env_file, const char *cwd,
    struct status *st)
{
	environment_add_process(env, environ);
	if (env_file) {
		auto_free char *path = absolute(cwd, env_file);
		if (environment_add_file(env, path, st) < 0)
			return -1;
	} else if (!dotenv_disabled()) {
		if (environment_find_files(env, cwd, st) < 0)
			return -1;
	}
	environment_guard(env, note_dropped);
	return 0;
}

static void
move_variables(struct settings *s, struct environment *env)
{
	s->env_names = xcalloc(env->count + 1, sizeof *s->env_names);
	s->env_values = xcalloc(env->count + 1, sizeof *s->env_values);
	s->env_from_file = xcalloc(env->count + 1, sizeof *s->env_from_file);
	for (size_t i = 0; i < env->count; i++) {
		struct variable *v = &env->variables[i];
		s->env_names[i] = take(v->name);
		s->env_values[i] = take(v->value);
		s->env_from_file[i] = v->file > 0;
	}
	s->env_count = env->count;
	if (env->file_count)
		s->env_file = xstrdup(env->files[0]);
}

static int
set_provider(struct settings *s, const struct options *o, struct status *st)
{
	bool key = settings_env(s, "DAYTONA_API_KEY") != NULL;
	const char *api_url = settings_env(s, "DAYTONA_API_URL");
	const char *target = settings_env(s, "DAYTONA_TARGET");

	s->local = o->local < 0 ? !key : o->local == 1;
	if (!s->local && !key)
		return status_set(st, STATUS_DENIED,
		    "sandbox=daytona needs a key: set DAYTONA_API_KEY in the "
		    "environment or .env, or use -o sandbox=local");
	if (o->api_url)
		api_url = o->api_url;
	else if (!s->local && api_url && strncmp(api_url, "http", 4) != 0)
		return status_set(st, STATUS_INVALID,
		    "DAYTONA_API_URL must begin with https:// or http://");
	s->api_url = xstrdup(api_url ? api_url : DEFAULT_API_URL);
	if (o->target || target)
		s->target = xstrdup(o->target ? o->target : target);
	return 0;
}

/* Appends name=value for libfuse, which takes "\" as an escape. */
static void
add_escaped(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=", name);
	for (; *value; value++) {
		if (*value == ',' || *value == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *value);
	}
	buf_putc(out, ',');
}

static void
set_fuse_options(struct settings *s, const struct options *o)
{
	auto_buf out = BUF_INIT(128 << 10);
	const char *fsname = o->fsname ? o->fsname : s->source;

	if (fsname)
		add_escaped(&out, "fsname", fsname);
	buf_printf(&out, "%s%s%s%snosuid,nodev",
	    o->mount.allow_other ? "allow_other," : "",
	    o->mount.read_only ? "ro," : "", o->mount.no_exec ? "noexec," : "",
	    o->mount.no_atime ? "noatime," : "");
	s->fuse_options = buf_take(&out);
}

static int64_t
given_or(int64_t given, int64_t otherwise)
{
	return given < 0 ? otherwise : given;
}

static void
set_numbers(struct settings *s, const struct options *o)
{
	s->ttl_minutes = (int)given_or(o->ttl_minutes, s->local ? 0 : 60);
	s->stop_minutes = (int)given_or(o->stop_minutes, 15);
	s->on_exit = (enum on_exit_action)given_or(o->on_exit, ON_EXIT_STOP);
	s->cache_size = given_or(o->cache_size, INT64_C(1) << 30);
	s->max_turns = (int)given_or(o->max_turns, 16);
	s->snapshots = given_or(o->snapshots, 1) != 0;
	s->links_raw = given_or(o->links_raw, 0) != 0;
	s->log_level = (enum diag_level)given_or(o->log_level, DIAG_INFO);
}

/* A script's file is found from where the user stands, not from "/", where the
 * daemon goes. Gives. */
static char *
model_spec(const char *spec, const char *cwd)
{
	static const char script[] = "script:";

	if (!spec)
		return xstrdup(DEFAULT_MODEL);
	if (strncmp(spec, script, sizeof script - 1) == 0 &&
	    spec[sizeof script - 1]) {
		auto_free char *path = absolute(cwd, spec + sizeof script - 1);
		return xasprintf("%s%s", script, path);
	}
	return xstrdup(spec);
}

static int
set_mount(struct settings *s, const struct options *o, const char *cwd,
    struct status *st)
{
	const char *mountpoint = o->second ? o->second : o->first;

	if (!mountpoint)
		return status_set(st, STATUS_INVALID,
		    "no mount point: sandagentfs DIRECTORY (see sandagentfs "
		    "-h)");
	s->mountpoint = absolute(cwd, mountpoint);
	if (o->second)
		s->source = xstrdup(o->first);
	return 0;
}

static int
complete(struct settings *s, const struct options *o, struct status *st)
{
	struct environment env = { 0 };
	auto_free char *cwd = getcwd(NULL, 0);

	if (!cwd)
		return status_errno(st, errno,
		    "cannot find the current directory: change to one that "
		    "exists");
	if (!o->command && set_mount(s, o, cwd, st) < 0)
		return -1;
	if (set_directories(s, o, cwd, st) < 0)
		return -1;
	int rc = read_variables(&env, o->env_file, cwd, st);
	if (rc == 0)
		move_variables(s, &env);
	environment_finish(&env);
	if (rc < 0 || set_provider(s, o, st) < 0)
		return -1;
	s->model = model_spec(o->model, cwd);
	if (o->base_url)
		s->base_url = xstrdup(o->base_url);
	set_numbers(s, o);
	set_fuse_options(s, o);
	return 0;
}

int
settings_load(struct settings *s, int argc, char **argv, struct status *st)
{
	struct options o;

	*s = (struct settings){ 0 };
	int rc = options_parse(&o, argc, argv, st);
	s->help = o.help;
	s->version = o.version;
	s->foreground = o.foreground || o.debug;
	s->debug = o.debug;
	s->single = o.single;
	if (rc == 0 && !o.help && !o.version)
		rc = complete(s, &o, st);
	options_finish(&o);
	return rc;
}

void
settings_finish(struct settings *s)
{
	for (size_t i = 0; i < s->env_count; i++) {
		explicit_bzero(s->env_values[i], strlen(s->env_values[i]));
		free(s->env_names[i]);
		free(s->env_values[i]);
	}
	free(s->env_names);
	free(s->env_values);
	free(s->env_from_file);
	free(s->env_file);
	free(s->source);
	free(s->mountpoint);
	free(s->model);
	free(s->base_url);
	free(s->api_url);
	free(s->target);
	free(s->state_dir);
	free(s->cache_dir);
	free(s->fuse_options);
	*s = (struct settings){ 0 };
}

const char *
settings_env(const struct settings *s, const char *name)
{
	for (size_t i = 0; i < s->env_count; i++)
		if (strcmp(s->env_names[i], name) == 0)
			return *s->env_values[i] ? s->env_values[i] : NULL;
	return NULL;
}

void
settings_secrets(const struct settings *s,
    void (*fn)(void *arg, const char *value), void *arg)
{
	/* A shorter value is no key, and hiding it would eat words. */
	const size_t least = 8;

	for (size_t i = 0; i < s->env_count; i++)
		if (environment_is_secret(s->env_names[i]) &&
		    strlen(s->env_values[i]) >= least)
			fn(arg, s->env_values[i]);
}
