"""Contract §2: poll, select and epoll on state and reply wake every waiter."""
import os
import select
import threading
import time

import pytest

from saf import wait_for


def poll_one(path, seconds):
    fd = os.open(path, os.O_RDONLY)
    try:
        p = select.poll()
        p.register(fd, select.POLLIN)
        begin = time.monotonic()
        events = p.poll(seconds * 1000)
        return events, time.monotonic() - begin
    finally:
        os.close(fd)


@pytest.mark.parametrize("name", ["state", "reply"])
def test_idle_it_is_ready(thread, name):
    thread.sh("true")
    events, took = poll_one(thread / name, 5)
    assert events and took < 0.5


@pytest.mark.parametrize("name", ["state", "reply"])
def test_it_wakes_at_the_end_of_the_turn(thread, name):
    thread.sh("true")
    thread.prompt("sleep 1.5")
    begin = time.monotonic()
    events, took = poll_one(thread / name, 10)
    assert events and 0.7 < took < 4
    if name == "state":
        assert thread.state()["phase"] == "idle"


@pytest.mark.parametrize("name", ["state", "reply"])
def test_every_waiter_wakes(thread, name):
    thread.sh("true")
    thread.prompt("sleep 1.5")
    took = []
    workers = [threading.Thread(target=lambda: took.append(
        poll_one(thread / name, 10))) for _ in range(5)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert len(took) == 5
    assert all(e and t < 4 for e, t in took), took


def test_select_and_epoll(thread):
    thread.sh("true")
    thread.prompt("sleep 1.2")
    fd = os.open(thread / "state", os.O_RDONLY)
    other = os.open(thread / "state", os.O_RDONLY)
    e = select.epoll()
    e.register(other, select.EPOLLIN)
    begin = time.monotonic()
    ready, _, _ = select.select([fd], [], [], 10)
    assert ready and time.monotonic() - begin < 4
    assert e.poll(2)
    e.close()
    os.close(fd)
    os.close(other)
    assert thread.state()["phase"] == "idle"


def test_a_poll_that_times_out(thread):
    thread.sh("true")
    thread.prompt("sleep 2")
    assert wait_for(lambda: thread.state()["phase"] == "running", 5)
    events, took = poll_one(thread / "state", 0.3)
    assert not events and took < 1
    thread.idle()


def test_many_turns_many_polls(thread):
    thread.sh("true")
    for _ in range(10):
        thread.prompt("true")
        events, took = poll_one(thread / "state", 10)
        assert events and took < 3
        assert thread.state()["phase"] == "idle"


def test_ordinary_files_poll_ready(thread):
    thread.sh("echo x > f")
    events, _ = poll_one(thread.workspace / "f", 2)
    assert events
