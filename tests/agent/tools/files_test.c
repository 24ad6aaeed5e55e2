/* ls, read_file, write_file and edit_file over a fake mirror. */
#include "agent/tools/files.h"

#include "agent/tools/far.h"
#include "agent/tools/media.h"
#include "agent/tools/tool.h"
#include "tests/agent/tools/fake_mirror.h"

static struct tool_result
run(const char *name, const char *args)
{
	struct tool_context ctx = { .call_id = "call_1" };
	struct tool_result r;

	tool_run(name, args, NULL, &ctx, &r);
	return r;
}

static void
expect(const char *name, const char *args, bool failed, const char *text)
{
	struct tool_result r = run(name, args);

	assert_string_equal(r.text.bytes, text);
	assert_int_equal(r.failed, failed);
	assert_int_equal(r.exit_code, -1);
	assert_false(r.canceled || r.unknown);
	tool_result_finish(&r);
}

static void
put(const char *path, const char *text)
{
	fake_put(path, text, strlen(text));
}

/* A directory outside of the workspace. */
static char *
outside(const char *name)
{
	auto_free char *dir = xasprintf("%s.out", fake.root);

	mkdir(dir, 0755);
	return xasprintf("%s/%s", dir, name);
}

static void
put_outside(const char *name, const char *text)
{
	auto_free char *path = outside(name);
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static int
tear_down(void **state)
{
	auto_free char *command = xasprintf("rm -rf %s.out", fake.root);

	return system(command) != 0 || fake_tear_down(state);
}

static void
test_ls(void **state)
{
	(void)state;
	expect("ls", "{\"path\":\"\"}", false, "No files found");
	put("b.txt", "x");
	put("a/c", "x");
	put("it's", "x");
	expect("ls", "{\"path\":\"/home/daytona\"}", false,
	    "['/home/daytona/a', '/home/daytona/b.txt', "
	    "\"/home/daytona/it's\"]");
	expect("ls", "{\"path\":\"a/\"}", false, "['/home/daytona/a/c']");
	expect("ls", "{\"path\":\"none\"}", true,
	    "Error: Path '/home/daytona/none': path_not_found");
	expect("ls", "{\"path\":\"b.txt\"}", true,
	    "Error: Path '/home/daytona/b.txt': not_a_directory");
	expect("ls", "{\"path\":\"../x\"}", true,
	    "Error: Path traversal not allowed: ../x");
}

static void
test_ls_outside(void **state)
{
	(void)state;
	put_outside("n\nl", "");
	put_outside(".h", "");
	put_outside("a'b", "");
	auto_free char *dir = outside("");
	dir[strlen(dir) - 1] = '\0';
	auto_free char *args = xasprintf("{\"path\":\"%s\"}", dir);
	auto_free char *text =
	    xasprintf("['%s/.h', \"%s/a'b\", '%s/n\\nl']", dir, dir, dir);
	/* The fake swaps the workspace's name, also within this one. */
	struct tool_result r = run("ls", args);
	fake_swap(&r.text, SANDBOX_HOME, fake.root);
	assert_string_equal(r.text.bytes, text);
	assert_int_equal(fake.scripts, 1);
	tool_result_finish(&r);
	/* A link that leaves the workspace is a directory for the agent. */
	auto_free char *link = xasprintf("%s/link", fake.root);
	assert_int_equal(symlink("/nonexistent", link), 0);
	expect("ls", "{\"path\":\"link\"}", true,
	    "Error: Path '/home/daytona/link': path_not_found");
}

static void
test_read(void **state)
{
	(void)state;
	put("a.txt", "one\ntwo\nthree\n");
	expect("read_file", "{\"file_path\":\"/home/daytona/a.txt\"}", false,
	    "@@ lines 1-3 of 3 @@\none\ntwo\nthree");
	expect("read_file",
	    "{\"file_path\":\"a.txt\",\"offset\":\"1\",\"limit\":1.0}", false,
	    "@@ lines 2-2 of 3 | next offset 2 @@\ntwo");
	expect("read_file", "{\"file_path\":\"a.txt\",\"offset\":7}", true,
	    "Error: File '/home/daytona/a.txt': Line offset 7 exceeds file "
	    "length (3 lines)");
	expect("read_file", "{\"file_path\":\"a.txt\",\"limit\":0}", false,
	    "Nothing was read: limit must be at least 1.");
	assert_int_equal(fake.scripts, 0);
	put("empty", "");
	expect("read_file", "{\"file_path\":\"empty\"}", false,
	    "@@ lines 1-1 @@\nSystem reminder: File exists but has empty "
	    "contents");
	put("empty.png", "");
	expect("read_file", "{\"file_path\":\"empty.png\"}", false,
	    "@@ lines 1-1 @@\nSystem reminder: File exists but has empty "
	    "contents");
	expect("read_file", "{\"file_path\":\"none\"}", true,
	    "Error: File '/home/daytona/none': file_not_found");
	expect("read_file", "{\"file_path\":\"a.txt/x\"}", true,
	    "Error: File '/home/daytona/a.txt/x': file_not_found");
	put("d/x", "");
	expect("read_file", "{\"file_path\":\"d\"}", true,
	    "Error: File '/home/daytona/d': not_a_file");
}

static void
test_read_media(void **state)
{
	auto_buf big = BUF_INIT(MEDIA_MAX + 1);

	(void)state;
	put("c.png", "\x89PNG");
	struct tool_result r = run("read_file", "{\"file_path\":\"c.png\"}");
	assert_false(r.failed);
	assert_string_equal(r.text.bytes,
	    "[/home/daytona/c.png: image/png, 4 bytes]");
	assert_string_equal(r.blocks,
	    "[{\"type\":\"image\",\"base64\":\"iVBORw==\",\"mime_type\":"
	    "\"image/png\"}]");
	tool_result_finish(&r);
	put("model.pkl", "\x80\x04\x95");
	r = run("read_file", "{\"file_path\":\"model.pkl\"}");
	assert_non_null(strstr(r.blocks, "application/octet-stream"));
	tool_result_finish(&r);
	while (big.len < MEDIA_MAX)
		buf_putc(&big, (char)0xff);
	fake_put("big.bin", big.bytes, big.len);
	r = run("read_file", "{\"file_path\":\"big.bin\"}");
	assert_false(r.failed);
	assert_true(strlen(r.blocks) > 682000);
	tool_result_finish(&r);
	buf_putc(&big, 'x');
	fake_put("big.bin", big.bytes, big.len);
	expect("read_file", "{\"file_path\":\"big.bin\"}", true,
	    "Error: File '/home/daytona/big.bin': Binary file exceeds maximum "
	    "preview size of 512000 bytes");
}

/* Over 8 MiB a file is read where it is, and only the lines asked for come. */
static void
test_read_large(void **state)
{
	auto_buf text = BUF_INIT(FILES_MIRROR_MAX * 2);

	(void)state;
	for (unsigned i = 0; text.len <= FILES_MIRROR_MAX; i++)
		buf_printf(&text, "line %u\r\n", i);
	buf_puts(&text, "the end");
	fake_put("big.log", text.bytes, text.len);
	struct tool_result r = run("read_file",
	    "{\"file_path\":\"big.log\",\"offset\":500000,\"limit\":2}");
	const char *expected = "@@ lines 500001-500002 of ";
	assert_true(strncmp(r.text.bytes, expected, strlen(expected)) == 0);
	assert_non_null(strstr(r.text.bytes,
	    " | next offset 500002 @@\nline 500000\nline 500001"));
	assert_int_equal(fake.scripts, 1);
	/* The last one has no line end and counts. */
	int64_t total = strtoll(r.text.bytes + strlen(expected), NULL, 10);
	tool_result_finish(&r);
	auto_free char *args =
	    xasprintf("{\"file_path\":\"big.log\",\"offset\":%lld}",
		(long long)total - 1);
	r = run("read_file", args);
	assert_non_null(strstr(r.text.bytes, " @@\nthe end"));
	tool_result_finish(&r);
	r = run("read_file", "{\"file_path\":\"big.log\",\"offset\":9999999}");
	assert_true(r.failed);
	assert_non_null(strstr(r.text.bytes, "exceeds file length"));
	tool_result_finish(&r);
	r = run("read_file", "{\"file_path\":\"big.log\",\"limit\":500000}");
	assert_non_null(strstr(r.text.bytes, "truncated due to size"));
	assert_true(r.text.len < TOOL_RESULT_MAX);
	tool_result_finish(&r);
	memset(text.bytes, 0xff, 100);
	fake_put("big.log", text.bytes, text.len);
	r = run("read_file", "{\"file_path\":\"big.log\"}");
	assert_true(r.failed);
	assert_non_null(strstr(r.text.bytes, "Binary file exceeds"));
	tool_result_finish(&r);
}

static void
test_read_outside(void **state)
{
	(void)state;
	put_outside("a'b.txt", "x\ny");
	auto_free char *path = outside("a'b.txt");
	auto_free char *args = xasprintf("{\"file_path\":\"%s\"}", path);
	expect("read_file", args, false, "@@ lines 1-2 of 2 @@\nx\ny");
	assert_int_equal(fake.reads, 0);
	/* Through a link that leaves the workspace. */
	auto_free char *link = xasprintf("%s/link", fake.root);
	assert_int_equal(symlink(path, link), 0);
	fake.reads = 0;
	expect("read_file", "{\"file_path\":\"link\"}", false,
	    "@@ lines 1-2 of 2 @@\nx\ny");
	expect("read_file", "{\"file_path\":\"/none\"}", true,
	    "Error: File '/none': file_not_found");
	expect("read_file", "{\"file_path\":\"/dev/null\"}", true,
	    "Error: File '/dev/null': not_a_file");
	expect("read_file", "{\"file_path\":\"/\"}", true,
	    "Error: File '/': not_a_file");
}

static void
test_write(void **state)
{
	auto_buf text = BUF_INIT(1000);

	(void)state;
	expect("write_file",
	    "{\"file_path\":\"x/y/a.txt\",\"content\":\"h\\u00e9\\n\"}", false,
	    "Updated file /home/daytona/x/y/a.txt");
	assert_int_equal(fake_get("x/y/a.txt", &text), 0);
	assert_string_equal(text.bytes, "hé\n");
	expect("write_file", "{\"file_path\":\"x\",\"content\":\"\"}", true,
	    "Failed to write file '/home/daytona/x': is_directory");
	expect("write_file", "{\"file_path\":\"\",\"content\":\"\"}", true,
	    "Failed to write file '/home/daytona': is_directory");
	status_set(&fake.next, STATUS_NO_SPACE, "the disk is full");
	expect("write_file", "{\"file_path\":\"b\",\"content\":\"\"}", true,
	    "Failed to write file '/home/daytona/b': the disk is full");
}

static void
test_write_outside(void **state)
{
	auto_buf text = BUF_INIT(1 << 20);
	auto_free char *path = outside("n/e/w.txt");
	auto_free char *args =
	    xasprintf("{\"file_path\":\"%s\",\"content\":\"it's\\n\\\"q\\\"\"}",
		path);
	auto_free char *done = xasprintf("Updated file %s", path);

	(void)state;
	expect("write_file", args, false, done);
	expect("write_file", args, false, done);
	auto_free char *relative =
	    xasprintf("../%s.out/n/e/w.txt", fake.root + 5);
	assert_int_equal(fake_get(relative, &text), 0);
	assert_string_equal(text.bytes, "it's\n\"q\"");
	/* The parent is a file. */
	auto_free char *below =
	    xasprintf("{\"file_path\":\"%s/x\",\"content\":\"\"}", path);
	auto_free char *failed =
	    xasprintf("Failed to write file '%s/x': invalid_path", path);
	expect("write_file", below, true, failed);
	expect("write_file", "{\"file_path\":\"/tmp\",\"content\":\"\"}", true,
	    "Failed to write file '/tmp': is_directory");
	expect("write_file",
	    "{\"file_path\":\"/proc/nothing\",\"content\":\"\"}", true,
	    "Failed to write file '/proc/nothing': permission_denied");
}

static void
test_edit(void **state)
{
	auto_buf text = BUF_INIT(1000);

	(void)state;
	put("a.py", "x = 1\r\ny = 1\r\n");
	expect("edit_file",
	    "{\"file_path\":\"a.py\",\"old_string\":\"x = 1\\ny\","
	    "\"new_string\":\"x = 2\\nz\"}",
	    false,
	    "Successfully replaced 1 instance(s) of the string in "
	    "'/home/daytona/a.py'");
	assert_int_equal(fake_get("a.py", &text), 0);
	assert_string_equal(text.bytes, "x = 2\r\nz = 1\r\n");
	expect("edit_file",
	    "{\"file_path\":\"a.py\",\"old_string\":\"= \",\"new_string\":"
	    "\"\"}",
	    true,
	    "Error: String '= ' appears multiple times. Use replace_all=True "
	    "to replace all occurrences.");
	expect("edit_file",
	    "{\"file_path\":\"a.py\",\"old_string\":\"= \",\"new_string\":"
	    "\"=\",\"replace_all\":\"true\"}",
	    false,
	    "Successfully replaced 2 instance(s) of the string in "
	    "'/home/daytona/a.py'");
	expect("edit_file",
	    "{\"file_path\":\"a.py\",\"old_string\":\"nope\",\"new_string\":"
	    "\"\"}",
	    true, "Error: String not found in file: 'nope'");
	expect("edit_file",
	    "{\"file_path\":\"a.py\",\"old_string\":\"\",\"new_string\":\"\"}",
	    true,
	    "Error: old_string cannot be empty. Provide the exact text to "
	    "replace.");
	expect("edit_file",
	    "{\"file_path\":\"none\",\"old_string\":\"a\",\"new_string\":\"\"}",
	    true, "Error: File '/home/daytona/none' not found");
	put("d/x", "");
	expect("edit_file",
	    "{\"file_path\":\"d\",\"old_string\":\"a\",\"new_string\":\"\"}",
	    true, "Error: '/home/daytona/d' is not a regular file");
	put("bin", "a\xff");
	expect("edit_file",
	    "{\"file_path\":\"bin\",\"old_string\":\"a\",\"new_string\":\"\"}",
	    true, "Error: File '/home/daytona/bin' is not a text file");
}

static void
test_edit_outside(void **state)
{
	auto_buf text = BUF_INIT(1000);

	(void)state;
	put_outside("a", "b");
	auto_free char *path = outside("a");
	auto_free char *args = xasprintf(
	    "{\"file_path\":\"%s\",\"old_string\":\"b\",\"new_string\":\"cd\"}",
	    path);
	auto_free char *done = xasprintf(
	    "Successfully replaced 1 instance(s) of the string in '%s'", path);
	assert_int_equal(chmod(path, 0750), 0);
	expect("edit_file", args, false, done);
	auto_free char *relative = xasprintf("../%s.out/a", fake.root + 5);
	assert_int_equal(fake_get(relative, &text), 0);
	assert_string_equal(text.bytes, "cd");
	struct stat attr;
	assert_int_equal(stat(path, &attr), 0);
	assert_int_equal(attr.st_mode & 07777, 0750);
}

static void
test_canceled(void **state)
{
	static const char *const calls[][2] = {
		{ "ls", "{\"path\":\"\"}" },
		{ "read_file", "{\"file_path\":\"a\"}" },
		{ "write_file", "{\"file_path\":\"a\",\"content\":\"\"}" },
		{ "edit_file",
		    "{\"file_path\":\"a\",\"old_string\":\"a\","
		    "\"new_string\":\"b\"}" },
		{ "read_file", "{\"file_path\":\"/a\"}" },
		{ "write_file", "{\"file_path\":\"/a\",\"content\":\"\"}" },
		{ "glob", "{\"pattern\":\"*\"}" },
		{ "grep", "{\"pattern\":\"x\"}" },
		{ "execute", "{\"command\":\"true\"}" },
	};

	(void)state;
	status_set(&fake.next, STATUS_CANCELED, "cancelled");
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct tool_result r = run(calls[i][0], calls[i][1]);
		assert_true(r.canceled);
		assert_true(r.failed);
		assert_string_equal(r.text.bytes, "Error: cancelled");
		tool_result_finish(&r);
	}
	/* A failure of the way there is a result, too. */
	status_set(&fake.next, STATUS_UNAVAILABLE, "no answer");
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct tool_result r = run(calls[i][0], calls[i][1]);
		assert_true(r.failed);
		assert_false(r.canceled);
		assert_non_null(strstr(r.text.bytes, "no answer"));
		tool_result_finish(&r);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_ls),
		TEST(test_ls_outside),
		TEST(test_read),
		TEST(test_read_media),
		TEST(test_read_large),
		TEST(test_read_outside),
		TEST(test_write),
		TEST(test_write_outside),
		TEST(test_edit),
		TEST(test_edit_outside),
		TEST(test_canceled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
