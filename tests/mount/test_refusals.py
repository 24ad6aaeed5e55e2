"""Contract §2: what is refused, where, with which errno, and that it is told
in `log` and in `state.error`. Also contract §8: unknown providers."""
import os
import time

import pytest

from saf import errno_of, mounted, run, wait_for


def open_prompt(t):
    return os.open(t / "prompt", os.O_WRONLY)


def told(t, before=""):
    """One line in log, and state.error says in words what to do."""
    added = t.log()[len(before):].splitlines()
    assert len([l for l in added if not l.startswith("    ")]) == 1, added
    error = t.state()["error"]
    assert error and error["code"] and len(error["message"]) > 10
    return error


NVIDIA = "model = nvidia:nvidia/nemotron-3-ultra-550b-a55b\n"


def test_no_key_is_refused_at_open(thread):
    thread.config(NVIDIA)
    assert errno_of(lambda: open_prompt(thread)) == "ENOKEY"
    assert "NVIDIA_API_KEY" in told(thread)["message"] + str(
        thread.state()["error"])
    for shell in ("bash", "dash"):
        p = run(f"echo hi > '{thread / 'prompt'}'", shell=shell)
        assert p.returncode != 0 and p.stderr
    assert thread.messages() == []
    thread.config("model = shell:\n")
    assert thread.ask("true") == "idle"


def test_a_provider_that_is_known_only_is_refused_at_open(mnt):
    t = mnt.thread("later", "model = bedrock:some-model\n")
    assert errno_of(lambda: open_prompt(t)) in ("ENOTSUP", "EOPNOTSUPP")
    told(t)
    p = run(f"echo hi > '{t / 'prompt'}'")
    assert p.returncode == 1 and "not supported" in p.stderr
    assert t.messages() == []


def open_and_write(t, text=b"one too many"):
    fd = open_prompt(t)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def cancel_all(t):
    while t.state()["phase"] in ("running", "queued"):
        turn = t.state()["turn"]
        t.ctl("cancel")
        wait_for(lambda: t.state()["turn"] != turn
                 or t.state()["phase"] == "cancelled", 5)


def test_a_full_queue_is_refused(mnt):
    model = mnt.script("long.jsonl", {"content": "ok", "delay_ms": 20000})
    t = mnt.thread("full", f"model = {model}\n")
    t.prompt("running")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    for i in range(16):
        t.prompt(f"waits {i}")
    assert t.state()["queue"] == 16
    before = t.log()
    assert errno_of(lambda: open_and_write(t)) == "EBUSY"
    told(t, before)
    p = run(f"echo x > '{t / 'prompt'}'")
    assert p.returncode == 1 and "busy" in p.stderr.lower()
    # Open for reading is no writing.
    assert t.text("prompt") == "waits 15\n"
    cancel_all(t)
    assert "one too many" not in t.text("messages")


def test_a_slot_is_free_again_if_nothing_was_committed(mnt):
    model = mnt.script("long.jsonl", {"content": "ok", "delay_ms": 20000})
    t = mnt.thread("slots", f"model = {model}\n")
    t.prompt("running")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    for i in range(15):
        t.prompt(f"waits {i}")
    fd = open_prompt(t)
    os.write(fd, b"takes the last place")
    assert errno_of(lambda: open_and_write(t)) == "EBUSY"
    os.ftruncate(fd, 0)
    os.close(fd)
    t.prompt("fits after all")
    assert t.state()["queue"] == 16
    cancel_all(t)


def test_too_long(parrot):
    fd = open_prompt(parrot)
    os.write(fd, b"x" * (1 << 19))
    os.write(fd, b"x" * (1 << 19))
    assert errno_of(lambda: os.write(fd, b"x")) == "EFBIG"
    told(parrot)
    assert errno_of(lambda: os.close(fd)) in (None, "EFBIG")
    p = run(f"head -c 1100000 /dev/zero | tr '\\0' x > '{parrot / 'prompt'}'")
    assert p.returncode != 0 or "too large" in p.stderr
    parrot.idle()
    assert all(len(x) <= 1 << 20 for x in parrot.prompts())


BAD = [b"a\0b", b"\0", b"\xff", b"abc\xc3", b"\xed\xa0\x80", b"\xc0\xaf",
       b"\xf5\x80\x80\x80", b"good \x80 bad"]


@pytest.mark.parametrize("text", BAD)
def test_bytes_that_are_no_text(parrot, text):
    fd = open_prompt(parrot)

    def write_and_close():
        try:
            os.write(fd, text)
        finally:
            os.close(fd)

    # A character cut at the end is known at the close only.
    assert errno_of(write_and_close) == "EILSEQ"
    told(parrot)
    parrot.idle()
    assert parrot.messages() == []
    parrot.prompt("good")
    parrot.idle()
    assert parrot.prompts() == ["good"]


def test_a_refused_write_is_seen_by_the_shell(parrot):
    for shell in ("bash", "dash"):
        p = run(f"printf 'a\\000b' > '{parrot / 'prompt'}'", shell=shell)
        assert p.returncode != 0, shell
        assert p.stderr, shell
    p = run(f"head -c 5000 /dev/urandom > '{parrot / 'prompt'}'")
    assert p.returncode != 0
    parrot.idle()
    assert parrot.messages() == []


def test_a_character_cut_between_two_writes_is_whole(parrot):
    fd = open_prompt(parrot)
    for byte in "北京 🤣".encode():
        os.write(fd, bytes([byte]))
    os.close(fd)
    parrot.idle()
    assert parrot.prompts() == ["北京 🤣"]


def test_the_thread_went_away(mnt):
    model = mnt.script("ok.jsonl", {"content": "ok"})
    t = mnt.thread("goes", f"model = {model}\n")
    fd = open_prompt(t)
    t.path.rmdir()
    assert errno_of(lambda: os.write(fd, b"x")) == "ENOENT"
    os.close(fd)
    assert errno_of(lambda: open_prompt(t)) == "ENOENT"


def test_unknown_provider_in_config(thread):
    before = thread.text("config")
    assert errno_of(lambda: thread.config("model = nosuch:thing\n")) == "EINVAL"
    assert thread.text("config") == before


@pytest.mark.parametrize("model", ["nosuch:thing", "nocolon", ""])
def test_unknown_provider_at_start(fresh, model):
    p = run(f"'{fresh.command()[0]}' -o 'model={model}' '{fresh.path}'",
            env=fresh.env)
    assert p.returncode == 1
    assert len(p.stderr.splitlines()) == 1, p.stderr
    assert not mounted(fresh.path)


def test_a_failed_turn_leaves_the_history_alone(mnt):
    model = mnt.script("fails.jsonl", {"content": "fine"},
                       {"error": "the model is out"}, {"content": "again"})
    t = mnt.thread("fails", f"model = {model}\n")
    assert t.ask("one") == "idle"
    first = t.text("messages")
    assert t.ask("two") == "failed"
    assert t.text("messages").startswith(first)
    assert "the model is out" in t.state()["error"]["message"]
    assert "the model is out" in t.log()
    text, status = t.reply()
    assert status == 1
    assert t.ask("three") == "idle"
    assert t.text("messages").startswith(first)
    assert t.state()["error"] is None
    assert t.reply() == ("again", 0) or t.reply() == ("again\n", 0)
