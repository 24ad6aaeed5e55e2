/*
 * The shell text of a batch. Its scratch files, all named $D.*:
 *
 *   run   pid and birth of the run that does the work; made exclusively
 *   log   a line an operation that is done: its number and how it ended
 *   fin   the batch is over: a run that finds it only tells the log
 *   N     content of PUT number N, moved away by it
 *   rows  of files whose names only the script knew (clashes)
 *
 * A run that finds another alive waits for it; one that finds it dead goes on
 * behind the last line of the log. What the dead one may have done without
 * writing its line is looked for: moved content is gone from its temporary
 * name, a renamed source is gone, a link is there.
 */
#include "agent/sandbox/push_text.h"

#include <fcntl.h>

#include "agent/base/path.h"
#include "agent/sandbox/shell.h"

/* P: the path, Q: the second one, I: the operation's number. F: what failed,
 * each between two slashes, so that a rename of it is no success. */
static const char functions[] =
    "F=//; NL='\n'\n"
    "r() { printf '%s\\n' \"$I $1\" >>$D.log\n"
    "case $1 in ok|same|conflict*) ;; *) F=\"$F$P//$Q//\";; esac; }\n"
    "er() { e=${e##*: }; r \"${e:-EIO}\"; }\n"
    "n() { I=$1; [ -n \"$J\" ] || return 0\n"
    "case \"$NL$J\" in *\"$NL$1 \"*) return 1;; esac; }\n"
    "x() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
    /* what is at P: vi ino vs size vm vc times vn links vp mode vt type */
    "V() { if [ $G = 1 ]; then v=$(find \"$P\" -maxdepth 0 -printf "
    "'%i %s %T@ %C@ %n %m %y' 2>/dev/null)\n"
    "else v=$(stat -c '%i %s %Y %Z %h %a %F' -- \"$P\" 2>/dev/null); fi\n"
    "set -- $v; vi=$1 vs=$2 vm=$3 vc=$4 vn=$5 vp=$6 vt=$7; "
    "case $vt in regular) vt=f;; directory) vt=d;; esac; }\n"
    "held() { for f in /proc/[0-9]*/fd/*; do "
    "[ ! \"$f\" -ef \"$P\" ] || return 0; done; return 1; }\n"
    /* times: -m or -a, seconds or -, file */
    "tm() { if [ \"$2\" = - ]; then touch -c -h $1 -- \"$3\"\n"
    "else touch -c -h $1 -d \"@$2\" -- \"$3\" 2>/dev/null || "
    "touch -c -h $1 -d \"@${2%.*}\" -- \"$3\"; fi; }\n";

/* put: mode time check base-ino base-size base-mtime base-ctime; K: the name
 * for a clash, C: the content. */
static const char function_put[] =
    "place() { [ $m = 644 ] || chmod $m \"$C\" 2>/dev/null; "
    "tm -m $w \"$C\" 2>/dev/null; }\n"
    "put() { m=$1 w=$2\n"
    "if [ ! -e \"$C\" ]; then if [ -e \"$P\" ]; then r ok; "
    "else r ENOENT; fi; return; fi\n"
    "if ! x \"$P\"; then\n"
    "[ $m != - ] || m=644; place\n"
    "e=$(mv -nT -- \"$C\" \"$P\" 2>&1)\n"
    "if [ ! -e \"$C\" ]; then r ok; elif x \"$P\"; then put \"$@\"; "
    "else er; fi; return; fi\n"
    "V; l=1; [ -L \"$P\" ] || l=0\n"
    "bm=$6 bc=$7; [ $G = 1 ] || { bm=${bm%.*}; bc=${bc%.*}; }\n"
    "case $3 in force) k=0;; new) k=1;; *) k=1\n"
    "case \"$vi $vs $vm $vc\" in \"$4 $5 $bm\"*\" $bc\"*) k=0;; esac;; esac\n"
    "[ \"$vt\" != d ] || k=1\n"
    "if [ $k = 1 ]; then\n"
    "if [ \"$vt\" = f ] && [ $l = 0 ] && cmp -s \"$C\" \"$P\"; then "
    "rm -f \"$C\"; r same; return; fi\n"
    "[ $m != - ] || m=644; place; i=1; T=$K\n"
    "while x \"$T\"; do if [ ! -L \"$T\" ] && cmp -s \"$C\" \"$T\"; then "
    "break; fi; i=$((i+1)); T=$K-$i; done\n"
    "e=$(mv -fT -- \"$C\" \"$T\" 2>&1)\n"
    "if [ -e \"$C\" ]; then er; else E \"$T\" >>$D.rows; "
    "r \"conflict $i\"; fi; return; fi\n"
    "[ $m != - ] || m=$vp\n"
    "if [ \"$vt\" = f ] && [ $l = 0 ] && [ -w \"$P\" ] && "
    "{ [ $vn -gt 1 ] || [ ! -O \"$P\" ] || held; }; then\n"
    "e=$( { cat \"$C\" >\"$P\"; } 2>&1 ) || { er; return; }\n"
    "[ $m = $vp ] || chmod $m -- \"$P\" 2>/dev/null\n"
    "tm -m $w \"$P\" 2>/dev/null; rm -f \"$C\"; r ok; return; fi\n"
    "place; e=$(mv -fT -- \"$C\" \"$P\" 2>&1)\n"
    "if [ -e \"$C\" ]; then er; else r ok; fi; }\n";

static const char functions_names[] =
    "md() { if e=$(mkdir -m $1 -- \"$P\" 2>&1) || "
    "{ [ -d \"$P\" ] && [ ! -L \"$P\" ]; }; then r ok; else er; fi; }\n"
    "rd() { if ! x \"$P\" || e=$(rmdir -- \"$P\" 2>&1); then r ok; "
    "else er; fi; }\n"
    "un() { if [ -d \"$P\" ] && [ ! -L \"$P\" ]; then r EISDIR\n"
    "elif ! x \"$P\" || e=$(rm -f -- \"$P\" 2>&1); then r ok; "
    "else er; fi; }\n"
    /* the source is gone: done by an earlier run, or it never was */
    "gone() { x \"$Q\" || { r ENOENT; return; }\n"
    "case $F in *\"//$P//\"*) r ENOENT;; *) r ok;; esac; }\n"
    "mo() { if ! x \"$P\"; then gone\n"
    "elif e=$(mv -fT -- \"$P\" \"$Q\" 2>&1); then r ok; else er; fi; }\n"
    "mn() { if ! x \"$P\"; then gone\n"
    "elif x \"$Q\"; then if [ ! -L \"$P\" ] && [ ! -d \"$P\" ] && "
    "[ \"$P\" -ef \"$Q\" ]; then rm -f -- \"$P\"; r ok; else r EEXIST; fi\n"
    "elif [ -d \"$P\" ] && [ ! -L \"$P\" ]; then\n"
    "if e=$(mkdir -- \"$Q\" 2>&1); then "
    "if e=$(mv -T -- \"$P\" \"$Q\" 2>&1); then r ok; "
    "else rmdir -- \"$Q\" 2>/dev/null; er; fi; else er; fi\n"
    "elif e=$(ln -T -- \"$P\" \"$Q\" 2>&1); then "
    "if e=$(rm -f -- \"$P\" 2>&1); then r ok; "
    "else rm -f -- \"$Q\"; er; fi\n"
    /* a file system without hard links */
    "elif x \"$Q\"; then r EEXIST\n"
    "else e=$(mv -nT -- \"$P\" \"$Q\" 2>&1); "
    "if x \"$P\"; then er; else r ok; fi; fi; }\n"
    "xc() { X=$D.x$I\n"
    "if ! x $X && e=$(mv --exchange -T -- \"$P\" \"$Q\" 2>&1); then r ok; "
    "return; fi\n"
    "x $X || e=$(mv -T -- \"$P\" $X 2>&1) || { er; return; }\n"
    "x \"$P\" || e=$(mv -T -- \"$Q\" \"$P\" 2>&1) || "
    "{ mv -T -- $X \"$P\" 2>/dev/null; er; return; }\n"
    "if e=$(mv -T -- $X \"$Q\" 2>&1); then r ok; else er; fi; }\n"
    "sl() { if [ -L \"$P\" ] && "
    "[ \"$(readlink -n -- \"$P\"; printf .)\" = \"$Q.\" ]; then r ok\n"
    "elif x \"$P\"; then r EEXIST\n"
    "elif e=$(ln -s -T -- \"$Q\" \"$P\" 2>&1); then r ok; else er; fi; }\n"
    "hl() { if x \"$Q\"; then if [ ! -L \"$P\" ] && "
    "[ \"$P\" -ef \"$Q\" ]; then r ok\n"
    /* the link of an earlier run, to what an earlier PUT had made */
    "elif [ -f \"$P\" ] && [ -f \"$Q\" ] && [ ! -L \"$Q\" ] && "
    "cmp -s -- \"$P\" \"$Q\" && ln -f -T -- \"$P\" \"$Q\" "
    "2>/dev/null; then r ok\n"
    "else r EEXIST; fi\n"
    "elif e=$(ln -T -- \"$P\" \"$Q\" 2>&1); then r ok; else er; fi; }\n"
    "cm() { if e=$(chmod $1 -- \"$P\" 2>&1); then r ok; else er; fi; }\n"
    "ut() { if ! x \"$P\"; then r ENOENT\n"
    "elif e=$( { tm -m $1 \"$P\" && tm -a $2 \"$P\"; } 2>&1 ); then r ok; "
    "else er; fi; }\n";

void
push_text_begin(struct buf *script, const char *id)
{
	buf_printf(script, "D=" SANDBOX_SCRATCH "/p-%s\n", id);
	buf_puts(script,
	    "umask 022\n"
	    "[ -d " SANDBOX_SCRATCH " ] || mkdir -p -m 700 " SANDBOX_SCRATCH
	    " 2>/dev/null\n");
	buf_puts(script, SHELL_BORN);
	buf_puts(script, functions);
	buf_puts(script, function_put);
	buf_puts(script, functions_names);
	buf_puts(script,
	    "born $$\nset -C\n"
	    "if echo $$ $B 2>/dev/null >$D.run; then set +C; else set +C\n"
	    "o= b=; read -r o b 2>/dev/null <$D.run; i=0\n"
	    "while [ -n \"$o\" ] && [ ! -e $D.fin ] && [ $i -lt 200 ] && "
	    "kill -0 $o 2>/dev/null; do\n"
	    "born $o; [ \"$B\" = \"$b\" ] || break\n"
	    "sleep 0.1; i=$((i+1)); done\n"
	    "[ $i -lt 200 ] || echo '=saf=err Device or resource busy'\n"
	    "born $$; echo $$ $B >$D.run || echo '=saf=err EACCES'; fi\n"
	    "J=; [ ! -e $D.log ] || J=$(cat $D.log)\n"
	    "if [ ! -e $D.fin ] && [ ${i:-0} -lt 200 ]; then\n");
}

/* Seconds with nine digits; "-" is now. */
static void
add_time(struct buf *b, const struct timespec *t)
{
	if (t->tv_nsec == UTIME_OMIT || t->tv_nsec == UTIME_NOW)
		buf_putc(b, '-');
	else
		buf_printf(b, "%lld.%09ld", (long long)t->tv_sec, t->tv_nsec);
}

char *
push_conflict_path(const char *path, int64_t n)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t room = PATH_NAME_MAX - strlen(".conflict-999");
	size_t keep = utf8_prefix(name, strlen(name), room);
	char number[24] = "";

	if (n > 1)
		snprintf(number, sizeof number, "-%lld", (long long)n);
	return xasprintf("%.*s%.*s.conflict%s", (int)(name - path), path,
	    (int)keep, name, number);
}

static void
add_put(struct buf *b, size_t i, const struct push_op *op,
    const struct buf *content)
{
	auto_free char *clash = push_conflict_path(op->path, 1);

	if (content && content->len > 0) {
		buf_printf(b, "base64 -d >$D.%zu <<'=saf='\n", i);
		buf_base64(b, content->bytes, content->len);
		buf_puts(b, "\n=saf=\n");
	} else if (content) {
		buf_printf(b, "true >$D.%zu\n", i);
	}
	shell_path(b, "K", clash);
	buf_printf(b, "C=$D.%zu\nput ", i);
	if (op->mode == (mode_t)-1)
		buf_putc(b, '-');
	else
		buf_printf(b, "%o", op->mode & 07777);
	buf_putc(b, ' ');
	add_time(b, &op->mtime);
	buf_printf(b, " %s",
	    op->force           ? "force"
		: op->have_base ? "base"
				: "new");
	if (op->have_base && !op->force) {
		buf_printf(b, " %llu %lld ", (unsigned long long)op->base.ino,
		    (long long)op->base.size);
		add_time(b, &op->base.mtime);
		buf_putc(b, ' ');
		add_time(b, &op->base.ctime);
	}
	buf_putc(b, '\n');
}

static const char *
plain_word(enum push_kind kind)
{
	switch (kind) {
	case PUSH_RMDIR:
		return "rd";
	case PUSH_UNLINK:
		return "un";
	case PUSH_RENAME:
		return "mo";
	case PUSH_RENAME_NOREPLACE:
		return "mn";
	case PUSH_EXCHANGE:
		return "xc";
	case PUSH_SYMLINK:
		return "sl";
	case PUSH_LINK:
		return "hl";
	case PUSH_PUT:
	case PUSH_MKDIR:
	case PUSH_CHMOD:
	case PUSH_UTIMENS:
		break;
	}
	return NULL;
}

void
push_text_op(struct buf *b, size_t i, const struct push_op *op,
    const struct buf *content)
{
	shell_path(b, "P", op->path);
	if (op->kind == PUSH_SYMLINK)
		shell_assign(b, "Q", op->path2, strlen(op->path2));
	else if (op->path2)
		shell_path(b, "Q", op->path2);
	else
		buf_puts(b, "Q=\n");
	buf_printf(b, "if n %zu; then\n", i);
	if (op->kind == PUSH_PUT)
		add_put(b, i, op, content);
	else if (op->kind == PUSH_MKDIR || op->kind == PUSH_CHMOD)
		buf_printf(b, "%s %o\n", op->kind == PUSH_MKDIR ? "md" : "cm",
		    op->mode & 07777);
	else if (op->kind == PUSH_UTIMENS) {
		buf_puts(b, "ut ");
		add_time(b, &op->mtime);
		buf_putc(b, ' ');
		add_time(b, &op->atime);
		buf_putc(b, '\n');
	} else
		buf_printf(b, "%s\n", plain_word(op->kind));
	buf_puts(b, "fi\n");
}

void
push_text_end(struct buf *b, const char *const *paths, size_t count, bool sync)
{
	buf_puts(b, "true >$D.fin; fi\nset --");
	for (size_t i = 0; i < count; i++) {
		if (!utf8_valid(paths[i], strlen(paths[i])))
			continue;
		auto_free char *whole = xasprintf(SANDBOX_HOME "/%s", paths[i]);
		buf_putc(b, ' ');
		buf_shell_quote(b, whole, strlen(whole));
	}
	buf_putc(b, '\n');
	for (size_t i = 0; i < count; i++) {
		if (utf8_valid(paths[i], strlen(paths[i])))
			continue;
		shell_path(b, "P", paths[i]);
		buf_puts(b, "set -- \"$@\" \"$P\"\n");
	}
	if (sync)
		buf_puts(b,
		    "( for f; do set -- \"$@\" \"${f%/*}\"; done\n"
		    "sync -- \"$@\" 2>/dev/null || sync )\n");
	buf_puts(b,
	    "echo =saf=res; [ ! -e $D.log ] || cat $D.log\n"
	    "printf '\\n=saf=rows\\n'\n"
	    "{ [ $# = 0 ] || E \"$@\"; [ ! -e $D.rows ] || cat $D.rows; } "
	    "| base64\n");
}
