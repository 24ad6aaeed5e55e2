"""Contract §5: ctl."""
import os
import subprocess
import threading
import time

import pytest

from saf import descendants, errno_of, run, wait_for

NOW = ["cancel", "start", "stop", "refresh", "delete-sandbox"]


def test_reading_lists_the_commands(thread):
    lines = thread.text("ctl").splitlines()
    words = [l.split()[0] for l in lines]
    assert set(NOW) <= set(words)
    assert all(len(l.split()) > 2 for l in lines), "each with a line of help"
    assert len(words) == len(set(words))


@pytest.mark.parametrize("line", ["nonsense", "cancel now", "Cancel", "start 1",
                                  "cancel;stop", "\u00e9", "-h", "cancel\0"])
def test_unknown_and_malformed(thread, line):
    assert errno_of(lambda: thread.ctl(line)) == "EINVAL"
    p = run(f"printf '%s\\n' 'nonsense' > '{thread / 'ctl'}'")
    assert p.returncode == 1 and "nvalid argument" in p.stderr


@pytest.mark.parametrize("text", ["refresh", "refresh\n", "  refresh  \n",
                                  "\nrefresh\n\n", "refresh\r\n"])
def test_forms_of_a_line(thread, text):
    (thread / "ctl").write_text(text)


@pytest.mark.parametrize("command", [
    "echo refresh > ctl", "echo refresh >> ctl", "printf refresh > ctl",
    "echo refresh | tee ctl", "echo refresh | dd of=ctl status=none",
    "(echo refresh; echo refresh) > ctl", ": > ctl", "touch ctl",
    "truncate -s 0 ctl", "cat < /dev/null > ctl", "cp /dev/null ctl"])
def test_idioms(thread, command):
    p = run(f"cd '{thread.path}' && {command}")
    assert p.returncode == 0, p.stderr


def test_several_lines_stop_at_the_first_failure(thread):
    thread.sh("true")
    assert errno_of(lambda: (thread / "ctl").write_text(
        "refresh\nnonsense\nstop\n")) == "EINVAL"
    assert thread.state()["sandbox"]["state"] == "started"
    (thread / "ctl").write_text("refresh\nstop\n")
    assert thread.state()["sandbox"]["state"] == "stopped"


def test_start_and_stop(thread):
    thread.sh("echo kept > kept.txt; sleep 1000 >/dev/null 2>&1 &")
    thread.ctl("stop")
    assert thread.state()["sandbox"]["state"] == "stopped"
    assert run(f"cat '{thread.workspace}/kept.txt'").stdout == "kept\n"
    thread.ctl("stop")
    thread.ctl("start")
    assert thread.state()["sandbox"]["state"] == "started"
    thread.ctl("start")
    assert "kept" in thread.sh("cat kept.txt")


def test_start_without_a_sandbox(thread):
    """Nothing was created: it says so or makes one, never hangs."""
    got = errno_of(lambda: thread.ctl("start"))
    assert got in (None, "ENOENT")
    assert thread.state()["phase"] == "idle"


def test_stop_ends_all_processes(own):
    t = own.thread("stop")
    t.sh("sleep 1000 & setsid sleep 1001 & (sleep 1002 &) ; true")
    assert any("1001" in p[3] for p in descendants(own.pid))
    t.ctl("stop")
    assert wait_for(lambda: not any("sleep 100" in p[3]
                                    for p in descendants(own.pid)), 5)


def test_delete_sandbox(thread):
    thread.sh("echo x > x.txt")
    first = thread.state()["sandbox"]["id"]
    thread.ctl("delete-sandbox")
    state = thread.state()["sandbox"]
    assert state["state"] in (None, "absent", "destroyed")
    assert os.listdir(thread.workspace) == []
    assert len(thread.messages()) > 1, "the conversation stays"
    thread.sh("ls")
    assert thread.state()["sandbox"]["id"] != first
    assert os.listdir(thread.workspace) == []


def test_refresh(thread):
    thread.sh("(sleep 0.7; touch late.txt) >/dev/null 2>&1 &")
    time.sleep(1)
    thread.ctl("refresh")
    assert "late.txt" in os.listdir(thread.workspace)


def test_cancel_when_idle(thread):
    assert errno_of(lambda: thread.ctl("cancel")) in (None, "EINVAL", "ESRCH",
                                                      "EAGAIN", "ENOENT")
    assert thread.state()["phase"] == "idle"


def test_cancel_the_running_one_only(mnt):
    model = mnt.script("cancel.jsonl", {"content": "ok", "delay_ms": 1500})
    t = mnt.thread("cancel-one", f"model = {model}\n")
    for i in range(3):
        t.prompt(f"number {i}")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    t.ctl("cancel")
    t.idle()
    assert t.prompts() == ["number 0", "number 1", "number 2"]
    answers = [m for m in t.messages() if m["type"] == "ai"
               and m["content"] == "ok"]
    assert len(answers) == 2


def test_cancel_again_and_again(thread):
    for i in range(5):
        thread.prompt(f"echo {i}; sleep 30")
        assert wait_for(lambda: thread.state()["phase"] == "running", 5)
        begin = time.monotonic()
        thread.ctl("cancel")
        assert thread.idle(5)["phase"] == "cancelled"
        assert time.monotonic() - begin < 1.2
    assert "alive" in thread.sh("echo alive")
    results = [m for m in thread.messages() if m["type"] == "tool"]
    calls = [c["id"] for m in thread.messages() if m["type"] == "ai"
             for c in m["tool_calls"] or []]
    assert sorted(m["tool_call_id"] for m in results) == sorted(calls)


def test_cancel_before_the_first_reply(mnt):
    model = mnt.script("slow-model.jsonl", {"content": "ok", "delay_ms": 30000})
    t = mnt.thread("early", f"model = {model}\n")
    t.prompt("go")
    time.sleep(0.1)
    begin = time.monotonic()
    t.ctl("cancel")
    assert t.idle(5)["phase"] == "cancelled"
    assert time.monotonic() - begin < 1.2


def test_other_commands_go_through_while_one_waits(mnt):
    """A parked WRITE holds its inode's lock; each look-up gives another."""
    t = mnt.thread("beside")
    t.prompt("sleep 20")
    assert wait_for(lambda: t.state()["phase"] == "running", 10)
    done = []
    workers = [threading.Thread(target=lambda: (errno_of(
        lambda: t.ctl("stop")), done.append(1))) for _ in range(2)]
    for w in workers:
        w.start()
    begin = time.monotonic()
    errno_of(lambda: t.ctl("cancel"))
    t.text("ctl")
    assert time.monotonic() - begin < 2
    for w in workers:
        w.join(20)
    t.idle()


def test_a_signal_leaves_the_command(thread):
    thread.sh("true")
    p = subprocess.Popen(["bash", "-c", 'echo stop > "$0"', thread / "ctl"])
    time.sleep(0.02)
    p.kill()
    p.wait(5)
    assert thread.state()["phase"] == "idle"


def test_same_inode_number_each_time(thread):
    first = os.stat(thread / "ctl").st_ino
    for _ in range(5):
        assert os.stat(thread / "ctl").st_ino == first
