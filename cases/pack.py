"""A pack: cases, the snapshots they are asked of, the routes an agent may choose, and the pack's settings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.policy import PolicyOverrides
from sqlassay.cases.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PackSettings:
    """What a pack header may set; None leaves the default or the command line in charge."""

    policy_preset: str | None = None
    policy: PolicyOverrides | None = None
    timeout: float | None = None
    gold_timeout: float | None = None
    row_limit: int | None = None
    disagreement: float | None = None
    alpha: float | None = None
    beta: float | None = None
    clock: datetime | None = None


class PackRow(NamedTuple):
    """One row of a foreign data set: its id, its database, and whether it is a case; ids may stand twice."""

    id: str
    database: str
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Pack:
    """A loaded pack. `routes` maps a route name to a snapshot id, or to None where the route is not SQL.

    `visible` maps a snapshot id to the tables a prediction may read (absent = all).
    `predictions` is the pack's own sample prediction file, if any; `inline_predictions` are those that stand in the
    same rows as the cases (the Skill's dataset). `digest` is the case-set hash. `files` are all that hold gold or
    predictions: an agent must not read them. `left_out` says, one line each, which rows of a foreign data set cannot
    be judged and why; `rows` are all its rows in file order, for predictions that count them.
    """

    name: str
    path: Path
    digest: str
    cases: tuple[Case, ...]
    snapshots: tuple[Snapshot, ...]
    routes: tuple[tuple[str, str | None], ...] = ()
    visible: tuple[tuple[str, tuple[str, ...]], ...] = ()
    settings: PackSettings = PackSettings()
    predictions: Path | None = None
    format: str = "own"
    inline_predictions: tuple[Prediction, ...] = ()
    description: str = ""
    files: tuple[Path, ...] = ()
    left_out: tuple[str, ...] = ()
    rows: tuple[PackRow, ...] = ()

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """Return the snapshot with this id; the reader has proven that every case's snapshot exists."""
        return next(s for s in self.snapshots if s.id == snapshot_id)
