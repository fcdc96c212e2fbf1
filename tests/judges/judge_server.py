"""A real HTTP server on this machine that speaks both protocols, and misbehaves as a script tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Act = Callable[["Handler"], None]
GOOD = '{"score": 0.75, "reason": "one filter differs"}'


@dataclass
class Seen:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Script:
    """What the server does, request after request (the last act repeats), and what it saw."""

    url: str
    acts: list[Act]
    seen: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    now: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    """Answers one request by the next act."""

    protocol_version = "HTTP/1.1"
    script: Script
    _open = False

    def do_POST(self) -> None:
        """Note the request and act."""
        script = self.script
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with script.lock:
            act = script.acts[min(len(script.seen), len(script.acts) - 1)]
            script.seen.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            script.now += 1
            self._open = True
            script.most_at_once = max(script.most_at_once, script.now)
        try:
            act(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self._answered()

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""

    def _answered(self) -> None:
        """Count the request as answered, once: whoever has the answer may ask again at once."""
        with self.script.lock:
            self.script.now -= self._open
            self._open = False

    def send(self, status: int, body: str, **headers: str) -> None:
        """Send a whole response."""
        self._answered()
        data = body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def openai(content: str | None = GOOD, **more: Any) -> Act:
    """Answer as a chat completion; `more` are fields of the choice."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | more
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    body = {"id": "x", "object": "chat.completion", "model": "m-2026", "choices": [choice], "usage": usage}
    return lambda handler: handler.send(200, json.dumps(body))


def anthropic(answer: object = None, **more: Any) -> Act:
    """Answer as a message that calls the tool; `more` are fields of the message."""
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(GOOD) if answer is None else answer}
    usage = {"input_tokens": 90, "output_tokens": 30}
    body = {"type": "message", "model": "c-2026", "content": [block], "stop_reason": "tool_use", "usage": usage} | more
    return lambda handler: handler.send(200, json.dumps(body))


def status(code: int, message: str = "no", **headers: str) -> Act:
    """Refuse with a status and both protocols' error body."""
    return lambda handler: handler.send(code, json.dumps({"error": {"message": message}}), **headers)


def raw(text: str, code: int = 200) -> Act:
    """Answer with this very body."""
    return lambda handler: handler.send(code, text)


def slow(seconds: float, then: Act | None = None) -> Act:
    """Answer late."""

    def act(handler: Handler) -> None:
        time.sleep(seconds)
        (then or openai())(handler)

    return act


def drip(handler: Handler) -> None:
    """Send a response byte by byte for ever, so that no single read is slow."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(400):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)
    handler.close_connection = True


def drip_open_end(handler: Handler) -> None:
    """Send a whole answer without a length and never close: only the clock says that it is over."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "{}"}}]}')
    handler.wfile.flush()
    time.sleep(5)


def hang_up(handler: Handler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True
    handler.connection.shutdown(2)


def half(handler: Handler) -> None:
    """Send less than was promised."""
    handler.close_connection = True
    handler.send_response(200)
    handler.send_header("Content-Length", "500")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


@contextmanager
def server(*acts: Act) -> Iterator[Script]:
    """Serve on a free port of this machine until the block ends."""
    script = Script("", list(acts))
    handler = type("Scripted", (Handler,), {"script": script})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    http.block_on_close = False
    script.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
