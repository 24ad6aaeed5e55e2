import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest

import saf

saf.become_subreaper()
LIMIT = 60
_mounts = []


def pytest_configure(config):
    config.addinivalue_line("markers", "limit(seconds): time for one test")
    config.addinivalue_line("markers", "needs_root: only root can do this")


def pytest_collection_modifyitems(items):
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("needs_root"):
            item.add_marker(pytest.mark.skip(reason="needs root"))


class TookTooLong(Exception):
    pass


def _end_mounts():
    """When not even an interrupt gets a test out of a hung mount."""
    for mount in _mounts:
        if mount.process and mount.process.poll() is None:
            mount.process.kill()
        subprocess.run(["fusermount3", "-uz", str(mount.path)],
                       stderr=subprocess.DEVNULL)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item, nextitem):
    mark = item.get_closest_marker("limit")
    seconds = mark.args[0] if mark else LIMIT

    def ring(_signal, _frame):
        raise TookTooLong(f"the test took more than {seconds} s")

    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    last = threading.Timer(seconds + 10, _end_mounts)
    last.daemon = True
    last.start()
    yield
    last.cancel()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    for name, value in getattr(item, "funcargs", {}).items():
        if isinstance(value, saf.Thread):
            report.sections.append((f"log of {value.name}", _tail(
                lambda: value.log())))
            report.sections.append((f"state of {value.name}", _tail(
                lambda: value.text("state"))))
            value = value.mount
        if isinstance(value, saf.Mount):
            report.sections.append((f"diag of {name}", _tail(value.diag)))
            report.sections.append((f"output of {name}", _tail(
                lambda: (value.base / "output").read_text())))


def _tail(get):
    box = []

    def read():
        try:
            box.append(get())
        except Exception as e:
            box.append(repr(e))

    worker = threading.Thread(target=read, daemon=True)
    worker.start()
    worker.join(3)
    return box[0][-4000:] if box else "(does not answer)"


def _leftovers(base):
    """Processes that outlived their mount, and mounts below base."""
    def reaped():
        for pid, parent, state, _ in saf.processes():
            if parent == os.getpid() and state == "Z":
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass
        return [p for p in saf.descendants() if _ours(p)]

    saf.wait_for(lambda: not reaped(), 5)
    left = [f"process {p}" for p in reaped()]
    for p in reaped():
        os.kill(p[0], signal.SIGKILL)
    with open("/proc/self/mountinfo") as f:
        for line in f:
            where = line.split()[4]
            if where.startswith(str(base)):
                left.append(f"mount {where}")
                subprocess.run(["fusermount3", "-uz", where])
    return left


def _ours(process):
    """Other mounts of this run may be alive: they and theirs are not left."""
    pid = process[0]
    live = {m.process.pid for m in _mounts
            if m.process and m.process.poll() is None}
    parents = {p[0]: p[1] for p in saf.processes()}
    while pid and pid != os.getpid():
        if pid in live:
            return False
        pid = parents.get(pid, 0)
    return True


def _open_mount(base, model):
    mount = saf.Mount(base, model)
    _mounts.append(mount)
    return mount


def _close_mount(mount):
    error = None
    try:
        mount.stop()
    except AssertionError as e:
        error = str(e)
    _mounts.remove(mount)
    left = _leftovers(mount.base)
    shutil.rmtree(mount.base, ignore_errors=True)
    assert not error, error
    assert not left, f"left behind: {left}"


def _directory():
    # Short, since a socket's path is; not below a 0700 directory of root's.
    base = Path(tempfile.mkdtemp(prefix="saf-", dir=os.environ.get("TMPDIR")))
    base.chmod(0o755)
    return base


@pytest.fixture
def fresh():
    """A mount of its own, not started."""
    mount = _open_mount(_directory(), "shell:")
    yield mount
    _close_mount(mount)


@pytest.fixture
def own(fresh):
    """A mount of its own, with the model shell:."""
    fresh.start()
    return fresh


@pytest.fixture(scope="module")
def mnt():
    """One mount for all tests of a file, with the model shell:."""
    mount = _open_mount(_directory(), "shell:")
    mount.start()
    yield mount
    _close_mount(mount)


_counter = [0]


def _name(request):
    _counter[0] += 1
    return f"t{_counter[0]}-" + re.sub(r"[^A-Za-z0-9-]+", "-",
                                       request.node.name)[:60]


@pytest.fixture
def thread(mnt, request):
    """A new thread of model shell:."""
    return mnt.thread(_name(request))


@pytest.fixture
def parrot(mnt, request):
    """A new thread whose recorded model says `ok` and needs no sandbox."""
    model = mnt.script("ok.jsonl", {"content": "ok"})
    return mnt.thread(_name(request), f"model = {model}\n")


@pytest.fixture(scope="module")
def workspace(mnt):
    """A thread whose sandbox runs, for tests of files."""
    t = mnt.thread("files")
    t.sh("true")
    return t
