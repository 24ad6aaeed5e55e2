"""Cases from other projects' reports: each script checks one situation in a
workspace (W), some in a thread directory (T), and says what was wrong."""
import http.server
import os
import threading

import pytest

from saf import ROOT, run

CASES = sorted((ROOT / "tests/cases/fs").glob("*.sh"))
# It looks for keys that the environment holds: see below.
KEYS = ROOT / "tests/cases/fs/RC-100.sh"
CASES.remove(KEYS)


@pytest.mark.limit(150)
@pytest.mark.parametrize("case", CASES, ids=[c.stem for c in CASES])
def test_case(workspace, case):
    workspace.idle()
    env = dict(os.environ, W=str(workspace.workspace), T=str(workspace.path))
    p = run(f"bash '{case}'", env=env, timeout=140)
    if p.returncode == 77:
        pytest.skip(p.stdout.strip() or "the script says: not applicable")
    assert p.returncode == 0, p.stdout + p.stderr


class Refuses(http.server.BaseHTTPRequestHandler):
    """Answers 401 and says the key again, as careless servers do."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = ("{\"error\": {\"message\": \"bad key "
                f"{self.headers['Authorization']}\"}}}}").encode()
        self.server.seen.append(self.headers["Authorization"])
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_keys_stay_secret(fresh):
    """RC-100, after a refused request whose answer holds the key."""
    key = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Refuses)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        fresh.start(env={"OPENAI_API_KEY": key})
        t = fresh.thread("secrets", "model = openai:some-model\nbase_url = "
                         f"http://127.0.0.1:{server.server_port}/v1\n")
        assert t.ask("hello") == "failed"
        assert any(key in (a or "") for a in server.seen), "it was not sent"
        assert "API key" in t.log()
        env = dict(os.environ, W=str(t.workspace), T=str(t.path),
                   OPENAI_API_KEY=key)
        p = run(f"bash '{KEYS}'", env=env)
        assert p.returncode == 0, p.stdout + p.stderr
        assert key not in fresh.diag()
        for name in os.listdir(fresh.path / "secrets/checkpoints"):
            assert key not in t.text(f"checkpoints/{name}")
    finally:
        server.shutdown()
        server.server_close()
    assert key not in fresh.stop()
    p = run(f"grep -rl '{key}' '{fresh.state_dir}'")
    assert p.stdout == ""
