/*
 * A mirror for tests of tools: the workspace is a directory of this machine,
 * scripts run in this machine's sh. Include it in one test, in place of
 * agent/mirror. "/home/daytona" in a script and in what it prints stands for
 * the directory, whose name is as long.
 */
#ifndef TESTS_AGENT_TOOLS_FAKE_MIRROR_H
#define TESTS_AGENT_TOOLS_FAKE_MIRROR_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/mirror/mirror.h"
#include "tests/test.h"

struct mirror_dir {
	struct dirent **entries;
	int count;
};

static struct fake {
	char root[16];
	/* What the calls that follow answer; OK: the truth. */
	struct status next;
	unsigned scripts, reads, writes, forgotten;
	struct exec_request request; /* the last one */
	char *command, *id;          /* of it */
	struct exec_result result;   /* what a command does; output borrowed */
	const char *output;
} fake;

static int
fake_set_up(void **state)
{
	char root[] = "/tmp/dtXXXXXX";

	(void)state;
	fake = (struct fake){ .next = { .code = STATUS_OK } };
	if (!mkdtemp(root) || strlen(root) != strlen(SANDBOX_HOME))
		return -1;
	memcpy(fake.root, root, sizeof root);
	return 0;
}

static int
fake_tear_down(void **state)
{
	auto_free char *command =
	    xasprintf("chmod -R u+rwx %s; rm -rf %s", fake.root, fake.root);

	(void)state;
	free(fake.command);
	free(fake.id);
	return system(command) != 0;
}

static void
fake_put(const char *path, const char *bytes, size_t len)
{
	auto_free char *whole = xasprintf("%s/%s", fake.root, path);

	for (char *s = strchr(whole + 6, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdir(whole, 0755);
		*s = '/';
	}
	FILE *f = fopen(whole, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
}

static int
fake_get(const char *path, struct buf *out)
{
	auto_free char *whole = xasprintf("%s/%s", fake.root, path);
	auto_fd int fd = open(whole, O_RDONLY | O_CLOEXEC);
	struct stat attr;

	if (fd < 0 || fstat(fd, &attr) < 0)
		return -errno;
	if (S_ISDIR(attr.st_mode))
		return -EISDIR;
	for (;;) {
		char piece[4096];
		ssize_t n = read(fd, piece, sizeof piece);
		if (n <= 0)
			return out->failed ? -EFBIG : (int)n;
		buf_add(out, piece, (size_t)n);
	}
}

static bool
fake_fails(struct status *st)
{
	if (fake.next.code == STATUS_OK)
		return false;
	*st = fake.next;
	return true;
}

static void
fake_swap(struct buf *text, const char *from, const char *to)
{
	size_t n = strlen(from);
	char *p = text->bytes, *end = p + text->len;

	while ((p = memmem(p, (size_t)(end - p), from, n)) != NULL)
		memcpy(p, to, n);
}

int
mirror_script(struct mirror *m, const char *script, size_t len, struct buf *out,
    int *exit_code, struct cancel *c, struct status *st)
{
	auto_free char *path = xasprintf("%s.script", fake.root);
	auto_free char *command = xasprintf("sh %s </dev/null", path);
	auto_buf text = BUF_INIT(len);

	(void)m;
	(void)c;
	fake.scripts++;
	if (fake_fails(st))
		return -1;
	buf_add(&text, script, len);
	fake_swap(&text, SANDBOX_HOME, fake.root);
	FILE *f = fopen(path, "w");
	fwrite(text.bytes, 1, text.len, f);
	fclose(f);
	FILE *p = popen(command, "r");
	char piece[4096];
	for (size_t n; (n = fread(piece, 1, sizeof piece, p)) > 0;)
		buf_add(out, piece, n);
	int status = pclose(p);
	unlink(path);
	fake_swap(out, fake.root, SANDBOX_HOME);
	*exit_code = WEXITSTATUS(status);
	return out->failed ? status_set(st, STATUS_TOO_BIG, "too much") : 0;
}

int
mirror_read_file(struct mirror *m, const char *path, struct buf *out,
    struct cancel *c, struct status *st)
{
	(void)m;
	(void)c;
	fake.reads++;
	if (fake_fails(st))
		return -1;
	int rc = fake_get(path, out);
	if (rc == -EFBIG)
		return status_set(st, STATUS_TOO_BIG, "the file is too big");
	return rc < 0 ? status_errno(st, -rc, "read") : 0;
}

int
mirror_write_file(struct mirror *m, const char *path, const void *bytes,
    size_t len, struct cancel *c, struct status *st)
{
	auto_free char *whole = xasprintf("%s/%s", fake.root, path);
	struct stat attr;

	(void)m;
	(void)c;
	fake.writes++;
	if (fake_fails(st))
		return -1;
	if (stat(whole, &attr) == 0 && S_ISDIR(attr.st_mode))
		return status_errno(st, EISDIR, "write");
	fake_put(path, bytes, len);
	return 0;
}

int
mirror_list(struct mirror *m, const char *path, struct mirror_dir **dir,
    struct cancel *c, struct status *st)
{
	auto_free char *whole = xasprintf("%s/%s", fake.root, path);

	(void)m;
	(void)c;
	if (fake_fails(st))
		return -1;
	struct mirror_dir *d = xcalloc(1, sizeof *d);
	d->count = scandir(whole, &d->entries, NULL, NULL);
	if (d->count < 0) {
		free(d);
		return status_errno(st, errno, "list");
	}
	*dir = d;
	return 0;
}

bool
mirror_dir_entry(struct mirror_dir *dir, size_t i, const char **name,
    struct mirror_attr *attr)
{
	(void)attr;
	/* scandir gives . and .., which a mirror does not. */
	for (int k = 0, seen = 0; k < dir->count; k++) {
		*name = dir->entries[k]->d_name;
		if (strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0)
			continue;
		if ((size_t)seen++ == i)
			return true;
	}
	return false;
}

void
mirror_closedir(struct mirror_dir *dir)
{
	for (int i = 0; i < dir->count; i++)
		free(dir->entries[i]);
	free(dir->entries);
	free(dir);
}

void
mirror_forget_listings(struct mirror *m)
{
	(void)m;
	fake.forgotten++;
}

int
mirror_exec(struct mirror *m, const struct exec_request *request,
    struct exec_result *result, struct cancel *c, struct status *st)
{
	(void)m;
	(void)c;
	fake.request = *request;
	free(fake.command);
	free(fake.id);
	fake.command = xstrdup(request->command);
	fake.id = xstrdup(request->id);
	if (fake_fails(st))
		return -1;
	result->end = fake.result.end;
	result->exit_code = fake.result.exit_code;
	result->truncated = fake.result.truncated;
	result->output_bytes = fake.result.output_bytes;
	if (fake.output)
		buf_puts(&result->output, fake.output);
	if (request->live)
		request->live(request->live_arg, "live", 4);
	return 0;
}

#endif
