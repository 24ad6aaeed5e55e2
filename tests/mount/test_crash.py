"""kill -9 at any moment: nothing accepted is lost, nothing runs twice, and the
same mount point works again at once."""
import os
import re
import subprocess
import time

import pytest

from saf import ROOT, descendants, errno_of, mounted, wait_for

CALLS = 5


def script(mount):
    """Five commands that each leave one line in the file `ran`, a file written
    by tool, and an answer: about a second in all."""
    replies = [{"content": f"Step {i}.", "delay_ms": 30, "tool_calls": [
        {"name": "execute", "args": {
            "command": f"echo call-{i} >> ran; sleep 0.1"}}]}
        for i in range(1, CALLS + 1)]
    replies.insert(2, {"tool_calls": [
        {"name": "write_file", "args": {"file_path": "/home/daytona/w.txt",
                                        "content": "whole\n"}},
        {"name": "read_file", "args": {"file_path": "/home/daytona/w.txt"}}]})
    return mount.script("crash.jsonl", *replies,
                        {"content": "All five ran.", "delay_ms": 30})


def check_after(fresh, t, prompt, log_before):
    """What must hold when it runs again."""
    t.idle(30)
    texts = t.prompts()
    assert texts.count(prompt) == 1, texts
    assert t.log().startswith(log_before), "the log was rewritten"
    ran = t.workspace / "ran"
    lines = ran.read_text().split() if ran.exists() else []
    assert len(lines) == len(set(lines)), f"ran twice: {lines}"
    messages = t.messages()
    results = [m["tool_call_id"] for m in messages if m["type"] == "tool"]
    assert len(results) == len(set(results))
    finished = [m for m in messages if m["type"] == "tool"
                and m["name"] == "execute" and m.get("exit_code") == 0]
    for m in finished:
        call = [c for x in messages if x["type"] == "ai"
                for c in x["tool_calls"] or [] if c["id"] == m["tool_call_id"]]
        number = re.search(r"call-\d+", call[0]["args"]["command"])
        assert not number or number[0] in lines, \
            f"{number[0]} was finished, its effect is lost"
    assert (t.workspace / "w.txt").read_text() == "whole\n" \
        if any(m["name"] == "read_file" for m in messages
               if m["type"] == "tool") else True


def next_prompt_works(fresh, t):
    t.config("model = shell:\n")
    assert "next works" in t.sh("echo next works")
    after = fresh.thread("after")
    assert "fine" in after.sh("echo fine")


@pytest.mark.parametrize("moment", range(10))
def test_kill_at_ten_moments(fresh, moment):
    fresh.start()
    t = fresh.thread("crash")
    # The sandbox is there before, so that the moments fall into the turn.
    t.sh("true")
    t.config(f"model = {script(fresh)}\n")
    t.prompt("run the five")
    time.sleep(moment * 0.13)
    log = t.log()
    messages = t.text("messages")
    fresh.kill()
    begin = time.monotonic()
    fresh.start()
    assert time.monotonic() - begin < 5
    assert t.text("messages").startswith(messages)
    assert t.state()["phase"] in ("interrupted", "queued", "running", "idle")
    check_after(fresh, t, "run the five", log)
    next_prompt_works(fresh, t)


def fault_points():
    names = set()
    for d in ("fs", "agent"):
        for f in (ROOT / d).rglob("*.c"):
            names |= set(re.findall(r'fault_point\("([^"]+)"\)', f.read_text()))
    return sorted(names)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("name", fault_points())
def test_fault_points(fresh, name, count):
    """The process ends itself there; some are not reached in this turn."""
    fresh.start()
    t = fresh.thread("crash")
    t.sh("true")
    t.config(f"model = {script(fresh)}\n")
    log = t.log()
    fresh.stop()
    try:
        fresh.start(fault=f"{name}:{count}")
    except AssertionError:
        pass  # already at the start
    accepted = False
    try:
        (t.workspace / "saved").write_text("by hand\n")
        t.prompt("run the five")
        accepted = True
        t.idle(15)
    except OSError:
        pass
    died = fresh.process.poll() is not None or wait_for(
        lambda: fresh.process.poll() is not None, 0.5)
    if died:
        fresh.process.wait()
    else:
        fresh.stop()
    fresh.start()
    if accepted or "run the five" in t.text("messages"):
        assert wait_for(lambda: "run the five" in t.text("messages"), 5)
        check_after(fresh, t, "run the five", log)
    next_prompt_works(fresh, t)


def test_a_queue_survives(fresh):
    fresh.start()
    slow = fresh.script("slow.jsonl", {"content": "ok", "delay_ms": 1000})
    t = fresh.thread("queue", f"model = {slow}\n")
    for i in range(4):
        t.prompt(f"number {i}")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    fresh.kill()
    fresh.start()
    t.idle(20)
    assert t.prompts() == [f"number {i}" for i in range(4)]


def test_accepted_means_durable(fresh):
    """The kill comes right after close."""
    fresh.start()
    model = fresh.script("ok.jsonl", {"content": "ok"})
    t = fresh.thread("durable", f"model = {model}\n")
    for i in range(5):
        t.prompt(f"number {i}")
        fresh.kill()
        fresh.start()
        t.idle()
        assert t.prompts()[-1] == f"number {i}"
    assert t.prompts() == [f"number {i}" for i in range(5)]


def test_saved_files_survive(fresh):
    """Acknowledged by close, not yet pushed."""
    fresh.start()
    t = fresh.thread("files")
    t.sh("true")
    for i in range(5):
        for j in range(10):
            (t.workspace / f"f{i}-{j}").write_text(f"{i} {j}\n")
        fresh.kill()
        fresh.start()
    out = t.sh("cat f*-* | wc -l; ls")
    assert out.split()[0] == "50"
    assert (t.workspace / "f4-9").read_text() == "4 9\n"


def test_sandboxes_end_with_the_mount(fresh):
    fresh.start()
    t = fresh.thread("ends")
    t.sh("sleep 4321 & setsid sleep 4322 & true")
    assert any("sleep 432" in p[3] for p in descendants())
    fresh.kill()
    assert wait_for(lambda: not any("sleep 432" in p[3]
                                    for p in descendants()), 5)


def test_a_dead_mount_point_is_replaced(fresh):
    fresh.start()
    t = fresh.thread("stands")
    inside = subprocess.Popen(["sleep", "60"], cwd=t.path)
    try:
        fresh.kill()
        assert errno_of(lambda: os.listdir(fresh.path)) == "ENOTCONN"
        begin = time.monotonic()
        fresh.start()
        assert time.monotonic() - begin < 5
        assert "stands" in os.listdir(fresh.path)
        with open("/proc/self/mountinfo") as f:
            assert [l.split()[4] for l in f].count(str(fresh.path)) == 1
    finally:
        inside.kill()
        inside.wait()


def test_readers_of_a_killed_mount_get_an_error(fresh):
    fresh.start()
    t = fresh.thread("readers")
    t.prompt("sleep 30")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    readers = [subprocess.Popen(["cat", t / n], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
               for n in ("reply", "reply")]
    time.sleep(0.3)
    fresh.kill()
    for r in readers:
        r.wait(5)
        assert r.returncode == 1


def test_sigterm_is_an_orderly_end(fresh):
    fresh.start()
    t = fresh.thread("term")
    t.prompt("echo begun; sleep 30")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    time.sleep(0.5)
    fresh.process.terminate()
    fresh.process.wait(15)
    assert not mounted(fresh.path)
    fresh.start()
    assert t.state()["phase"] == "interrupted"
    assert t.prompts() == ["echo begun; sleep 30"]
    next_prompt_works(fresh, t)
