"""While predictions run, nothing of the gold is on their server: no log, no file, no byte of its processes' memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sqlassay.dialect_adapters.contract import Limits, Pins, Role
from sqlassay.harness.cli.main import _run
from sqlassay.sandboxes import pool_server
from sqlassay.sandboxes.docker.client import Engine, connect
from sqlassay.sandboxes.docker.sandbox import DockerSandbox

# Another gold each time, so that none is kept from an earlier run.
GOLD = f"gold-marker-{uuid4().hex}".encode()
OURS, CONTROL = b"answer-marker-77aa", b"control-marker-52d1"
_CHUNK = 1 << 20
_LARGEST_MAP = 1 << 30
HEADER = f"""\
format: 1
name: unseen
snapshots:
  things: {{schema: schema.yaml, data: data}}
cases:
  - id: one
    question: How many?
    gold:
      postgres: SELECT '{GOLD.decode()}' AS m, count(*) AS n FROM things
      mysql: SELECT '{GOLD.decode()}' AS m, count(*) AS n FROM things
      sqlite: SELECT '{GOLD.decode()}' AS m, count(*) AS n FROM things
predictions: predictions.jsonl
"""


def _pack(folder: Path) -> Path:
    """Write a pack whose gold, text and answer alike, holds what is looked for."""
    (folder / "data").mkdir(parents=True)
    (folder / "pack.yaml").write_text(HEADER)
    (folder / "schema.yaml").write_text("format: 1\ntables:\n  - {name: things, columns: [{name: id, kind: int}]}\n")
    (folder / "data" / "things.csv").write_text("id\n1\n2\n")
    answer = f'{{"case_id": "one", "sql": "SELECT \'{OURS.decode()}\' AS m, count(*) AS n FROM things"}}\n'
    (folder / "predictions.jsonl").write_text(answer)
    return folder


def _held(pieces: Iterable[bytes]) -> set[bytes]:
    """Return which of the two markers a stream holds, across its pieces too."""
    rest, found = b"", set[bytes]()
    for piece in pieces:
        whole = rest + piece
        found |= {wanted for wanted in (GOLD, CONTROL) if wanted in whole}
        rest = piece[-len(GOLD) :]
    return found


def _files(root: Path) -> Iterator[bytes]:
    """Yield everything below a folder; what is no file has nothing to read."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as stream:
                while piece := stream.read(_CHUNK):
                    yield piece
            yield b"\0" * 64


def _memory(pid: str) -> Iterator[bytes]:
    """Yield every readable byte of a process."""
    maps = Path(f"/proc/{pid}/maps").read_text("ascii").splitlines()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as stream:
        for line in maps:
            span, rights = line.split()[:2]
            first, last = (int(part, 16) for part in span.split("-"))
            if not rights.startswith("r") or last - first > _LARGEST_MAP or line.endswith(("[vvar]", "[vsyscall]")):
                continue
            for at in range(first, last, _CHUNK):
                with contextlib.suppress(OSError, ValueError):  # a page that was given back meanwhile
                    stream.seek(at)
                    yield stream.read(min(_CHUNK, last - at))
            yield b"\0" * 64


def _places(engine: Engine, container: str) -> dict[str, Any]:
    """Return every place of a container that could hold something, by name."""
    processes = [str(row[1]) for row in engine.api.top(container)["Processes"]]
    root = Path(f"/proc/{processes[0]}/root")
    return {
        "log": [engine.api.logs(container)],
        "files": engine.api.export(container),
        "scratch": _files(root / "tmp"),
        "socket folder": _files(root / "run" / "sqlassay"),
        **{f"memory of {pid}": _memory(pid) for pid in processes},
    }


class Look:
    """Runs statements as the pool does, and looks at each server once it has run one."""

    def __init__(self) -> None:
        self.real = pool_server.execute
        self.engine = connect()
        self.gold = 0
        self.found: dict[str, set[bytes]] = {}

    def __call__(self, opened: Any, sql: str, limits: Limits, **given: Any) -> Any:
        """Execute; behind an answer search the whole server while a session of our own stands open on it."""
        done = self.real(opened, sql, limits, **given)
        if OURS.decode() not in sql:
            self.gold += GOLD.decode() in sql
            return done
        sandbox = given["kill"].__self__
        assert isinstance(sandbox, DockerSandbox)
        with contextlib.closing(sandbox.open("things", Role.HARNESS, Pins())) as session:
            session.fetch(f"SELECT '{CONTROL.decode()}' AS m", limits)
            self.found = {name: _held(pieces) for name, pieces in _places(self.engine, sandbox.id).items()}
        return done


@pytest.mark.docker
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read another process's memory")
@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_nothing_of_the_gold_is_on_a_predictions_server(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gold ran on another server; a statement of ours on this one is found, which shows that we can see."""
    look = Look()
    monkeypatch.setattr(pool_server, "execute", look)
    command = ["run", str(_pack(tmp_path / "pack")), "--dialect", dialect, "--sandbox", "docker", "--jobs", "1"]
    assert _run([*command, "--out", str(tmp_path / "run")]) == 0
    look.engine.api.close()
    assert look.gold == 1
    assert {name for name, held in look.found.items() if GOLD in held} == set()
    assert any(name.startswith("memory of ") for name, held in look.found.items() if CONTROL in held)
