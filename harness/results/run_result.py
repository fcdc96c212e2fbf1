"""A whole run as every report reads it: manifest, results in case order, timings, totals and the exit code."""

from __future__ import annotations

from html import escape
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.errors import InputError
from sqlassay.cases.isolation import IsolationLevel
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.results.case_result import CaseResult, Timing


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


class HealthFigures(_Record):
    """What this machine did to the run while it judged: how often the parser was replaced, seconds that this process
    stood still under statements, and the load of the last minute beside the number of cores.

    None of it decides a verdict; much of it says that figures of time are not worth much.
    """

    parsers_replaced: int
    paused_seconds: float
    load: float
    cores: int


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
    health: HealthFigures | None = None
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

    def result(self, case_id: str, trial: int = 0) -> CaseResult:
        """Return the result of one case.

        Raises: KeyError where the run has none.
        """
        for found in self.results:
            if found.key == (case_id, trial):
                return found
        raise KeyError(case_id)

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat row a result: what was asked and answered, the verdict with its reason, and every score."""
        rows: list[dict[str, Any]] = []
        for result, timing in zip(self.results, self.timings, strict=True):
            scores = {**result.scores, **timing.scores}
            rows.append(
                {
                    "case_id": result.case_id,
                    "trial": result.trial,
                    "question": result.question,
                    "gold_sql": result.gold_sql,
                    "predicted_sql": result.predicted_sql,
                    "verdict": result.verdict.value,
                    "cause": None if result.cause is None else result.cause.value,
                    "reason": result.reason,
                    **{name: score.value for name, score in scores.items()},
                    "predicted_seconds": timing.predicted_seconds,
                }
            )
        return rows

    def to_pandas(self) -> Any:
        """Return `rows()` as a pandas DataFrame.

        Raises: InputError where pandas is not installed.
        """
        try:
            frame = import_module("pandas").DataFrame
        except ImportError:
            raise InputError("pandas is not installed", remedy="pip install pandas, or take rows()") from None
        return frame(self.rows())

    def __repr__(self) -> str:
        """Say the run in one line."""
        where = f"{self.manifest.pack} on {self.manifest.dialect}"
        return f"<RunResult {where}: {len(self.results)} results, {self.verdict_line}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the run as a notebook shows it: its totals and the verdict line."""
        title = f"{self.manifest.pack} on {self.manifest.dialect} {self.manifest.engine_version}"
        head = "".join(f"<th>{name}</th>" for name in ("score", "mean", "n", "of", ""))
        lines = [
            (one.name, "–" if one.mean is None else f"{one.mean:.3f}", str(one.n), str(one.of), one.note)
            for one in self.aggregates
        ]
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
        counts = ", ".join(f"{count} {name}" for name, count in self.verdicts.items())
        return (
            f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f"<p>{escape(counts)}<br>{escape(self.verdict_line)}</p>"
        )
