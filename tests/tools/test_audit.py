"""The audit fails on a finding, and on nothing where the vulnerability service is not reached."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import audit
import pytest

FOUND = {"name": "jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1.6"]}]}
SKIPPED = {"name": "odd", "skip_reason": "no version"}
SOUND = {"name": "rich", "version": "15", "vulns": []}
LOCK = Path("requirements/dev.txt")


@pytest.fixture
def service() -> Iterator[str]:
    """A service that answers `{}` to every question, but a page to those on /gateway."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # noqa: N802 (the name http.server calls)
            self.rfile.read(int(self.headers["Content-Length"]))
            body = b"<html>" if self.path == "/gateway" else b"{}"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name http.server calls)
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def program(text: str) -> tuple[str, ...]:
    """Return a command that writes a text, whatever it is asked."""
    return (sys.executable, "-c", f"print({text!r})")


def test_only_an_answer_of_the_service_makes_it_reachable(service: str) -> None:
    """A gateway's page, a closed port and a name that is not known are no service."""
    assert audit.reachable(service) is True
    assert audit.reachable(f"{service}/gateway") is False
    assert audit.reachable("http://127.0.0.1:1") is False
    assert audit.reachable("http://no-such-host.invalid") is False


def test_findings_and_what_was_left_out_are_named() -> None:
    """A vulnerable package and one that could not be looked up are lines; a sound one is none."""
    report = json.dumps({"dependencies": [FOUND, SKIPPED, SOUND], "fixes": []})
    assert audit.audit(program(report), LOCK) == [
        "jinja2 3.1.0: PYSEC-1, fixed in 3.1.6",
        "odd: not looked up: no version",
    ]


@pytest.mark.parametrize(
    ("reached", "printed", "code", "said"),
    [
        ([False], "", 0, "is not reached"),
        ([True], json.dumps({"dependencies": [SOUND]}), 0, "no known vulnerability in 2 lock files"),
        ([True], json.dumps({"dependencies": [FOUND]}), 1, "PYSEC-1"),
        ([True, True], "broken", 1, "gave no report"),
        ([True, False], "broken", 0, "gave no report"),
    ],
    ids=["unreachable", "sound", "finding", "broken", "lost midway"],
)
def test_the_exit_code(
    reached: list[bool],
    printed: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A finding fails, so does a tool that is broken; a service that is away, or goes away, does not."""
    script = tmp_path / "pip-audit"
    script.write_text(f"#!{sys.executable}\nprint({printed!r})\n", encoding="utf-8")
    script.chmod(0o755)
    answers = iter(reached)
    monkeypatch.setattr(audit, "reachable", lambda: next(answers))
    monkeypatch.setattr(audit, "_installed", lambda folder: script)
    assert audit.main(str(tmp_path), "requirements/dev.txt", "requirements/build.txt") == code
    assert said in capsys.readouterr().out
