"""Contract §2: `reply`."""
import errno
import os
import subprocess
import time

import pytest

from saf import errno_of, run, wait_for


def test_before_any_turn_it_is_empty(parrot):
    assert parrot.reply() == ("", 0)
    assert os.stat(parrot / "reply").st_size == 0


def test_echo_and_cat_is_a_synchronous_call(thread):
    p = run(f"cd '{thread.path}'; echo 'echo hi; sleep 0.5; echo there' > prompt"
            " && cat reply")
    assert p.returncode == 0
    assert "hi\nthere" in p.stdout


def test_the_issues_first_example(own):
    p = run(f"mkdir {own.path}/t && echo 'model = shell:' > {own.path}/t/config"
            f" && echo 'echo hi > a.txt; ls -l' > {own.path}/t/prompt"
            f" && cat {own.path}/t/reply && cat {own.path}/t/workspace/a.txt")
    assert p.returncode == 0, p.stderr
    assert "a.txt" in p.stdout.splitlines()[-2] or "a.txt" in p.stdout
    assert p.stdout.endswith("hi\n")


def test_idle_it_gives_the_whole_last_text(parrot):
    parrot.ask("hi")
    for _ in range(2):
        text, status = parrot.reply()
        assert (text.rstrip("\n"), status) == ("ok", 0)
    assert os.stat(parrot / "reply").st_size == len(text)


def test_it_belongs_to_the_prompt_before_it(mnt):
    replies = [{"content": f"answer {i}", "delay_ms": 100} for i in range(5)]
    t = mnt.thread("belongs", f"model = {mnt.script('five.jsonl', *replies)}\n")
    for i in range(5):
        t.prompt(f"question {i}")
    text, status = t.reply()
    assert text.rstrip("\n") == "answer 4" and status == 0
    assert len(t.messages()) == 10


def test_it_belongs_to_the_turn_of_its_open(mnt):
    replies = [{"content": f"answer {i}", "delay_ms": 400} for i in range(2)]
    t = mnt.thread("of-its-open", f"model = {mnt.script('two.jsonl', *replies)}\n")
    t.prompt("question 0")
    first = subprocess.Popen(["cat", t / "reply"], stdout=subprocess.PIPE)
    time.sleep(0.1)
    t.prompt("question 1")
    second = subprocess.Popen(["cat", t / "reply"], stdout=subprocess.PIPE)
    assert first.communicate(timeout=10)[0].decode().strip() == "answer 0"
    assert second.communicate(timeout=10)[0].decode().strip() == "answer 1"


def test_the_text_comes_piece_by_piece(mnt):
    """What stands before a tool call is read while the tool runs."""
    model = mnt.script("pieces.jsonl", {
        "content": "First I wait.",
        "tool_calls": [{"name": "execute", "args": {"command": "sleep 3"}}]},
        {"content": "Done."})
    t = mnt.thread("pieces", f"model = {model}\n")
    t.prompt("go")
    fd = os.open(t / "reply", os.O_RDONLY)
    begin = time.monotonic()
    first = os.read(fd, 1000)
    assert b"First I wait." in first
    t.idle()
    rest = first
    while True:
        more = os.read(fd, 1000)
        if not more:
            break
        rest += more
    os.close(fd)
    assert b"Done." in rest
    assert time.monotonic() - begin > 1


def test_cancelled_it_ends_with_eio(thread):
    thread.prompt("echo partial; sleep 60")
    reader = subprocess.Popen(["cat", thread / "reply"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
    assert wait_for(lambda: thread.state()["phase"] == "running", 5)
    time.sleep(0.5)
    begin = time.monotonic()
    thread.ctl("cancel")
    out, err = reader.communicate(timeout=10)
    assert time.monotonic() - begin < 3
    assert reader.returncode == 1
    assert "put/output error" in err.decode()
    assert thread.idle()["phase"] == "cancelled"
    # Also later, until the next turn.
    assert thread.reply()[1] == 1
    thread.sh("true")
    assert thread.reply()[1] == 0


def test_ctrl_c_leaves_the_turn_alone(thread):
    thread.prompt("sleep 2; echo finished")
    reader = subprocess.Popen(["cat", thread / "reply"], stdout=subprocess.PIPE)
    time.sleep(0.3)
    begin = time.monotonic()
    reader.send_signal(2)
    reader.wait(5)
    assert time.monotonic() - begin < 1
    assert thread.state()["phase"] == "running"
    assert "finished" in thread.reply()[0]


def test_kill_9_of_a_waiting_reader_is_prompt(thread):
    thread.prompt("sleep 4")
    readers = [subprocess.Popen(["cat", thread / "reply"],
                                stdout=subprocess.DEVNULL) for _ in range(30)]
    time.sleep(0.3)
    begin = time.monotonic()
    for r in readers:
        r.kill()
    for r in readers:
        r.wait(5)
    assert time.monotonic() - begin < 1.5
    assert thread.idle()["phase"] == "idle"


def test_many_readers_do_not_stop_the_mount(thread):
    """With one loop worker a request that waits in it would stop all."""
    thread.prompt("sleep 2; echo same")
    readers = [subprocess.Popen(["cat", thread / "reply"],
                                stdout=subprocess.PIPE) for _ in range(40)]
    time.sleep(0.2)
    begin = time.monotonic()
    for _ in range(20):
        thread.state()
        os.listdir(thread.mount.path)
        os.listdir(thread.path)
    assert time.monotonic() - begin < 1
    texts = {r.communicate(timeout=15)[0] for r in readers}
    assert len(texts) == 1 and b"same" in texts.pop()


def test_seeking_and_small_reads(parrot):
    model = parrot.mount.script("long-text.jsonl",
                                {"content": "0123456789" * 1000})
    parrot.config(f"model = {model}\n")
    parrot.ask("go")
    whole = parrot.reply()[0]
    assert whole.startswith("0123456789")
    p = run(f"dd if='{parrot / 'reply'}' bs=7 status=none")
    assert p.stdout == whole
    assert run(f"tail -c 5 '{parrot / 'reply'}'").stdout == whole[-5:]
    assert run(f"head -c 5 '{parrot / 'reply'}'").stdout == whole[:5]
    assert run(f"wc -c < '{parrot / 'reply'}'").stdout.strip() == str(len(whole))


def test_nonblocking_reads_do_not_wait(thread):
    thread.prompt("sleep 1.5")
    fd = os.open(thread / "reply", os.O_RDONLY | os.O_NONBLOCK)
    try:
        got = errno_of(lambda: os.read(fd, 100))
    finally:
        os.close(fd)
    assert got in ("EAGAIN", None)
    thread.idle()
