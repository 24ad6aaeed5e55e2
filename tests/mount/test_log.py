"""Contract §3: the form of `log`, and that it can be followed."""
import os
import re
import subprocess
import time

import pytest

from saf import LOG_EVENT, run, wait_for

TURN = re.compile(r"^=== turn (\d+) · (\S+) · (.+) ===$")


def events(text):
    assert text.endswith("\n")
    return [l for l in text.splitlines() if not l.startswith("    ")]


def test_empty_before_any_turn(thread):
    assert thread.log() == ""


def test_every_line_has_its_form(mnt):
    model = mnt.script(
        "all-tools.jsonl",
        {"content": "Look first.", "tool_calls": [
            {"name": "ls", "args": {"path": "/home/daytona"}}]},
        {"tool_calls": [
            {"name": "write_file", "args": {
                "file_path": "/home/daytona/x.txt", "content": "one\ntwo\n"}},
            {"name": "read_file", "args": {"file_path": "/home/daytona/x.txt"}},
            {"name": "execute", "args": {"command": "cat x.txt; exit 3"}}]},
        {"content": "Line one.\nLine two.\n\nLine four."})
    t = mnt.thread("form", f"model = {model}\n")
    t.ask("Do this:\n1. look\n2. write")
    log = t.log()
    for line in log.splitlines():
        assert line.startswith("    ") or LOG_EVENT.match(line), repr(line)
    lines = events(log)
    head = TURN.match(lines[0])
    assert head and head[1] == "1" and head[3] == model
    assert lines[1] == "[user] Do this:"
    assert "\n    1. look\n    2. write\n" in log
    assert lines[-1].startswith("[turn] done in ")
    assert re.fullmatch(
        r"\[turn\] done in \d+\.\d s · 3 model calls · 4 tool calls · "
        r"[\d,]+ tokens in, [\d,]+ out", lines[-1]), lines[-1]
    assert re.search(r"^\[sandbox\] created thread-form \(id=\S+, ttl=none\)$",
                     log, re.M), log
    assert "[agent] -> ls(" in log
    assert '[agent] -> write_file({"file_path": ' in log.replace('":"', '": "')
    assert "[tools] <- execute: " in log
    assert "exit code 3" in log
    assert "[agent] AI: Line one.\n    Line two." in log


def test_turns_are_counted(parrot):
    for i in (1, 2, 3):
        parrot.ask("hi")
    numbers = [TURN.match(l)[1] for l in events(parrot.log()) if TURN.match(l)]
    assert numbers == ["1", "2", "3"]


def test_long_arguments_and_results_are_cut(mnt):
    long = "echo " + "x" * 5000
    model = mnt.script("long-args.jsonl", {"tool_calls": [
        {"name": "execute", "args": {"command": long}}]}, {"content": "ok"})
    t = mnt.thread("cut", f"model = {model}\n")
    t.ask("go")
    for line in t.log().splitlines():
        assert len(line) < 420, len(line)
    call = [l for l in t.log().splitlines() if "-> execute" in l][0]
    assert call.rstrip(")").endswith("...") and 200 <= len(call) <= 240
    assert "x" * 5000 in t.text("messages")


def test_live_output_while_the_command_runs(thread):
    """A loop that prints and sleeps is seen by tail -f, and cancel ends it:
    within a second, its processes gone, its output in messages."""
    tail = subprocess.Popen(["tail", "-n", "+1", "-f", thread / "log"],
                            stdout=subprocess.PIPE, bufsize=0)
    os.set_blocking(tail.stdout.fileno(), False)
    seen = b""

    def shows(what):
        nonlocal seen
        seen += tail.stdout.read(100000) or b""
        return what in seen

    try:
        thread.prompt("for i in $(seq 1000); do echo tick-$i; sleep 0.5; done")
        assert wait_for(lambda: shows(b"=== turn 1"), 5)
        assert wait_for(lambda: shows(b"[tools] .. execute: tick-"), 10)
        assert thread.state()["phase"] == "running"
        begin = time.monotonic()
        thread.ctl("cancel")
        assert wait_for(
            lambda: thread.state()["phase"] == "cancelled", 5)
        assert time.monotonic() - begin < 1
        assert wait_for(lambda: shows(b"[turn] cancelled"), 5)
    finally:
        tail.kill()
        tail.wait()
    assert "tick-1" in thread.text("messages")
    assert thread.reply()[1] == 1
    left = thread.sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | "
                     "grep -c '[s]eq 1000'")
    assert left.split()[0] == "0", left


def test_live_lines_are_at_most_one_a_second(thread):
    thread.sh("for i in $(seq 60); do echo line-$i; sleep 0.1; done", 30)
    live = [l for l in thread.log().splitlines()
            if l.startswith("[tools] .. execute:")]
    assert 1 <= len(live) <= 8


def test_what_tail_shows_is_what_log_holds(mnt):
    calls = [{"tool_calls": [{"name": "execute", "args": {
        "command": f"echo step {i}; sleep 0.1"}}]} for i in range(20)]
    model = mnt.script("twenty.jsonl", *calls, {"content": "end"})
    t = mnt.thread("tail", f"model = {model}\n")
    copy = mnt.base / "tail-copy"
    with open(copy, "wb") as f:
        tail = subprocess.Popen(["tail", "-n", "+1", "-f", t / "log"], stdout=f)
    try:
        t.ask("go", 40)
        whole = t.log()
        assert wait_for(lambda: copy.read_text() == whole, 5)
    finally:
        tail.kill()
        tail.wait()
    assert whole.count("[tools] <- execute") == 20


def test_control_bytes_are_made_harmless(thread):
    thread.sh(r"printf '\033]0;title\007\033[2J\rover\b\bwritten\n'; sleep 2.5;"
              r"printf '\033[31mred\n'")
    log = (thread / "log").read_bytes()
    for byte in log:
        assert byte >= 32 or byte == 10, byte
    assert b"\x7f" not in log and b"\xc2\x9b" not in log
    assert b"written" in log
    thread.messages()


def test_control_bytes_of_a_prompt_too(parrot):
    parrot.ask("a\x1b[2Jb\x07\u009bc")
    log = (parrot / "log").read_bytes()
    assert b"\x1b" not in log and b"\x07" not in log and b"\xc2\x9b" not in log
    assert parrot.prompts() == ["a\x1b[2Jb\x07\u009bc"]


def test_tools_see_a_plain_file(parrot):
    parrot.ask("hi")
    # The sandbox that a prompt makes has its line too.
    assert wait_for(lambda: "created thread-" in parrot.log(), 10)
    path = parrot / "log"
    text = path.read_bytes()
    for command in ["cat {}", "cp {} /dev/stdout", "head -c 100000 {}",
                    "tail -c 100000 {}", "dd if={} bs=1 status=none",
                    "grep '' {}", "sed '' {}", "tac {} | tac", "less {} | cat"]:
        p = subprocess.run(["bash", "-c", command.format(f"'{path}'")],
                           stdout=subprocess.PIPE, timeout=20)
        assert p.stdout == text, command
    assert run(f"wc -c < '{path}'").stdout.strip() == str(len(text))
    p = run(f"tar -C '{parrot.path}' -cf - log messages state | tar -xOf - log")
    assert p.stdout.encode() == text


def test_it_survives_unmount(own):
    t = own.thread("kept")
    t.sh("echo first")
    before = t.log()
    own.stop()
    own.start()
    assert t.log().startswith(before)
    t.sh("echo second")
    assert t.log().startswith(before)
    assert "=== turn 2" in t.log()


def test_secrets_do_not_show(fresh):
    key = "nvapi-SECRETsecret0123456789abcdefghijklmnopqrstuvwxyz"
    (fresh.base / ".env").write_text(f"NVIDIA_API_KEY={key}\n")
    fresh.start(env={"OPENAI_API_KEY": "sk-" + key[::-1]})
    t = fresh.thread("secrets")
    t.sh(f"env; echo {key}; echo sk-{key[::-1]}; cat /proc/1/environ")
    t.ask(f"echo my key is {key}")
    for name in ("log", "messages", "state", "reply"):
        text = (t / name).read_bytes().decode()
        assert key not in text, name
        assert key[::-1] not in text, name
    assert key not in (fresh.path / ".sandagentfs/diag").read_text()
    cmdline = open(f"/proc/{fresh.pid}/cmdline", "rb").read()
    assert key.encode() not in cmdline
    with open("/proc/self/mountinfo") as f:
        assert key not in f.read()
