"""Round trips, counted by .sandagentfs/stats."""
import os

import pytest

from saf import run


def toolbox(mount):
    found = [v for k, v in mount.stats().items() if "toolbox" in k]
    assert len(found) == 1, mount.stats()
    return found[0]


def test_a_short_command_costs_one_request(own):
    t = own.thread("one")
    t.sh("true")
    for command in ["true", "echo hi > a.txt", "mkdir d; touch d/e", "exit 3",
                    "sleep 1"]:
        before = toolbox(own)
        t.prompt(command)
        t.reply()
        assert toolbox(own) - before == 1, command
        names = os.listdir(t.workspace)
        if "a.txt" in command:
            assert names == ["a.txt"]
        assert toolbox(own) - before == 1, "its listing came with the answer"


def test_writes_before_a_turn_are_one_batch(own):
    t = own.thread("batch")
    t.sh("true")
    before = toolbox(own)
    for i in range(100):
        (t.workspace / f"f{i}").write_text("x")
    assert "100" in t.sh("ls | wc -l")
    assert toolbox(own) - before <= 30


def test_listing_a_tree_is_one_or_two(own):
    t = own.thread("tree")
    t.sh("for i in $(seq 20); do mkdir -p d$i/e; touch d$i/e/f d$i/g; done")
    own.stop()
    own.start()
    t.ctl("start")
    before = toolbox(own)
    p = run(f"ls -lR '{t.workspace}'")
    assert p.stdout.count("\n") > 80
    assert toolbox(own) - before <= 4


def test_control_files_cost_none(own):
    for i in range(10):
        own.thread(f"t{i}").sh("true")
    before = own.stats()
    run(f"ls -la '{own.path}'; find '{own.path}' -maxdepth 2 -name state "
        f"-exec cat {{}} +; cat '{own.path}'/*/log '{own.path}'/*/messages")
    after = own.stats()
    assert {k: v for k, v in after.items() if "toolbox" in k or "control" in k} \
        == {k: v for k, v in before.items() if "toolbox" in k or "control" in k}
