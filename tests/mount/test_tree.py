"""Contract §1: the tree, its modes, thread names, renaming."""
import os
import stat
import time
import uuid

import pytest

from saf import errno_of, run

CONTROL = ["prompt", "log", "messages", "state", "ctl", "config", "reply"]
READ_ONLY = ["log", "messages", "state", "reply"]


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_new_thread_has_the_whole_tree(mnt, thread):
    names = os.listdir(thread.path)
    assert set(CONTROL + ["checkpoints", "workspace"]) <= set(names)
    visible = run(f"ls '{thread.path}'").stdout.split()
    assert sorted(visible) == sorted(CONTROL + ["checkpoints", "workspace"])
    assert os.listdir(thread / "checkpoints") == []
    assert os.listdir(thread / "workspace") == []


def test_modes_and_owner(mnt, thread):
    assert mode(mnt.path) == 0o700
    assert mode(thread.path) == 0o700
    assert mode(thread / "checkpoints") == 0o700
    assert mode(thread / "workspace") == 0o700
    assert mode(mnt.path / ".sandagentfs") == 0o700
    for name in CONTROL:
        assert mode(thread / name) == 0o600, name
        assert stat.S_ISREG(os.stat(thread / name).st_mode), name
        assert os.stat(thread / name).st_uid == os.getuid()
        assert os.stat(thread / name).st_gid == os.getgid()


def test_order_of_the_directory(thread):
    """A walk removes and reads in this order: workspace after the control
    files, reply last."""
    names = [e.name for e in os.scandir(thread.path)]
    places = {n: names.index(n) for n in CONTROL + ["workspace"]}
    assert all(places[n] < places["workspace"] for n in CONTROL
               if n != "reply")
    assert names[-1] == "reply"


def test_dot_names_stay_out_of_sight(mnt):
    assert ".sandagentfs" not in run(f"ls '{mnt.path}'").stdout
    for name in ("version", "stats", "diag"):
        (mnt.path / ".sandagentfs" / name).read_text()
    version = (mnt.path / ".sandagentfs/version").read_text()
    assert any(c.isdigit() for c in version) and version.endswith("\n")
    for line in (mnt.path / ".sandagentfs/stats").read_text().splitlines():
        name, value = line.split()
        int(value)


def test_stats_is_closed_to_writing(mnt):
    for name in ("version", "stats", "diag"):
        path = mnt.path / ".sandagentfs" / name
        assert errno_of(lambda: os.open(path, os.O_WRONLY)) in (
            "EACCES", "EPERM")


@pytest.mark.parametrize("name", READ_ONLY)
@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDWR,
                                   os.O_WRONLY | os.O_APPEND,
                                   os.O_WRONLY | os.O_TRUNC])
def test_opening_for_writing_gives_eacces(thread, name, flags):
    assert errno_of(lambda: os.open(thread / name, flags)) == "EACCES"


GOOD = ["논문-실험", "New Folder", "a", "a.b", "1", "01", "o'brien",
        "a%b_c", 'quo"te', "x'; DROP TABLE threads; --", "ünï 🤣", " lead",
        "trail ", "a:b", "a//b".replace("//", "\\"), "*", "~", "#x", "$HOME",
        str(uuid.uuid4()), "n" * 128, "é" * 64, "a-b", "wwwx", "http:x"]


@pytest.mark.parametrize("name", GOOD)
def test_good_thread_names(mnt, name):
    path = mnt.path / name
    path.mkdir()
    try:
        assert name in os.listdir(mnt.path)
        assert os.path.isdir(path)
        assert (path / "prompt").read_text() == ""
        assert errno_of(path.mkdir) == "EEXIST"
    finally:
        path.rmdir()
    assert name not in os.listdir(mnt.path)
    assert not path.exists()


BAD = [b".hidden", b".Trash-1000", b"-x", b"--help", b"a<b", b"a>b",
       b"www.example", b"see www.x", b"a\x01b", b"a\nb", b"a\x1b[2J", b"\x7f",
       b"\xff\xfe", b"a\xc0\xaf", b"\xed\xa0\x80", b"n" * 129,
       "é".encode() * 65, "a\u0085b".encode()]


@pytest.mark.parametrize("name", BAD)
def test_bad_thread_names(mnt, name):
    path = os.fsencode(mnt.path) + b"/" + name
    before = os.listdir(mnt.path)
    assert errno_of(lambda: os.mkdir(path)) == "EINVAL"
    assert os.listdir(mnt.path) == before


def test_a_name_over_255_bytes(mnt):
    assert errno_of((mnt.path / ("n" * 256)).mkdir) in (
        "ENAMETOOLONG", "EINVAL")


def test_looking_makes_no_thread(mnt):
    before = sorted(os.listdir(mnt.path))
    for name in [".Trash", ".Trash-1000", ".hidden", ".xdg-volume-info",
                 "autorun.inf", "desktop.ini", ".git", "nope", "favicon.ico"]:
        assert errno_of(lambda: os.stat(mnt.path / name)) == "ENOENT"
        assert errno_of(lambda: os.open(mnt.path / name / "prompt",
                                        os.O_RDONLY)) == "ENOENT"
    assert sorted(os.listdir(mnt.path)) == before


def test_only_directories_at_the_top(mnt):
    top = mnt.path
    refused = ("EPERM", "EACCES", "EINVAL", "ENOTSUP", "EOPNOTSUPP")
    assert errno_of(lambda: open(top / "file", "w")) in refused
    assert errno_of(lambda: os.symlink("x", top / "link")) in refused
    assert errno_of(lambda: os.mkfifo(top / "fifo")) in refused
    assert "file" not in os.listdir(top)


def test_no_other_names_in_a_thread(thread):
    names = sorted(os.listdir(thread.path))
    t = thread.path
    assert errno_of(lambda: open(t / "other", "w")) == "EPERM"
    assert errno_of(lambda: os.mkdir(t / "dir")) == "EPERM"
    assert errno_of(lambda: os.symlink("x", t / "sym")) == "EPERM"
    assert errno_of(lambda: os.link(t / "config", t / "hard")) == "EPERM"
    assert errno_of(lambda: os.mkfifo(t / "fifo")) == "EPERM"
    assert errno_of(lambda: os.rename(t / "log", t / "log2")) == "EPERM"
    assert errno_of(lambda: os.rename(t / "log", t / "prompt")) == "EPERM"
    assert errno_of(lambda: os.rename(t / "workspace", t / "w")) == "EPERM"
    assert errno_of(lambda: os.rename(t / "log", t / "workspace/log")) in (
        "EPERM", "EXDEV")
    assert errno_of(lambda: open(t / "checkpoints/x", "w")) in (
        "EPERM", "EACCES")
    assert sorted(os.listdir(t)) == names


def test_a_refused_name_does_not_switch_creation_off(mnt, thread):
    """ENOSYS would, for the whole mount."""
    for _ in range(3):
        assert errno_of(lambda: open(thread / ".prompt.swp", "w")) == "EPERM"
    thread.sh("true")
    (thread.workspace / "new").write_text("x")
    assert (thread.workspace / "new").read_text() == "x"


def test_a_fresh_thread_can_be_renamed(mnt):
    old, new = mnt.path / "New Folder (2)", mnt.path / "my-thread"
    old.mkdir()
    (old / "config").write_text("model = shell:\n")
    old.rename(new)
    assert not old.exists() and new.is_dir()
    assert "model = shell:" in (new / "config").read_text()
    assert '"thread_id":"my-thread"' in (new / "state").read_text().replace(
        '": "', '":"')
    assert errno_of(lambda: new.rename(mnt.path / "-bad")) == "EINVAL"
    assert errno_of(lambda: new.rename(mnt.path / ".bad")) == "EINVAL"
    other = mnt.path / "my-other"
    other.mkdir()
    assert errno_of(lambda: os.rename(new, other)) in ("EEXIST", "ENOTEMPTY")
    assert errno_of(lambda: new.rename(other / "workspace" / "x")) in (
        "EXDEV", "EPERM")
    assert errno_of(lambda: new.rename(other / "x")) in ("EXDEV", "EPERM")


def test_a_used_thread_cannot_be_renamed(parrot):
    parrot.ask("hello")
    new = parrot.mount.path / "renamed"
    assert errno_of(lambda: parrot.path.rename(new)) == "EPERM"
    assert parrot.path.is_dir() and not new.exists()


def test_mkdir_starts_nothing(fresh):
    fresh.start()
    for i in range(20):
        fresh.thread(f"t{i}")
        os.listdir(fresh.path / f"t{i}" / "workspace")
    assert fresh.sandboxes() == []


def test_looking_never_creates_a_sandbox(own):
    t = own.thread("look")
    run(f"ls -laR '{t.path}'; find '{t.path}'; grep -r x '{t.path}/workspace'; "
        f"du -s '{t.path}/workspace'; stat '{t.path}/workspace/x'")
    assert own.sandboxes() == []
    assert t.state()["sandbox"]["state"] in (None, "absent", "none")


def test_stat_is_stable_and_true(parrot):
    parrot.ask("hi")
    for name in CONTROL:
        path = parrot / name
        data = path.read_bytes()
        assert os.stat(path).st_size == len(data), name
        assert os.stat(path).st_ino == os.stat(path).st_ino, name
        assert abs(os.stat(path).st_mtime - time.time()) < 60
        if name != "state":
            assert path.read_bytes() == data, name
    inodes = [os.stat(parrot / n).st_ino for n in CONTROL]
    assert len(set(inodes)) == len(inodes)


def test_harmless_operations_on_control_files(parrot):
    parrot.ask("hi")
    before = parrot.text("messages"), parrot.log()
    for name in CONTROL:
        path = parrot / name
        assert errno_of(lambda: os.chmod(path, 0o644)) is None, name
        assert errno_of(lambda: os.utime(path, (1, 1))) is None, name
        if name not in READ_ONLY:
            assert errno_of(lambda: os.truncate(path, 0)) is None, name
        fd = os.open(path, os.O_RDONLY)
        assert errno_of(lambda: os.fsync(fd)) in (None, "EIO") \
            if name == "reply" else errno_of(lambda: os.fsync(fd)) is None
        os.close(fd)
        assert mode(path) == 0o600, name
    assert (parrot.text("messages"), parrot.log()) == before


@pytest.mark.needs_root
def test_other_users_are_kept_out(mnt):
    p = run(f"setpriv --reuid 12345 --regid 12345 --clear-groups ls '{mnt.path}'")
    assert p.returncode != 0 and "ermission denied" in p.stderr
