/* The command line, the environment and .env files together. Each test runs in
 * an empty directory of its own and with an environment of its own. */
#include "agent/config/settings.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "agent/config/options.h"
#include "tests/test.h"

static char *root;   /* the test's directory */
static int noted_fd; /* what went to stderr */

static int
set_up(void **state)
{
	char template[] = "/tmp/settings-test-XXXXXX";
	char *made = mkdtemp(template);

	(void)state;
	clearenv();
	if (!made || chdir(made) < 0)
		return -1;
	root = getcwd(NULL, 0);
	mkdir("home", 0700);
	mkdir("work", 0700);
	mkdir("work/below", 0700);
	auto_free char *home = xasprintf("%s/home", root);
	setenv("HOME", home, 1);
	noted_fd = open("noted", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return chdir("work/below");
}

static int
tear_down(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s", root);

	(void)state;
	setenv("PATH", "/usr/bin:/bin", 1);
	close(noted_fd);
	free(root);
	return chdir("/") < 0 || system(command) != 0;
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
put_home_env(const char *text)
{
	auto_free char *dir = xasprintf("%s/home/.config", root);
	auto_free char *own = xasprintf("%s/sandagentfs", dir);
	auto_free char *path = xasprintf("%s/env", own);

	mkdir(dir, 0700);
	mkdir(own, 0700);
	put(path, text);
}

#define ARGS(...) \
	((char **)(const char *[]){ "sandagentfs", __VA_ARGS__, NULL })

static int
load(struct settings *s, char **args, struct status *st)
{
	int argc = 0, saved = dup(STDERR_FILENO);

	while (args[argc])
		argc++;
	dup2(noted_fd, STDERR_FILENO);
	int rc = settings_load(s, argc, args, st);
	dup2(saved, STDERR_FILENO);
	close(saved);
	return rc;
}

static void
loads(struct settings *s, char **args)
{
	struct status st = { 0 };

	if (load(s, args, &st) < 0)
		fail_msg("%s", st.text);
}

static void
refuses(char **args, const char *words)
{
	struct settings s;
	struct status st = { 0 };

	if (load(&s, args, &st) == 0)
		fail_msg("taken: %s", args[1]);
	if (!strstr(st.text, words))
		fail_msg("\"%s\" has no \"%s\"", st.text, words);
	settings_finish(&s);
}

static void
is_below_root(const char *path, const char *rest)
{
	auto_free char *expect = xasprintf("%s/%s", root, rest);

	assert_string_equal(path, expect);
}

static void
test_defaults(void **state)
{
	struct settings s;

	(void)state;
	loads(&s, ARGS("mnt"));
	is_below_root(s.mountpoint, "work/below/mnt");
	assert_null(s.source);
	assert_string_equal(s.model,
	    "nvidia:nvidia/nemotron-3-ultra-550b-a55b");
	assert_true(s.local);
	assert_null(s.base_url);
	assert_string_equal(s.api_url, "https://app.daytona.io/api");
	assert_null(s.target);
	assert_int_equal(s.ttl_minutes, 0);
	assert_int_equal(s.stop_minutes, 15);
	assert_int_equal(s.on_exit, ON_EXIT_STOP);
	is_below_root(s.state_dir, "home/.local/state/sandagentfs");
	is_below_root(s.cache_dir, "home/.cache/sandagentfs");
	assert_int_equal(s.cache_size, 1 << 30);
	assert_int_equal(s.max_turns, 16);
	assert_true(s.snapshots);
	assert_false(s.links_raw);
	assert_int_equal(s.log_level, DIAG_INFO);
	assert_string_equal(s.fuse_options, "nosuid,nodev");
	assert_null(s.env_file);
	assert_false(s.foreground || s.debug || s.single || s.help);
	settings_finish(&s);
}

static void
test_all_options(void **state)
{
	struct settings s;

	(void)state;
	setenv("DAYTONA_API_KEY", "dtn_0123456789", 1);
	loads(&s,
	    ARGS("-fs", "-o", "model=shell:,sandbox=local,target=eu",
		"--base_url", "http://m/v1", "--api-url=https://d/api",
		"/mnt/a", "-ottl_minutes=5,stop_minutes=0", "--on-exit",
		"delete", "-o", "state_dir=st,cache_dir=/c//d/./e/..", "-o",
		"cache_size=500M,max_turns=3,snapshots=off,links=raw", "-o",
		"log_level=debug,allow_other,ro,fsname=x\\,y"));
	assert_true(s.foreground && s.single && !s.debug);
	assert_string_equal(s.model, "shell:");
	assert_true(s.local);
	assert_string_equal(s.target, "eu");
	assert_string_equal(s.base_url, "http://m/v1");
	assert_string_equal(s.api_url, "https://d/api");
	assert_string_equal(s.mountpoint, "/mnt/a");
	assert_int_equal(s.ttl_minutes, 5);
	assert_int_equal(s.stop_minutes, 0);
	assert_int_equal(s.on_exit, ON_EXIT_DELETE);
	is_below_root(s.state_dir, "work/below/st");
	assert_string_equal(s.cache_dir, "/c/d");
	assert_int_equal(s.cache_size, 500 << 20);
	assert_int_equal(s.max_turns, 3);
	assert_false(s.snapshots);
	assert_true(s.links_raw);
	assert_int_equal(s.log_level, DIAG_DEBUG);
	assert_string_equal(s.fuse_options,
	    "fsname=x\\,y,allow_other,ro,nosuid,nodev");
	settings_finish(&s);
}

static void
test_escapes(void **state)
{
	struct settings s;

	(void)state;
	loads(&s, ARGS("-o", "model=script:/a\\,b\\\\c\\054d,,target=x", "m"));
	assert_string_equal(s.model, "script:/a,b\\c,d");
	assert_string_equal(s.target, "x");
	settings_finish(&s);
	/* A long option's value is taken as it is. */
	loads(&s, ARGS("--model=script:/a,b", "m"));
	assert_string_equal(s.model, "script:/a,b");
	settings_finish(&s);
}

static void
test_fstab(void **state)
{
	struct settings s;

	(void)state;
	loads(&s,
	    ARGS("agents", "/home/u/agents", "-o",
		"rw,dev,suid,user,noauto,_netdev,nofail,x-systemd.automount,"
		"model=shell:"));
	assert_string_equal(s.source, "agents");
	assert_string_equal(s.mountpoint, "/home/u/agents");
	assert_string_equal(s.fuse_options, "fsname=agents,nosuid,nodev");
	settings_finish(&s);
	loads(&s, ARGS("a,b", "/m", "-o", "ro,noexec,noatime,exec,rw,ro"));
	assert_string_equal(s.fuse_options,
	    "fsname=a\\,b,ro,noatime,nosuid,nodev");
	settings_finish(&s);
}

static void
test_mount_words(void **state)
{
	static const char *const words[] = { "rw", "ro", "dev", "nodev", "suid",
		"nosuid", "exec", "noexec", "async", "sync", "atime", "noatime",
		"auto", "noauto", "user", "users", "owner", "nofail", "_netdev",
		"x-gvfs-show", "defaults", "comment=x", "user=joe",
		"relatime" };
	static const char *const others[] = { "foo", "uid=0", "max_read=1", "",
		"nodevx" };
	struct mount_words w = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		assert_true(mount_word(&w, words[i]));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_false(mount_word(&w, others[i]));
}

static void
test_flags(void **state)
{
	struct settings s;

	(void)state;
	loads(&s, ARGS("-h"));
	assert_true(s.help);
	settings_finish(&s);
	loads(&s, ARGS("--version"));
	assert_true(s.version);
	settings_finish(&s);
	loads(&s, ARGS("-d", "--", "-dir"));
	assert_true(s.debug && s.foreground);
	is_below_root(s.mountpoint, "work/below/-dir");
	settings_finish(&s);
	loads(&s, ARGS("threads", "--json", "x", "y", "z"));
	settings_finish(&s);
}

static void
test_refusals(void **state)
{
	(void)state;
	refuses(ARGS("-o", "foo", "m"),
	    "unknown option \"foo\": see sandagentfs -h");
	refuses(ARGS("-o", "foo=1", "m"), "unknown option \"foo\"");
	refuses(ARGS("--foo", "m"), "unknown option \"foo\"");
	refuses(ARGS("-x", "m"), "unknown option \"-x\"");
	refuses(ARGS("-o", "uid=0", "m"), "unknown option \"uid\"");
	refuses(ARGS("-f"), "no mount point");
	refuses(ARGS(""), "the mount point is empty");
	refuses(ARGS("a", "b", "c"), "too many arguments");
	refuses(ARGS("m", "-o"), "-o needs a value");
	refuses(ARGS("m", "--model"), "--model needs a value");
	refuses(ARGS("m", "-o", "model"), "option model needs a value");
	refuses(ARGS("m", "-o", "model="), "model= has no value");
	refuses(ARGS("m", "-o", "ttl_minutes=1h"),
	    "ttl_minutes=1h: must be a whole number from 0 to");
	refuses(ARGS("m", "-o", "max_turns=0"), "number from 1 to 1000");
	refuses(ARGS("m", "-o", "cache_size=1K"), "must be a size from 1M");
	refuses(ARGS("m", "-o", "on_exit=die"), "stop, keep, delete");
	refuses(ARGS("m", "-o", "links=x"), "safe, raw");
	refuses(ARGS("m", "-o", "snapshots=1"), "on, off");
	refuses(ARGS("m", "-o", "log_level=x"), "error, warn, info, debug");
	refuses(ARGS("m", "-o", "sandbox=docker"), "daytona, local");
	refuses(ARGS("m", "-o", "base_url=localhost"), "must be a URL");
	refuses(ARGS("m", "-o", "sandbox=daytona"),
	    "set DAYTONA_API_KEY in the environment or .env");
	refuses(ARGS("m", "-o", "NVIDIA_API_KEY=nvapi-x"),
	    "never from the command line");
	refuses(ARGS("m", "--api-key=nvapi-x"), "never from the command line");
}

static void
test_paths(void **state)
{
	struct settings s;

	(void)state;
	loads(&s, ARGS("./../x//y/../z/"));
	is_below_root(s.mountpoint, "work/x/z");
	settings_finish(&s);
	loads(&s, ARGS("/../../"));
	assert_string_equal(s.mountpoint, "/");
	settings_finish(&s);
	loads(&s, ARGS("-o", "model=script:../a.jsonl", "m"));
	auto_free char *expect = xasprintf("script:%s/work/a.jsonl", root);
	assert_string_equal(s.model, expect);
	settings_finish(&s);
}

static void
test_xdg_and_no_home(void **state)
{
	struct settings s;

	(void)state;
	setenv("XDG_STATE_HOME", "/xs", 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	loads(&s, ARGS("m"));
	assert_string_equal(s.state_dir, "/xs/sandagentfs");
	is_below_root(s.cache_dir, "home/.cache/sandagentfs");
	settings_finish(&s);
	clearenv();
	refuses(ARGS("m"), "-o state_dir=DIR");
	setenv("HOME", "", 1);
	refuses(ARGS("m"), "-o state_dir=DIR");
	loads(&s, ARGS("-o", "state_dir=/s", "m"));
	assert_string_equal(s.cache_dir, "/s/cache");
	settings_finish(&s);
}

static void
test_provider(void **state)
{
	struct settings s;

	(void)state;
	setenv("DAYTONA_API_KEY", "dtn_0123456789", 1);
	setenv("DAYTONA_API_URL", "http://127.0.0.1:1/api", 1);
	setenv("DAYTONA_TARGET", "us", 1);
	loads(&s, ARGS("m"));
	assert_false(s.local);
	assert_int_equal(s.ttl_minutes, 60);
	assert_string_equal(s.api_url, "http://127.0.0.1:1/api");
	assert_string_equal(s.target, "us");
	settings_finish(&s);
	setenv("DAYTONA_API_URL", "nonsense", 1);
	refuses(ARGS("m"), "DAYTONA_API_URL");
	/* An empty key counts as none. */
	setenv("DAYTONA_API_KEY", "", 1);
	loads(&s, ARGS("m"));
	assert_true(s.local);
	assert_null(settings_env(&s, "DAYTONA_API_KEY"));
	settings_finish(&s);
}

static void
count_secret(void *arg, const char *value)
{
	(void)value;
	++*(int *)arg;
}

static void
test_dotenv(void **state)
{
	struct settings s;
	int secrets = 0;

	(void)state;
	/* The nearest one above, then the one of the user. */
	put("../.env",
	    "NVIDIA_API_KEY=nvapi-from-file\nOTHER=1\n"
	    "GROQ_API_KEY=short\nexport OPENAI_API_KEY=sk-file-xx");
	put_home_env("NVIDIA_API_KEY=nvapi-from-home\n"
		     "DAYTONA_API_KEY=dtn_from_home\n");
	setenv("OPENAI_API_KEY", "sk-process-xx", 1);
	loads(&s, ARGS("m"));
	assert_string_equal(settings_env(&s, "NVIDIA_API_KEY"),
	    "nvapi-from-file");
	assert_string_equal(settings_env(&s, "OPENAI_API_KEY"),
	    "sk-process-xx");
	assert_string_equal(settings_env(&s, "DAYTONA_API_KEY"),
	    "dtn_from_home");
	assert_null(settings_env(&s, "OTHER"));
	assert_false(s.local);
	is_below_root(s.env_file, "work/.env");
	settings_secrets(&s, count_secret, &secrets);
	assert_int_equal(secrets, 5); /* also those that are shadowed */
	settings_finish(&s);
	/* A variable of the process is kept even if it is empty. */
	setenv("NVIDIA_API_KEY", "", 1);
	loads(&s, ARGS("m"));
	assert_null(settings_env(&s, "NVIDIA_API_KEY"));
	settings_finish(&s);
	setenv("PYTHON_DOTENV_DISABLED", "True", 1);
	loads(&s, ARGS("m"));
	assert_null(settings_env(&s, "DAYTONA_API_KEY"));
	assert_null(s.env_file);
	settings_finish(&s);
}

static void
test_env_file_option(void **state)
{
	struct settings s;

	(void)state;
	put(".env", "NVIDIA_API_KEY=nvapi-nearest\n");
	put("keys", "NVIDIA_API_KEY='nvapi-keys'\n");
	loads(&s, ARGS("-o", "env_file=keys", "m"));
	assert_string_equal(settings_env(&s, "NVIDIA_API_KEY"), "nvapi-keys");
	is_below_root(s.env_file, "work/below/keys");
	settings_finish(&s);
	refuses(ARGS("-o", "env_file=none", "m"), "work/below/none");
	refuses(ARGS("-o", "env_file=.", "m"), "Is a directory");
}

static void
test_dotenv_faults(void **state)
{
	(void)state;
	put(".env", "A=1\n\nnot good\nNVIDIA_API_KEY=nvapi-secret\n");
	refuses(ARGS("m"), "work/below/.env: line 3 is not NAME=VALUE");
	put(".env", "A=1\nB=\xff\n");
	refuses(ARGS("m"), ".env: line 2 is not UTF-8");
	auto_buf big = BUF_INIT(3 << 20);
	while (big.len < 2 << 20)
		buf_puts(&big, "A=0123456789\n");
	put(".env", big.bytes);
	refuses(ARGS("m"), "too big");
	/* -h does not look. */
	struct settings s;
	loads(&s, ARGS("-h"));
	settings_finish(&s);
}

/* A cloned repository's .env must not carry the user's key away. */
static void
test_foreign_urls(void **state)
{
	static const char file[] = "NVIDIA_BASE_URL=http://evil/v1\n"
				   "GROQ_API_KEY=gsk-own-key\n"
				   "GROQ_BASE_URL=http://own/v1\n"
				   "PERPLEXITY_BASE_URL=http://evil/p\n"
				   "HTTPS_PROXY=http://evil:1\n"
				   "DAYTONA_API_URL=http://evil/api\n";
	struct settings s;
	char text[2000] = "";

	(void)state;
	put(".env", file);
	setenv("NVIDIA_API_KEY", "nvapi-users", 1);
	setenv("PPLX_API_KEY", "pplx-users", 1);
	put_home_env("DAYTONA_API_KEY=dtn_users\n");
	loads(&s, ARGS("m"));
	assert_null(settings_env(&s, "NVIDIA_BASE_URL"));
	assert_null(settings_env(&s, "PERPLEXITY_BASE_URL"));
	assert_null(settings_env(&s, "HTTPS_PROXY"));
	assert_string_equal(settings_env(&s, "GROQ_BASE_URL"), "http://own/v1");
	assert_string_equal(s.api_url, "https://app.daytona.io/api");
	assert_true(pread(noted_fd, text, sizeof text - 1, 0) > 0);
	assert_non_null(strstr(text, "NVIDIA_BASE_URL of "));
	assert_non_null(strstr(text, "NVIDIA_API_KEY is not from that file"));
	assert_null(strstr(text, "evil"));
	assert_null(strstr(text, "users"));
	settings_finish(&s);
	/* The same key in the same file, or none at all: no harm. */
	put(".env",
	    "NVIDIA_BASE_URL=http://m/v1\nNVIDIA_API_KEY=nvapi-users\n"
	    "HTTPS_PROXY=http://p\nOPENAI_BASE_URL=http://n/v1");
	put_home_env("");
	unsetenv("PPLX_API_KEY");
	loads(&s, ARGS("m"));
	assert_string_equal(settings_env(&s, "NVIDIA_BASE_URL"), "http://m/v1");
	assert_string_equal(settings_env(&s, "HTTPS_PROXY"), "http://p");
	assert_string_equal(settings_env(&s, "OPENAI_BASE_URL"), "http://n/v1");
	settings_finish(&s);
	/* The process's own go unasked. */
	put(".env", "");
	setenv("NVIDIA_BASE_URL", "http://mine/v1", 1);
	loads(&s, ARGS("m"));
	assert_string_equal(settings_env(&s, "NVIDIA_BASE_URL"),
	    "http://mine/v1");
	settings_finish(&s);
}

static void
test_usage(void **state)
{
	static const char *const names[] = { "model", "sandbox", "base_url",
		"api_url", "target", "ttl_minutes", "on_exit", "env_file",
		"state_dir", "cache_dir", "cache_size", "max_turns",
		"stop_minutes", "snapshots", "links", "log_level" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_free char *row = xasprintf("\n    %s=", names[i]);
		assert_non_null(strstr(settings_usage(), row));
	}
	for (const char *s = settings_usage(); *s; s += strcspn(s, "\n") + 1)
		assert_true(strcspn(s, "\n") < 80);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_defaults),
		TEST(test_all_options),
		TEST(test_escapes),
		TEST(test_fstab),
		TEST(test_mount_words),
		TEST(test_flags),
		TEST(test_refusals),
		TEST(test_paths),
		TEST(test_xdg_and_no_home),
		TEST(test_provider),
		TEST(test_dotenv),
		TEST(test_env_file_option),
		TEST(test_dotenv_faults),
		TEST(test_foreign_urls),
		TEST(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
