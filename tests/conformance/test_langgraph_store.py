"""LangGraph's real savers on our store: they read our threads and go on with
them, we read what they add and go on with that."""
import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

CASES = Path(__file__).parent.parent / "cases" / "langgraph"
AGENT_JS = Path(os.environ["AGENT_JS"])
HAS_JS = shutil.which("node") and (AGENT_JS.parent / "node_modules").is_dir()
JS = pytest.mark.skipif(not HAS_JS, reason="no LangGraph JS (npm)")


class Ours:
    def __init__(self, tool, directory):
        self.tool, self.dir = tool, directory

    @property
    def db(self):
        return str(self.dir / "threads.db")

    def run(self, *words):
        done = subprocess.run([self.tool, str(self.dir), *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def say(self, thread, prompt, reply, arguments=None):
        self.run("say", thread, prompt, reply, *([arguments] if arguments else []))

    def show(self, thread):
        return [json.loads(line) for line in self.run("show", thread).splitlines()]

    def contents(self, thread):
        return [m["content"] for m in self.show(thread)]


class Python:
    """A graph with one node, a model that says what it is told."""

    def __init__(self, db):
        self.connection = sqlite3.connect(db, check_same_thread=False)
        self.saver = SqliteSaver(self.connection)
        self.answer, self.seen = "", []
        graph = StateGraph(MessagesState)
        graph.add_node("model", self.model)
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        self.graph = graph.compile(checkpointer=self.saver)

    def model(self, state):
        self.seen = [m.content for m in state["messages"]]
        return {"messages": [AIMessage(self.answer)]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def config(self, thread):
        return {"configurable": {"thread_id": thread}}

    def ask(self, thread, text, answer):
        self.answer = answer
        self.graph.invoke({"messages": [HumanMessage(text)]}, self.config(thread))
        return self.seen

    def messages(self, thread):
        return self.graph.get_state(self.config(thread)).values.get("messages", [])

    def history(self, thread):
        return [len(s.values.get("messages", [])) for s in self.graph.get_state_history(self.config(thread))]


def javascript(ours, *words):
    done = subprocess.run(["node", AGENT_JS, ours.db, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def ours(tool, tmp_path):
    return Ours(tool, tmp_path)


ARGUMENTS = '{"command": "ls -l", "n": 9007199254740993}'


def test_python_reads(ours):
    ours.say("t", "do it", "done", ARGUMENTS)
    with Python(ours.db) as python:
        messages = python.messages("t")
        assert [m.type for m in messages] == ["human", "ai", "tool", "ai"]
        assert messages[1].tool_calls == [
            {"name": "execute", "args": json.loads(ARGUMENTS), "id": "call_1", "type": "tool_call"}
        ]
        assert messages[1].usage_metadata == {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        assert (messages[2].tool_call_id, messages[2].status, messages[2].name) == ("call_1", "success", "execute")
        assert [m.id for m in messages] == [m["id"] for m in ours.show("t")]
        assert python.history("t") == [4, 3, 2, 1]
        assert python.graph.get_state(python.config("t")).next == ()


def test_python_goes_on_and_we_go_on(ours):
    ours.say("t", "one", "two", ARGUMENTS)
    before = ours.show("t")
    with Python(ours.db) as python:
        seen = python.ask("t", "three", "four")
    assert seen == ["one", "", "12 bytes", "two", "three"]
    assert ours.contents("t") == ["one", "", "12 bytes", "two", "three", "four"]
    assert ours.show("t")[:4] == before
    ours.say("t", "five", "six")
    # Python's copies of our messages were ours again: nothing is stored twice.
    rows = sqlite3.connect(ours.db).execute("SELECT count(*), max(line) FROM message").fetchone()
    assert rows == (8, 1)
    with Python(ours.db) as python:
        assert python.ask("t", "seven", "eight")[-3:] == ["five", "six", "seven"]
        assert python.history("t")[0] == 10
    assert ours.contents("t")[-2:] == ["seven", "eight"]


def test_python_starts_a_thread(ours):
    ours.say("other", "x", "y")
    with Python(ours.db) as python:
        python.ask("theirs", "hi", "hello")
        python.ask("theirs", "more", "yes")
    assert ours.contents("theirs") == ["hi", "hello", "more", "yes"]
    ours.say("theirs", "and", "so on")
    with Python(ours.db) as python:
        assert python.ask("theirs", "end", "end")[-2:] == ["so on", "end"]


def test_python_deletes(ours):
    ours.say("t", "one", "two")
    ours.say("u", "one", "two")
    with Python(ours.db) as python:
        python.saver.delete_thread("t")
    assert ours.contents("t") == []
    assert ours.contents("u") == ["one", "two"]
    ours.say("t", "again", "yes")
    assert ours.contents("t") == ["again", "yes"]


def test_python_lists_and_filters(ours):
    ours.say("t", "one", "two")
    with Python(ours.db) as python:
        found = list(python.saver.list(python.config("t")))
        assert [c.metadata["step"] for c in found] == [1, 0]
        older = list(python.saver.list(python.config("t"), before=found[0].config))
        assert [c.metadata["step"] for c in older] == [0]
        assert len(list(python.saver.list(python.config("t"), filter={"step": 1}))) == 1
        assert len(list(python.saver.list(python.config("t"), limit=1))) == 1


HOSTILE = [
    '{"x": {"lc": 1, "type": "constructor", "id": ["evil", "Thing"], "kwargs": {}}}',
    '{"x": {"lc": 1, "type": "secret", "id": ["HOME"]}}',
    '{"x": {"lc": 2, "type": "constructor", "id": ["builtins", "eval"], "args": ["1"]}}',
    '{"l\\u0063": 1, "type": "not_implemented", "id": ["x"]}',
    '{"x": [{"lc": 7}], "y": 123456789012345678901234567890}',
    '{"s": "\\ud800 \\u0000 \\u2028"}',
    "{'single': True,}",
]


@pytest.mark.parametrize("arguments", HOSTILE)
def test_hostile_arguments(ours, arguments):
    ours.say("t", "one", "two", arguments)
    raw = ours.show("t")
    with Python(ours.db) as python:
        assert len(python.ask("t", "three", "four")) == 5
    assert ours.show("t")[:4] == raw
    ours.say("t", "five", "six")
    assert ours.show("t")[:4] == raw


@JS
@pytest.mark.parametrize("arguments", HOSTILE)
def test_hostile_arguments_js(ours, arguments):
    ours.say("t", "one", "two", arguments)
    state = javascript(ours, "ask", "t", "three", "four")
    assert [m["content"] for m in state["messages"]] == ["one", "", "12 bytes", "two", "three", "four"]
    ours.say("t", "five", "six")
    with Python(ours.db) as python:
        assert len(python.messages("t")) == 8


@JS
def test_javascript_reads_and_goes_on(ours):
    ours.say("t", "one", "two", '{"command": "ls -l"}')
    state = javascript(ours, "history", "t")
    assert state["next"] == [] and state["history"] == [4, 3, 2, 1]
    call = state["messages"][1]["tool_calls"][0]
    assert (call["name"], call["args"], call["id"]) == ("execute", {"command": "ls -l"}, "call_1")
    assert state["messages"][2]["status"] == "success"
    javascript(ours, "ask", "t", "three", "four")
    assert ours.contents("t") == ["one", "", "12 bytes", "two", "three", "four"]
    ours.say("t", "five", "six")
    rows = sqlite3.connect(ours.db).execute("SELECT count(*), max(line) FROM message").fetchone()
    assert rows == (8, 1)
    javascript(ours, "ask", "t", "seven", "eight")
    assert ours.contents("t")[-3:] == ["six", "seven", "eight"]


@JS
def test_in_turns(ours):
    """Each after the other, with one row of ours between."""
    ours.say("t", "1", "2")
    wanted = ["1", "2"]
    for i in range(3, 15, 6):
        with Python(ours.db) as python:
            python.ask("t", str(i), str(i + 1))
        ours.say("t", str(i + 2), str(i + 3))
        javascript(ours, "ask", "t", str(i + 4), str(i + 5))
        ours.say("t", f"{i}a", f"{i}b")
        wanted += [str(n) for n in range(i, i + 6)] + [f"{i}a", f"{i}b"]
    assert ours.contents("t") == wanted
    with Python(ours.db) as python:
        assert [m.content for m in python.messages("t")] == wanted
    assert [m["content"] for m in javascript(ours, "show", "t")["messages"]] == wanted


@JS
def test_javascript_deletes(ours):
    ours.say("t", "one", "two")
    assert javascript(ours, "delete", "t")["messages"] == []
    assert ours.contents("t") == []


def threads_of(name):
    wanted = json.loads((CASES / f"{name}.json").read_text())
    return [t["thread_id"] for t in wanted["threads"]]


@pytest.mark.parametrize("name", ["python", "python-snapshot", "js", "mixed"])
def test_adopted(ours, name):
    """A turn of ours on every thread of a database that was theirs: both read
    them all and go on."""
    shutil.copy(CASES / f"{name}.db", ours.db)
    for thread in threads_of(name):
        before = [m["content"] for m in ours.show(thread)]
        ours.say(thread, "and?", "that was all")
        with Python(ours.db) as python:
            assert python.ask(thread, "sure?", "yes") == before + ["and?", "that was all", "sure?"]
        ours.say(thread, "good", "bye")
        if not HAS_JS:
            continue
        state = javascript(ours, "ask", thread, "js?", "also")
        wanted = before + ["and?", "that was all", "sure?", "yes", "good", "bye", "js?", "also"]
        assert [m["content"] for m in state["messages"]] == wanted
        assert ours.contents(thread) == wanted
