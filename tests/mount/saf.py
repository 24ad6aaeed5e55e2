"""A mount of build/sandagentfs with everything of its own in one directory,
and what tests say about its threads."""
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SAF_BUILD", ROOT / "build")).resolve()
PROGRAM = BUILD / "sandagentfs"
BOX = BUILD / "sandagentfs-box"
MOUNT_OPTS = os.environ.get("SAF_MOUNT_OPTS", "").split()

PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper():
    """Whatever a test leaves running becomes our child, and is found."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def wait_for(what, seconds=10.0, step=0.02):
    """The first true value of what(); None when the time is over."""
    end = time.monotonic() + seconds
    while True:
        value = what()
        if value:
            return value
        if time.monotonic() > end:
            return None
        time.sleep(step)


def mounted(path):
    """By mountinfo: a stat of a dead mount might hang."""
    want = str(path).replace(" ", "\\040")
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == want for line in f)


def processes():
    """(pid, parent, state, command line) of all processes."""
    out = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
            with open(f"/proc/{name}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        out.append((int(name), int(fields[1]), fields[0], command.strip()))
    return out


def descendants(pid=None):
    """Live processes below pid (this one), zombies left out."""
    everything = processes()
    found, todo = [], [pid or os.getpid()]
    while todo:
        parent = todo.pop()
        for p in everything:
            if p[1] == parent:
                todo.append(p[0])
                if p[2] != "Z":
                    found.append(p)
    return found


def run(command, shell="bash", timeout=30, **kw):
    """A shell command; what it printed, as text."""
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run([shell, "-c", command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=timeout, **kw)


def errno_of(what):
    """errno's name that what() fails with, or None."""
    try:
        what()
    except OSError as e:
        return errno.errorcode[e.errno]
    return None


class Thread:
    """One directory of the mount."""

    def __init__(self, mount, name):
        self.mount = mount
        self.name = name
        self.path = mount.path / name

    def __truediv__(self, name):
        return self.path / name

    @property
    def workspace(self):
        return self.path / "workspace"

    def text(self, name):
        return (self.path / name).read_text()

    def config(self, text):
        (self.path / "config").write_text(text)

    def prompt(self, text):
        (self.path / "prompt").write_text(text)

    def ctl(self, line):
        (self.path / "ctl").write_text(line + "\n")

    def log(self):
        return self.text("log")

    def state(self):
        return json.loads(self.text("state"))

    def messages(self):
        return [json.loads(line) for line in self.text("messages").splitlines()]

    def prompts(self):
        """The texts of all turns that were started."""
        return [m["content"] for m in self.messages() if m["type"] == "human"]

    def idle(self, seconds=30):
        """Waits until no turn is queued, running or being written."""
        state = {}

        def ended():
            nonlocal state
            state = self.state()
            return state["phase"] not in ("receiving", "queued", "running")

        assert wait_for(ended, seconds), f"still busy: {state}"
        return state

    def ask(self, text, seconds=30):
        """A turn from prompt to answer; the phase that it ended with."""
        self.prompt(text)
        return self.idle(seconds)["phase"]

    def reply(self, timeout=30):
        """What `cat reply` prints, and its exit status."""
        p = subprocess.run(["cat", str(self.path / "reply")], timeout=timeout,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return p.stdout.decode(), p.returncode

    def sh(self, command, seconds=30):
        """A command in the sandbox, as a turn of model shell:. The answer."""
        self.prompt(command)
        text, _ = self.reply(seconds)
        return text


class Mount:
    """One sandagentfs. HOME, state and cache are below `base`."""

    def __init__(self, base, model="shell:"):
        self.base = Path(base)
        self.path = self.base / "agents"
        self.home = self.base / "home"
        self.state_dir = self.home / ".local/state/sandagentfs"
        self.model = model
        self.process = None
        self.output = None
        for d in (self.base, self.path, self.home):
            d.mkdir(exist_ok=True)
        self.env = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.base),
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                self.env[name] = os.environ[name]

    def command(self, *args):
        return [str(PROGRAM), *MOUNT_OPTS, *args, str(self.path)]

    def start(self, *args, fault=None, env=None, seconds=20):
        """Mounts in the foreground; returns when the mount answers."""
        assert PROGRAM.exists(), f"{PROGRAM} is missing: make first"
        if not any("model" in a for a in args):
            args = ("-o", f"model={self.model}", *args)
        environment = dict(self.env, **(env or {}))
        if fault:
            environment["FAULT"] = fault
        self.output = open(self.base / "output", "ab+")
        begin = self.output.tell()
        self.process = subprocess.Popen(
            self.command("-f", *args), cwd=self.base, env=environment,
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output,
            start_new_session=True)

        def answered():
            if self.process.poll() is not None:
                return True
            return (self.base / "output").read_bytes()[begin:].count(b"\n") \
                and mounted(self.path)

        ok = wait_for(answered, seconds)
        said = (self.base / "output").read_bytes()[begin:].decode()
        assert ok and self.process.poll() is None, f"did not start: {said}"
        return said

    @property
    def pid(self):
        return self.process.pid

    def kill(self, sig=signal.SIGKILL):
        """As a crash: the mount point stays, dead."""
        self.process.send_signal(sig)
        self.process.wait(20)
        self.output.close()

    def stop(self, seconds=30):
        """Unmounts; returns what the program printed."""
        if self.process is None:
            return ""
        if self.process.poll() is None:
            p = None
            self._close_descriptors()
            for _ in range(50):
                p = run(f"fusermount3 -u '{self.path}'")
                if p.returncode == 0 or self.process.poll() is not None:
                    break
                time.sleep(0.1)
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
                raise AssertionError(
                    f"did not end in {seconds} s after unmount: {p and p.stderr}")
        if mounted(self.path):
            run(f"fusermount3 -uz '{self.path}'")
        self.output.close()
        self.process = None
        return (self.base / "output").read_text()

    def _close_descriptors(self):
        """A test that failed may have left files of the mount open here."""
        for fd in os.listdir("/proc/self/fd"):
            try:
                if os.readlink(f"/proc/self/fd/{fd}").startswith(
                        f"{self.path}/"):
                    os.close(int(fd))
            except OSError:
                pass

    def sandboxes(self):
        """The bubblewraps that run below this mount."""
        return [p for p in descendants(self.pid) if p[3].startswith("bwrap")
                or "/bwrap" in p[3].split(" ")[0]]

    def thread(self, name, config=None):
        t = Thread(self, name)
        t.path.mkdir()
        if config:
            t.config(config)
        return t

    def find(self, name):
        return Thread(self, name)

    def stats(self):
        out = {}
        for line in (self.path / ".sandagentfs/stats").read_text().splitlines():
            name, value = line.split()
            out[name] = int(value)
        return out

    def diag(self):
        try:
            return (self.state_dir / "diag").read_text(errors="replace")
        except OSError:
            return ""

    def script(self, name, *replies):
        """A file of recorded replies; gives the model's name."""
        f = self.base / name
        f.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n"
                             for r in replies))
        return f"script:{f}"


LOG_EVENT = re.compile(
    r"^(=== turn \d+ · \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ · .+ ===$|"
    r"\[(user|agent|tools|turn|sandbox|model|approval|summary|file|prompt|ctl)\] )")
