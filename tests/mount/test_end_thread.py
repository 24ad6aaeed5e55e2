"""Contract §1: ending a thread."""
import os
import shutil
import subprocess
import time

import pytest

from saf import descendants, errno_of, run, wait_for

CONTROL = ["prompt", "log", "messages", "state", "ctl", "config", "reply"]


_count = []


@pytest.fixture
def used(mnt, request):
    _count.append(1)
    t = mnt.thread(f"used-{len(_count)}")
    t.sh("mkdir -p d/e; echo x > d/e/f; echo y > top.txt")
    return t


def gone(t):
    assert not t.path.exists()
    assert t.name not in os.listdir(t.mount.path)
    assert not any(t.name in p[3] for p in descendants(t.mount.pid))


@pytest.mark.parametrize("command", [
    "rm -r {}", "rm -rf {}", "rm -r {}/", "cd {} && cd .. && rm -r {}",
    "find {} -delete", "python3 -c \"import shutil; shutil.rmtree('{}')\"",
    "perl -MFile::Path -e 'File::Path::remove_tree(\"{}\")'"])
def test_as_typed(used, command):
    p = run(command.format(*[used.path] * command.count("{}")), timeout=20)
    assert (p.returncode, p.stderr, p.stdout) == (0, "", "")
    gone(used)
    # A new thread of that name begins empty.
    used.path.mkdir()
    assert used.messages() == [] and used.log() == ""
    assert used.state()["turn"] == 0
    assert os.listdir(used.workspace) == []
    used.sh("ls > list.txt")
    assert (used.workspace / "list.txt").read_text() == "list.txt\n"


def test_rm_asks_no_questions(used):
    p = subprocess.run(["rm", "-r", used.path], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert (p.returncode, p.stdout) == (0, b"")
    gone(used)


def test_rmdir_is_harmless(used):
    before = used.text("messages")
    p = run(f"cd '{used.mount.path}' && rmdir *")
    assert p.returncode == 1 and "not empty" in p.stderr.lower()
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"
    assert used.text("messages") == before
    assert (used.workspace / "d/e/f").read_text() == "x\n"


def test_a_fresh_thread_goes_with_rmdir(mnt):
    t = mnt.thread("fresh", "model = shell:\n")
    t.path.rmdir()
    assert not t.path.exists()


def test_one_mark_is_not_all(used):
    for name in CONTROL[:-1]:
        (used / name).unlink()
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"
    assert used.messages()


def test_removal_changes_nothing_by_itself(used):
    before = {n: used.text(n) for n in ("log", "messages")}
    for name in CONTROL:
        os.unlink(used / name)
        assert name in os.listdir(used.path)
    assert {n: used.text(n) for n in before} == before
    for name in os.listdir(used / "checkpoints"):
        os.unlink(used / "checkpoints" / name)
    assert os.listdir(used / "checkpoints")
    os.rmdir(used / "checkpoints")
    os.rmdir(used / "workspace")
    assert (used.workspace / "d/e/f").read_text() == "x\n"
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"


def test_marks_without_a_workspace_removed(used):
    """All names but workspace: nothing less than the whole ends it."""
    for name in CONTROL:
        os.unlink(used / name)
    os.rmdir(used / "checkpoints")
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"


@pytest.mark.parametrize("use", ["prompt", "config", "ctl", "log"])
def test_using_it_clears_the_marks(used, use):
    for name in CONTROL:
        os.unlink(used / name)
    os.rmdir(used / "checkpoints")
    os.rmdir(used / "workspace")
    if use == "log":
        used.text("log")
    else:
        (used / use).write_text({"prompt": "true", "config": "model = shell:\n",
                                 "ctl": "refresh\n"}[use])
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"
    used.idle()


def test_all_marks_and_rmdir(used):
    for name in CONTROL:
        os.unlink(used / name)
    os.rmdir(used / "checkpoints")
    os.rmdir(used / "workspace")
    os.rmdir(used.path)
    gone(used)


@pytest.mark.limit(120)
def test_marks_grow_old(used):
    for name in CONTROL:
        os.unlink(used / name)
    os.rmdir(used / "checkpoints")
    os.rmdir(used / "workspace")
    time.sleep(62)
    assert errno_of(used.path.rmdir) == "ENOTEMPTY"
    assert used.messages()


def test_removals_inside_the_workspace_are_real(used):
    shutil.rmtree(used.workspace / "d")
    os.unlink(used.workspace / "top.txt")
    assert used.sh("ls -A").strip().split("\n")[0] in ("", "[Command") or \
        "top.txt" not in used.sh("ls -A")
    assert used.messages()


def test_a_running_turn_is_cancelled(mnt):
    t = mnt.thread("runs")
    t.prompt("sleep 1000")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    assert wait_for(lambda: any("sleep 1000" in p[3]
                                for p in descendants(mnt.pid)), 5)
    begin = time.monotonic()
    p = run(f"rm -r '{t.path}'")
    assert p.returncode == 0, p.stderr
    assert time.monotonic() - begin < 10
    assert not t.path.exists()
    assert wait_for(lambda: not any("sleep 1000" in p[3]
                                    for p in descendants(mnt.pid)), 10)
    time.sleep(1)
    assert not t.path.exists(), "the late write brought it back"
    t.path.mkdir()
    assert t.messages() == []


def test_a_reader_of_reply_does_not_hang(mnt):
    t = mnt.thread("reads")
    t.prompt("sleep 1000")
    assert wait_for(lambda: t.state()["phase"] == "running", 5)
    reader = subprocess.Popen(["cat", t / "reply"], stderr=subprocess.DEVNULL)
    time.sleep(0.2)
    assert run(f"rm -r '{t.path}'").returncode == 0
    reader.wait(10)
    assert reader.returncode == 1


def test_a_large_workspace_goes_without_a_request_a_file(own):
    t = own.thread("large")
    t.sh("for i in $(seq 40); do mkdir d$i; for j in $(seq 25); do "
         ": > d$i/f$j; done; done")
    assert len(os.listdir(t.workspace)) == 40
    before = own.stats()
    p = run(f"rm -r '{t.path}'", timeout=30)
    assert (p.returncode, p.stderr) == (0, "")
    after = own.stats()
    spent = sum(after[k] - before[k] for k in after
                if "toolbox" in k and "request" in k)
    assert spent < 100, spent


def test_a_stopped_sandbox_is_not_started(own):
    t = own.thread("stopped")
    t.sh("mkdir d; echo x > d/f")
    os.listdir(t.workspace / "d")
    t.ctl("stop")
    p = run(f"rm -r '{t.path}'")
    assert (p.returncode, p.stderr) == (0, "")
    assert not t.path.exists()


def test_shell_that_stands_in_it_goes_on(used):
    p = run(f"cd '{used.workspace}' && rmdir '{used.workspace}' && ls && "
            f"cd '{used.workspace}' && cat d/e/f")
    assert p.returncode == 0, p.stderr
    assert "x" in p.stdout


def test_it_stays_gone_after_a_restart(own):
    t = own.thread("ended")
    t.sh("echo x > f")
    other = own.thread("stays")
    other.sh("echo y > g")
    assert run(f"rm -r '{t.path}'").returncode == 0
    own.stop()
    own.start()
    assert os.listdir(own.path) == ["stays"] or \
        [n for n in os.listdir(own.path) if n[0] != "."] == ["stays"]
    assert (other.workspace / "g").read_text() == "y\n"


def test_no_data_of_it_is_left(own):
    t = own.thread("traces")
    marker = "needle-3f9a1c"
    t.sh(f"echo {marker} > {marker}.txt; cat {marker}.txt")
    assert run(f"rm -r '{t.path}'").returncode == 0
    own.stop()
    p = run(f"grep -rl {marker} '{own.home}'")
    files = [l for l in p.stdout.splitlines()
             if not os.path.basename(l).startswith(("diag", "threads.db"))]
    assert not files, files
    # Freed pages of the database may hold old bytes, rows may not.
    p = run(f"sqlite3 '{own.state_dir}/threads.db' .dump | grep -c {marker}")
    assert p.stdout.strip() == "0"
