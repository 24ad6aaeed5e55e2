"""A model server that does what it is told: scripted replies in both dialects,
recorded streams, and every way a real one fails.

Started by tests on a loopback port. Each step of the script answers one
request; the last one is repeated. Requests are kept for the test to look at.

    server = ModelServer([reply("hi"), fault(status=429, retry_after=1), ...])
    with server:
        ... server.base_url ...
        server.requests[0].body["messages"]
"""

import gzip
import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Request:
    path: str
    headers: dict
    raw: bytes
    at: float
    body: dict = field(default_factory=dict)


@dataclass
class Step:
    """What one request gets."""

    text: str = ""
    calls: tuple = ()  # (name, arguments text) each
    reasoning: str = ""
    status: int = 200
    headers: dict = field(default_factory=dict)
    body: bytes | None = None  # sent as it is instead of a stream
    content_type: str = "text/event-stream"
    delay: float = 0  # before the first byte
    pause: float = 0  # between pieces
    piece: int = 0  # characters of text a piece; 0 = all at once
    cut: str = ""  # reset | close | stall | gzip: after the first pieces
    endless: bool = False
    finish: str | None = None
    usage: tuple = (10, 5)


def reply(text="", *calls, **more):
    return Step(text=text, calls=calls, **more)


def fault(status=200, body=b"", retry_after=None, **more):
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    kind = more.pop("content_type", "application/json")
    return Step(status=status, body=body, headers=headers, content_type=kind,
                **more)


def replay(path, content_type="text/event-stream", status=200):
    with open(path, "rb") as f:
        return Step(body=f.read(), content_type=content_type, status=status)


def _pieces(step):
    if not step.piece:
        return [step.text] if step.text else []
    return [step.text[i:i + step.piece]
            for i in range(0, len(step.text), step.piece)]


def _openai(step, number):
    def chunk(delta, finish=None, **more):
        return {"id": f"c{number}", "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta,
                             "finish_reason": finish}], **more}

    if step.reasoning:
        yield chunk({"reasoning_content": step.reasoning})
    for text in _pieces(step):
        yield chunk({"content": text})
    for i, (name, arguments) in enumerate(step.calls):
        half = len(arguments) // 2
        yield chunk({"tool_calls": [{
            "index": i, "id": f"call_{number}_{i}", "type": "function",
            "function": {"name": name, "arguments": arguments[:half]}}]})
        yield chunk({"tool_calls": [{
            "index": i, "function": {"arguments": arguments[half:]}}]})
    yield chunk({}, step.finish or ("tool_calls" if step.calls else "stop"))
    yield {"id": f"c{number}", "object": "chat.completion.chunk",
           "choices": [], "usage": {"prompt_tokens": step.usage[0],
                                    "completion_tokens": step.usage[1]}}
    yield None


def _anthropic(step, number):
    yield {"type": "message_start", "message": {
        "id": f"msg_{number}", "type": "message", "role": "assistant",
        "content": [], "usage": {"input_tokens": step.usage[0],
                                 "output_tokens": 1}}}
    index = 0
    if step.reasoning:
        yield {"type": "content_block_start", "index": index,
               "content_block": {"type": "thinking", "thinking": "",
                                 "signature": ""}}
        yield {"type": "content_block_delta", "index": index,
               "delta": {"type": "thinking_delta", "thinking": step.reasoning}}
        yield {"type": "content_block_delta", "index": index,
               "delta": {"type": "signature_delta", "signature": "sig"}}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    if step.text:
        yield {"type": "content_block_start", "index": index,
               "content_block": {"type": "text", "text": ""}}
        for text in _pieces(step):
            yield {"type": "content_block_delta", "index": index,
                   "delta": {"type": "text_delta", "text": text}}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    for i, (name, arguments) in enumerate(step.calls):
        yield {"type": "content_block_start", "index": index,
               "content_block": {"type": "tool_use",
                                 "id": f"toolu_{number}_{i}", "name": name,
                                 "input": {}}}
        yield {"type": "content_block_delta", "index": index,
               "delta": {"type": "input_json_delta",
                         "partial_json": arguments}}
        yield {"type": "content_block_stop", "index": index}
        index += 1
    reason = step.finish or ("tool_use" if step.calls else "end_turn")
    yield {"type": "message_delta", "delta": {"stop_reason": reason},
           "usage": {"output_tokens": step.usage[1]}}
    yield {"type": "message_stop"}


def _frames(step, number, anthropic):
    for event in (_anthropic if anthropic else _openai)(step, number):
        if event is None:
            yield b"data: [DONE]\n\n"
        elif anthropic:
            yield (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                   ).encode()
        else:
            yield f"data: {json.dumps(event)}\n\n".encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_POST(self):
        owner = self.server.owner
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        number, step = owner.take(Request(self.path, dict(self.headers), raw,
                                          time.monotonic()))
        if step.delay:
            owner.stopping.wait(step.delay)
        try:
            self.answer(owner, number, step)
        except (BrokenPipeError, ConnectionResetError):
            owner.hung_up += 1

    def answer(self, owner, number, step):
        self.send_response(step.status)
        self.send_header("Content-Type", step.content_type)
        for name, value in step.headers.items():
            self.send_header(name, value)
        if step.cut == "gzip":
            self.send_header("Content-Encoding", "gzip")
        if step.body is not None and not step.cut:
            self.send_header("Content-Length", str(len(step.body)))
            self.end_headers()
            self.wfile.write(step.body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        anthropic = self.path.endswith("/messages")
        frames = list(_frames(step, number, anthropic))
        if step.cut == "gzip":
            packed = gzip.compress(b"".join(frames))
            self.chunk(packed[:len(packed) // 2])
            self.chunk(b"")
            self.close_connection = True
            return
        while True:
            stop = len(frames) // 2 if step.cut else len(frames)
            for frame in frames[:stop]:
                self.chunk(frame)
                if step.pause:
                    owner.stopping.wait(step.pause)
            if not step.endless or owner.stopping.is_set():
                break
        if step.cut:
            self.end(owner, step.cut)
        else:
            self.chunk(b"")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end(self, owner, how):
        self.close_connection = True
        if how == "stall":
            owner.stopping.wait(600)
        elif how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                       struct.pack("ii", 1, 0))
            self.connection.close()


class ModelServer:
    def __init__(self, steps, port=0):
        self.steps = list(steps)
        self.requests = []
        self.hung_up = 0  # clients that went away in the middle
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        self._http.daemon_threads = True
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever,
                                        daemon=True)

    @property
    def port(self):
        return self._http.server_address[1]

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    def take(self, request):
        try:
            request.body = json.loads(request.raw)
        except ValueError:
            pass
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            return number, self.steps[min(number, len(self.steps) - 1)]

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
