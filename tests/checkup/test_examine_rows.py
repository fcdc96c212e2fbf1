"""Every row of the table gets its flags and no other, by the real examination on SQLite in this process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case
from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Pins
from sqlassay.dialect_adapters.rearranged import ORDERS
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.reflect import read_catalog
from sqlassay.harness.checkup.checkup import again, other_order
from sqlassay.harness.checkup.clock import reads_clock
from sqlassay.harness.checkup.columns import TextNumbers
from sqlassay.harness.checkup.examine import Examiner
from sqlassay.harness.checkup.seen import Seen
from sqlassay.harness.desk import Desk, Rules
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import MetricSettings
from sqlassay.sandboxes.contract import BaseImage, SnapshotImage

_TABLE = rows_of("gold_health")
_LIMITS = Limits(timeout=5, rows=200)


class _Here:
    """A station that answers from a file in this process: the texts are the table's own."""

    def __init__(self, path: Path) -> None:
        """Keep the file."""
        self._path = path

    def run(self, _snapshot: str, sql: str, limits: Limits, _pins: Pins, **_: object) -> Outcome:
        """Run one statement."""
        with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)) as db:
            try:
                cursor = db.execute(sql)
                rows = cursor.fetchmany(limits.rows + 1)
            except sqlite3.Error as error:
                return Failure(FailureKind.ERROR, str(error))
            if len(rows) > limits.rows:
                return Failure(FailureKind.TOO_MANY_ROWS, f"more than {limits.rows} rows")
            columns = tuple(Column(one[0]) for one in cursor.description)
            return Rows(Relation(columns, tuple(rows)), 0.0)


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> list[Snapshot]:
    """Give the table's data as it is stored, and in each other order."""
    folder = tmp_path_factory.mktemp("people")
    path = folder / "people.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_TABLE["schema"])
    (stored,), _ = snapshots_of([Found("people", (path,))])
    others = [other_order(adapter("sqlite"), stored, order, 0, folder) for order in ORDERS]
    assert all(others)
    return [stored, *(other for other in others if other is not None)]


@pytest.fixture(scope="module")
def desks(snapshots: list[Snapshot]) -> Iterator[list[Desk]]:
    """Give a desk at each of them, all with one parser."""
    with Parser() as parser:
        yield [_desk(parser, snapshot) for snapshot in snapshots]


def _desk(parser: Parser, snapshot: Snapshot) -> Desk:
    """Return a desk at one file."""
    assert snapshot.sqlite_file is not None
    catalog = read_catalog(snapshot.sqlite_file, snapshot=snapshot.id, database=snapshot.database)
    base = BaseImage("here", "", "", 0, "3", "host")
    rules = Rules(
        dialect="sqlite",
        grammar=adapter("sqlite").rules,
        image=SnapshotImage("here", "here", "sqlite", base, (catalog,)),
        pack=Pack("people", Path(), "", (), (snapshot,)),
        policy=preset("skill"),
        strict=preset("strict"),
        limits=_LIMITS,
        gold_limits=_LIMITS,
        clock=None,
        day=datetime(2026, 1, 1, tzinfo=UTC),
        metrics=(),
        settings=MetricSettings(),
    )
    return Desk(rules, parser, _Here(snapshot.sqlite_file))  # type: ignore[arg-type]


def examined(desks: list[Desk], gold: str | list[str], engine: str = "sqlite", **case: Any) -> Seen:
    """Return what examining one case leaves behind, as the adapter of an engine has it examined."""
    asked = Case(id="c", question="?", snapshot="people", gold={"sqlite": gold}, **case)
    seen = Examiner(adapter(engine), TextNumbers(desks[0].rules.pack)).examine(asked, desks[0])
    for order, desk in zip(ORDERS, desks[1:], strict=True):
        again(seen, order, desk)
    return seen


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: str(row["gold"])[:90])
def test_every_row_gets_its_flags_and_no_other(desks: list[Desk], row: dict[str, Any]) -> None:
    """The flags are those of the row, and each finding says what shows it and what to do."""
    seen = examined(desks, row["gold"])
    assert sorted(finding.flag.value for finding in seen.findings) == sorted(row["flags"]), seen.findings
    assert all(finding.evidence and finding.remedy for finding in seen.findings)
    assert seen.problems == []
    expected = row.get("notes")
    assert any(expected in note for note in seen.notes) if expected else seen.notes == []


@pytest.mark.parametrize("row", _TABLE["keys"], ids=lambda row: str(row["gold"])[:90])
def test_order_keys_tell_of_a_cut_tie_where_nothing_else_does(desks: list[Desk], row: dict[str, Any]) -> None:
    """An adapter without questions to the data leaves ties to the keys on both sides of the LIMIT."""
    seen = examined(desks, row["gold"], "postgres")
    assert sorted(finding.flag.value for finding in seen.findings) == sorted(row["flags"]), seen.findings


def test_what_differs_is_shown(desks: list[Desk]) -> None:
    """A finding names the question that was asked and the first row that each order gives."""
    found = {
        one.flag.value: one for one in examined(desks, "SELECT name FROM people ORDER BY score DESC LIMIT 2").findings
    }
    assert found["tie_at_limit"].probe is not None
    assert found["order_dependent"].rows == ('stored order: ["Ada"]', 'reversed rows: ["Bob"]')


def test_a_policy_of_the_case_decides_what_differs(desks: list[Desk]) -> None:
    """Where the case lets a cut tie go either way, the order of the rows does no harm; the tie is still told."""
    seen = examined(desks, "SELECT name FROM people ORDER BY score DESC LIMIT 2", policy={"cut_ties": "any"})
    assert [finding.flag.value for finding in seen.findings] == ["tie_at_limit", "null_order"]


def test_gold_slower_than_a_prediction_may_be_is_flagged(desks: list[Desk]) -> None:
    """Gold has a longer deadline of its own; past the prediction's nobody could match it."""
    quick = [replace(desk, rules=replace(desk.rules, limits=replace(_LIMITS, timeout=-1.0))) for desk in desks]
    flags = [finding.flag.value for finding in examined(quick, "SELECT name FROM people WHERE id = 1").findings]
    assert flags == ["too_slow"]


@pytest.mark.parametrize("row", _TABLE["clock"], ids=lambda row: str(row["flags"]))
def test_the_guards_flags_say_what_reads_the_clock(row: dict[str, Any]) -> None:
    """Names that tell the time are told from those that are random or the snapshot's own."""
    assert list(reads_clock(tuple(row["flags"]))) == row["names"]
