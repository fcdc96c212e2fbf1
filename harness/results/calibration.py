"""How far a judge agrees with people: the figures, the table behind them, and each case they differ on."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.results.run_result import JudgeFigures

FORMAT = 1


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Interval95(_Record):
    """A figure with its 95 % interval, None where the labels do not give it."""

    value: float | None
    low: float | None = None
    high: float | None = None


class JudgedLabel(_Record):
    """One label and what the judge made of it; `score` is on 0–1, None where the judge gave none."""

    id: str
    human: bool
    label: bool | float
    score: float | None
    judge: bool | None
    reason: str


class Bound(_Record):
    """A declared least value, the value reached, and whether it held."""

    figure: str
    minimum: float
    value: float | None
    held: bool


class Calibration(_Record):
    """One judge against one file of labels. `confusion` counts people's no and yes down, the judge's across.

    `advised` is the threshold with the highest kappa on these labels, `advised_kappa` that kappa, and `held_out_kappa`
    what choosing a threshold so is worth on labels it was not chosen on.
    """

    format: int = FORMAT
    labels: str
    digest: str
    metric: str
    judge: str
    threshold: float
    positive: float
    count: int
    judged: int
    unavailable: int
    confusion: tuple[tuple[int, int], tuple[int, int]]
    agreement: Interval95
    kappa: Interval95
    sensitivity: Interval95
    specificity: Interval95
    advised: float | None
    advised_kappa: Interval95
    held_out_kappa: Interval95
    advice: str
    bounds: tuple[Bound, ...] = ()
    figures: JudgeFigures
    cases: tuple[JudgedLabel, ...]
    exit_code: ExitCode
    verdict_line: str

    @property
    def differing(self) -> tuple[JudgedLabel, ...]:
        """Return the cases on which judge and people differ."""
        return tuple(case for case in self.cases if case.judge is not None and case.judge is not case.human)
