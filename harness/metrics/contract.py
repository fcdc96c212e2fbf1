"""What a metric is: declared needs, a formula with its source, and a pure function from evidence to a score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlassay.harness.results.case_result import ScoreRecord
from sqlassay.harness.results.evidence import Evidence, MetricSettings, Score
from sqlassay.harness.results.judging import Ask

__all__ = ["Ask", "Metric"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as the registry lists it.

    `needs` names the evidence to collect (gold, plan, timings:k, extra_snapshots, schema, judge, answer, steps,
    policy:PRESET for a comparison under that preset). `range` is the lowest and highest value; `citation` says where
    the definition comes from. `options` are the names `--metric-option` may set for it; `check` refuses wrong values
    with an InputError before anything runs. `across` is for a metric of several trials: given the records of one case's
    trials in their order, it returns them with their scores once all have run.
    """

    name: str
    needs: frozenset[str]
    citation: str
    formula: str
    range: tuple[float, float]
    compute: Callable[[Evidence, Ask | None], Score]
    higher_is_better: bool = True
    options: tuple[str, ...] = ()
    check: Callable[[MetricSettings], None] | None = None
    across: Callable[[Sequence[ScoreRecord]], Sequence[ScoreRecord]] | None = None
