"""A whole run as every report reads it: manifest, results in case order, timings, totals and the exit code."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from cases.isolation import IsolationLevel
from cases.settings import EngineSettings
from cases.verdicts import ExitCode
from harness.results.case_result import CaseResult, Timing


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class IsolationRecord(_Record):
    """How the sandboxes of a run were isolated and which limits were off here.

    Gold and predictions have servers of their own, at the run's level each; `stricter` counts cases kept apart further.
    """

    provider: str
    method: str
    network: str
    limits: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    level: IsolationLevel = "run"
    gold_level: IsolationLevel = "run"
    stricter: dict[IsolationLevel, int] = {}


class SettingsRecord(_Record):
    """The engine settings that held for these snapshots: collation, mode, time zone, how names fold."""

    settings: EngineSettings
    snapshots: tuple[str, ...]


class Manifest(_Record):
    """Everything that decides a run's results, written before the first case.

    `agent_digest` is the sha256 of the agent's own file, where it was named by one.
    """

    format: int = 1
    run_id: str
    created: str
    sqlassay: str
    packages: dict[str, str]
    dialect: str
    engine_version: str
    image: str
    image_key: str
    base_image: str
    base_digest: str
    base_source: str
    engine_settings: tuple[SettingsRecord, ...] = ()
    isolation: IsolationRecord
    pack: str
    pack_format: str
    case_set: str
    cases: int
    agent: str
    predictions_digest: str | None
    agent_digest: str | None = None
    judge: str | None = None
    settings: dict[str, Any]
    policy: dict[str, Any]
    policy_origin: dict[str, str]
    policy_digest: str
    metrics: tuple[str, ...]
    seed: int


class Aggregate(_Record):
    """The mean of a metric over the results where it is available: `n` of `of`.

    `coverage` is the share of the results that rest on a judge which it answered in full (1 for other metrics). Where
    it did not answer all, `least` and `most` are what the mean would be with the missing answers at either end.
    """

    name: str
    mean: float | None
    n: int
    of: int
    note: str = ""
    coverage: float = 1.0
    least: float | None = None
    most: float | None = None


class Threshold(_Record):
    """A declared `--fail-under` threshold, beside the headline its value under `strict`, and whether it held.

    A mean that rests on a judge holds only where the judge answered for at least the share `min_coverage`.
    """

    metric: str
    minimum: float
    strict: float | None = None
    value: float | None
    held: bool
    coverage: float = 1.0
    min_coverage: float = 1.0


class SandboxFigures(_Record):
    """What the pool of prediction servers did: servers started and replaced, and the seconds of its hand-outs.

    Those of a server that nothing had run on are counted apart as `fresh`.
    """

    started: int
    replaced: int
    handouts: int
    median: float | None
    p95: float | None
    longest: float | None
    fresh: int
    fresh_median: float | None
    fresh_p95: float | None


class JudgeFigures(_Record):
    """What a judge was asked and took: `kept` answers cost nothing, `unavailable` ones have no value in any score.

    Tokens and cost are those of this run, retries included. `split` counts the questions a panel's members did not
    agree on.
    """

    label: str
    asked: int
    kept: int
    retries: int
    unavailable: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    split: int | None = None
    members: tuple[JudgeFigures, ...] = ()


class RunResult(_Record):
    """What a finished (or interrupted) run is: the only input of every report.

    `scorable` is the denominator of execution accuracy; `verdicts` counts every result by verdict, `causes` the
    failed ones by cause. `percentiles` are seconds (p50, p95) of predicted execution. `problems` are one-line
    notes on faults of ours; `verdict_line` is the last line printed and says the same as `exit_code`.
    """

    manifest: Manifest
    results: tuple[CaseResult, ...]
    timings: tuple[Timing, ...]
    aggregates: tuple[Aggregate, ...]
    verdicts: dict[str, int]
    causes: dict[str, int]
    scorable: int
    blocked: int
    disagreements: tuple[str, ...] = ()
    percentiles: dict[str, float | None] = {}
    sandboxes: SandboxFigures | None = None
    judge: JudgeFigures | None = None
    thresholds: tuple[Threshold, ...] = ()
    problems: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    planned: int
    interrupted: bool = False
    exit_code: ExitCode
    verdict_line: str
    folder: str = ""

    def aggregate(self, name: str) -> Aggregate | None:
        """Return one metric's total, or None where it was not asked for."""
        return next((a for a in self.aggregates if a.name == name), None)
