"""Contract §4: messages, state, checkpoints."""
import json
import os
import re
import subprocess
import threading
import time

import pytest

from saf import errno_of, run, wait_for

STATE_KEYS = {"thread_id", "phase", "turn", "queue", "model", "activity",
              "todos", "pending", "error", "usage", "sandbox", "checkpoint"}
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")


def check_state(text):
    assert text.endswith("\n") and text.count("\n") == 1
    state = json.loads(text)
    assert STATE_KEYS <= set(state), STATE_KEYS - set(state)
    assert set(state["usage"]) >= {"turn", "thread"}
    assert set(state["sandbox"]) >= {"provider", "name", "id", "state",
                                     "expires_at", "workspace"}
    assert state["phase"] in ("idle", "receiving", "queued", "running",
                              "approval", "failed", "cancelled", "interrupted")
    return state


def test_state_of_a_new_thread(thread):
    state = check_state(thread.text("state"))
    assert state["thread_id"] == thread.name
    assert state["phase"] == "idle"
    assert state["turn"] == 0 and state["queue"] == 0
    assert state["model"] == "shell:"
    assert state["error"] is None and state["activity"] is None
    assert state["sandbox"]["provider"] == "local"
    assert state["sandbox"]["name"] == f"thread-{thread.name}"


def test_state_in_a_turn(thread):
    thread.prompt("sleep 1.5")
    assert wait_for(lambda: thread.state()["phase"] == "running", 5)
    assert wait_for(lambda: thread.state()["activity"], 5)
    state = check_state(thread.text("state"))
    assert state["turn"] == 1
    state = thread.idle()
    assert state["phase"] == "idle" and state["activity"] is None
    assert state["sandbox"]["id"]
    assert state["sandbox"]["state"] == "started"
    assert state["checkpoint"]["id"] and state["checkpoint"]["step"] >= 0
    assert "synced" in state["sandbox"]["workspace"]


def test_messages(mnt):
    model = mnt.script(
        "talk.jsonl",
        {"content": "Let me see.", "tool_calls": [
            {"name": "execute", "args": {"command": "echo out; exit 7"}},
            {"name": "ls", "args": {"path": "/nowhere"}}]},
        {"content": "北京 🤣 \"quoted\"\n\ttab"})
    t = mnt.thread("talk", f"model = {model}\n")
    assert t.text("messages") == ""
    t.ask("say é")
    m = t.messages()
    assert [x["type"] for x in m] == ["human", "ai", "tool", "tool", "ai"]
    assert all(TIME.match(x["ts"]) for x in m)
    assert all(x["turn"] == 1 for x in m)
    assert len({x["id"] for x in m}) == 5
    assert m[0]["content"] == "say é"
    calls = m[1]["tool_calls"]
    assert [c["name"] for c in calls] == ["execute", "ls"]
    assert calls[0]["args"] == {"command": "echo out; exit 7"}
    assert m[2]["tool_call_id"] == calls[0]["id"] and m[2]["name"] == "execute"
    assert m[2]["exit_code"] == 7 and "out" in m[2]["content"]
    assert m[3]["tool_call_id"] == calls[1]["id"]
    assert m[3]["status"] == "error"
    assert m[4]["content"] == "北京 🤣 \"quoted\"\n\ttab"
    p = run(f"tail -1 '{t / 'messages'}' | jq -r .content")
    assert p.stdout == "北京 🤣 \"quoted\"\n\ttab\n"
    assert run(f"jq -c .type '{t / 'messages'}'").stdout.split() == [
        '"human"', '"ai"', '"tool"', '"tool"', '"ai"']


def test_usage(mnt):
    t = mnt.thread("usage")
    t.sh("true")
    for m in t.messages():
        if m["type"] == "ai":
            assert set(m["usage"] or {"input_tokens": 0, "output_tokens": 0}) \
                >= {"input_tokens", "output_tokens"}


def test_the_same_message_keeps_its_bytes(own):
    t = own.thread("bytes")
    t.sh("echo one")
    first = t.text("messages")
    assert t.text("messages") == first
    t.sh("echo two")
    second = t.text("messages")
    assert second.startswith(first)
    own.stop()
    own.start()
    assert t.text("messages") == second


def test_readers_never_see_half(mnt):
    big = "x" * 50000
    calls = [{"content": "é" * 1000, "tool_calls": [
        {"name": "execute", "args": {"command": f"echo {big}"}}]}
        for _ in range(8)]
    model = mnt.script("big.jsonl", *calls, {"content": "end"})
    t = mnt.thread("half", f"model = {model}\n")
    stop = threading.Event()
    trouble = []

    def pieces(path):
        fd = os.open(path, os.O_RDONLY)
        out = b""
        while True:
            more = os.read(fd, 4096)
            if not more:
                break
            out += more
        os.close(fd)
        return out.decode()

    def read():
        last = ""
        while not stop.is_set():
            try:
                check_state(pieces(t / "state"))
                text = pieces(t / "messages")
                for line in text.splitlines():
                    json.loads(line)
                assert text.startswith(last)
                last = text
            except Exception as e:
                trouble.append(repr(e))
                return

    workers = [threading.Thread(target=read) for _ in range(2)]
    for w in workers:
        w.start()
    phase = t.ask("go", 40)
    stop.set()
    for w in workers:
        w.join()
    assert not trouble, trouble
    assert phase == "idle"


def test_checkpoints(own):
    t = own.thread("steps")
    t.sh("echo one")
    t.sh("echo two")
    names = os.listdir(t / "checkpoints")
    assert names
    form = re.compile(r"^(-?\d+)-([0-9a-f-]{36}|[0-9A-Za-z-]+)\.json$")
    steps = {}
    for name in names:
        m = form.match(name)
        assert m, name
        text = t.text(f"checkpoints/{name}")
        one = json.loads(text)
        steps[int(m[1])] = (m[2], one)
        assert os.stat(t / "checkpoints" / name).st_size == len(text.encode())
    newest = t.state()["checkpoint"]
    assert newest["step"] == max(steps)
    assert newest["id"] == steps[max(steps)][0]
    assert newest["parent"] == steps[newest["step"] - 1][0]
    assert errno_of(lambda: open(t / "checkpoints" / names[0], "w")) == "EACCES"
    assert errno_of(lambda: os.stat(t / "checkpoints/1-nope.json")) == "ENOENT"
    before = sorted(names)
    own.stop()
    own.start()
    assert sorted(os.listdir(t / "checkpoints")) == before


def test_each_thread_has_its_own_history(own):
    names = ["o'brien", "x'; DROP TABLE checkpoints; --", "a%b_c", "ünï 🤣",
             " lead", "1", "01", "n" * 128]
    model = own.script("ok.jsonl", {"content": "ok"})
    for name in names:
        own.thread(name, f"model = {model}\n").ask(f"I am {name}")
    own.stop()
    own.start()
    assert sorted(n for n in os.listdir(own.path) if n[0] != ".") == \
        sorted(names)
    for name in names:
        assert own.find(name).prompts() == [f"I am {name}"]


def test_control_files_are_small_for_a_walk(own):
    """grep -r, an indexer: nothing starts, nothing blocks."""
    t = own.thread("walk")
    t.sh("echo needle > found.txt")
    before = t.text("messages"), t.log()
    p = run(f"timeout 20 grep -rs needle '{own.path}'", timeout=25)
    assert p.returncode == 0 and "found.txt" in p.stdout
    p = run(f"find '{t.path}' -maxdepth 1 -type f -exec md5sum {{}} +")
    assert p.returncode == 0
    assert (t.text("messages"), t.log()) == before
