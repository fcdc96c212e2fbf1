"""An engine that a user runs without root is taken before the machine's own, unless another one was named."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from testcontainers.core import docker_client

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.sandboxes.docker import client


class Answers(BaseHTTPRequestHandler):
    """Answers what a client asks an engine first."""

    def do_GET(self) -> None:
        body = json.dumps({"ApiVersion": "1.44", "Version": "27"}).encode() if "version" in self.path else b"OK"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "a socket"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Engine(socketserver.ThreadingUnixStreamServer):
    """An engine whose callers may leave before the answer is whole, as the first question does."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A user without root whose engine answers; its address."""
    path = tmp_path / "docker.sock"
    monkeypatch.setattr(client, "_OWN", (str(tmp_path / "none.sock"), str(path)))
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(docker_client, "get_docker_host", lambda: None)
    with Engine(str(path), Answers) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield f"unix://{path}"
        server.shutdown()
        serving.join()


def test_a_user_s_own_engine_comes_first(own: str) -> None:
    """The address is that of the first socket that answers."""
    engine = client.connect(timeout=5)
    assert (engine.address, engine.host) == (own, "localhost")
    assert engine.api.ping() is True
    engine.api.close()


def test_an_engine_that_was_named_is_taken(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What DOCKER_HOST, a property or a context says is not second-guessed."""
    monkeypatch.setattr(docker_client, "get_docker_host", lambda: "unix:///named.sock")
    with pytest.raises(EngineUnavailableError, match="no container engine answers at unix:///named.sock"):
        client.connect(timeout=1)


def test_root_has_no_engine_without_root(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor has a user whose sockets do not answer."""
    assert client._own_engine() == own
    monkeypatch.setattr("os.getuid", lambda: 0)
    assert client._own_engine() == ""
    monkeypatch.setattr("os.getuid", lambda: 1000)
    monkeypatch.setattr(client, "_OWN", client._OWN[:1])
    assert client._own_engine() == ""
