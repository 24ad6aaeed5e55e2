/* What a sandbox and its service say: records, listings, marked answers,
 * answer headers. The first byte chooses. */
#include "agent/sandbox/wire.h"

#include "agent/base/path.h"
#include "agent/http/header.h"
#include "agent/sandbox/shell.h"
#include "tests/fuzz/fuzz.h"

static void
check_listing(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++) {
		must(relpath_valid(l->entries[i].path));
		must(l->entries[i].version.size >= 0);
		must(l->entries[i].version.mtime.tv_nsec < 1000000000);
	}
	listing_finish(l);
}

static void
parts(const char *s, size_t len)
{
	struct shell_part p;
	int64_t v[4];

	shell_whole(s, len);
	for (size_t n = 0; n < 3 && shell_part(s, len, "x", n, &p); n++) {
		must(p.args >= s && p.args + p.args_len <= s + len);
		must(p.body >= s && p.body + p.body_len <= s + len);
		shell_numbers(&p, v, 4);
	}
	shell_errno(s, len);
}

static void
bodies(const char *s, size_t len)
{
	struct http_response r = { .status = 404, .body = BUF_INIT(len) };
	struct wire_sandbox sandbox;
	struct listing l = { 0 };
	struct status st;
	char message[100], *output = NULL;
	int code;

	buf_add(&r.body, s, len);
	wire_fault(&r);
	wire_message(&r.body, message, sizeof message);
	must(utf8_valid(message, strlen(message)));
	if (wire_sandbox(s, len, &sandbox, &st) == 0)
		must(sandbox.id[0] && !strchr(sandbox.id, '/'));
	if (wire_executed(&r.body, &code, &output, &st) == 0)
		must(code >= -1 && code <= 255);
	free(output);
	wire_files(&r.body, "d", &l, &st);
	check_listing(&l);
	buf_finish(&r.body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t len)
{
	const char *s = (const char *)input + 1;
	auto_buf out = BUF_INIT(1 << 20);
	struct http_response r = { 0 };
	struct listing l = { 0 };
	struct status st;

	if (len-- == 0)
		return 0;
	switch (input[0] % 5) {
	case 0:
		wire_rows(s, len, input[0] & 64 ? "root" : NULL, &l, &st);
		check_listing(&l);
		break;
	case 1:
		parts(s, len);
		break;
	case 2:
		bodies(s, len);
		break;
	case 3:
		wire_gunzip(&out, s, len, &st);
		break;
	default:
		http_header_reset(&r);
		http_header_line(&r, s, len);
		must(r.retry_after_ms <= 86400000);
		break;
	}
	return 0;
}
