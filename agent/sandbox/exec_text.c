/*
 * A command's scratch files, all named $D.*:
 *
 *   run   made exclusively: only the first run of the script starts anything,
 *         and after a kill none does
 *   pid   the command's process group and when its leader was born
 *   out   its output, opened for appending: it may be cut while it grows
 *   rc    its exit code, 128+n for a signal
 *   late  the first run has stopped waiting
 *   cut   bytes cut from `out` so far
 *
 * The command is the leader of a session of its own. What waits for it is a
 * plain child of our shell outside that group, so that `kill -9 0` in there
 * still leaves an exit code; it ends the `sleep` that our shell waits for, so
 * no end is missed and nothing polls. (`true`, not `:`: the shell ends when the
 * redirection of a special built-in fails.) None of them holds the pipe that the
 * server reads. What a shell without job control starts with `&` ignores
 * SIGINT and SIGQUIT for ever; env undoes that where it can.
 */
#include "agent/sandbox/exec_text.h"

#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/shell.h"

/* The longest word that execve() takes is 128 KiB. */
#define WORD_MAX 120000
#define ENV      "'env --default-signal=INT,QUIT'"

void
exec_text_common(struct buf *script, const char *id, size_t output_max)
{
	size_t head = output_max / 2, note = MIN((size_t)EXEC_NOTE, head / 2);
	size_t tail = output_max - head - note;

	buf_printf(script, "D=" SANDBOX_SCRATCH "/x-%s\n", id);
	buf_printf(script,
	    SHELL_BORN
	    "report() {\n"
	    "rc=; [ ! -s $D.rc ] || read -r rc <$D.rc\n"
	    "pg= pb=; [ ! -s $D.pid ] || read -r pg pb <$D.pid\n"
	    "[ -z \"$pg\" ] || born $pg\n"
	    "cut=0; [ ! -s $D.cut ] || read -r cut <$D.cut\n"
	    "if [ -n \"$rc\" ]; then echo \"=saf=state ended $rc\"\n"
	    "elif [ -n \"$pg\" ] && [ \"$B\" = \"$pb\" ] && "
	    "kill -0 -$pg 2>/dev/null; then "
	    "echo \"=saf=state running $pg\"\n"
	    "elif [ -n \"$pg\" ]; then sleep 0.1; "
	    "if [ -s $D.rc ]; then read -r rc <$D.rc; "
	    "echo \"=saf=state ended $rc\"; else echo =saf=state lost; fi\n"
	    "else echo =saf=state none; fi\n"
	    "n=0; [ ! -s $D.out ] || n=$(wc -c <$D.out)\n"
	    "echo \"=saf=size $((n)) $((cut))\"\n"
	    "echo =saf=head\n"
	    "if [ $((n)) -le %zu ]; then [ $((n)) -eq 0 ] || base64 <$D.out\n"
	    "else head -c %zu $D.out | base64; echo =saf=tail\n"
	    "tail -c %zu $D.out | base64; fi; }\n",
	    output_max, head, tail);
}

void
exec_text_start(struct buf *script, const char *command, const char *cwd,
    int wait_s, int env_signals)
{
	size_t len = strlen(command);

	shell_assign(script, "W", cwd, strlen(cwd));
	shell_assign(script, "C", command, len);
	buf_puts(script,
	    "[ -d " SANDBOX_SCRATCH " ] || mkdir -p -m 700 " SANDBOX_SCRATCH
	    " 2>/dev/null\n"
	    "set -C\nif true 2>/dev/null >$D.run; then set +C\n"
	    "if cd -- \"$W\" 2>/dev/null; then\n");
	if (env_signals < 0)
		buf_puts(script,
		    "V=; v=0; if env --default-signal=INT true 2>/dev/null; "
		    "then V=" ENV "; v=1; fi; echo \"=saf=env $v\"\n"
		    /* once a start: what earlier ones left behind */
		    "find " SANDBOX_SCRATCH " -mindepth 1 -maxdepth 1 "
		    "-mmin +1440 -exec rm -rf {} + </dev/null >/dev/null 2>&1 "
		    "&\n");
	else
		buf_printf(script, "V=%s\n", env_signals > 0 ? ENV : "");
	if (len > WORD_MAX)
		/* a file instead of a word; sh reads it as it goes */
		buf_puts(script,
		    "printf '%s\\n' \"$C\" >$D.cmd; C=\". $D.cmd\"\n");
	buf_printf(script,
	    "S=sh; command -v bash >/dev/null && S=bash\n"
	    "L=; command -v setsid >/dev/null && L=setsid\n"
	    "sleep %d </dev/null >/dev/null 2>&1 &\nt=$!\n"
	    /* the variables that we were given are not the command's */
	    "(\nunset LC_ALL ZDOTDIR OLDPWD\n"
	    "$V $L $S -c \"$C\" </dev/null >>$D.out 2>&1 &\n"
	    "p=$!; born $p; echo $p $B >$D.pid; wait $p; echo $? >$D.rc\n"
	    "[ -e $D.late ] || kill $t\n"
	    ") </dev/null >/dev/null 2>&1 &\n"
	    "wait $t 2>/dev/null; [ -s $D.rc ] || true >$D.late\n"
	    "else echo =saf=err ENOENT; rm -f $D.run; fi\n"
	    /* a replay waits for the first run's command */
	    "elif [ -e $D.run ]; then set +C; i=0\n"
	    "while [ ! -s $D.rc ] && [ $i -lt %d ]; do "
	    "sleep 0.1; i=$((i+1)); done\n"
	    /* nothing can be written there: nothing can run */
	    "else set +C; e=$( { true >$D.run; } 2>&1 ); "
	    "echo \"=saf=err ${e##*: }\"; fi\n",
	    wait_s, wait_s * 10);
}

void
exec_text_kill(struct buf *script)
{
	buf_puts(script,
	    "[ -d " SANDBOX_SCRATCH " ] || mkdir -p -m 700 " SANDBOX_SCRATCH
	    " 2>/dev/null\n"
	    "set -C\nif true 2>/dev/null >$D.run; then set +C; else set +C\n"
	    "i=0; while [ ! -s $D.pid ] && [ ! -s $D.rc ] && [ $i -lt 20 ]; do "
	    "sleep 0.02; i=$((i+1)); done\n"
	    "p=; if [ -s $D.pid ] && [ ! -s $D.rc ]; then "
	    "read -r p b <$D.pid; born $p; fi\n"
	    "if [ -n \"$p\" ] && [ \"$B\" = \"$b\" ]; then\n"
	    "kill -KILL -$p 2>/dev/null || kill -KILL $p 2>/dev/null\n"
	    "i=0; while kill -0 -$p 2>/dev/null && [ $i -lt 20 ]; do "
	    "sleep 0.02; i=$((i+1)); done\n"
	    "echo =saf=killed\n"
	    "fi; fi\n");
}

void
exec_text_trim(struct buf *script, int64_t limit)
{
	buf_printf(script,
	    "n=$(wc -c <$D.out); if [ $((n)) -gt %lld ]; then\n"
	    "c=0; [ ! -s $D.cut ] || read -r c <$D.cut\n"
	    "true >$D.out; echo $((c+n)) >$D.cut; fi\n",
	    (long long)limit);
}
