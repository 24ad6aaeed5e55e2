"""Contract §6: config."""
import os

import pytest

from saf import errno_of, run


def test_empty_at_first(thread):
    assert thread.text("config") == "" or all(
        l.startswith("#") for l in thread.text("config").splitlines())


GOOD = ["model = shell:", "model=shell:", "  model =  shell:  ",
        "temperature = 0.2", "temperature = 0", "max_tokens = 4096",
        "system_prompt = You are brief.", "recursion_limit = 10",
        "ttl_minutes = 60", "ttl_minutes = 0", "stop_minutes = 15",
        "env.NAME = value with spaces", "env.A_1=", "network = on",
        "network = off", "# a comment", "", "   ", "#",
        "base_url = https://example.invalid/v1", "snapshot = default"]


@pytest.mark.parametrize("line", GOOD)
def test_good_lines(thread, line):
    thread.config(line + "\n")
    assert thread.text("config") == line + "\n"


BAD = ["nosuch = 1", "model", "= x", "model shell:", "temperature = hot",
       "temperature = -1", "max_tokens = 0.5", "max_tokens = -3",
       "ttl_minutes = soon", "ttl_minutes = -1", "network = maybe",
       "env. = x", "env.1X = x", "env.A B = x", "recursion_limit = 0x10",
       "Model = shell:", "model = nosuch:x",
       "max_tokens = 99999999999999999999"]


@pytest.mark.parametrize("line", BAD)
def test_bad_lines_are_refused_at_write(thread, line):
    good = "# mine\nmodel = shell:\n"
    thread.config(good)
    fd = os.open(thread / "config", os.O_WRONLY | os.O_TRUNC)
    assert errno_of(lambda: os.write(fd, f"{line}\n".encode())) == "EINVAL"
    os.close(fd)
    assert thread.text("config") == good, "the old file stays"


def test_shells_see_the_refusal(thread):
    for shell in ("bash", "dash"):
        p = run(f"echo 'nosuch = 1' > '{thread / 'config'}'", shell=shell)
        # dash calls every failed write an I/O error.
        assert p.returncode != 0 and "error" in p.stderr or \
            "nvalid argument" in p.stderr


def test_replace_and_add(thread):
    c = thread / "config"
    run(f"echo 'temperature = 1' > '{c}'")
    run(f"echo 'max_tokens = 5' >> '{c}'")
    assert c.read_text() == "temperature = 1\nmax_tokens = 5\n"
    run(f"echo 'model = shell:' > '{c}'")
    assert c.read_text() == "model = shell:\n"
    p = run(f"for i in 1 2 3; do echo \"env.N$i = $i\" >> '{c}'; done")
    assert p.returncode == 0
    assert c.read_text().count("env.N") == 3


def test_one_bad_line_refuses_the_whole(thread):
    thread.config("model = shell:\n")
    assert errno_of(lambda: thread.config(
        "temperature = 1\nnosuch = 2\n")) == "EINVAL"
    assert thread.text("config") == "model = shell:\n"


def test_adding_to_a_last_line_without_its_end(thread):
    c = thread / "config"
    run(f"printf 'temperature = 1' > '{c}'")
    assert c.read_text().rstrip("\n") == "temperature = 1"
    p = run(f"echo 'max_tokens = 5' >> '{c}'")
    if p.returncode == 0:
        assert c.read_text().splitlines() == ["temperature = 1",
                                              "max_tokens = 5"]
    else:
        assert c.read_text().rstrip("\n") == "temperature = 1"


@pytest.mark.parametrize("command", [
    "printf 'model = shell:\\n' > config", "echo 'model = shell:' | tee config",
    "{ echo '# one'; /bin/echo 'model = shell:'; } > config",
    "echo 'model = shell:' | dd of=config bs=1 status=none",
    "echo 'model = shell:' > ../../c; cp ../../c config",
    "vim -es -u NONE -c 'call setline(1, \"model = shell:\")' -c 'wq!' config;"
    " true"])
def test_idioms(thread, command):
    p = run(f"cd '{thread.path}' && {command}")
    assert p.returncode == 0, p.stderr
    assert "model = shell:\n" in thread.text("config")


def test_emptied_it_is_as_new(thread):
    thread.config("model = shell:\ntemperature = 1\n")
    run(f": > '{thread / 'config'}'")
    assert "temperature" not in thread.text("config")


def test_the_model_changes_with_the_next_turn(mnt):
    t = mnt.thread("changes", f"model = {mnt.script('a.jsonl', {'content': 'a'})}\n")
    t.ask("one")
    assert t.reply()[0].strip() == "a"
    t.config(f"model = {mnt.script('b.jsonl', {'content': 'b'})}\n")
    t.ask("two")
    assert t.reply()[0].strip() == "b"
    assert t.state()["model"].endswith("b.jsonl")
    t.config("model = shell:\n")
    assert "three" in t.sh("echo three")


def test_environment_reaches_the_commands(thread):
    thread.config("env.COLOUR = deep blue\nenv.EMPTY =\n")
    assert "<deep blue>" in thread.sh('echo "<$COLOUR>"')


def test_no_network(thread):
    thread.config("network = off\n")
    out = thread.sh("cat /proc/net/dev | tail -n +3 | cut -d: -f1; echo end")
    assert [w for w in out.split() if w in ("eth0", "ens3", "wlan0")] == []
    assert "end" in out


def test_it_survives_unmount(own):
    t = own.thread("kept", "# note\nmodel = shell:\nenv.A = 1\n")
    own.stop()
    own.start()
    assert t.text("config") == "# note\nmodel = shell:\nenv.A = 1\n"


def test_precedence(fresh):
    """thread's config > mount option > environment > built in"""
    a = fresh.script("a.jsonl", {"content": "from option"})
    b = fresh.script("b.jsonl", {"content": "from config"})
    fresh.start("-o", f"model={a}")
    t = fresh.thread("precedence")
    t.ask("hi")
    assert t.reply()[0].strip() == "from option"
    t.config(f"model = {b}\n")
    t.ask("hi")
    assert t.reply()[0].strip() == "from config"
    t.config("")
    t.ask("hi")
    assert t.reply()[0].strip() == "from option"


def test_size_is_true(thread):
    thread.config("model = shell:\n# é\n")
    assert os.stat(thread / "config").st_size == len("model = shell:\n# é\n".encode())
