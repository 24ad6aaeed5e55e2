"""Models behind HTTP: a server on loopback answers, a thread talks to it."""
import json
import os
import sys
import time
from pathlib import Path

import pytest

from saf import run, wait_for

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "remote"))
from model_server import ModelServer, fault, replay, reply  # noqa: E402

KEY = "sk-test-0123456789abcdef"
CASES = Path(__file__).resolve().parents[1] / "cases" / "sse"


@pytest.fixture
def talk(fresh):
    """A function: steps of the server -> (thread, server)."""
    servers = []
    fresh.start(env={"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY})

    def begin(*steps, model="openai:test-model"):
        server = ModelServer(steps)
        server.__enter__()
        servers.append(server)
        name = f"t{len(servers)}"
        base = server.base_url
        if model.startswith("anthropic"):
            base = base.removesuffix("/v1")
        return fresh.thread(name, f"model = {model}\nbase_url = {base}\n"), server

    yield begin
    for server in servers:
        server.__exit__()


def test_text_is_streamed(talk):
    t, server = talk(reply("Hello there", piece=3, pause=0.02))
    t.ask("hi")
    assert t.reply() == ("Hello there\n", 0) or t.reply() == ("Hello there", 0)
    body = server.requests[0].body
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert body["model"] == "test-model" and body["stream"] is True
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    assert body["messages"][1]["content"] == "hi"
    assert {f["function"]["name"] for f in body["tools"]} >= {
        "ls", "read_file", "write_file", "edit_file", "glob", "grep", "execute"}
    usage = t.state()["usage"]["turn"]
    assert usage == {"input_tokens": 10, "output_tokens": 5}


@pytest.mark.parametrize("model", ["openai:m", "anthropic:m"])
def test_tools_run_and_their_results_go_back(talk, model):
    t, server = talk(
        reply("Let me see.", ("execute", json.dumps({"command": "echo $((6*7))"})),
              ("write_file", json.dumps({"file_path": "/home/daytona/a.txt",
                                         "content": "é\n"}))),
        reply("It is 42."), reply("Again."), model=model)
    t.ask("how much?")
    assert t.messages()[-1]["content"] == "It is 42."
    assert (t.workspace / "a.txt").read_text() == "é\n"
    t.ask("and now?")
    raw = [json.dumps(r.body["messages"], ensure_ascii=False)
           for r in server.requests]
    assert "42" in raw[1] and "exit code 0" in raw[1]
    # What was sent before is the beginning of what is sent next.
    assert raw[2].startswith(raw[1][:raw[0].rindex("]")].split(
        ', "cache_control"')[0])
    assert "It is 42." in raw[2] and "and now?" in raw[2]


def test_thinking_is_kept_apart(talk):
    t, server = talk(reply("Yes.", reasoning="Hm, well."))
    t.ask("really?")
    assert t.messages()[-1]["content"] == "Yes."
    assert "Hm, well" not in t.reply()[0]


@pytest.mark.limit(90)
@pytest.mark.parametrize("step", [
    fault(429, b'{"status":429,"title":"Too Many Requests"}', retry_after=1),
    fault(429), fault(500, b"oops"), fault(502), fault(503), fault(504),
    fault(529), fault(408),
    fault(200, b'{"error":{"message":"ResourceExhausted: full","code":500}}'),
    reply("abcdef", piece=1, cut="reset"),
    reply("abcdef", piece=1, cut="close"),
    reply("abcdef", cut="gzip"),
    replay(CASES / "071-nim-resource-exhausted.sse"),
    replay(CASES / "072-dynamo-comment-error.sse"),
    replay(CASES / "016-malformed-frame.sse"),
], ids=str)
def test_what_passes_is_tried_again(talk, step):
    t, server = talk(step, reply("made it"))
    t.ask("go", 40)
    assert t.state()["phase"] == "idle"
    assert t.messages()[-1]["content"] == "made it"
    assert len(server.requests) == 2
    assert len([l for l in t.log().splitlines()
                if l.startswith("[model] ")]) == 1


@pytest.mark.parametrize("status,word", [
    (400, "invalid_request"), (401, "auth"), (402, "billing"), (403, "auth"),
    (404, "not_found"), (413, "invalid_request"), (422, "invalid_request")])
def test_what_does_not_pass_ends_the_turn(talk, status, word):
    t, server = talk(fault(status, b'{"error":{"message":"no such luck"}}'))
    t.ask("go")
    state = t.state()
    assert state["phase"] == "failed" and len(server.requests) == 1
    assert word in state["error"]["message"]
    assert "no such luck" in state["error"]["message"]
    assert t.reply()[1] == 1
    assert KEY not in t.log() + t.text("state") + t.text("messages")


def test_bad_calls_are_answered_and_the_model_asked_again(talk):
    t, server = talk(
        reply("", ("no_such_tool", "{}"), ("execute", '{"command": '),
              ("execute", '{"command": ["x"]}'), ("ls", "[1]")),
        reply("I see."))
    t.ask("go")
    assert t.state()["phase"] == "idle"
    results = [m for m in t.messages() if m["type"] == "tool"]
    assert [m["status"] for m in results] == ["error"] * 4
    assert "no_such_tool" in results[0]["content"]
    assert t.messages()[-1]["content"] == "I see."


def test_nothing_runs_from_a_stream_that_was_cut(talk):
    cut = reply("", ("execute", json.dumps({"command": "touch ran"})),
                cut="close")
    t, server = talk(cut, reply("no"))
    t.ask("go", 40)
    assert not (t.workspace / "ran").exists()
    assert t.messages()[-1]["content"] == "no"


@pytest.mark.parametrize("step", [
    reply("abc", piece=1, cut="stall"), reply("x", delay=60),
    reply("x" * 50, piece=1, pause=0.05, endless=True)], ids=str)
def test_cancel_at_once(talk, step):
    t, server = talk(step)
    t.prompt("go")
    assert wait_for(lambda: server.requests, 10)
    time.sleep(0.3)
    begin = time.monotonic()
    t.ctl("cancel")
    assert wait_for(lambda: t.state()["phase"] == "cancelled", 5)
    assert time.monotonic() - begin < 1


def test_fifty_parallel_calls(talk):
    calls = [("execute", json.dumps({"command": f"echo n{i} >> out"}))
             for i in range(50)]
    t, server = talk(reply("", *calls), reply("done"))
    t.ask("go", 50)
    assert (t.workspace / "out").read_text().split() == [
        f"n{i}" for i in range(50)]


def test_without_a_key_the_prompt_is_refused(fresh):
    fresh.start()
    t = fresh.thread("nokey", "model = openai:m\n")
    p = run(f"echo hi > '{t / 'prompt'}'")
    assert p.returncode != 0 and "key" in p.stderr.lower()
    assert "OPENAI_API_KEY" in t.log() and "OPENAI_API_KEY" in t.text("state")
    assert t.messages() == []
