"""sandagentfs-box by itself: control plane, toolbox, isolation, limits, ends."""
import hashlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

import pytest

import saf

HOME = "/home/daytona"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)


class Box:
    def __init__(self, base, *options, env=None):
        self.base = Path(base)
        self.socket = self.base / "s"
        self.data = self.base / "data"
        self.options = options
        self.env = env
        self.process = None
        self.seen = set()
        self.start()

    def start(self):
        ready, ready_end = os.pipe()
        life_end, self.life = os.pipe()
        self.process = subprocess.Popen(
            [saf.BOX, "--socket", self.socket, "--data", self.data,
             "--parent-fd", str(life_end), "--ready-fd", str(ready_end),
             *map(str, self.options)],
            pass_fds=(ready_end, life_end), env=self.env,
            stderr=open(self.base / "err", "ab"), stdout=open(self.base / "out", "wb"))
        os.close(ready_end)
        os.close(life_end)
        with os.fdopen(ready) as f:
            self.ready = f.read()

    def end(self):
        """As the mount's death would."""
        if self.life is not None:
            os.close(self.life)
            self.life = None
        return self.process.wait(timeout=20)

    def request(self, method, path, body=None, headers=None, timeout=60):
        c = UnixConnection(self.socket, timeout)
        try:
            c.request(method, path, body, headers or {})
            return Reply(c.getresponse())
        finally:
            c.close()

    def api(self, method, path, body=None, headers=None):
        return self.request(method, "/api" + path, json.dumps(body) if body is not None else None, headers)

    def create(self, name, **fields):
        r = self.api("POST", "/sandbox", {"name": name, **fields})
        assert r.status == 200, r.body
        return Sandbox(self, r.json)

    def state(self, name):
        r = self.api("GET", "/sandbox/" + name)
        return r.json["state"] if r.status == 200 else r.status

    def processes(self):
        """What runs in its sandboxes, and their bubblewraps; after its end
        what is left of those that were seen."""
        if self.process.poll() is None:
            now = saf.descendants(self.process.pid)
            self.seen.update((p[0], p[3]) for p in now)
            return now
        return [p for p in saf.processes() if p[2] != "Z" and (p[0], p[3]) in self.seen]


class Sandbox:
    def __init__(self, box, dto):
        self.box, self.dto, self.id = box, dto, dto["id"]

    def __call__(self, method, path, body=None, headers=None, timeout=60):
        return self.box.request(method, f"/toolbox/{self.id}{path}", body, headers, timeout)

    def execute(self, command, timeout_s=60, **fields):
        return self("POST", "/process/execute", json.dumps({"command": command, **fields}), timeout=timeout_s)

    def sh(self, command, **fields):
        r = self.execute(command, **fields)
        assert r.status == 200, r.body
        return r.json["exitCode"], r.json["result"]

    def out(self, command):
        code, text = self.sh(command)
        assert code == 0, text
        return text

    def upload(self, path, data):
        return self("POST", "/files/upload" + q(path=path), *multipart([('name="file"; filename="f"', data)]))

    def get(self, path, headers=None):
        return self("GET", "/files/download" + q(path=path), None, headers)

    def action(self, word):
        return self.box.api("POST", f"/sandbox/{self.id}/{word}")


def q(**kw):
    return "?" + urllib.parse.urlencode(kw)


def multipart(parts):
    body = b"".join(b"--BB\r\nContent-Disposition: form-data; " + d.encode() + b"\r\n\r\n" + x + b"\r\n" for d, x in parts) + b"--BB--\r\n"
    return body, {"Content-Type": "multipart/form-data; boundary=BB"}


def bulk(files):
    parts = []
    for i, (path, data) in enumerate(files):
        parts += [(f'name="files[{i}].path"', path.encode()), (f'name="files[{i}].file"; filename="f"', data)]
    return multipart(parts)


def make_base():
    # Short: the name of a socket has 107 bytes.
    return Path(tempfile.mkdtemp(prefix="box", dir="/tmp"))


def dispose(box, base):
    if box:
        if box.process.poll() is None:
            box.processes()
            box.end()
        assert saf.wait_for(lambda: not box.processes(), 5), box.processes()
        assert b"ERROR: " not in (base / "err").read_bytes(), (base / "err").read_text()
    subprocess.run(["chmod", "-R", "u+rwX", str(base)])
    shutil.rmtree(base, ignore_errors=True)


@pytest.fixture(scope="module")
def box():
    base = make_base()
    box = Box(base, env={**os.environ, "NVIDIA_API_KEY": "nv-secret", "PIP_TOKEN": "pip-secret",
                         "PIP_LOG": "/nonexistent/there", "OPENBLAS_NUM_THREADS": "2", "https_proxy": os.environ.get("https_proxy", "")})
    assert box.ready == "ok\n"
    yield box
    dispose(box, base)


@pytest.fixture(scope="module")
def sandbox(box):
    return box.create("shared", labels={"a": "b"}, env={"GREETING": "hi there"})


@pytest.fixture
def own():
    """Makes boxes of the test's own."""
    made = []

    def make(*options, **kw):
        base = make_base()
        made.append((None, base))
        box = Box(base, *options, **kw)
        made[-1] = (box, base)
        return box
    yield make
    for box, base in made:
        dispose(box, base)


# --- the control plane ---------------------------------------------------------------------------

def test_dto_has_what_the_sdks_insist_on(sandbox):
    d = sandbox.dto
    types = {"id": str, "organizationId": str, "name": str, "user": str, "env": dict, "labels": dict, "public": bool, "networkBlockAll": bool,
             "kvm": bool, "target": str, "cpu": int, "gpu": int, "memory": int, "disk": int, "toolboxProxyUrl": str, "state": str, "createdAt": str}
    assert {k: type(d.get(k)) for k in types} == types
    assert d["state"] == "started" and "autoDestroyAt" not in d
    assert d["toolboxProxyUrl"] == "http://localhost/toolbox"


def test_found_by_id_and_name(box, sandbox):
    assert box.api("GET", "/sandbox/" + sandbox.id).json["name"] == "shared"
    assert box.api("GET", "/sandbox/shared").json["id"] == sandbox.id


def test_a_missing_one_is_404_in_daytonas_form(box):
    r = box.api("GET", "/sandbox/nope")
    assert r.status == 404
    assert r.json["message"] == "Sandbox with ID or name nope not found" and r.json["statusCode"] == 404


def test_a_name_in_use_is_409(box, sandbox):
    r = box.api("POST", "/sandbox", {"name": "shared"})
    assert r.status == 409 and r.json["message"] == "Sandbox with name shared already exists"


@pytest.mark.parametrize("name", ["<b>", "http://x", "www.x.y", "a\nb", "", "\x7f"])
def test_bad_names_are_400(box, name):
    assert box.api("POST", "/sandbox", {"name": name}).status == 400


def test_only_one_of_many_at_once_makes_it(box):
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(box.api("POST", "/sandbox", {"name": "race"}).status)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(codes) == [200] + [409] * 7
    assert box.api("DELETE", "/sandbox/race").status == 200
    assert box.api("GET", "/sandbox/race").status == 404


def test_lists_filter_and_page(box, sandbox):
    made = [box.create(f"list-{i}", labels={"n": str(i), "k": "v"}) for i in range(3)]
    names = lambda r: [x["name"] for x in r.json["items"]]
    assert names(box.api("GET", "/sandbox?name=LIST-&limit=2")) == ["list-2", "list-1"]
    cursor = box.api("GET", "/sandbox?name=list-&limit=2").json["nextCursor"]
    r = box.api("GET", f"/sandbox?name=list-&limit=2&cursor={cursor}")
    assert names(r) == ["list-0"] and r.json["nextCursor"] is None
    assert names(box.api("GET", "/sandbox" + q(labels=json.dumps({"n": "1"})))) == ["list-1"]
    r = box.api("GET", "/sandbox/paginated?page=2&limit=2" + "&labels=" + urllib.parse.quote('{"k":"v"}'))
    assert names(r) == ["list-0"] and (r.json["total"], r.json["page"], r.json["totalPages"]) == (3, 2, 2)
    made[0].action("stop")
    assert names(box.api("GET", "/sandbox?name=list-&states=stopped")) == ["list-0"]
    for s in made:
        assert box.api("DELETE", "/sandbox/" + s.id).status == 200


def test_setters(box):
    s = box.create("setters", ttlMinutes=60)
    assert "autoDestroyAt" in s.dto
    r = box.api("PUT", f"/sandbox/{s.id}/labels", {"labels": {"x": "y"}})
    assert (r.status, r.json) == (200, {"labels": {"x": "y"}})
    assert s.action("autostop/7").json["autoStopInterval"] == 7
    assert s.action("autoarchive/8").status == 201
    assert s.action("autodelete/-1").json["autoDeleteInterval"] == -1
    assert "autoDestroyAt" not in s.action("ttl/0").json
    assert s.action("ttl/abc").status == 400
    assert s.action("last-activity").status == 201
    assert s.action("public/true").json["public"] is True
    assert s.action("nonsense").status == 404
    assert box.api("GET", "/sandbox/setters").json["labels"] == {"x": "y"}
    box.api("DELETE", "/sandbox/setters")


def test_urls_are_made_of_the_host_that_was_named(box, sandbox):
    r = box.api("GET", f"/sandbox/{sandbox.id}/toolbox-proxy-url", headers={"Host": "box.example:8443", "X-Forwarded-Proto": "https"})
    assert r.json == {"url": "https://box.example:8443/toolbox"}
    r = box.api("GET", "/sandbox/shared", headers={"Host": "h:1"})
    assert r.json["toolboxProxyUrl"] == "http://h:1/toolbox"


def test_the_key_is_wanted_on_tcp_alone(own, tmp_path):
    (tmp_path / "key").write_text("the-key\nmore\n")
    box = own("--listen", "127.0.0.1:0", "--token-file", tmp_path / "key")
    line = (box.base / "out").read_text()
    assert line.startswith("sandagentfs-box: listening on http://127.0.0.1:") and line.endswith("/api\n")
    port = int(line.rsplit(":", 1)[1].split("/")[0])

    def ask(path, key=None):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        c.request("GET", path, headers={"Authorization": "Bearer " + key} if key else {})
        return Reply(c.getresponse())
    s = box.create("k")
    for key in (None, "wrong", "the-ke", "the-key2"):
        r = ask("/api/sandbox/k", key)
        assert (r.status, r.json["message"]) == (401, "Invalid credentials")
        r = ask(f"/toolbox/{s.id}/version", key)
        assert r.status == 401 and r.json["message"].startswith("unauthorized: missing authentication")
    r = ask("/api/sandbox/k", "the-key")
    assert r.status == 200 and r.json["toolboxProxyUrl"] == f"http://127.0.0.1:{port}/toolbox"
    assert ask(f"/toolbox/{s.id}/version", "the-key").json == {"version": "v0.190.0"}
    assert ask(f"/api/toolbox/{s.id}/toolbox/version", "the-key").status == 200
    assert ask("/api/health").status == 200
    # A command that prints all it got does not see the key.
    assert "the-key" not in s.out("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; grep -r the-key / --include=key -s || true")


def test_unknown_stopped_and_deleted_sandboxes(box):
    r = box.request("GET", "/toolbox/00000000-0000-4000-8000-000000000000/version")
    assert r.status == 401 and r.json["message"] == "unauthorized: authentication failed: sandbox not found"
    s = box.create("ends")
    assert s.action("stop").json["state"] == "stopped"
    r = s("GET", "/version")
    assert r.status == 400 and r.json["message"] == "bad request: failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?"
    assert s.action("stop").status == 400
    assert s.action("start").json["state"] == "started" and s.action("start").status == 200
    assert s("GET", "/version").status == 200
    assert box.api("DELETE", "/sandbox/ends").status == 200
    assert s("GET", "/version").status == 401


# --- execute -------------------------------------------------------------------------------------

@pytest.mark.parametrize("command,code,text", [
    ("echo hi; exit 3", 3, "hi\n"),
    ("echo 1; echo 2 >&2; echo 3", 0, "1\n2\n3\n"),
    ("kill -9 $$", -1, ""),
    ("sh -c 'kill -9 $$' 2>/dev/null; exit 137", 137, None),
    ("if", 2, None),
    ("nosuchcmd", 127, None),
    ("echo a # comment", 0, "a\n"),
    ("# only", 0, ""),
    ("cat; echo after", 0, "after\n"),
    ("printf 'a\\377\\303b'", 0, "a\ufffd\ufffdb"),
    ("printf 'a\\0b'", 0, "a\0b"),
    ("printf '<&>\\342\\200\\250'", 0, "<&>\u2028"),
    ("cat <<'E'\na $x\nE\necho end", 0, "a $x\nend\n"),
    ("pwd; echo $HOME; id -un; hostname; umask", 0, "/home/daytona\n/home/daytona\ndaytona\nsandbox\n0022\n"),
    ('echo "$GREETING"', 0, "hi there\n"),
    ("ulimit -c", 0, "0\n"),
    (": " + "x" * 1000000 + "; echo ok", 0, "ok\n"),
    # Data, not text, for the shell.
    ("echo '\\u0000' \"\\\\\"", 0, "\\u0000 \\\n"),
])
def test_execute(sandbox, command, code, text):
    got, result = sandbox.sh(command)
    assert got == code
    if text is not None:
        assert result == text


def test_execute_escapes_as_the_daemon(sandbox):
    assert sandbox.execute("printf '<&>\\377'").body == b'{"exitCode":0,"result":"\\u003c\\u0026\\u003e\\ufffd"}'


def test_execute_where_and_with_what(sandbox):
    assert sandbox.sh("pwd", cwd="/tmp") == (0, "/tmp\n")
    assert sandbox.sh("pwd", cwd="/nope") == (-1, "fork/exec /usr/bin/bash: no such file or directory")
    assert sandbox.sh("pwd", cwd="/etc/passwd") == (-1, "fork/exec /usr/bin/bash: not a directory")
    assert sandbox.sh('echo "$A|$GREETING"', envs={"A": "x'y\nz", "GREETING": "mine"}) == (0, "x'y\nz|mine\n")
    for name in ("1A", "A=B", ""):
        r = sandbox.execute("true", envs={name: "x"})
        assert r.status == 400 and r.json["message"] == f"bad request: invalid environment variable name: '{name}'"


@pytest.mark.parametrize("body", ["", "{", "[]", "{}", '{"command":""}', '{"command":"  "}', '{"command":1}', '{"command":"true","timeout":-1}',
                                  '{"command":"true","timeout":1.5}', '{"command":"true","timeout":"5"}', '{"command":"true","envs":[]}'])
def test_bad_requests_are_400_in_the_daemons_form(sandbox, body):
    r = sandbox("POST", "/process/execute", body)
    assert r.status == 400 and r.json["code"] == "BAD_REQUEST" and r.json["path"] == "/process/execute"


def test_time_out_kills_the_group(sandbox):
    start = time.monotonic()
    r = sandbox.execute("echo part; sleep 3331 & sleep 3331", timeout=1)
    assert r.status == 408 and r.json["code"] == "REQUEST_TIMEOUT" and time.monotonic() - start < 5
    assert saf.wait_for(lambda: "sleep 3331" not in sandbox.out("cat /proc/*/cmdline 2>/dev/null | tr '\\0' ' '; true"), 3)


def test_the_reply_waits_for_who_holds_the_pipe_and_no_longer(sandbox):
    start = time.monotonic()
    assert sandbox.sh("sleep 1 & echo now") == (0, "now\n")
    assert 0.9 < time.monotonic() - start < 4
    start = time.monotonic()
    assert sandbox.sh("setsid sleep 100 >/dev/null 2>&1 </dev/null & echo now") == (0, "now\n")
    assert time.monotonic() - start < 1
    sandbox.sh("pkill sleep; true")


# The recipe that the sandbox client uses: a command in a group of its own, its output in a file.
RECIPE = """[ -n "$ZSH_VERSION$BASH_VERSION" ] && exec sh
D=%(dir)s; mkdir -m 700 "$D" && mkfifo "$D/done" || exit 99
exec 3<>"$D/done"
cat >"$D/cmd" <<'END-OF-COMMAND'
%(command)s
END-OF-COMMAND
setsid sh -c 'echo $$ >"$1/pgid"; sh "$1/cmd" >"$1/out" 2>&1 </dev/null 3>&-; echo $? >"$1/rc.new"; mv "$1/rc.new" "$1/rc"; echo >&3' sh "$D" >/dev/null 2>&1 </dev/null &
timeout 10 sh -c 'read x' <&3
cat "$D/rc"; wc -c <"$D/out"
"""


@pytest.mark.parametrize("command,code,size", [("exit 3", 3, 0), ("kill -9 $$", 137, None), ("cat", 0, 0), ("if", 2, None), ("echo a # comment", 0, 2),
                                               ("setsid sleep 100 &", 0, 0), ("head -c 50000000 /dev/zero | tr '\\0' x", 0, 50000000)])
def test_what_makes_peers_hang_ends_at_once(sandbox, command, code, size):
    start = time.monotonic()
    name = "/tmp/run-" + hashlib.sha1(command.encode()).hexdigest()[:8]
    lines = sandbox.out(RECIPE % {"dir": name, "command": command}).split()
    assert int(lines[0]) == code and (size is None or int(lines[1]) == size)
    assert time.monotonic() - start < 3
    sandbox.sh(f"pkill sleep; rm -rf {name}")


def test_fifty_at_once(sandbox):
    codes = []
    start = time.monotonic()
    threads = [threading.Thread(target=lambda: codes.append(sandbox.sh("sleep 1; exit 5")[0])) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert codes == [5] * 50 and time.monotonic() - start < 8


def test_a_client_that_goes_does_not_end_its_command(box, sandbox):
    c = UnixConnection(box.socket)
    c.request("POST", f"/toolbox/{sandbox.id}/process/execute", json.dumps({"command": "sleep 1; echo done >gone"}))
    time.sleep(0.3)
    c.close()
    assert saf.wait_for(lambda: sandbox.sh("cat gone")[1] == "done\n", 5)


def test_sixty_megabytes_of_output(sandbox):
    r = sandbox.execute("head -c 60000000 /dev/zero | tr '\\0' x")
    assert r.status == 200 and len(r.json["result"]) == 60000000


def test_requests_as_clients_send_them(box, sandbox):
    c = UnixConnection(box.socket)
    for _ in range(3):  # one connection, kept alive
        c.request("POST", f"/toolbox/{sandbox.id}/process/execute", iter([b'{"command":', b'"echo chunked"}']), {"Transfer-Encoding": "chunked"}, encode_chunked=True)
        assert Reply(c.getresponse()).json["result"] == "chunked\n"
    c.request("POST", f"/api/sandbox/{sandbox.id}/last-activity", b"", {"Content-Type": "application/x-www-form-urlencoded"})
    assert Reply(c.getresponse()).status == 201
    r = sandbox("GET", "/nope")
    assert (r.status, r.body) == (404, b"404 page not found")
    assert sandbox("PUT", "/files").status == 404 and sandbox("OPTIONS", "/files").status == 404
    r = sandbox("GET", "/version/")
    assert r.status == 301 and r.headers["location"] == "/version"
    assert sorted(sandbox("GET", "/version").headers) == ["content-length", "content-type", "date", "x-request-id"]


# --- files ---------------------------------------------------------------------------------------

def test_up_and_down(sandbox):
    assert (sandbox.upload(HOME + "/d1/d2/f", b"0123456789").status) == 200
    assert sandbox.out("stat -c '%a %s' d1 d1/d2/f").split("\n")[1] == "644 10"
    r = sandbox.get(HOME + "/d1/d2/f")
    assert r.status == 200 and r.body == b"0123456789" and r.headers["accept-ranges"] == "bytes"
    for header, status, body, content_range in [("bytes=2-4", 206, b"234", "bytes 2-4/10"), ("bytes=7-", 206, b"789", "bytes 7-9/10"), ("bytes=-3", 206, b"789", "bytes 7-9/10"),
                                                ("bytes=8-99", 206, b"89", "bytes 8-9/10"), ("bytes=10-", 416, None, "bytes */10"), ("bytes=5-2", 416, None, None), ("lines=1", 416, None, None),
                                                ("bytes=-0", 206, b"", "bytes 10-9/10"), ("bytes=0-1,50-60", 206, b"01", "bytes 0-1/10"), ("bytes=0-9,0-9", 200, b"0123456789", None)]:
        r = sandbox.get("d1/d2/f", {"Range": header})
        assert (r.status, r.headers.get("content-range")) == (status, content_range), header
        assert body is None or r.body == body
    r = sandbox.get("d1/d2/f", {"Range": "bytes=0-1,4-5"})
    assert r.status == 206 and b"bytes 4-5/10" in r.body and r.headers["content-type"].startswith("multipart/byteranges; boundary=")
    modified = sandbox.get("d1/d2/f").headers["last-modified"]
    assert sandbox.get("d1/d2/f", {"If-Modified-Since": modified}).status == 304
    assert sandbox.get("d1/d2/f", {"If-Range": modified, "Range": "bytes=0-0"}).status == 206
    assert sandbox.get("d1/d2/f", {"If-Range": "Mon, 01 Jan 2024 00:00:00 GMT", "Range": "bytes=0-0"}).status == 200


def test_the_errors_of_files_have_no_body(sandbox):
    sandbox.out("cd; rm -rf e; mkdir e; : >e/f; ln -s nowhere e/dangling; ln -s loop e/loop; mkdir -m 0 e/closed")
    for method, path, status in [("GET", "/files" + q(path="e/nope"), 404), ("GET", "/files" + q(path="e/f"), 400), ("GET", "/files" + q(path="e/closed"), 403),
                                 ("GET", "/files/info" + q(path="e/dangling"), 404), ("GET", "/files/info" + q(path="e/loop"), 400), ("GET", "/files/info", 400),
                                 ("GET", "/files/download" + q(path="e"), 400), ("GET", "/files/download" + q(path="e/nope"), 404), ("GET", "/files/info?path=%00", 400),
                                 ("DELETE", "/files" + q(path="e"), 400), ("DELETE", "/files" + q(path="e/nope"), 404), ("POST", "/files/folder" + q(path="e/f"), 400),
                                 ("POST", "/files/permissions" + q(path="e/f", mode="u+x"), 400), ("POST", "/files/move" + q(source="e/nope", destination="e/x"), 404),
                                 ("POST", "/files/move" + q(source="e/f", destination="e/closed"), 409)]:
        r = sandbox(method, path)
        assert (r.status, r.body) == (status, b""), path
    sandbox.out("chmod 700 e/closed")


def test_listing(sandbox):
    sandbox.out("cd; rm -rf l; mkdir l; cd l; printf hello >a; ln -s a link; ln -s no dangling; mkdir -m 1777 sticky; printf x >\"$(printf 'b\\377d')\"; touch -d '2024-02-29 12:34:56.5 UTC' a")
    j = sandbox("GET", "/files" + q(path=HOME + "/l")).json
    assert [x["name"] for x in j] == ["a", "b\ufffdd", "link", "sticky"]
    a = dict(j[0])
    assert a == {"name": "a", "size": 5, "mode": "-rw-r--r--", "modTime": "2024-02-29 12:34:56.5 +0000 UTC", "modifiedAt": "2024-02-29T12:34:56.5Z",
                 "isDir": False, "owner": "1000", "group": "1000", "permissions": "0644"}
    assert j[3]["mode"] == "dtrwxrwxrwx" and j[2]["size"] == 5
    assert sandbox("GET", "/files?path=" + HOME + "/l/b%FFd").status == 400
    assert sandbox("GET", "/files/info?path=" + HOME + "/l/b%FFd").json["size"] == 1


def test_bulk(sandbox):
    r = sandbox("POST", "/files/bulk-upload", *bulk([(HOME + "/b/x/1", b"one"), (HOME, b"no"), (HOME + "/b/2 ", b"")]))
    assert r.status == 400
    assert r.json == {"errors": [HOME + ": create: open " + HOME + ": is a directory"], "files": [{"path": HOME + "/b/x/1", "bytes": 3}, {"path": HOME + "/b/2", "bytes": 0}]}
    r = sandbox("POST", "/files/bulk-download", json.dumps({"paths": [HOME + "/b/x/1", "/nope", HOME]}))
    assert r.headers["content-type"] == "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY" and r.headers.get("transfer-encoding") == "chunked"
    parts = r.body.split(b"--DAYTONA-FILE-BOUNDARY")
    assert parts[1].endswith(b"\r\n\r\none\r\n") and b"FILE_NOT_FOUND" in parts[2] and b"INVALID_FILE_PATH" in parts[3] and parts[4] == b"--\r\n"
    assert sandbox("POST", "/files/bulk-download", '{"paths":[]}').status == 400
    many = [(f"{HOME}/many/{i}", b"x" * 200) for i in range(500)]
    assert len(sandbox("POST", "/files/bulk-upload", *bulk(many)).json["files"]) == 500
    r = sandbox("POST", "/files/bulk-download", json.dumps({"paths": [p for p, _ in many]}))
    assert r.body.count(b'name="file"') == 500 and r.body.endswith(b"--DAYTONA-FILE-BOUNDARY--\r\n")


def test_large_files_stream(box, sandbox):
    data = os.urandom(1 << 20) * 64
    r = sandbox("POST", "/files/bulk-upload", *bulk([(HOME + "/large", data)]))
    assert r.json["files"][0]["bytes"] == len(data)
    assert sandbox.out("sha256sum large")[:64] == hashlib.sha256(data).hexdigest()
    assert hashlib.sha256(sandbox.get(HOME + "/large").body).hexdigest() == hashlib.sha256(data).hexdigest()
    with open(f"/proc/{box.process.pid}/status") as f:
        resident = int(next(l for l in f if l.startswith("VmRSS")).split()[1])
    if "SAF_SANITIZED" not in os.environ:
        assert resident < 40000, "the body went through the server's memory"


def test_an_aborted_upload(box, sandbox):
    sandbox.upload(HOME + "/ab", b"old-content")
    for route, after in (("upload" + q(path=HOME + "/ab"), b"old-content"), ("bulk-upload", None)):
        body, _ = bulk([(HOME + "/ab", b"N" * 300000)]) if route == "bulk-upload" else multipart([('name="file"; filename="f"', b"N" * 300000)])
        s = socket.socket(socket.AF_UNIX)
        s.connect(str(box.socket))
        s.sendall(f"POST /toolbox/{sandbox.id}/files/{route} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=BB\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        s.sendall(body[:200000])
        time.sleep(0.3)
        s.close()
        time.sleep(0.2)
        got = sandbox.get(HOME + "/ab").body
        assert got == after if after else 0 < len(got) < 300000


def test_a_file_cut_while_it_is_read(box, sandbox):
    sandbox.out("head -c 30000000 /dev/zero >cut")
    c = UnixConnection(box.socket, 10)
    c.request("GET", f"/toolbox/{sandbox.id}/files/download" + q(path=HOME + "/cut"))
    r = c.getresponse()
    r.read(1000)
    sandbox.out("truncate -s 1000000 cut")
    with pytest.raises(http.client.IncompleteRead):
        r.read()


def test_a_fifo_holds_nobody_else_up(box, sandbox):
    sandbox.out("rm -f ff; mkfifo ff")
    c = UnixConnection(box.socket, 1)
    c.request("GET", f"/toolbox/{sandbox.id}/files/download" + q(path=HOME + "/ff"))
    with pytest.raises(TimeoutError):
        c.getresponse()
    c.close()
    assert sandbox("GET", "/version").status == 200


def test_changes(sandbox):
    sandbox.out("cd; rm -rf c; mkdir -p c/d/e; printf 1 >c/a; printf 2 >c/b; ln -s d c/dl")
    act = lambda m, p, **k: sandbox(m, p + q(**k)).status
    assert act("POST", "/files/folder", path="c/n/m", mode="700") == 201 and sandbox.out("stat -c %a c/n c/n/m") == "700\n700\n"
    assert act("POST", "/files/permissions", path="c/a", mode="4600") == 200 and sandbox.out("stat -c %a c/a") == "600\n"
    assert act("POST", "/files/permissions", path="c/a", owner="daytona") == 200
    assert act("POST", "/files/permissions", path="c/a", owner="root") == 400
    assert act("POST", "/files/move", source="c/a", destination="c/b") == 409
    assert act("POST", "/files/move", source="c/a", destination="c/a2") == 200
    assert act("POST", "/files/move", source="c/d", destination="c/d/x") == 400 and sandbox.out("ls c/d") == "e\n"
    assert act("POST", "/files/move", source="c/d", destination="/tmp/moved") == 200 and sandbox.out("ls /tmp/moved; rm -r /tmp/moved") == "e\n"
    assert act("DELETE", "/files", path="c/n") == 400 and act("DELETE", "/files", path="c/n", recursive="1") == 400
    assert act("DELETE", "/files", path="c", recursive="true") == 204 and sandbox.sh("ls c")[0] == 2
    sandbox.out("mkdir c; printf 'one TODO\\n<two>\\n' >c/a.py; ln -s a.py c/l.py; printf 'TODO\\0' >c/bin")
    assert sandbox("GET", "/files/find" + q(path=HOME + "/c", pattern="TODO")).json == [{"file": HOME + "/c/a.py", "line": 1, "content": "one TODO"}]
    assert sandbox("GET", "/files/search" + q(path=HOME + "/c", pattern="*.py")).json == {"files": [HOME + "/c/a.py", HOME + "/c/l.py"]}
    r = sandbox("POST", "/files/replace", json.dumps({"files": [HOME + "/c/a.py", "/nope"], "pattern": "TODO", "newValue": "DONE"}))
    assert [x["success"] for x in r.json] == [True, False] and sandbox.out("cat c/a.py") == "one DONE\n<two>\n"


def test_a_very_deep_tree_can_be_removed(sandbox):
    sandbox.out("python3 -c \"\nimport os\nos.makedirs('deep', exist_ok=True)\nos.chdir('deep')\nfor i in range(3000):\n os.mkdir('d'); os.chdir('d')\n\"")
    assert sandbox("DELETE", "/files" + q(path=HOME + "/deep", recursive="true")).status == 204
    assert sandbox.sh("ls deep")[0] == 2


# --- isolation -----------------------------------------------------------------------------------

def test_a_link_leads_nowhere_but_inside(sandbox):
    sandbox.out("ln -sf /etc/shadow s1; ln -sf /proc/1/root/etc/shadow s2; ln -sf /../../../../../../etc/shadow s3; ln -sf /etc/hostname s4")
    for name in ("s1", "s2", "s3"):
        assert sandbox.get(f"{HOME}/{name}").status in (403, 404)
    assert sandbox.get(HOME + "/s4").body == b"sandbox\n"


def test_what_a_command_cannot_see(box, sandbox):
    other = box.create("other")
    other.upload(HOME + "/secret-file-of-other", b"secret")
    seen = sandbox.out("find / -xdev 2>/dev/null | grep -v '^/usr' ; ls /root /home /mnt 2>&1; true")
    assert "secret-file-of-other" not in seen and str(box.base) not in seen
    assert sandbox.out("ls /home; ls -A /root /mnt | grep -v :; true").split() == ["daytona"]
    assert sandbox.sh(f"ls {box.base} {os.path.expanduser('~')}/.ssh")[0] != 0
    for path in (box.socket, box.data):
        assert sandbox.sh(f"test -e {path}")[0] == 1
    assert box.api("DELETE", "/sandbox/other").status == 200


def test_what_a_command_cannot_touch(sandbox):
    for path in ("/usr/x", "/etc/x", "/x", "/run/x", "/dev/x", "/opt/x", "/run/sandagentfs/program", "/etc/passwd"):
        assert sandbox.sh(f": >{path}")[0] != 0, path
    assert sandbox.sh("kill -9 1; sleep 0.1; echo alive")[1].endswith("alive\n")
    assert sandbox.sh("ls /proc/1/fd /proc/1/map_files")[0] != 0 and sandbox.sh("cat /proc/1/environ")[0] != 0
    assert sandbox.out("grep CapEff /proc/self/status").split() == ["CapEff:", "0000000000000000"]
    assert sandbox.out("grep NoNewPrivs /proc/self/status").split() == ["NoNewPrivs:", "1"]


def test_a_command_inherits_three_descriptors(sandbox):
    assert sandbox.out("ls /proc/self/fd").split() == ["0", "1", "2", "3"]  # 3 is ls's own


def test_the_environment_has_what_pip_needs_and_no_keys(sandbox):
    env = sandbox.out("env")
    assert "secret" not in env and "PIP_LOG" not in env and "OPENBLAS_NUM_THREADS=2\n" in env
    for name in ("USER=", "LANG=", "LOGNAME="):
        assert name not in env


def test_no_network_if_so_asked(box):
    s = box.create("offline", networkBlockAll=True)
    assert [l.split(":")[0].strip() for l in s.out("cat /proc/net/dev").splitlines()[2:]] == ["lo"]
    assert s.dto["networkBlockAll"] is True
    assert box.api("DELETE", "/sandbox/offline").status == 200


# --- lives ---------------------------------------------------------------------------------------

def test_what_stays_and_what_ends(own):
    box = own()
    s = box.create("life")
    s.upload(HOME + "/keep", b"k")
    s.out("echo t >/tmp/keep; sleep 1000 >/dev/null 2>&1 & setsid sh -c 'trap \"\" TERM; sleep 1000' >/dev/null 2>&1 </dev/null & echo x")
    assert saf.wait_for(lambda: s.sh("pgrep -c sleep")[1] == "2\n", 5)
    before = box.processes()
    assert len(before) >= 4
    assert s.action("stop").json["state"] == "stopped"
    assert saf.wait_for(lambda: not box.processes(), 2), box.processes()
    s.action("start")
    assert s.out("cat keep /tmp/keep") == "kt\n" and s.sh("pgrep -c sleep")[1] == "0\n"
    s.action("stop?force=true")
    assert s.action("archive").json["state"] == "archived"
    assert s.action("start").json["state"] == "started"
    assert box.processes() and box.end() == 0
    assert saf.wait_for(lambda: not box.processes(), 2), box.processes()
    box.start()
    assert box.state("life") == "stopped"
    s.action("start")
    assert s.out("cat keep") == "k"


def test_nothing_outlives_a_killed_server(own):
    box = own()
    s = box.create("victim")
    s.out("setsid sh -c 'trap \"\" TERM; sleep 1000; sleep 1000' >/dev/null 2>&1 </dev/null & echo x")
    assert box.processes()
    os.kill(box.process.pid, signal.SIGKILL)
    box.process.wait()
    os.close(box.life)
    box.life = None
    assert saf.wait_for(lambda: not box.processes(), 3), box.processes()
    box.start()
    assert box.state("victim") == "stopped"
    assert s.action("start").status == 200
    assert s.sh("pgrep -c sleep")[1] == "0\n"


def test_time(own):
    box = own("--minute-ms", 1200)
    idle = box.create("idle", autoStopInterval=2, autoArchiveInterval=0)
    busy = box.create("busy", autoStopInterval=2, autoArchiveInterval=0)
    polled = box.create("polled", autoStopInterval=2, autoArchiveInterval=0)
    box.create("mortal", ttlMinutes=3, autoStopInterval=0)
    box.create("ephemeral", autoStopInterval=1, autoDeleteInterval=0)
    archived = box.create("archived", autoStopInterval=1, autoArchiveInterval=1)
    end = time.monotonic() + 6.4
    long_command = threading.Thread(target=lambda: busy.out("sleep 7.2"))
    long_command.start()
    while time.monotonic() < end:
        polled("GET", "/version", headers={"X-Daytona-Skip-Last-Activity-Update": "true"})
        time.sleep(0.05)
    assert box.state("busy") == "started"
    assert saf.wait_for(lambda: (box.state("idle"), box.state("polled")) == ("stopped", "stopped"), 20)
    assert saf.wait_for(lambda: (box.state("mortal"), box.state("ephemeral")) == (404, 404), 20)
    assert saf.wait_for(lambda: box.state("archived") == "archived", 20)
    long_command.join()
    assert saf.wait_for(lambda: box.state("busy") == "stopped", 20)
    assert archived.action("start").json["state"] == "started" and idle.action("start").status == 200


def test_memory_is_bounded(own):
    box = own("--memory-mb", 300)
    s = box.create("greedy")
    code, text = s.sh("python3 -c 'x = bytearray(400 << 20)'")
    assert code != 0 and "MemoryError" in text
    eat = "python3 -c 'import time; x = bytearray(b\"x\" * (120 << 20)); time.sleep(60)' & "
    try:
        s.execute(eat * 4 + "wait", timeout_s=20)
    except (http.client.HTTPException, OSError):
        pass
    assert saf.wait_for(lambda: box.state("greedy") == "stopped", 10)
    assert "memory" in box.api("GET", "/sandbox/greedy").json["errorReason"]
    assert s.action("start").json.get("errorReason") is None and s.out("echo ok") == "ok\n"


def test_processes_and_files_are_bounded(own):
    box = own("--processes", 60, "--file-mb", 5, "--files", 64)
    s = box.create("bounded")
    assert s.out("ulimit -u; ulimit -n; ulimit -f") == "60\n64\n5120\n"
    s.execute("for i in $(seq 100); do sleep 30 >/dev/null 2>&1 & done; true", timeout=10)
    assert saf.wait_for(lambda: box.request("GET", f"/toolbox/{s.id}/version").status == 200, 5)
    count = sum("sleep" in p[3] for p in box.processes())
    assert count < 60
    s.action("stop?force=true")
    s.action("start")
    assert s.sh("head -c 9000000 /dev/zero >f")[0] != 0 and int(s.out("stat -c %s f")) <= 5 << 20


def test_a_full_disk_is_not_filled_further(own):
    box = own("--reserve-mb", 1 << 30)
    r = box.api("POST", "/sandbox", {"name": "x"})
    assert r.status == 400 and "disk" in r.json["message"]


def test_pip_installs_and_it_stays(own):
    box = own()
    s = box.create("py")
    assert s.out("command -v pip pip3 python python3") == "".join(f"/opt/venv/bin/{x}\n" for x in ("pip", "pip3", "python", "python3"))
    s.out("""python3 - <<'E'
import zipfile
with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as z:
    z.writestr('tiny.py', 'answer = 42')
    z.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    z.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    z.writestr('tiny-1.0.dist-info/RECORD', 'tiny.py,,\\ntiny-1.0.dist-info/METADATA,,\\ntiny-1.0.dist-info/WHEEL,,\\ntiny-1.0.dist-info/RECORD,,\\n')
E
pip install --no-index ./tiny-1.0-py3-none-any.whl""")
    s.action("stop")
    s.action("start")
    assert s.out("python -c 'import tiny; print(tiny.answer)'; pip list 2>/dev/null | grep -c tiny") == "42\n1\n"


@pytest.mark.skipif(not shutil.which("busybox"), reason="needs busybox-static")
def test_another_root(own, tmp_path):
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "etc").mkdir()
    shutil.copy(shutil.which("busybox"), root / "bin/busybox")
    for name in subprocess.run([root / "bin/busybox", "--list"], capture_output=True, text=True).stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    for d in (tmp_path, *tmp_path.parents[:-2]):
        if d.stat().st_uid == os.geteuid():
            d.chmod(0o755)
    box = own("--root", root)
    s = box.create("small")
    assert s.out("id -un; echo $0; ls /usr 2>/dev/null; busybox | head -1").split("\n")[:2] == ["daytona", "/bin/sh"]
    assert s.upload(HOME + "/f", b"x").status == 200 and s.get(HOME + "/f").body == b"x"
    assert s.sh("exit 4")[0] == 4


# --- refusals ------------------------------------------------------------------------------------

def refused(*options, env=None):
    r = subprocess.run([saf.BOX, *map(str, options)], capture_output=True, text=True, timeout=20, env=env)
    assert r.returncode == 1 and r.stderr.count("\n") == 1 and r.stderr.startswith("sandagentfs-box: "), r
    return r.stderr


def test_refusals(own, tmp_path):
    data = tmp_path / "data"
    assert "--help" in refused()
    assert "--bogus" in refused("--bogus", "1")
    assert "--data" in refused("--socket", tmp_path / "s")
    assert "--token-file" in refused("--listen", "127.0.0.1:0", "--data", data)
    assert "--token-file" in refused("--listen", "127.0.0.1:0", "--data", data, "--token-file", tmp_path / "none")
    assert "--memory-mb" in refused("--socket", tmp_path / "s", "--data", data, "--memory-mb", "x")
    assert "data" in refused("--socket", tmp_path / "s", "--data", tmp_path / "no" / "where")
    (tmp_path / "file").write_text("")
    assert "Not a directory" in refused("--socket", tmp_path / "s", "--data", tmp_path / "file")
    assert "install bubblewrap" in refused("--socket", tmp_path / "s", "--data", data, env={"PATH": str(tmp_path)})
    box = own()
    assert "in use by another" in refused("--socket", tmp_path / "s", "--data", box.data)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        (tmp_path / "key").write_text("k")
        assert "in use" in refused("--listen", f"127.0.0.1:{s.getsockname()[1]}", "--token-file", tmp_path / "key", "--data", data)


def test_a_bubblewrap_that_cannot_is_explained(tmp_path):
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    for d in (tmp_path, *tmp_path.parents[:-2]):
        if d.stat().st_uid == os.geteuid():
            d.chmod(0o755)
    text = refused("--socket", tmp_path / "s", "--data", tmp_path / "data", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert "No permissions" in text or "sysctl" in text


def test_readiness_and_errors_by_descriptor(own, tmp_path):
    box = own()
    assert box.ready == "ok\n"
    r, w = os.pipe()
    p = subprocess.Popen([saf.BOX, "--socket", tmp_path / "s", "--data", box.data, "--ready-fd", str(w)], pass_fds=(w,), stderr=subprocess.DEVNULL)
    os.close(w)
    with os.fdopen(r) as f:
        line = f.read()
    assert p.wait(20) == 1 and line.startswith("error: ") and line.count("\n") == 1


def test_help_and_version():
    r = subprocess.run([saf.BOX, "--help"], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.startswith("usage: sandagentfs-box") and not r.stderr
    r = subprocess.run([saf.BOX, "--version"], capture_output=True, text=True)
    assert r.returncode == 0 and r.stdout.startswith("sandagentfs-box ")
