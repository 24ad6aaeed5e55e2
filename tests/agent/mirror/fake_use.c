/* Using a mirror from a test; see fake_use.h. */
#include "tests/agent/mirror/fake_use.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/base/clock.h"

static void
note(void *arg, const char *line)
{
	struct world *w = arg;

	pthread_mutex_lock(&w->lock);
	size_t len = strlen(w->notes);
	snprintf(w->notes + len, sizeof w->notes - len, "%s\n", line);
	pthread_mutex_unlock(&w->lock);
}

void
world_start(struct world *w)
{
	auto_free char *staging = xasprintf("%s/cache", w->dir);
	auto_free char *queue = xasprintf("%s/queue", w->dir);
	struct mirror_settings settings = { .thread = 7,
		.staging_dir = staging,
		.queue_dir = queue,
		.sandbox_known = true,
		.note = note,
		.note_arg = w };

	w->m = mirror_create(fake_sandbox(&w->fake), NULL, &settings);
}

void
world_init(struct world *w)
{
	*w = (struct world){ .dir = "/tmp/mirror-test-XXXXXX" };
	pthread_mutex_init(&w->lock, NULL);
	if (!mkdtemp(w->dir))
		abort();
	w->fake.home = xasprintf("%s/home", w->dir);
	w->fake.seed = 1;
	mkdir(w->fake.home, 0755);
	fake_store_reset();
	world_start(w);
}

void
world_stop(struct world *w, int64_t drain_ms)
{
	mirror_destroy(w->m, drain_ms);
	w->m = NULL;
}

void
world_finish(struct world *w)
{
	auto_free char *command = xasprintf("rm -rf '%s'", w->dir);

	world_stop(w, 0);
	if (system(command))
		abort();
	free(w->fake.home);
	pthread_mutex_destroy(&w->lock);
	fake_store_reset();
}

void
world_sh(struct world *w, const char *command)
{
	auto_free char *line =
	    xasprintf("cd '%s' && %s", w->fake.home, command);

	fake_lock();
	int code = system(line);
	fake_unlock();
	if (code)
		abort();
}

void
world_put(struct world *w, const char *path, const char *text)
{
	auto_free char *full = xasprintf("%s/%s", w->fake.home, path);
	int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write_all(fd, text, strlen(text)))
		abort();
	close(fd);
}

static char *
slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat sb;

	if (fd < 0)
		return NULL;
	fstat(fd, &sb);
	char *text = xcalloc((size_t)sb.st_size + 1, 1);
	ssize_t n = read(fd, text, (size_t)sb.st_size);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

char *
world_get(struct world *w, const char *path)
{
	auto_free char *full = xasprintf("%s/%s", w->fake.home, path);

	return slurp(full);
}

static void
on_done(struct mirror_call *call)
{
	sem_post(&((struct done_call *)call)->done);
}

void
call_init(struct done_call *c)
{
	*c = (struct done_call){ .call.done = on_done };
	sem_init(&c->done, 0, 0);
}

enum status_code
call_wait(struct done_call *c)
{
	while (sem_wait(&c->done) < 0 && errno == EINTR)
		;
	sem_destroy(&c->done);
	return c->call.st.code;
}

enum status_code
use_lookup(struct mirror *m, uint32_t dir, const char *name, uint32_t *node)
{
	struct done_call c;

	call_init(&c);
	mirror_lookup(m, dir, name, &c.call);
	enum status_code code = call_wait(&c);
	*node = c.call.attr.node;
	buf_finish(&c.call.bytes);
	return code;
}

uint32_t
use_path(struct mirror *m, const char *path)
{
	uint32_t node = MIRROR_ROOT, next = 0;

	while (*path) {
		size_t len = strcspn(path, "/");
		auto_free char *name = xstrndup(path, len);
		if (use_lookup(m, node, name, &next))
			return 0;
		node = next;
		path += len + (path[len] == '/');
	}
	return node;
}

enum status_code
use_getattr(struct mirror *m, uint32_t node, struct mirror_attr *attr)
{
	struct done_call c;

	call_init(&c);
	mirror_getattr(m, node, NULL, &c.call);
	enum status_code code = call_wait(&c);
	*attr = c.call.attr;
	return code;
}

enum status_code
use_mkdir(struct mirror *m, uint32_t dir, const char *name, uint32_t *node)
{
	struct done_call c;

	call_init(&c);
	mirror_mkdir(m, dir, name, 0755, &c.call);
	enum status_code code = call_wait(&c);
	*node = c.call.attr.node;
	return code;
}

enum status_code
use_rmdir(struct mirror *m, uint32_t dir, const char *name)
{
	struct done_call c;

	call_init(&c);
	mirror_rmdir(m, dir, name, &c.call);
	return call_wait(&c);
}

enum status_code
use_unlink(struct mirror *m, uint32_t dir, const char *name)
{
	struct done_call c;

	call_init(&c);
	mirror_unlink(m, dir, name, &c.call);
	return call_wait(&c);
}

enum status_code
use_rename(struct mirror *m, uint32_t dir, const char *name, uint32_t dir2,
    const char *name2, unsigned flags)
{
	struct done_call c;

	call_init(&c);
	mirror_rename(m, dir, name, dir2, name2, flags, &c.call);
	return call_wait(&c);
}

enum status_code
use_symlink(struct mirror *m, uint32_t dir, const char *name,
    const char *target)
{
	struct done_call c;

	call_init(&c);
	mirror_symlink(m, dir, name, target, &c.call);
	return call_wait(&c);
}

enum status_code
use_link(struct mirror *m, uint32_t node, uint32_t dir, const char *name)
{
	struct done_call c;

	call_init(&c);
	mirror_link(m, node, dir, name, &c.call);
	return call_wait(&c);
}

enum status_code
use_readlink(struct mirror *m, uint32_t node, char out[4096])
{
	struct done_call c;

	call_init(&c);
	mirror_readlink(m, node, &c.call);
	enum status_code code = call_wait(&c);
	snprintf(out, 4096, "%s", c.call.bytes.bytes);
	buf_finish(&c.call.bytes);
	return code;
}

enum status_code
use_open(struct mirror *m, uint32_t node, int flags, struct mirror_file **file)
{
	struct done_call c;

	call_init(&c);
	mirror_open(m, node, flags, &c.call);
	enum status_code code = call_wait(&c);
	*file = c.call.file;
	return code;
}

enum status_code
use_create(struct mirror *m, uint32_t dir, const char *name, int flags,
    struct mirror_file **file, uint32_t *node)
{
	struct done_call c;

	call_init(&c);
	mirror_file_create(m, dir, name, 0644, flags, &c.call);
	enum status_code code = call_wait(&c);
	*file = c.call.file;
	*node = c.call.attr.node;
	return code;
}

enum status_code
use_flush(struct mirror_file *file)
{
	struct done_call c;

	call_init(&c);
	mirror_flush(file, &c.call);
	return call_wait(&c);
}

enum status_code
use_fsync(struct mirror_file *file)
{
	struct done_call c;

	call_init(&c);
	mirror_fsync(file, &c.call);
	return call_wait(&c);
}

enum status_code
use_sync(struct mirror *m)
{
	struct done_call c;

	call_init(&c);
	mirror_sync(m, &c.call);
	return call_wait(&c);
}

enum status_code
use_setattr(struct mirror *m, uint32_t node, int what, mode_t mode,
    int64_t size, const struct timespec times[2])
{
	struct done_call c;

	call_init(&c);
	mirror_setattr(m, node, NULL, what, mode, size, times, &c.call);
	return call_wait(&c);
}

char *
use_read(struct mirror_file *file, int64_t off, size_t len, size_t *got)
{
	struct done_call c;

	call_init(&c);
	mirror_read(file, off, len, &c.call);
	if (call_wait(&c)) {
		buf_finish(&c.call.bytes);
		return NULL;
	}
	*got = c.call.bytes.len;
	return buf_take(&c.call.bytes);
}

char *
use_cat(struct mirror *m, const char *path)
{
	uint32_t node = use_path(m, path);
	struct mirror_file *file;
	struct buf all = BUF_INIT((size_t)1 << 28);
	size_t got = 1;

	if (!node || use_open(m, node, O_RDONLY, &file))
		return NULL;
	while (got > 0) {
		auto_free char *piece =
		    use_read(file, (int64_t)all.len, 65536, &got);
		if (!piece) {
			mirror_release(file);
			buf_finish(&all);
			return NULL;
		}
		buf_add(&all, piece, got);
	}
	mirror_release(file);
	mirror_forget(m, node, 1);
	return buf_take(&all);
}

enum status_code
use_write(struct mirror *m, const char *path, const char *text)
{
	const char *slash = strrchr(path, '/');
	auto_free char *parent =
	    xstrndup(path, slash ? (size_t)(slash - path) : 0);
	struct mirror_file *file;
	uint32_t node;

	enum status_code code = use_create(m, use_path(m, parent),
	    slash ? slash + 1 : path, O_WRONLY | O_TRUNC, &file, &node);
	if (code)
		return code;
	ssize_t n = mirror_write(file, text, strlen(text), 0, false);
	code = use_flush(file);
	mirror_release(file);
	mirror_forget(m, node, 1);
	return n == (ssize_t)strlen(text) ? code : STATUS_IO;
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char *
use_ls(struct mirror *m, const char *path)
{
	struct done_call c;
	struct buf out = BUF_INIT((size_t)1 << 24);
	const char *name, **names = NULL;
	struct mirror_attr attr;
	size_t count = 0;

	uint32_t node = use_path(m, path);
	if (!node)
		return xstrdup("(none)");
	call_init(&c);
	mirror_opendir(m, node, &c.call);
	if (call_wait(&c))
		return xasprintf("(%s)", status_word(c.call.st.code));
	while (mirror_dir_entry(c.call.dir, count, &name, &attr)) {
		names = xrealloc(names, count + 1, sizeof *names);
		names[count++] = name;
	}
	if (count > 0)
		qsort(names, count, sizeof *names, compare);
	for (size_t i = 0; i < count; i++)
		buf_printf(&out, "%s%s", i > 0 ? " " : "", names[i]);
	free(names);
	mirror_closedir(c.call.dir);
	return buf_take(&out);
}

void
use_sleep(int ms)
{
	cancel_sleep(NULL, ms);
}
