"""A desk whose statements are executed already: what judging costs once the rows are there."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.load import write_database
from sqlassay.dialect_adapters.sqlite.reflect import read_catalog
from sqlassay.dialect_adapters.timing import Paced
from sqlassay.harness.desk import Desk, Rules
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.metrics.registry import metrics, profile, repetitions_needed
from sqlassay.harness.parse.parser import Parser
from sqlassay.harness.results.evidence import MetricSettings
from sqlassay.sandboxes.contract import BaseImage, SnapshotImage

SECONDS = 5.0
ROUNDS = ((0.0011, 0.0010), (0.0012, 0.0010), (0.0011, 0.0011), (0.0010, 0.0010), (0.0014, 0.0011))
"""What every timed pair took: metrics of speed are computed, not measured, here."""


@dataclass
class Executed:
    """Stands where a station does and runs each statement once, in this process, whoever asks."""

    databases: dict[str, sqlite3.Connection]
    kept: dict[tuple[str, str], Outcome] = field(default_factory=dict)

    def run(self, snapshot_id: str, sql: str, limits: Limits, *_: Any, **__: Any) -> Outcome:
        """Return what a statement gave."""
        key = snapshot_id, sql
        if key not in self.kept:
            self.kept[key] = self._run(snapshot_id, sql, limits)
        return self.kept[key]

    def timed(self, *_: Any) -> Paced:
        """Return rounds as a server would have timed them."""
        return Paced(rounds=ROUNDS, clock="harness")

    def close(self) -> None:
        """Close every database."""
        for database in self.databases.values():
            database.close()

    def _run(self, snapshot_id: str, sql: str, limits: Limits) -> Outcome:
        """Run one statement, a few seconds at most."""
        database, end = self.databases[snapshot_id], time.monotonic() + SECONDS
        database.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        try:
            cursor = database.execute(sql)
            rows = tuple(cursor.fetchmany(limits.rows + 1))
            names = tuple(Column(each[0]) for each in cursor.description or ())
            cursor.close()
        except (sqlite3.Error, sqlite3.Warning) as error:
            return Failure(FailureKind.ERROR, str(error))
        if len(rows) > limits.rows:
            return Failure(FailureKind.TOO_MANY_ROWS, f"more than {limits.rows} rows")
        return Rows(Relation(names, rows), 0.001)


def deterministic() -> tuple[Metric, ...]:
    """Return every installed metric that no judge decides."""
    return tuple(metric for metric in metrics(profile("all")) if "judge" not in metric.needs)


def desk_of(pack: Pack, folder: Path, chosen: tuple[Metric, ...]) -> tuple[Callable[[], Desk], Executed]:
    """Return what makes a desk with a parser of its own, and the databases all of them share."""
    catalogs, databases = [], {}
    for number, snapshot in enumerate(pack.snapshots):
        file = folder / f"{number}.sqlite"
        write_database(snapshot, file)
        catalogs.append(read_catalog(file, snapshot=snapshot.id, database=snapshot.database))
        databases[snapshot.id] = sqlite3.connect(f"file:{file}?mode=ro", uri=True, check_same_thread=False)
        databases[snapshot.id].text_factory = lambda raw: raw.decode(errors="replace")
    base = BaseImage("none", "none", "", 0, sqlite3.sqlite_version, "host")
    settings = MetricSettings(
        repetitions=repetitions_needed(chosen),
        options=(("evalbench.regexp_matcher.regexp_string_list", ["(?i)group by"]),),
    )
    rules = Rules(
        dialect="sqlite",
        grammar=adapter("sqlite").rules,
        image=SnapshotImage("none", "none", "sqlite", base, tuple(catalogs)),
        pack=pack,
        policy=preset("skill"),
        strict=preset("strict"),
        limits=Limits(),
        gold_limits=Limits(),
        clock=None,
        day=datetime(2026, 1, 1, tzinfo=UTC),
        metrics=chosen,
        settings=settings,
    )
    executed = Executed(databases)
    return lambda: Desk(rules, Parser(), executed), executed  # type: ignore[arg-type]
