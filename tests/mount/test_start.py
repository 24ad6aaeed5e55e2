"""Contract §8: starting, options, and bad input: one line that says what to
do, exit status 1, nothing changed."""
import ctypes
import os
import shutil
import sqlite3
import stat
import subprocess
import time

import pytest

from saf import BOX, PROGRAM, descendants, errno_of, mounted, run, wait_for


def start(mount, *args, path=None, env=None, cwd=None, timeout=20):
    """The command as typed, not in the foreground."""
    e = dict(mount.env, **(env or {}))
    e = {k: v for k, v in e.items() if v is not None}
    return subprocess.run([str(PROGRAM), *args, str(path or mount.path)],
                          env=e, cwd=cwd or mount.base, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout)


def refused(p, mount, *words):
    assert p.returncode == 1, (p.returncode, p.stdout, p.stderr)
    lines = p.stderr.splitlines()
    assert len(lines) == 1, p.stderr
    for word in words:
        assert word.lower() in lines[0].lower(), lines[0]
    assert p.stdout == ""
    assert not mounted(mount.path)
    return lines[0]


SHELL = ("-o", "model=shell:")
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000


@pytest.fixture
def daemon(fresh):
    """Started as users do: it goes to the background."""
    p = start(fresh, *SHELL)
    assert p.returncode == 0, p.stderr
    yield p, fresh
    run(f"fusermount3 -u '{fresh.path}'")
    wait_for(lambda: not [x for x in descendants() if str(fresh.path) in x[3]], 15)


def test_it_returns_when_the_mount_answers(daemon):
    p, mount = daemon
    assert mounted(mount.path)
    os.listdir(mount.path)
    assert p.stderr == ""
    assert len(p.stdout.splitlines()) == 1
    for word in (str(mount.path), "local", "shell:"):
        assert word in p.stdout
    assert [x for x in descendants() if str(mount.path) in x[3]]


def test_it_ends_with_fusermount(daemon):
    _, mount = daemon
    t = mount.thread("t")
    assert "hi" in t.sh("echo hi")
    assert run(f"fusermount3 -u '{mount.path}'").returncode == 0
    assert wait_for(lambda: not descendants(), 15), descendants()
    assert not mounted(mount.path)


def test_busy_it_stays(daemon):
    _, mount = daemon
    t = mount.thread("t")
    p = subprocess.Popen(["sleep", "30"], cwd=t.path)
    try:
        assert run(f"fusermount3 -u '{mount.path}'").returncode != 0
        assert t.state()["phase"] == "idle"
    finally:
        p.kill()
        p.wait()


def test_its_descriptors_and_directory(daemon):
    _, mount = daemon
    pid = [x[0] for x in descendants() if str(mount.path) in x[3]][0]
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for fd in (0, 1):
        assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"
    assert os.getsid(pid) != os.getsid(0)


def test_modes_of_what_it_keeps(daemon):
    _, mount = daemon
    mount.thread("t").sh("echo hi > f")
    for base, dirs, files in os.walk(mount.state_dir):
        if base.startswith(str(mount.state_dir / "box")):
            continue
        assert stat.S_IMODE(os.stat(base).st_mode) == 0o700, base
        for f in files:
            path = os.path.join(base, f)
            if stat.S_ISREG(os.lstat(path).st_mode):
                assert stat.S_IMODE(os.lstat(path).st_mode) == 0o600, path
    for name in ("threads.db", "lock", "diag"):
        assert (mount.state_dir / name).exists()


def test_no_arguments():
    p = subprocess.run([PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    assert p.returncode == 1 and p.stdout == ""
    assert "usage" in p.stderr.lower()


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(flag):
    p = subprocess.run([PROGRAM, flag], stdout=subprocess.PIPE, text=True,
                       stderr=subprocess.PIPE)
    assert p.returncode == 0
    for word in ("model", "sandbox", "state_dir", "fusermount3"):
        assert word in p.stdout, word


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_version(flag):
    p = subprocess.run([PROGRAM, flag], stdout=subprocess.PIPE, text=True)
    assert p.returncode == 0
    for word in ("sandagentfs", "fuse", "curl", "sqlite", "cjson"):
        assert word in p.stdout.lower(), word


@pytest.mark.parametrize("args", [
    ("-o", "nosuch=1"), ("-o", "nosuch"), ("--nosuch",), ("-Z",),
    ("-o", "sandbox=moon"), ("-o", "ttl_minutes=soon"),
    ("-o", "max_turns=0"), ("-o", "max_turns=-1"), ("-o", "cache_size=big"),
    ("-o", "on_exit=explode"), ("-o", "links=maybe"), ("-o", "log_level=x"),
    ("--ttl_minutes", "1h"), ("-o", "nvidia_api_key=abc"),
    ("-o", "env_file=/nowhere/env"), ("-o", "sandbox=daytona"),
    ("-o", "stop_minutes="), ("a", "b")])
def test_bad_options(fresh, args):
    before = sorted(os.listdir(fresh.home))
    p = start(fresh, *SHELL, *args)
    refused(p, fresh)
    assert sorted(os.listdir(fresh.home)) == before, "it has changed something"


@pytest.mark.parametrize("args", [
    ("--model", "shell:"), ("--model=shell:",), ("-omodel=shell:",),
    ("-o", "model=shell:,max_turns=3,links=raw,log_level=debug"),
    ("-o", "model=shell:", "--ttl_minutes", "5", "--stop_minutes=1"),
    ("-o", "model=shell:,rw,dev,suid,noauto,user,_netdev", "source"),
    ("source", "-o", "model=shell:"),
    ("-o", "model=shell:,fsname=agents"), ("-o", "model=shell:,ro"),
    ("-o", "model=shell:,cache_size=100M"), ("-s", "-o", "model=shell:")])
def test_good_options(fresh, args):
    p = start(fresh, *args)
    try:
        assert p.returncode == 0, p.stderr
        with open("/proc/self/mountinfo") as f:
            line = [l for l in f if l.split()[4] == str(fresh.path)][0]
        options = line.split()[5].split(",")
        assert "nosuid" in options and "nodev" in options
        if "fsname=agents" in args[-1]:
            assert " agents " in line
        if args[-1].endswith(",ro"):
            assert errno_of(lambda: os.mkdir(fresh.path / "t")) == "EROFS"
        else:
            (fresh.path / "t").mkdir()
        assert "fuse.sandagentfs" in line
    finally:
        run(f"fusermount3 -u '{fresh.path}'")


def test_options_after_the_mount_point(fresh):
    p = subprocess.run([PROGRAM, fresh.path, "-o", "model=shell:"],
                       env=fresh.env, text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    assert p.returncode == 0, p.stderr
    run(f"fusermount3 -u '{fresh.path}'")


def test_relative_mount_point(fresh):
    p = start(fresh, *SHELL, path="agents", cwd=fresh.base)
    assert p.returncode == 0 and str(fresh.path) in p.stdout
    run(f"fusermount3 -u '{fresh.path}'")


def test_mount_point_missing(fresh):
    p = start(fresh, *SHELL, path=fresh.base / "nowhere")
    refused(p, fresh, "nowhere", "mkdir")
    assert not (fresh.base / "nowhere").exists()


def test_mount_point_is_a_file(fresh):
    (fresh.base / "file").write_text("x")
    refused(start(fresh, *SHELL, path=fresh.base / "file"), fresh, "file")


def test_mount_point_not_empty(fresh):
    (fresh.path / "precious").write_text("x")
    refused(start(fresh, *SHELL), fresh, "empty")
    assert (fresh.path / "precious").read_text() == "x"
    (fresh.path / "precious").unlink()


def test_mount_point_already_ours(fresh):
    fresh.start()
    fresh.thread("t")
    p = start(fresh, *SHELL, env={"XDG_STATE_HOME": str(fresh.base / "other")})
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr
    assert "already" in p.stderr
    assert os.listdir(fresh.path)


def test_second_mount_on_the_same_state(fresh):
    fresh.start()
    fresh.thread("t")
    second = fresh.base / "second"
    second.mkdir()
    p = start(fresh, *SHELL, path=second)
    assert p.returncode == 1 and len(p.stderr.splitlines()) == 1, p.stderr
    assert "state_dir" in p.stderr
    assert not mounted(second)
    assert fresh.find("t").state()["phase"] == "idle"
    p = start(fresh, *SHELL, "-o", f"state_dir={fresh.base}/state2", path=second)
    assert p.returncode == 0, p.stderr
    assert "t" not in os.listdir(second)
    run(f"fusermount3 -u '{second}'")


def test_no_home(fresh):
    p = start(fresh, *SHELL, env={"HOME": None})
    refused(p, fresh, "state_dir")
    p = start(fresh, *SHELL, "-o", f"state_dir={fresh.base}/s",
              "-o", f"cache_dir={fresh.base}/c", env={"HOME": None})
    assert p.returncode == 0, p.stderr
    run(f"fusermount3 -u '{fresh.path}'")


def test_xdg_directories(fresh):
    p = start(fresh, *SHELL, env={
        "XDG_STATE_HOME": str(fresh.base / "xs"),
        "XDG_CACHE_HOME": str(fresh.base / "xc")})
    assert p.returncode == 0, p.stderr
    run(f"fusermount3 -u '{fresh.path}'")
    assert (fresh.base / "xs/sandagentfs/threads.db").exists()
    assert not (fresh.home / ".local").exists()


def test_state_under_the_mount_point(fresh):
    p = start(fresh, *SHELL, "-o", f"state_dir={fresh.path}/state")
    refused(p, fresh, "state")


@pytest.mark.parametrize("text", ["=value\n", "A B=1\n", "A='unclosed\n",
                                  'A="unclosed\n', "GOOD=1\nBAD LINE\n"])
def test_env_with_a_syntax_error(fresh, text):
    (fresh.base / ".env").write_text(text)
    line = refused(start(fresh, *SHELL), fresh, ".env")
    assert any(c.isdigit() for c in line), "it names the line: " + line


@pytest.mark.parametrize("text", [
    "", "# comment\n", "A=1\n", "export A=1\n", "A='x y'\n", 'A="x\\ny"\n',
    "A\n", "A=\n", "\n\n", "A=1 # comment\n", "A=$HOME\n", "A=1\r\nB=2\r\n",
    "A='two\nlines'\n", "\ufeffA=1\n", "A = 1\n"])
def test_env_that_is_good(fresh, text):
    (fresh.base / ".env").write_text(text, newline="")
    p = start(fresh, *SHELL)
    assert p.returncode == 0, p.stderr
    run(f"fusermount3 -u '{fresh.path}'")


def run_once(fresh):
    fresh.start()
    fresh.thread("t").sh("echo hi")
    fresh.stop()
    db = fresh.state_dir / "threads.db"
    for side in ("-wal", "-shm"):
        if os.path.exists(str(db) + side):
            os.unlink(str(db) + side)
    return db


def damage_text(db):
    db.write_text("this is not a database\n" * 500)


def damage_page(db):
    with open(db, "r+b") as f:
        f.seek(20)
        f.write(b"\xff" * 60)


def damage_schema(db):
    c = sqlite3.connect(db)
    c.execute("PRAGMA user_version = 9999")
    c.commit()
    c.close()


def damage_tables(db):
    c = sqlite3.connect(db)
    names = [r[0] for r in c.execute(
        "SELECT name FROM sqlite_master WHERE type='table' AND "
        "name NOT LIKE 'sqlite_%'")]
    c.execute("PRAGMA foreign_keys = OFF")
    c.execute(f"ALTER TABLE \"{names[0]}\" RENAME TO broken_one")
    c.commit()
    c.close()


def somebody_elses(db):
    db.unlink()
    c = sqlite3.connect(db)
    c.execute("CREATE TABLE theirs(x)")
    c.execute("INSERT INTO theirs VALUES(42)")
    c.commit()
    c.close()


@pytest.mark.parametrize("damage", [damage_text, damage_page, damage_schema,
                                    damage_tables, somebody_elses])
def test_damaged_database(fresh, damage):
    db = run_once(fresh)
    damage(db)
    before = db.read_bytes()
    refused(start(fresh, *SHELL), fresh, "threads.db")
    assert db.read_bytes() == before, "the file was changed"


def test_state_directory_cannot_be_made(fresh):
    (fresh.home / ".local").write_text("a file")
    refused(start(fresh, *SHELL), fresh, ".local")


@pytest.mark.needs_root
def test_full_disk_at_start(fresh):
    state = fresh.base / "small"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", state],
                   check=True)
    try:
        run(f"cat /dev/zero > '{state}/filler' 2>/dev/null")
        p = start(fresh, *SHELL, "-o", f"state_dir={state}/s")
        refused(p, fresh, "full")
    finally:
        subprocess.run(["umount", "-l", state])


@pytest.mark.needs_root
def test_disk_gets_full_while_it_runs(fresh):
    state = fresh.base / "small"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", state],
                   check=True)
    try:
        fresh.start("-o", f"state_dir={state}/s",
                    "-o", f"cache_dir={state}/c")
        ok = fresh.script("ok.jsonl", {"content": "ok"})
        t = fresh.thread("t", f"model = {ok}\n")
        t.ask("before")
        run(f"cat /dev/zero > '{state}/filler' 2>/dev/null")
        got = errno_of(lambda: t.prompt("x" * 500000))
        assert got in ("ENOSPC", "EIO"), got
        assert t.state()["phase"] in ("idle", "failed")
        assert t.prompts() == ["before"]
        os.unlink(state / "filler")
        t.ask("after")
        assert t.prompts() == ["before", "after"]
        fresh.stop()
    finally:
        subprocess.run(["umount", "-l", state])


@pytest.fixture
def poor_path(fresh):
    """A PATH where everything is but bubblewrap."""
    bin = fresh.base / "bin"
    bin.mkdir()
    for d in os.environ["PATH"].split(":"):
        for name in os.listdir(d) if os.path.isdir(d) else []:
            if name != "bwrap" and not (bin / name).exists():
                os.symlink(os.path.join(d, name), bin / name)
    return {"PATH": str(bin)}


def test_no_bubblewrap(fresh, poor_path):
    refused(start(fresh, *SHELL, env=poor_path), fresh, "bubblewrap", "install")


@pytest.mark.needs_root
def test_user_namespaces_forbidden(fresh):
    """In a namespace of root's own that allows no other below it."""
    inside, mapped = os.pipe(), os.pipe()

    def enter():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS):
            os._exit(78)
        os.write(inside[1], b"x")
        os.read(mapped[0], 1)

    def give_maps(pid):
        os.read(inside[0], 1)
        for kind in ("uid", "gid"):
            with open(f"/proc/{pid}/{kind}_map", "w") as f:
                f.write("0 0 65536")
        os.write(mapped[1], b"x")

    child = os.fork()
    if child == 0:
        try:
            enter()
            os.setgroups([])
            os.execve("/bin/sh", [
                "sh", "-c", "echo 0 > /proc/sys/user/max_user_namespaces || "
                f"exit 77; exec {PROGRAM} -o model=shell: {fresh.path} "
                f"> {fresh.base}/out 2> {fresh.base}/err"], fresh.env)
        finally:
            os._exit(79)
    give_maps(child)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 77:
        pytest.skip("this kernel does not let a namespace forbid others")
    p = subprocess.CompletedProcess([], status,
                                    (fresh.base / "out").read_text(),
                                    (fresh.base / "err").read_text())
    refused(p, fresh, "namespaces")


def test_box_missing(fresh):
    lonely = fresh.base / "lonely"
    shutil.copy(PROGRAM, lonely)
    p = subprocess.run([lonely, *SHELL, fresh.path], env=fresh.env, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    refused(p, fresh, "sandagentfs-box")


def test_two_mounts_of_two_states(fresh):
    fresh.start()
    second = fresh.base / "second"
    second.mkdir()
    p = start(fresh, *SHELL, "-o", f"state_dir={fresh.base}/s2", path=second)
    assert p.returncode == 0, p.stderr
    try:
        (fresh.path / "same").mkdir()
        (second / "same").mkdir()
        for base, word in ((fresh.path, "first"), (second, "second")):
            (base / "same/prompt").write_text(f"echo {word} > f; cat f")
            assert word in (base / "same/reply").read_text()
        assert (fresh.path / "same/workspace/f").read_text() == "first\n"
    finally:
        run(f"fusermount3 -u '{second}'")


def test_ready_at_once(fresh):
    run_once(fresh)
    times = []
    for _ in range(5):
        begin = time.monotonic()
        assert start(fresh, *SHELL).returncode == 0
        times.append(time.monotonic() - begin)
        run(f"fusermount3 -u '{fresh.path}'")
        wait_for(lambda: not descendants(), 10)
    assert min(times) < 0.5, times
