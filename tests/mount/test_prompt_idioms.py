"""Contract §2 and the table of write idioms: how many turns each way of
writing `prompt` makes, and with which text. P is the prompt file, D a
directory of scratch. The model is a recorded one that says `ok`."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from saf import errno_of, run, wait_for

SHELLS = [s for s in ("bash", "dash", "zsh") if shutil.which(s)]


def settle(t, count):
    """Waits for the turns, then proves with one more prompt that no other
    came before it. RELEASE is asynchronous: give it its moment."""
    t.idle()
    if count == 0:
        time.sleep(0.2)
        t.idle()
    t.prompt("sentinel")
    t.idle()
    texts = t.prompts()
    assert texts[-1] == "sentinel"
    return texts[:-1]


def shell(t, command, shell="bash", timeout=20):
    scratch = t.mount.base / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    env = dict(os.environ, P=str(t / "prompt"), D=str(scratch), HOME=str(scratch),
               LC_ALL="C.UTF-8")
    return run(command, shell=shell, timeout=timeout, env=env)


IN_EVERY_SHELL = [
    ("echo", 'echo hi > "$P"', ["hi"]),
    ("echo-append", 'echo hi >> "$P"', ["hi"]),
    ("bin-echo", '/bin/echo hi > "$P"', ["hi"]),
    ("printf-lines", 'printf "l1\\nl2\\n" > "$P"', ["l1\nl2"]),
    ("subshell", '(echo a; echo b) > "$P"', ["a\nb"]),
    ("group-with-children",
     '{ echo a; /bin/echo d; echo b; } > "$P"', ["a\nd\nb"]),
    ("subshell-with-children",
     '(echo a; /bin/echo d; echo b) > "$P"', ["a\nd\nb"]),
    ("children-only", '{ /bin/echo a; /bin/echo b; } > "$P"', ["a\nb"]),
    ("nested", '{ echo a; (echo b; /bin/echo c); echo d; } > "$P"',
     ["a\nb\nc\nd"]),
    ("for-loop", 'for i in 1 2 3; do echo $i; done > "$P"', ["1\n2\n3"]),
    ("for-children", 'for i in 1 2 3; do /bin/echo $i; done > "$P"',
     ["1\n2\n3"]),
    ("while-read", 'printf "x\\ny\\n" | while read l; do echo "<$l>"; done > "$P"',
     ["<x>\n<y>"]),
    ("heredoc", 'cat > "$P" <<EOF\nfirst\nsecond\nEOF', ["first\nsecond"]),
    ("exec-twice", 'exec 3> "$P"; echo one >&3; echo two >&3; exec 3>&-',
     ["one", "two"]),
    ("exec-twice-with-child",
     'exec 3> "$P"; echo one >&3; /bin/true; echo two >&3; exec 3>&-',
     ["one", "two"]),
    ("clear", ': > "$P"', []),
    ("clear-append", ': >> "$P"', []),
    ("three-appends", 'for i in 1 2 3; do echo $i >> "$P"; done',
     ["1", "2", "3"]),
    ("tee", 'echo hi | tee "$P" > /dev/null', ["hi"]),
    ("tee-append", 'echo hi | tee -a "$P" > /dev/null', ["hi"]),
    ("cp", 'echo hi > "$D/x"; cp "$D/x" "$P"', ["hi"]),
    ("read-write", 'echo hi 1<> "$P"', ["hi"]),
    ("slow-pipe", '(echo a; sleep 0.3; echo b) | cat > "$P"', ["a\nb"]),
]


@pytest.mark.parametrize("which", SHELLS)
@pytest.mark.parametrize("command,texts", [c[1:] for c in IN_EVERY_SHELL],
                         ids=[c[0] for c in IN_EVERY_SHELL])
def test_in_every_shell(parrot, which, command, texts):
    p = shell(parrot, command, which)
    assert (p.returncode, p.stderr) == (0, "")
    assert settle(parrot, len(texts)) == texts


ONCE = [
    ("echo-n", 'echo -n hi > "$P"', ["hi"]),
    ("here-string", 'cat <<< hi > "$P"', ["hi"]),
    ("process-substitution", 'cat <(echo a; echo b) > "$P"', ["a\nb"]),
    ("cat-two", 'echo a > $D/a; echo b > $D/b; cat $D/a $D/b > "$P"', ["a\nb"]),
    ("truncate", 'truncate -s 0 "$P"', []),
    ("touch", 'touch "$P"', []),
    ("touch-date", 'touch -d 2001-01-01 "$P"', []),
    ("chmod", 'chmod 600 "$P"', []),
    ("cp-empty", 'cp /dev/null "$P"', []),
    ("printf-nothing", 'printf "" > "$P"', []),
    ("blank", 'echo > "$P"', []),
    ("white-space", 'printf "  \\t\\n \\r\\n\\n" > "$P"', []),
    ("dd", 'echo hi | dd of="$P" status=none', ["hi"]),
    ("dd-notrunc", 'echo hi | dd of="$P" conv=notrunc status=none', ["hi"]),
    ("dd-bytes", 'printf "many small writes" | dd of="$P" bs=1 status=none',
     ["many small writes"]),
    ("dd-fsync", 'echo hi | dd of="$P" conv=fsync status=none', ["hi"]),
    ("dd-seek", 'printf hi | dd of="$P" bs=4 seek=2 conv=notrunc status=none',
     ["hi"]),
    ("rsync-inplace", 'echo hi > $D/x; rsync --inplace $D/x "$P"', ["hi"]),
    ("install-no", 'echo hi > $D/x; cat $D/x > "$P" && rm $D/x', ["hi"]),
    ("awk", "awk 'BEGIN { print \"hi\" > ENVIRON[\"P\"] }'", ["hi"]),
    ("awk-lines",
     "awk 'BEGIN { f = ENVIRON[\"P\"]; print \"a\" > f; print \"b\" > f }'",
     ["a\nb"]),
    ("perl", "perl -e 'open F, \">\", $ENV{P}; print F \"hi\\n\"; close F'",
     ["hi"]),
    ("sed-w", 'echo hi | sed -n "w $P"', ["hi"]),
    ("sort-o", 'printf "b\\na\\n" | sort -o "$P"', ["a\nb"]),
    ("curl", 'echo hi > $D/x; curl -s -o "$P" "file://$D/x"', ["hi"]),
    ("tee-twice", 'echo hi | tee "$P" "$P" > /dev/null', ["hi", "hi"]),
    ("crlf", 'printf "a\\r\\nb\\r\\n" > "$P"', ["a\r\nb"]),
    ("two-line-ends", 'printf "hi\\n\\n" > "$P"', ["hi\n"]),
    ("no-line-end", 'printf hi > "$P"', ["hi"]),
    ("bom", 'printf "\\357\\273\\277hi\\n" > "$P"', ["hi"]),
    ("leading-blanks", 'printf "  hi \\n" > "$P"', ["  hi "]),
    ("utf8", 'echo "北京 🤣 é" > "$P"', ["北京 🤣 é"]),
    ("emoji", 'printf "\\360\\237\\244\\243" > "$P"', ["🤣"]),
    ("python-text", "python3 -c \"import os; open(os.environ['P'],'w')"
     ".write('hi\\n')\"", ["hi"]),
    ("python-append", "python3 -c \"import os; open(os.environ['P'],'a')"
     ".write('hi\\n')\"", ["hi"]),
    ("python-update", "python3 -c \"import os; f=open(os.environ['P'],'r+');"
     "f.write('hi'); f.close()\"", ["hi"]),
    ("python-open-close", "python3 -c \"import os; open(os.environ['P'],'w')"
     ".close(); open(os.environ['P'],'a').close()\"", []),
    ("python-child-between", "python3 -c \"import os,subprocess\n"
     "f=open(os.environ['P'],'w'); f.write('a'); f.flush()\n"
     "subprocess.run(['true'],close_fds=False,pass_fds=[f.fileno()])\n"
     "f.write('b'); f.close()\"", ["ab"]),
    ("python-fork-between", "python3 -c \"import os\n"
     "fd=os.open(os.environ['P'],os.O_WRONLY)\n"
     "for i in range(4):\n"
     " os.write(fd,b'%d' % i); p=os.fork()\n"
     " if p==0: os.close(fd); os._exit(0)\n"
     " os.waitpid(p,0)\n"
     "os.close(fd)\"", ["0123"]),
    ("python-dup", "python3 -c \"import os\n"
     "a=os.open(os.environ['P'],os.O_WRONLY); b=os.dup(a)\n"
     "os.write(a,b'one'); os.close(a); os.write(b,b'two'); os.close(b)\"",
     ["one", "two"]),
    ("python-two-opens", "python3 -c \"import os\n"
     "a=os.open(os.environ['P'],os.O_WRONLY); b=os.open(os.environ['P'],1)\n"
     "os.write(a,b'1'); os.write(b,b'2'); os.write(a,b'1'); os.write(b,b'2')\n"
     "os.close(b); os.close(a)\"", ["22", "11"]),
    ("python-cut", "python3 -c \"import os\n"
     "f=os.open(os.environ['P'],os.O_WRONLY); os.write(f,b'hello world')\n"
     "os.ftruncate(f,5); os.close(f)\"", ["hello"]),
    ("python-cut-to-nothing", "python3 -c \"import os\n"
     "f=os.open(os.environ['P'],os.O_WRONLY); os.write(f,b'hello world')\n"
     "os.ftruncate(f,0); os.close(f)\"", []),
    ("python-overwrite", "python3 -c \"import os\n"
     "f=os.open(os.environ['P'],os.O_WRONLY); os.pwrite(f,b'hello',0)\n"
     "os.pwrite(f,b'J',0); os.close(f)\"", ["Jello"]),
    ("python-append-many", "python3 -c \"import os\n"
     "f=os.open(os.environ['P'],os.O_WRONLY|os.O_APPEND)\n"
     "for c in b'abcdef': os.write(f,bytes([c]))\n"
     "os.close(f)\"", ["abcdef"]),
    ("python-fsync", "python3 -c \"import os\n"
     "f=os.open(os.environ['P'],os.O_WRONLY); os.write(f,b'a'); os.fsync(f)\n"
     "os.write(f,b'b'); os.close(f)\"", ["ab"]),
    ("python-thread-closes", "python3 -c \"import os,threading\n"
     "f=os.open(os.environ['P'],os.O_WRONLY); os.write(f,b'hi')\n"
     "t=threading.Thread(target=os.close,args=[f]); t.start(); t.join()\"",
     ["hi"]),
    ("killed-child", '{ echo a; sh -c \'echo b; kill -9 $$\'; echo c; } '
     '> "$P" 2>/dev/null; true', ["a\nb\nc"]),
    ("writer-fails", '{ echo a; false; } > "$P"; true', ["a"]),
    ("writer-exits-3", "sh -c 'echo a; exit 3' > \"$P\"; true", ["a"]),
    ("exec-then-exit", 'exec > "$P"; echo one; echo two', ["one\ntwo"]),
    ("vim", 'vim -es -u NONE -c "call setline(1, \\"from vim\\")" -c "wq!" "$P"; '
     'true', ["from vim"]),
]


@pytest.mark.parametrize("command,texts", [c[1:] for c in ONCE],
                         ids=[c[0] for c in ONCE])
def test_once(parrot, command, texts):
    p = shell(parrot, command)
    assert p.returncode == 0, p.stderr
    assert settle(parrot, len(texts)) == texts


@pytest.mark.skipif(not shutil.which("node"), reason="no node here")
def test_node(parrot):
    p = shell(parrot, "node -e \"require('fs').writeFileSync(process.env.P,"
              "'hi\\n')\"")
    assert p.returncode == 0, p.stderr
    assert settle(parrot, 1) == ["hi"]


@pytest.mark.skipif(not shutil.which("emacs"), reason="no emacs here")
def test_emacs(parrot):
    p = shell(parrot, "emacs --batch -Q \"$P\" --eval '(progn (erase-buffer) "
              "(insert \"hi\\n\") (save-buffer))'")
    assert p.returncode == 0, p.stderr
    assert settle(parrot, 1) == ["hi"]


@pytest.mark.skipif(not shutil.which("nano"), reason="no nano here")
def test_nano(parrot):
    """It wants a terminal: script(1) gives one. Ctrl-O, Enter, Ctrl-X."""
    p = shell(parrot, r"""
(sleep 1; printf 'from nano'; sleep 0.3; printf '\017'; sleep 0.3; printf '\r'
sleep 0.5; printf '\030'; sleep 0.5) |
TERM=vt100 timeout 15 script -qec "nano -I \"$P\"" /dev/null > /dev/null""")
    assert p.returncode == 0, p.stderr
    assert settle(parrot, 1) == ["from nano"]


@pytest.mark.parametrize("command", [
    'sed -i s/a/b/ "$P"',
    'echo x > $D/x; rsync $D/x "$P"',
    'echo x > $D/x; cp --remove-destination $D/x "$P"',
    'echo x > $D/x; install $D/x "$P"',
    'echo x > $D/x; mv -f $D/x "$P"',
], ids=["sed-i", "rsync", "cp-remove-destination", "install", "mv"])
def test_saving_through_a_new_name_is_refused(parrot, command):
    p = shell(parrot, command)
    assert p.returncode != 0
    assert settle(parrot, 0) == []


def test_big_texts_arrive_whole(parrot):
    text = "".join(f"line {i} of a long prompt, é\n" for i in range(12000))
    (parrot.mount.base / "big").write_text(text)
    for i, command in enumerate(['cat {} > "$P"', 'cp {} "$P"',
                                 'dd if={} of="$P" bs=1M status=none',
                                 'head -c 400000 {} > "$P"']):
        p = shell(parrot, command.format(parrot.mount.base / "big"))
        assert p.returncode == 0, p.stderr
        parrot.idle()
        want = text.rstrip("\n")
        if "head" in command:
            want = text.encode()[:400000].decode()
            want = want[:-1] if want.endswith("\n") else want
        assert parrot.prompts()[i] == want


def test_a_mebibyte_is_not_too_much(parrot):
    text = "x" * (1 << 20)
    parrot.prompt(text)
    parrot.idle()
    assert parrot.prompts() == [text]


def test_a_child_that_lives_on_does_not_hold_the_prompt_back(parrot):
    """The sleep has inherited descriptor 3."""
    p = subprocess.Popen(
        ["bash", "-c", f"exec 3> '{parrot / 'prompt'}'; sleep 3600 & "
         "echo $!; echo hi >&3; exec 3>&-"], stdout=subprocess.PIPE, text=True)
    sleeper = int(p.stdout.readline())
    try:
        p.wait(10)
        assert wait_for(lambda: parrot.prompts() == ["hi"], 5)
    finally:
        os.kill(sleeper, signal.SIGKILL)
    assert settle(parrot, 1) == ["hi"]


def test_an_idle_descriptor_changes_nothing(parrot):
    fd = os.open(parrot / "prompt", os.O_WRONLY)
    try:
        assert parrot.state()["phase"] == "idle"
        assert parrot.ask("hi") == "idle"
        assert parrot.prompts() == ["hi"]
    finally:
        os.close(fd)


def test_receiving_only_while_text_is_unsent(parrot):
    fd = os.open(parrot / "prompt", os.O_WRONLY)
    os.write(fd, b"unsent")
    assert parrot.state()["phase"] == "receiving"
    os.ftruncate(fd, 0)
    assert parrot.state()["phase"] == "idle"
    os.write(fd, b"sent")
    os.close(fd)
    parrot.idle()
    assert parrot.prompts() == ["sent"]


SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "KILL": signal.SIGKILL,
           "HUP": signal.SIGHUP}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_killed_writer_did_not_finish(parrot, name):
    p = subprocess.Popen(["bash", "-c", 'exec cat > "$0"', parrot / "prompt"],
                         stdin=subprocess.PIPE)
    p.stdin.write(b"half a text")
    p.stdin.flush()
    assert wait_for(lambda: parrot.state()["phase"] == "receiving", 5)
    p.send_signal(SIGNALS[name])
    p.wait(10)
    p.stdin.close()
    assert wait_for(lambda: parrot.state()["phase"] != "receiving", 5)
    log = parrot.log()
    assert settle(parrot, 0) == []
    assert len([l for l in log.splitlines() if not l.startswith("    ")]) == 1


@pytest.mark.parametrize("name", ["TERM", "KILL", "INT"])
def test_a_killed_shell_did_not_finish(parrot, name):
    p = subprocess.Popen(["bash", "-c", '{ echo part; sleep 60; } > "$0"',
                          parrot / "prompt"], start_new_session=True)
    assert wait_for(lambda: parrot.state()["phase"] == "receiving", 5)
    os.killpg(p.pid, SIGNALS[name])
    p.wait(10)
    assert p.returncode == -SIGNALS[name]
    assert settle(parrot, 0) == []


def test_timeout_discards(parrot):
    p = shell(parrot, "timeout 0.5 bash -c 'echo part; sleep 20' > \"$P\"")
    assert p.returncode == 124
    # timeout is the opener and ends by itself: a plain end of writing.
    assert settle(parrot, 1) == ["part"]


def test_timeout_around_the_open_discards(parrot):
    p = shell(parrot, "timeout 0.5 bash -c 'cat > \"$P\"' < <(echo part; "
              "sleep 2)")
    assert p.returncode == 124
    assert settle(parrot, 0) == []


def test_killed_before_the_first_byte(parrot):
    p = subprocess.Popen(["cat"], stdin=subprocess.PIPE,
                         stdout=open(parrot / "prompt", "w"))
    p.kill()
    p.wait()
    p.stdin.close()
    assert settle(parrot, 0) == []


def test_gaps_and_steps_back_are_refused(parrot):
    fd = os.open(parrot / "prompt", os.O_WRONLY)
    os.pwrite(fd, b"abc", 10)
    os.pwrite(fd, b"def", 13)
    os.close(fd)
    for bad in (20, 5):
        fd = os.open(parrot / "prompt", os.O_WRONLY)
        os.pwrite(fd, b"abc", 10)
        assert errno_of(lambda: os.pwrite(fd, b"x", bad)) == "EINVAL"
        os.close(fd)
    # What was refused once is no prompt.
    assert settle(parrot, 1) == ["abcdef"]


def test_reading_gives_the_newest_text_and_one_line_end(parrot):
    assert parrot.text("prompt") == ""
    for text, shown in [("one", "one\n"), ("two\n", "two\n"),
                        ("three\n\n", "three\n\n")]:
        parrot.ask(text)
        assert parrot.text("prompt") == shown
    fd = os.open(parrot / "prompt", os.O_RDWR)
    assert os.read(fd, 100) == b"three\n\n"
    os.close(fd)


def test_two_writers_at_once(parrot):
    """Neither is lost, none is mixed."""
    p = shell(parrot, 'for i in 1 2 3 4 5; do (printf "a$i "; sleep 0.05; '
              'printf "b$i\\n") > "$P" & done; wait')
    assert p.returncode == 0, p.stderr
    texts = settle(parrot, 5)
    assert sorted(texts) == [f"a{i} b{i}" for i in range(1, 6)]


def test_prompts_queue_in_order(mnt, request):
    model = mnt.script("slow.jsonl", {"content": "ok", "delay_ms": 60})
    t = mnt.thread("queue", f"model = {model}\n")
    for i in range(12):
        t.prompt(f"number {i}")
    assert t.idle()["turn"] == 12
    assert t.prompts() == [f"number {i}" for i in range(12)]
    kinds = [m["type"] for m in t.messages()]
    assert kinds == ["human", "ai"] * 12


def test_never_idle_between_echo_and_the_end(mnt):
    model = mnt.script("slow.jsonl", {"content": "ok", "delay_ms": 60})
    t = mnt.thread("never-idle", f"model = {model}\n")
    for i in range(20):
        t.prompt(f"number {i}")
        state = t.state()
        assert state["phase"] in ("queued", "running") or state["turn"] > i
        if state["phase"] == "idle":
            assert len(t.messages()) == 2 * (i + 1)
        t.idle()


def test_an_interrupted_echo_is_not_sent_twice(parrot):
    """Ctrl-Z and Ctrl-C around the close: tools retry after EINTR."""
    for _ in range(10):
        p = subprocess.Popen(["bash", "-c", '/bin/echo once > "$0"',
                              parrot / "prompt"])
        for s in (signal.SIGSTOP, signal.SIGCONT) * 2:
            try:
                p.send_signal(s)
            except ProcessLookupError:
                break
        p.wait(10)
    parrot.idle()
    assert settle(parrot, 10) == ["once"] * 10
