"""The handed attacks and look-alikes against the worker alone, with no guard in front of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlite_servers import served

from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, StatementError
from sqlassay.dialect_adapters.sqlite.reflect import file_digest
from sqlassay.dialect_adapters.sqlite.session import SqliteSession

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "attacks"
LIMITS = Limits(timeout=1.0, rows=5000)
SLACK = 2.0
REPEAT = re.compile(r"\{\{rep:(.*?):(\d+)\}\}", re.DOTALL)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the handed attacks are not beside the repository")


def lines(name: str) -> list[dict[str, Any]]:
    """Return the SQLite rows of one handed file."""
    if not FOLDER.is_dir():
        return []
    rows = [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if row["dialect"] == "sqlite"]


@dataclass(frozen=True)
class Victim:
    """The fixture database the attacks were verified on, served."""

    endpoint: Endpoint
    path: Path


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """Serve the handed fixture."""
    folder = tmp_path_factory.mktemp("victim")
    with served(folder, (FOLDER / "fixture_sqlite.sql").read_text(encoding="utf-8")) as endpoint:
        yield Victim(endpoint, folder / "w.sqlite")


def run(victim: Victim, sql: str) -> Relation:
    """Run one statement as a reader."""
    with closing(SqliteSession(victim.endpoint, "w", Role.READER, Pins())) as session:
        session.begin_read(LIMITS)
        return session.fetch(sql, LIMITS)


def filled(row: dict[str, Any], folder: Path) -> str:
    """Return the attack's text with its templates filled in."""
    sql = str(row["sql"])
    if row.get("sql_template"):
        sql = REPEAT.sub(lambda match: match[1] * int(match[2]), sql)
        sql = sql.replace("{{tmp}}", str(folder)).replace("{{gold}}", str(folder / "gold.db"))
    return sql


@pytest.mark.parametrize("row", [r for r in lines("attacks.jsonl") if r["harm"] != "gaming"], ids=lambda row: row["id"])
def test_an_attack_changes_nothing(victim: Victim, tmp_path: Path, row: dict[str, Any]) -> None:
    """An attack that no guard stopped ends in time, changes no byte, writes no file; all but exhaustion is refused."""
    before = file_digest(victim.path)
    started = time.monotonic()
    refused = False
    try:
        run(victim, filled(row, tmp_path))
    except StatementError:
        refused = True
    assert time.monotonic() - started < LIMITS.timeout + SLACK
    assert file_digest(victim.path) == before
    assert list(tmp_path.iterdir()) == []
    if row["live"] and row["harm"] != "exhaustion":
        assert refused is True


@pytest.mark.parametrize("row", lines("benign.jsonl"), ids=lambda row: row["id"])
def test_a_look_alike_runs(victim: Victim, row: dict[str, Any]) -> None:
    """A legitimate query is answered: the worker's policy is not stricter than it must be."""
    assert run(victim, row["sql"]) is not None
