/* The variables of the process and of .env files; see environment.h. */
#include "agent/config/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#include "agent/base/path.h"
#include "agent/config/dotenv.h"

static const char *const secret_ends[] = { "_API_KEY", "_TOKEN", "_SECRET",
	NULL };
static const char *const url_ends[] = { "_BASE_URL", "_API_BASE", "_API_URL",
	"_ENDPOINT", NULL };

/* Base URLs whose key has another name than theirs. */
static const struct {
	const char *url;
	const char *keys[3];
} url_keys[] = {
	{ "PERPLEXITY_BASE_URL", { "PPLX_API_KEY" } },
	{ "GOOGLE_GEMINI_BASE_URL", { "GOOGLE_API_KEY", "GEMINI_API_KEY" } },
	{ "CO_API_URL", { "COHERE_API_KEY", "CO_API_KEY" } },
	{ "HF_INFERENCE_ENDPOINT", { "HUGGINGFACEHUB_API_TOKEN", "HF_TOKEN" } },
	{ "OLLAMA_HOST", { "OLLAMA_API_KEY" } },
};

/* The matching end within name, or NULL. */
static const char *
ends_with(const char *name, const char *const *ends)
{
	size_t len = strlen(name);

	for (; *ends; ends++) {
		size_t n = strlen(*ends);
		if (len > n && strcmp(name + len - n, *ends) == 0)
			return name + len - n;
	}
	return NULL;
}

static bool
is_proxy(const char *name)
{
	size_t len = strlen(name);

	return len > 6 && strcasecmp(name + len - 6, "_proxy") == 0;
}

static bool
is_url(const char *name)
{
	return ends_with(name, url_ends) || strcmp(name, "OLLAMA_HOST") == 0;
}

bool
environment_is_secret(const char *name)
{
	return ends_with(name, secret_ends) != NULL;
}

static bool
is_ours(const char *name)
{
	return environment_is_secret(name) || is_url(name) || is_proxy(name) ||
	    strncmp(name, "DAYTONA_", 8) == 0;
}

/* Takes name and value. */
static void
add(struct environment *env, char *name, char *value, size_t file)
{
	env->variables =
	    xrealloc(env->variables, env->count + 1, sizeof *env->variables);
	env->variables[env->count++] = (struct variable){ name, value, file };
}

void
environment_finish(struct environment *env)
{
	for (size_t i = 0; i < env->count; i++) {
		free(env->variables[i].name);
		free(env->variables[i].value);
	}
	for (size_t i = 0; i < env->file_count; i++)
		free(env->files[i]);
	free(env->variables);
	free(env->files);
	*env = (struct environment){ 0 };
}

void
environment_add_process(struct environment *env, char *const *environ_)
{
	for (; *environ_; environ_++) {
		const char *eq = strchr(*environ_, '=');
		if (!eq)
			continue;
		auto_free char *name =
		    xstrndup(*environ_, (size_t)(eq - *environ_));
		if (is_ours(name))
			add(env, take(name), xstrdup(eq + 1), 0);
	}
}

static int
read_text(const char *path, struct buf *out, struct status *st)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return status_errno(st, errno, "cannot read %s", path);
	for (;;) {
		char *room = buf_reserve(out, 4096);
		if (!room)
			return status_set(st, STATUS_TOO_BIG,
			    "%s: too big for a .env file (1 MiB at most)",
			    path);
		ssize_t n = read(fd, room, 4096);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return status_errno(st, errno, "cannot read %s", path);
		if (n == 0)
			return 0;
		buf_commit(out, (size_t)n);
	}
}

/* The line of the first NUL or byte that is not UTF-8, 0 if there is none. */
static unsigned
bad_byte_line(const struct buf *text)
{
	unsigned line = 1;
	const char *p = text->bytes, *end = p + text->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *stop = nl ? nl : end;
		if (!utf8_valid(p, (size_t)(stop - p)) ||
		    memchr(p, '\0', (size_t)(stop - p)))
			return line;
		line++;
		p = nl ? nl + 1 : end;
	}
	return 0;
}

static const char *
process_value(void *arg, const char *name)
{
	(void)arg;
	/* Options are read before the first worker starts. */
	return getenv(name); /* NOLINT(concurrency-mt-unsafe) */
}

int
environment_add_file(struct environment *env, const char *path,
    struct status *st)
{
	auto_buf text = BUF_INIT(DOTENV_MAX + 4096);
	struct dotenv file = { 0 };

	if (read_text(path, &text, st) < 0)
		return -1;
	unsigned bad = bad_byte_line(&text);
	if (bad)
		return status_set(st, STATUS_INVALID,
		    "%s: line %u is not UTF-8 text: correct it, or name "
		    "another file with -o env_file=FILE",
		    path, bad);
	dotenv_parse(&file, text.bytes, text.len, process_value, NULL);
	if (file.bad_line) {
		bad = file.bad_line;
		dotenv_finish(&file);
		return status_set(st, STATUS_INVALID,
		    "%s: line %u is not NAME=VALUE: correct it (or put a # "
		    "before it), or name another file with -o env_file=FILE",
		    path, bad);
	}
	env->files =
	    xrealloc(env->files, env->file_count + 1, sizeof *env->files);
	env->files[env->file_count++] = xstrdup(path);
	for (size_t i = 0; i < file.count; i++)
		if (file.values[i] && is_ours(file.names[i]))
			add(env, take(file.names[i]), take(file.values[i]),
			    env->file_count);
	dotenv_finish(&file);
	return 0;
}

static bool
is_readable_kind(const char *path)
{
	struct stat attr;

	return stat(path, &attr) == 0 &&
	    (S_ISREG(attr.st_mode) || S_ISFIFO(attr.st_mode));
}

static int
add_nearest(struct environment *env, const char *cwd, struct status *st)
{
	auto_free char *dir = xstrdup(cwd);

	for (;;) {
		auto_free char *path =
		    xasprintf("%s/.env", strcmp(dir, "/") == 0 ? "" : dir);
		if (is_readable_kind(path))
			return environment_add_file(env, path, st);
		char *slash = strrchr(dir, '/');
		if (!slash || strcmp(dir, "/") == 0)
			return 0;
		slash[slash == dir] = '\0';
	}
}

int
environment_find_files(struct environment *env, const char *cwd,
    struct status *st)
{
	const char *config = process_value(NULL, "XDG_CONFIG_HOME");
	const char *home = process_value(NULL, "HOME");
	auto_free char *path = NULL;

	if (add_nearest(env, cwd, st) < 0)
		return -1;
	if (config && *config == '/')
		path = xasprintf("%s/sandagentfs/env", config);
	else if (home && *home == '/')
		path = xasprintf("%s/.config/sandagentfs/env", home);
	if (path && is_readable_kind(path))
		return environment_add_file(env, path, st);
	return 0;
}

const struct variable *
environment_find(const struct environment *env, const char *name)
{
	for (size_t i = 0; i < env->count; i++)
		if (strcmp(env->variables[i].name, name) == 0)
			return &env->variables[i];
	return NULL;
}

const char *
environment_get(const struct environment *env, const char *name)
{
	const struct variable *v = environment_find(env, name);

	return v && *v->value ? v->value : NULL;
}

/* Would this key, as it is in force, be news to the file? */
static bool
is_foreign_key(const struct environment *env, const char *key, size_t file)
{
	const char *value = environment_get(env, key);

	if (!value)
		return false;
	for (size_t i = 0; i < env->count; i++) {
		const struct variable *v = &env->variables[i];
		if (v->file == file && strcmp(v->name, key) == 0)
			return strcmp(v->value, value) != 0;
	}
	return true;
}

/* The key that a URL or proxy of a file would carry away, or NULL. Gives. */
static char *
endangered_key(const struct environment *env, const struct variable *url)
{
	const char *end = ends_with(url->name, url_ends);

	for (size_t i = 0; i < ARRAY_SIZE(url_keys); i++) {
		if (strcmp(url->name, url_keys[i].url) != 0)
			continue;
		for (const char *const *key = url_keys[i].keys; *key; key++)
			if (is_foreign_key(env, *key, url->file))
				return xstrdup(*key);
		return NULL;
	}
	if (end) {
		auto_free char *key = xasprintf("%.*s_API_KEY",
		    (int)(end - url->name), url->name);
		return is_foreign_key(env, key, url->file) ? take(key) : NULL;
	}
	/* Everything goes through a proxy. */
	for (size_t i = 0; i < env->count; i++) {
		const char *name = env->variables[i].name;
		if (environment_is_secret(name) &&
		    is_foreign_key(env, name, url->file))
			return xstrdup(name);
	}
	return NULL;
}

void
environment_guard(struct environment *env, void (*note)(const char *line))
{
	for (size_t i = 0; i < env->count;) {
		struct variable *v = &env->variables[i];
		bool risky =
		    v->file > 0 && (is_url(v->name) || is_proxy(v->name));
		auto_free char *key = risky ? endangered_key(env, v) : NULL;
		if (!key) {
			i++;
			continue;
		}
		auto_free char *line =
		    xasprintf("%s of %s is not used: %s is not from that file",
			v->name, env->files[v->file - 1], key);
		note(line);
		free(v->name);
		free(v->value);
		memmove(v, v + 1, (env->count - i - 1) * sizeof *v);
		env->count--;
	}
}
