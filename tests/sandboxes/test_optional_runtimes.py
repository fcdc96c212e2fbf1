"""Under every runtime entered in the engine's configuration beside its own, all engines serve and limits hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.execute import Executed, execute
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.cli.main import _run
from sqlassay.harness.redteam.targets import find_target
from sqlassay.sandboxes.checks import container_findings
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.docker import runtimes
from sqlassay.sandboxes.docker.client import connect
from sqlassay.sandboxes.docker.provider import DockerProvider

pytestmark = pytest.mark.docker
OPTIONAL = ["crun", "runsc"]
DIALECTS = ["postgres", "mysql", "sqlite"]
BOMBS = {
    "postgres": "SELECT array_agg(repeat('x', 100000)) FROM generate_series(1, 100000)",
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
    "SELECT json_group_array(hex(zeroblob(1000000))) FROM n",
}


@cache
def _known() -> tuple[str, ...]:
    """Return the runtimes the engine knows; none where no engine answers."""
    try:
        engine = connect()
    except EngineUnavailableError:
        return ()
    try:
        return runtimes.names(engine.facts)
    finally:
        engine.api.close()


@pytest.fixture(params=OPTIONAL)
def runtime(request: pytest.FixtureRequest) -> str:
    """Each optional runtime, where the engine has it."""
    name = str(request.param)
    if name not in _known():
        pytest.skip(f'{name} is not entered under "runtimes" in the engine\'s configuration')
    return name


def _served(runtime: str, dialect: str) -> Iterator[tuple[Sandbox, str]]:
    """Yield a server of the red team's data under the runtime, and its database."""
    provider = DockerProvider(runtime=runtime)
    try:
        image = provider.prepare(adapter(dialect), (find_target(dialect, None).snapshot,), lambda line: None)
        sandbox = provider.start(adapter(dialect), image, Mode.READ, f"runtime-{uuid4().hex[:8]}")
        yield sandbox, image.catalogs[0].database
    finally:
        provider.close()


def _execute(sandbox: Sandbox, database: str, sql: str, seconds: float = 20.0) -> Executed:
    """Run one statement as the reader."""
    return execute(
        lambda: sandbox.open(database, Role.READER, Pins()),
        sql,
        Limits(timeout=seconds),
        kill=sandbox.kill,
        died_of_memory=sandbox.died_of_memory,
    )


def test_doctor_tries_the_runtime(runtime: str) -> None:
    """It is listed, and a container was started under it."""
    found = {one.name: one for one in container_findings([adapter("postgres").recipe])}
    assert runtime in found["container runtimes"].found
    assert found[f"container runtime {runtime}"].ok is True, found[f"container runtime {runtime}"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_engine_gives_the_same_results_under_it(runtime: str, dialect: str, tmp_path: Path) -> None:
    """The demo's results are byte for byte those of the engine's own runtime; the manifest names the runtime."""
    command = ["run", "demo", "--dialect", dialect, "--sandbox", "docker", "--jobs", "1"]
    for folder, more in (("own", ["--runtime", "runc"]), ("other", ["--runtime", runtime])):
        assert _run([*command, *more, "--out", str(tmp_path / folder)]) == 0
    assert (tmp_path / "other" / "results.jsonl").read_bytes() == (tmp_path / "own" / "results.jsonl").read_bytes()
    isolation = json.loads((tmp_path / "other" / "manifest.json").read_text("utf-8"))["isolation"]
    assert isolation["method"] == f"container ({runtime})"


@pytest.mark.parametrize("dialect", sorted(BOMBS))
def test_a_bomb_ends_at_a_limit(runtime: str, dialect: str) -> None:
    """Memory ends as a resource limit and time as a timeout, each as under the engine's own runtime."""
    for sandbox, database in _served(runtime, dialect):
        assert isinstance(_execute(sandbox, database, "SELECT count(*) FROM orders").outcome, Rows)
        bomb = _execute(sandbox, database, BOMBS[dialect], seconds=60.0).outcome
        assert isinstance(bomb, Failure)
        assert bomb.kind is FailureKind.RESOURCE_LIMIT, bomb
    for sandbox, database in _served(runtime, dialect):
        slow = "SELECT count(*) FROM t a, t b, t c WHERE a.id + b.id + c.id < 0"
        late = _execute(sandbox, database, slow, seconds=1.0).outcome
        assert isinstance(late, Failure)
        assert late.kind is FailureKind.TIMEOUT, late
