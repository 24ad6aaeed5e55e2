"""The turn: commands that hang other systems, background processes, tools."""
import os
import re
import time

import pytest

from saf import descendants, run, wait_for


def result(t):
    """The last tool message."""
    return [m for m in t.messages() if m["type"] == "tool"][-1]


AWKWARD = [
    ("exit-3", "exit 3", 3, ""),
    ("kill-itself", "kill -9 $$", 137, ""),
    ("term-itself", "kill $$", 143, ""),
    ("no-input", "cat", 0, ""),
    ("read", "read x; echo got:$x:", 0, "got::"),
    ("python-input", "python3 -c 'input()'", 1, "EOF"),
    ("syntax-error", "if true; then", 2, "yntax error"),
    ("unclosed-quote", "echo 'abc", None, ""),
    ("comment-at-end", "echo hi # comment", 0, "hi"),
    ("only-comment", "# nothing", 0, ""),
    ("backslash-at-end", "echo hi \\", 0, "hi"),
    ("heredoc", "cat <<X\nin here\nX", 0, "in here"),
    ("unended-heredoc", "cat <<X\nin here", None, "in here"),
    ("many-lines", "echo a\necho b\n\necho c", 0, "a\nb\nc"),
    ("setsid", "setsid sleep 100 & echo on", 0, "on"),
    ("background", "sleep 100 & echo on", 0, "on"),
    ("nohup", "nohup sleep 100 > /dev/null 2>&1 & echo on", 0, "on"),
    ("background-holds-output", "(sleep 100; echo never) & echo on", 0, "on"),
    ("exec", "exec echo replaced", 0, "replaced"),
    ("not-found", "no-such-command-x", 127, "not found"),
    ("not-executable", "/etc/passwd", 126, "denied"),
    ("stderr", "echo err >&2", 0, "err"),
    ("order", "echo 1; echo 2 >&2; echo 3", 0, "1\n2\n3"),
    ("cd-missing", "cd /nowhere", 1, "o such"),
    ("quotes", "echo \"a 'b' \\\"c\\\" \\$d `echo e`\"", 0, "a 'b' \"c\" $d e"),
    ("unicode", "echo '北京 🤣'", 0, "北京 🤣"),
    ("not-utf8", "printf '\\377\\376ok'", 0, "ok"),
    ("nul", "printf 'a\\0b'", 0, "b"),
    ("no-final-newline", "printf abc", 0, "abc"),
    ("bash-only", "[[ a == a ]] && x=(1 2 3) && echo ${#x[@]}", 0, "3"),
    ("pipe-fails", "false | true", 0, ""),
    ("closes-stdout", "exec >&-; echo lost", None, ""),
    ("set-e", "set -e; false; echo never", 1, ""),
    ("trap", "trap 'echo bye' EXIT; exit 5", 5, "bye"),
    ("long-line", "echo " + "y" * 100000, 0, "yyyy"),
    ("traps-everything", "trap '' TERM INT HUP; echo ok", 0, "ok"),
    ("renames-home", "mkdir -p a b; cd a; rmdir ../a; pwd; echo ok", 0, "ok"),
]


@pytest.mark.parametrize("command,status,shows", [c[1:] for c in AWKWARD],
                         ids=[c[0] for c in AWKWARD])
def test_ends_at_once_with_its_exit_code(workspace, command, status, shows):
    begin = time.monotonic()
    assert workspace.ask(command) == "idle"
    assert time.monotonic() - begin < 5
    m = result(workspace)
    if status is not None:
        assert m["exit_code"] == status, m
    assert shows in m["content"].replace("\\n", "\n")


@pytest.mark.limit(120)
def test_fifty_megabytes_of_output(workspace):
    begin = time.monotonic()
    assert workspace.ask("head -c 52428800 /dev/zero | tr '\\0' x; echo; "
                         "echo tail-end", 100) == "idle"
    assert time.monotonic() - begin < 60
    m = result(workspace)
    assert m["exit_code"] == 0
    assert len(m["content"]) < 1_000_000
    assert len((workspace / "log").read_bytes()) < 1_000_000
    with open(f"/proc/{workspace.mount.pid}/status") as f:
        rss = int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])
    if "ASAN_OPTIONS" not in os.environ:
        assert rss < 100_000


@pytest.mark.limit(90)
def test_endless_output_is_cancelled(workspace):
    workspace.prompt("yes")
    assert wait_for(lambda: workspace.state()["phase"] == "running", 5)
    time.sleep(2.5)
    begin = time.monotonic()
    workspace.ctl("cancel")
    assert workspace.idle(10)["phase"] == "cancelled"
    assert time.monotonic() - begin < 2
    assert "ok" in workspace.sh("echo ok")


def test_background_processes_stay(own):
    t = own.thread("background")
    t.sh("sleep 1000 & echo $! > pid")
    pid = (t.workspace / "pid").read_text().strip()
    assert "alive" in t.sh(f"kill -0 {pid} && echo alive")
    t.sh("(python3 -u -m http.server 0 --bind 127.0.0.1 > said 2>&1 &)")
    said = wait_for(lambda: re.search(r" port (\d+)",
                                      (t.workspace / "said").read_text()), 10)
    out = t.sh("python3 -c \"import urllib.request as u; "
               f"print(u.urlopen('http://127.0.0.1:{said[1]}/').status)\"")
    assert "200" in out
    t.ctl("stop")
    assert wait_for(lambda: not [p for p in descendants(own.pid)
                                 if "sleep 1000" in p[3]
                                 or "http.server" in p[3]], 5)


def test_none_is_left_after_unmount(own):
    t = own.thread("leaves")
    t.sh("sleep 1234 & setsid nohup sleep 1235 > /dev/null 2>&1 & "
         "(setsid sleep 1236 &); true")
    pid = own.pid
    assert any("sleep 123" in p[3] for p in descendants(pid))
    own.stop()
    assert wait_for(lambda: not [p for p in descendants()
                                 if "sleep 123" in p[3]], 5)


def test_the_deadline_of_a_call(mnt):
    model = mnt.script("deadline.jsonl", {"tool_calls": [
        {"name": "execute", "args": {
            "command": "echo begun; (sleep 30; echo late >> late) & sleep 60",
            "timeout": 3}}]}, {"content": "ok"})
    t = mnt.thread("deadline", f"model = {model}\n")
    begin = time.monotonic()
    assert t.ask("go", 30) == "idle"
    assert 2.5 < time.monotonic() - begin < 8
    m = result(t)
    assert "begun" in m["content"] and "timed out" in m["content"].lower()


def test_file_tools(mnt):
    home = "/home/daytona"
    model = mnt.script(
        "tools.jsonl",
        {"tool_calls": [{"name": "write_file", "args": {
            "file_path": f"{home}/src/main.py",
            "content": "import os\nprint('one')\nprint('two')\n"}}]},
        {"tool_calls": [
            {"name": "read_file", "args": {"file_path": f"{home}/src/main.py"}},
            {"name": "ls", "args": {"path": f"{home}/src"}},
            {"name": "glob", "args": {"pattern": "**/*.py", "path": home}},
            {"name": "grep", "args": {"pattern": "print", "path": home}}]},
        {"tool_calls": [{"name": "edit_file", "args": {
            "file_path": f"{home}/src/main.py", "old_string": "'one'",
            "new_string": "'eins'"}}]},
        {"tool_calls": [{"name": "execute", "args": {
            "command": "python3 src/main.py"}}]},
        {"content": "done"})
    t = mnt.thread("tools", f"model = {model}\n")
    assert t.ask("go") == "idle"
    m = [x for x in t.messages() if x["type"] == "tool"]
    assert [x["name"] for x in m] == ["write_file", "read_file", "ls", "glob",
                                      "grep", "edit_file", "execute"]
    assert all(x["status"] != "error" for x in m), m
    assert "print('two')" in m[1]["content"]
    assert "main.py" in m[2]["content"]
    assert f"{home}/src/main.py" in m[3]["content"]
    assert "main.py" in m[4]["content"]
    assert "eins\ntwo" in m[6]["content"] and m[6]["exit_code"] == 0
    assert (t.workspace / "src/main.py").read_text() == \
        "import os\nprint('eins')\nprint('two')\n"


BAD_CALLS = [
    ("unknown-tool", {"name": "fly", "args": {}}),
    ("missing-argument", {"name": "read_file", "args": {}}),
    ("wrong-type", {"name": "read_file", "args": {"file_path": 7}}),
    ("missing-file", {"name": "read_file", "args": {
        "file_path": "/home/daytona/nope"}}),
    ("traversal", {"name": "read_file", "args": {
        "file_path": "/home/daytona/../../etc/shadow"}}),
    ("edit-nothing", {"name": "edit_file", "args": {
        "file_path": "/home/daytona/nope", "old_string": "a",
        "new_string": "b"}}),
    ("ls-missing", {"name": "ls", "args": {"path": "/home/daytona/nope"}}),
]


@pytest.mark.parametrize("call", [c[1] for c in BAD_CALLS],
                         ids=[c[0] for c in BAD_CALLS])
def test_a_bad_call_gets_one_error_result(mnt, request, call):
    model = mnt.script("bad-call.jsonl", {"tool_calls": [call]},
                       {"content": "I see."})
    t = mnt.thread("bad-" + request.node.callspec.id, f"model = {model}\n")
    assert t.ask("go") == "idle"
    kinds = [m["type"] for m in t.messages()]
    assert kinds == ["human", "ai", "tool", "ai"]
    assert result(t)["status"] == "error"


def test_two_edits_of_one_file_in_one_message(mnt):
    f = "/home/daytona/n"
    model = mnt.script(
        "two-edits.jsonl",
        {"tool_calls": [{"name": "execute", "args": {
            "command": "seq 1 100 > n"}}]},
        {"tool_calls": [
            {"name": "edit_file", "args": {"file_path": f, "old_string": "50\n",
                                           "new_string": "FIFTY\n"}},
            {"name": "edit_file", "args": {"file_path": f, "old_string": "75\n",
                                           "new_string": "SEVENTY-FIVE\n"}}]},
        {"content": "ok"})
    t = mnt.thread("two-edits", f"model = {model}\n")
    assert t.ask("go") == "idle"
    text = (t.workspace / "n").read_text()
    assert "FIFTY\n" in text and "SEVENTY-FIVE\n" in text


def test_large_files_by_tool(mnt):
    big = "".join(f"{i} {'x' * 60}\n" for i in range(5000))
    model = mnt.script("large.jsonl", {"tool_calls": [
        {"name": "write_file", "args": {"file_path": "/home/daytona/big",
                                        "content": big}}]}, {"content": "ok"})
    t = mnt.thread("large-tool", f"model = {model}\n")
    assert t.ask("go") == "idle"
    assert (t.workspace / "big").read_text() == big


def test_a_script_that_ends_within_a_turn_fails_it(mnt):
    model = mnt.script("short.jsonl", {"tool_calls": [
        {"name": "execute", "args": {"command": "echo x"}}]})
    t = mnt.thread("short", f"model = {model}\n")
    assert t.ask("go") == "failed"
    assert "short.jsonl" in t.state()["error"]["message"]
    assert "short.jsonl" in t.log()


def test_a_script_begins_again(own):
    model = own.script("again.jsonl", {"content": "a"}, {"content": "b"})
    t = own.thread("again", f"model = {model}\n")
    got = []
    for i in range(5):
        t.ask("go")
        got.append(t.reply()[0].strip())
        if i == 2:
            own.stop()
            own.start()
    assert got == ["a", "b", "a", "b", "a"]


def test_a_script_that_is_not_there(mnt):
    t = mnt.thread("no-script", "model = script:/nowhere/at-all.jsonl\n")
    try:
        t.prompt("go")
    except OSError:
        pass
    assert t.idle()["phase"] in ("failed", "idle")
    assert "/nowhere/at-all.jsonl" in t.state()["error"]["message"]


def test_the_environment_of_a_command(workspace):
    out = workspace.sh("pwd; whoami; echo $HOME; id -u; umask; test -t 0 || "
                       "echo no tty; ls /root 2>&1 | head -1; "
                       "python3 --version; pip --version")
    assert out.startswith("/home/daytona\ndaytona\n/home/daytona\n")
    assert "no tty" in out and "Python 3" in out and "pip" in out
    assert "\n0\n" not in out


def test_the_host_is_out_of_reach(workspace):
    secret = workspace.mount.base / "for-nobody"
    secret.write_text("of the host")
    out = workspace.sh(f"cat {secret} {workspace.mount.home}/* 2>&1; "
                       "ls -A /home; touch /usr/x 2>&1; cat /etc/shadow 2>&1; "
                       f"cat /proc/{workspace.mount.pid}/environ 2>&1; "
                       f"kill -9 {workspace.mount.pid} 2>&1; ls /dev/fuse 2>&1")
    assert "of the host" not in out
    assert "root:" not in out
    assert workspace.mount.process.poll() is None


def test_two_threads_do_not_wait_for_each_other(mnt):
    slow, fast = mnt.thread("slow"), mnt.thread("fast")
    fast.sh("true")
    slow.prompt("sleep 5")
    begin = time.monotonic()
    for _ in range(10):
        assert "quick" in fast.sh("echo quick")
    assert time.monotonic() - begin < 3
    assert slow.state()["phase"] == "running"
    slow.ctl("cancel")
    slow.idle()


def test_a_prompt_with_no_text_to_run(workspace):
    before = workspace.text("messages")
    workspace.prompt("\n\n")
    assert workspace.text("messages") == before
