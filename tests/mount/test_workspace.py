"""Contract §7, as far as one mount and its sandbox go. Each test works in a
directory of its own of one workspace whose sandbox runs; what the sandbox
sees is asked of it by a command."""
import ctypes
import errno
import hashlib
import os
import random
import shutil
import stat
import subprocess
import time

import pytest

from saf import errno_of, run, wait_for


@pytest.fixture
def dir(workspace, request):
    d = workspace.workspace / request.node.name.replace("/", "_")[:60]
    d.mkdir()
    yield d
    shutil.rmtree(d, ignore_errors=True)


@pytest.fixture
def inside(workspace, dir):
    """A command in the sandbox, in the same directory; its output."""
    def ask(command):
        return workspace.sh(f"cd '/home/daytona/{dir.name}' && {{ {command}\n}}")
    return ask


def test_both_see_the_same(dir, inside):
    (dir / "a.txt").write_text("from here\n")
    (dir / "sub").mkdir()
    (dir / "sub/b.bin").write_bytes(bytes(range(256)))
    out = inside("cat a.txt; sha256sum sub/b.bin; echo there > c.txt; ls")
    assert "from here" in out
    assert hashlib.sha256(bytes(range(256))).hexdigest() in out
    assert (dir / "c.txt").read_text() == "there\n"
    assert sorted(os.listdir(dir)) == ["a.txt", "c.txt", "sub"]


def test_writes_before_a_turn_are_in_the_sandbox(dir, inside):
    for i in range(30):
        (dir / "f").write_text(f"version {i}\n")
        assert f"version {i}" in inside("cat f")


def test_what_a_turn_did_is_visible_at_once(dir, inside):
    for i in range(10):
        inside(f"echo {i} > f; mkdir d{i}; rm -f g; echo {i} > g")
        assert (dir / "f").read_text() == f"{i}\n"
        assert (dir / f"d{i}").is_dir()
        assert (dir / "g").read_text() == f"{i}\n"


def test_a_dirty_open_file_is_in_the_sandbox_too(dir, inside):
    with open(dir / "open", "w") as f:
        f.write("unsaved\n")
        f.flush()
        assert "unsaved" in inside("cat open")


def test_background_changes_within_a_second(dir, inside):
    assert os.listdir(dir) == []
    inside("(sleep 1; echo late > late) > /dev/null 2>&1 &")
    assert wait_for(lambda: "late" in os.listdir(dir), 4, 0.2)
    assert wait_for(lambda: (dir / "late").read_text() == "late\n", 2, 0.2)
    inside("(sleep 1; echo other text > late) > /dev/null 2>&1 &")
    assert wait_for(lambda: (dir / "late").read_text() == "other text\n", 4, 0.2)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 131073, 3_000_000,
                                  9_000_000])
def test_sizes(dir, inside, size):
    data = random.Random(size).randbytes(size)
    (dir / "here").write_bytes(data)
    assert hashlib.sha256(data).hexdigest() in inside("sha256sum here")
    inside("cp here there; cat here here > twice")
    assert (dir / "there").read_bytes() == data
    assert (dir / "twice").read_bytes() == data + data
    assert os.stat(dir / "twice").st_size == 2 * size


def test_partial_writes(dir, inside):
    inside("printf ABCDEFGHIJ > f")
    fd = os.open(dir / "f", os.O_RDWR)
    os.pwrite(fd, b"xy", 3)
    os.pwrite(fd, b"Z", 12)
    os.close(fd)
    assert (dir / "f").read_bytes() == b"ABCxyFGHIJ\0\0Z"
    assert "ABCxyFGHIJ  Z" in inside("tr '\\0' ' ' < f")
    os.truncate(dir / "f", 4)
    os.truncate(dir / "f", 6)
    assert (dir / "f").read_bytes() == b"ABCx\0\0"
    with open(dir / "f", "ab") as f:
        f.write(b"end")
    assert "ABCx  end" in inside("tr '\\0' ' ' < f")


def test_rename_remove_links(dir, inside):
    (dir / "a").write_text("a")
    (dir / "b").write_text("b")
    os.rename(dir / "a", dir / "b")
    assert (dir / "b").read_text() == "a" and not (dir / "a").exists()
    os.symlink("b", dir / "s")
    os.symlink("nowhere", dir / "dangling")
    os.link(dir / "b", dir / "h")
    assert os.readlink(dir / "s") == "b"
    assert os.stat(dir / "h").st_nlink == 2
    assert os.stat(dir / "h").st_ino == os.stat(dir / "b").st_ino
    out = inside("readlink s dangling; stat -c %h b; cat h s; mkdir d; mv h d/h")
    assert "nowhere" in out and "\n2\n" in out and "aa" in out
    assert (dir / "d/h").read_text() == "a"
    os.unlink(dir / "s")
    os.unlink(dir / "dangling")
    shutil.rmtree(dir / "d")
    assert "b" in inside("ls") and os.listdir(dir) == ["b"]


def renameat2(old, new, flags):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        return errno.errorcode[ctypes.get_errno()]
    return None


def test_noreplace_and_exchange(dir, inside):
    (dir / "a").write_text("a")
    (dir / "b").write_text("b")
    assert renameat2(dir / "a", dir / "b", 1) == "EEXIST"
    assert renameat2(dir / "a", dir / "c", 1) is None
    assert renameat2(dir / "b", dir / "c", 2) is None
    assert (dir / "b").read_text() == "a" and (dir / "c").read_text() == "b"
    assert "ab" in inside("cat b c")


def test_errno(dir):
    (dir / "f").write_text("x")
    (dir / "d/e").mkdir(parents=True)
    check = [
        (lambda: os.mkdir(dir / "d"), "EEXIST"),
        (lambda: os.mkdir(dir / "f"), "EEXIST"),
        (lambda: os.mkdir(dir / "no/such"), "ENOENT"),
        (lambda: open(dir / "no/f", "w"), "ENOENT"),
        (lambda: os.rmdir(dir / "d"), "ENOTEMPTY"),
        (lambda: os.rmdir(dir / "f"), "ENOTDIR"),
        (lambda: os.unlink(dir / "d"), ("EISDIR", "EPERM")),
        (lambda: os.listdir(dir / "f"), "ENOTDIR"),
        (lambda: open(dir / "d", "w"), "EISDIR"),
        (lambda: os.open(dir / "f", os.O_CREAT | os.O_EXCL), "EEXIST"),
        (lambda: os.rename(dir / "d", dir / "f"), "ENOTDIR"),
        (lambda: os.rename(dir / "f", dir / "d"), "EISDIR"),
        (lambda: os.rename(dir / "d", dir / "d/e/x"), "EINVAL"),
        (lambda: os.readlink(dir / "f"), "EINVAL"),
        (lambda: os.chown(dir / "f", 12345, -1), "EPERM"),
        (lambda: os.chown(dir / "f", os.getuid(), os.getgid()), None),
        (lambda: os.mknod(dir / "dev", 0o20600, os.makedev(1, 3)),
         ("EPERM", "ENOTSUP", "EOPNOTSUPP")),
        (lambda: os.getxattr(dir / "f", "user.x"),
         ("ENODATA", "ENOTSUP", "EOPNOTSUPP")),
    ]
    for i, (what, want) in enumerate(check):
        got = errno_of(what)
        assert got == want or (want and got in want), (i, got, want)


def test_modes_and_times(dir, inside):
    (dir / "f").write_text("x")
    os.chmod(dir / "f", 0o751)
    os.utime(dir / "f", ns=(1_000_000_001, 1_500_000_000_123_456_789))
    assert os.stat(dir / "f").st_mtime_ns == 1_500_000_000_123_456_789
    assert os.stat(dir / "f").st_mode & 0o7777 == 0o751
    out = inside("stat -c '%a %Y %y' f; chmod 640 f; touch -d @1234567890 f")
    assert "751 1500000000" in out and "123456789" in out
    assert os.stat(dir / "f").st_mode & 0o7777 == 0o640
    assert os.stat(dir / "f").st_mtime == 1234567890
    assert os.stat(dir / "f").st_uid == os.getuid()
    out = inside("umask 077; : > own; stat -c %U f own")
    assert "daytona" in out


def test_unlinked_while_open(dir):
    fd = os.open(dir / "f", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"x" * 5000)
    os.unlink(dir / "f")
    assert os.listdir(dir) == []
    os.write(fd, b"y")
    assert os.pread(fd, 10000, 0) == b"x" * 5000 + b"y"
    os.close(fd)


def test_statfs(workspace):
    s = os.statvfs(workspace.workspace)
    assert s.f_blocks > 0 and 0 < s.f_bavail <= s.f_blocks
    assert s.f_namemax >= 255


def test_links_never_leave_for_the_host(workspace, dir, inside):
    secret = workspace.mount.base / "host-secret"
    secret.write_text("of the host")
    inside(f"ln -s {secret} abs; ln -s /etc/passwd passwd; "
           "ln -s ../../../../../../../../etc/passwd up; "
           "ln -s /home/daytona home; ln -s / root; "
           "ln -s ../../.. dots; mkdir d; echo in > d/in; ln -s d/in ok; "
           "ln -s /home/daytona/" + dir.name + "/d/in absin; "
           "ln -s /proc/self/root/etc/passwd proc; ln -s . self")
    base = os.path.realpath(workspace.mount.path)
    for name in sorted(os.listdir(dir)):
        if not os.path.islink(dir / name):
            continue
        real = os.path.realpath(dir / name)
        assert real.startswith(base + "/"), (name, os.readlink(dir / name), real)
        assert not os.readlink(dir / name).startswith("/etc"), name
    for name in ("abs", "passwd", "up", "proc"):
        assert errno_of(lambda: open(dir / name)) is not None, name
        assert errno_of(lambda: open(dir / name, "w")) is not None, name
    assert (dir / "ok").read_text() == "in\n"
    assert (dir / "absin").read_text() == "in\n"
    assert not os.readlink(dir / "absin").startswith("/")
    assert errno_of(lambda: os.listdir(dir / "root")) is not None
    assert secret.read_text() == "of the host"


def test_fifos_are_shown_and_do_not_hold_anybody(dir, inside):
    """As a local pipe it waits for a writer, and a signal ends that."""
    inside("mkfifo p; echo x > f")
    assert stat.S_ISFIFO(os.stat(dir / "p").st_mode)
    begin = time.monotonic()
    run(f"timeout 1 cat '{dir}/p'")
    assert time.monotonic() - begin < 3
    p = run(f"timeout 5 grep -rs --devices=skip x '{dir}'; cp '{dir}/f' '{dir}/g'")
    assert p.returncode == 0
    assert sorted(os.listdir(dir)) == ["f", "g", "p"]


def test_a_growing_file_can_be_followed(workspace, dir, inside):
    inside("(for i in $(seq 8); do echo line-$i >> train.log; sleep 0.5; done)"
           " > /dev/null 2>&1 &")
    tail = subprocess.Popen(["tail", "-n", "+1", "-F", dir / "train.log"],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        os.set_blocking(tail.stdout.fileno(), False)
        seen = bytearray()

        def whole():
            seen.extend(tail.stdout.read(10000) or b"")
            return b"line-8" in seen

        assert wait_for(whole, 12, 0.1)
    finally:
        tail.kill()
        tail.wait()
    assert b"\0" not in seen
    assert seen.decode().split() == [f"line-{i}" for i in range(1, 9)]


def test_fsync_is_in_the_sandbox(workspace, dir):
    """No turn between: the sandbox's process itself is looked at."""
    with open(dir / "f", "w") as f:
        f.write("synced")
        f.flush()
        os.fsync(f.fileno())
    box = workspace.mount.state_dir / "box"
    found = run(f"find '{box}' -name f -path '*{dir.name}*' -exec cat {{}} +")
    if os.geteuid() == 0:
        assert found.stdout == "synced"


def test_many_small_files(dir, inside):
    for i in range(300):
        (dir / f"f{i:03}").write_text(f"{i}\n")
    assert inside("cat f* | wc -l").split()[0] == "300"
    inside("for i in $(seq 300); do echo $i > g$i; done")
    assert len(os.listdir(dir)) == 600
    assert sum(1 for n in os.listdir(dir)
               if n[0] == "g" and (dir / n).read_text() == n[1:] + "\n") == 300


def test_a_failed_turn_still_leaves_its_files(dir, inside):
    inside("echo x > f; exit 9")
    assert (dir / "f").read_text() == "x\n"


def test_names_of_all_kinds(dir, inside):
    names = ["a b", "a\nb", "a'b", 'a"b', "$HOME", "`id`", "*", "-n", "é", "🤣",
             "a\\b", "#", "%41", "\x01", "{a}", "~", "..."]
    for n in names:
        (dir / n).write_text(n)
    inside("mkdir out; for f in *; do [ -f \"$f\" ] && cp -- \"$f\" out/; done")
    assert sorted(os.listdir(dir / "out")) == sorted(
        n for n in names if not n.startswith("."))
    for n in os.listdir(dir / "out"):
        assert (dir / "out" / n).read_text() == n
    raw = os.fsencode(dir) + b"/bad-\xff-utf8"
    with open(raw, "w") as f:
        f.write("raw")
    assert b"bad-\xff-utf8" in os.listdir(os.fsencode(dir))
    assert open(raw).read() == "raw"


def test_clash_keeps_both(workspace, dir, inside):
    inside("echo base > f")
    fd = os.open(dir / "f", os.O_RDWR)
    assert os.read(fd, 100) == b"base\n"
    # Behind the mount's back, while ours is not pushed.
    workspace.prompt(f"cd {dir.name}; (sleep 0.4; echo theirs > f) "
                     "> /dev/null 2>&1 & true")
    workspace.idle()
    time.sleep(0.6)
    os.pwrite(fd, b"OURS\n", 0)
    os.close(fd)
    out = inside("sync; ls; cat f*")
    assert "OURS" in out
    names = os.listdir(dir)
    if "f.conflict" in names:
        texts = {(dir / "f").read_text(), (dir / "f.conflict").read_text()}
        assert texts == {"theirs\n", "OURS\n"}
    else:
        assert "theirs" not in out.replace("OURS", ""), "a mix of both"


def test_between_two_threads(mnt, workspace, dir):
    other = mnt.thread("other-workspace")
    other.sh("true")
    (dir / "f").write_text("moves")
    assert errno_of(lambda: os.rename(dir / "f", other.workspace / "f")) == "EXDEV"
    shutil.move(dir / "f", other.workspace / "f")
    assert (other.workspace / "f").read_text() == "moves"
    assert not (dir / "f").exists()
    assert errno_of(lambda: os.link(other.workspace / "f", dir / "h")) in (
        "EXDEV", "EPERM")


def test_writing_makes_the_sandbox(own):
    t = own.thread("writes")
    assert own.sandboxes() == []
    (t.workspace / "f").write_text("first")
    assert (t.workspace / "f").read_text() == "first"
    assert "first" in t.sh("cat f")


def test_everything_is_there_after_a_restart(own):
    t = own.thread("kept")
    t.sh("mkdir -p d; echo inside > d/a")
    (t.workspace / "d/b").write_text("outside")
    own.stop()
    own.start()
    assert (t.workspace / "d/a").read_text() == "inside\n"
    assert (t.workspace / "d/b").read_text() == "outside"
    assert "outside" in t.sh("cat d/b")
    assert "created" not in t.log().split("=== turn 2")[1]


def test_listing_a_stopped_sandbox_does_not_start_it(own):
    t = own.thread("asleep")
    t.sh("mkdir d; echo x > d/f; echo y > g")
    run(f"ls -lR '{t.workspace}'; cat '{t.workspace}/g'")
    t.ctl("stop")
    assert t.state()["sandbox"]["state"] == "stopped"
    time.sleep(1.2)
    out = run(f"ls -lR '{t.workspace}'; stat '{t.workspace}/d/f'; "
              f"cat '{t.workspace}/g'").stdout
    assert "f" in out and "y" in out
    assert t.state()["sandbox"]["state"] == "stopped"


def test_editors(dir, inside):
    (dir / "t.txt").write_text("abc\n")
    p = run(f"cd '{dir}' && vim -es -u NONE -c '%s/abc/vim/' -c 'wq' t.txt; "
            "sed -i s/vim/sed/ t.txt && ls -A")
    assert p.stdout.split() == ["t.txt"], p.stdout + p.stderr
    assert (dir / "t.txt").read_text() == "sed\n"
    assert "sed" in inside("cat t.txt")


def test_the_daemons_own_folder_is_not_shown(workspace):
    workspace.sh("true")
    assert ".daytona" not in os.listdir(workspace.workspace)


def test_nosuid_nodev(mnt):
    with open("/proc/self/mountinfo") as f:
        line = [l for l in f if l.split()[4] == str(mnt.path)][0]
    options = line.split()[5].split(",")
    assert "nosuid" in options and "nodev" in options
