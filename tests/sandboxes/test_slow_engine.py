"""An engine that sends a byte now and then is told as one that does not answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from pathlib import Path

import pytest

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.sandboxes.docker import client


def test_an_engine_that_trickles_is_given_up_at_one_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline for each read would never pass: the whole answer has one."""
    monkeypatch.setattr(client, "_KNOCK_SECONDS", 1.0)
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(1)

        def trickle() -> None:
            """Send one byte after the other until nobody listens."""
            caller, _ = listener.accept()
            with caller, contextlib.suppress(OSError):
                for byte in b"HTTP/1.1 200 OK and so on" * 40:
                    caller.sendall(bytes([byte]))
                    time.sleep(0.1)

        sending = threading.Thread(target=trickle, daemon=True)
        sending.start()
        with pytest.raises(EngineUnavailableError, match="no container engine answers at .* within 1 s"):
            client._knock(f"unix://{path}")
        sending.join(timeout=5)
