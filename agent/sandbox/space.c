/* Free space of the workspace's file system; see sandbox.h. */
#include "agent/sandbox/internal.h"
#include "agent/sandbox/shell.h"

int
sandbox_space(struct sandbox *sb, enum sandbox_want want,
    struct sandbox_space *out, struct cancel *c, struct status *st)
{
	struct script s;
	struct shell_part p;
	int64_t v[6];

	wait_point();
	script_init(&s, want);
	/* coreutils and BusyBox; df where stat is missing knows no inodes */
	buf_puts(&s.text,
	    "cd " SANDBOX_HOME " || echo =saf=err ENOENT\n"
	    "v=$(stat -f -c '%S %b %f %a %c %d' . 2>/dev/null) ||\n"
	    "v=$(df -Pk . | { read h; read d b u a r; echo 1024 $b $a $a 0 0; })"
	    "\necho \"=saf=space $v\"\n");
	int rc = script_run(sb, &s, c, st);
	if (rc == 0)
		rc = script_error(&s, st);
	if (rc == 0 &&
	    (!shell_part(s.answer, s.answer_len, "space", 0, &p) ||
		shell_numbers(&p, v, 6) != 6 || v[0] <= 0))
		rc = status_set(st, STATUS_IO, "the sandbox said no numbers");
	if (rc == 0)
		*out = (struct sandbox_space){ .block_size = (uint64_t)v[0],
			.blocks = (uint64_t)v[1],
			.free = (uint64_t)v[2],
			.available = (uint64_t)v[3],
			.files = (uint64_t)v[4],
			.files_free = (uint64_t)v[5] };
	script_finish(&s);
	return rc < 0 ? status_wrap(st, "free space") : 0;
}
