"""Ask a judge what people have labelled, by the very prompts of a run, and measure how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from sqlassay.cases.errors import InputError
from sqlassay.cases.verdicts import ExitCode, worst
from sqlassay.harness.calibrate.agreement import Estimate, Table, best_threshold, confusion, held_out, kappa, wilson
from sqlassay.harness.calibrate.labels import Label
from sqlassay.harness.calibrate.statements import Statements
from sqlassay.harness.judges import Seated
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.results.calibration import Bound, Calibration, Interval95, JudgedLabel
from sqlassay.harness.results.evidence import Score
from sqlassay.harness.results.run_result import JudgeFigures

BOUNDS = ("agreement", "kappa", "kappa_low", "sensitivity", "specificity")
"""What `--fail-under` may name."""

FEW = 30
"""Labels under which no threshold is advised, whatever it looks like."""

_OF_A_RUN = ("plan", "schema", "timings", "extra_snapshots")
"""Needs that no label can meet: a score without them would be another one than a run's."""

GAIN = 0.05
"""By how much kappa on held-out labels must be better before another threshold is advised."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What is measured: the metric, the threshold from which its score is a yes, people's, and the least values."""

    metric: Metric
    threshold: float = 0.5
    positive: float = 0.5
    bounds: tuple[tuple[str, float], ...] = ()
    jobs: int = 4


def calibrate(labels: Sequence[Label], name: str, digest: str, setup: Setup, judge: Seated) -> Calibration:
    """Return how far the judge agrees with the labels of the file `name`; what it does not answer is counted apart.

    Raises:
        InputError: the metric needs no judge, or a bound names no figure.
    """
    _check(setup)
    with Statements() as statements, ThreadPoolExecutor(max_workers=setup.jobs) as crew:
        cases = tuple(crew.map(lambda label: _judged(label, setup, judge, statements), labels))
    found = _measured(cases, setup.threshold)
    values = {name: getattr(found, name).value for name in BOUNDS if name != "kappa_low"}
    values["kappa_low"] = found.kappa.low
    bounds = tuple(_bound(figure, minimum, values[figure]) for figure, minimum in setup.bounds)
    heard = sum(map(sum, found.table))
    code = _exit_code(len(cases), heard, bounds)
    return Calibration(
        labels=name,
        digest=digest,
        metric=setup.metric.name,
        judge=judge.label,
        threshold=setup.threshold,
        positive=setup.positive,
        count=len(cases),
        judged=heard,
        unavailable=len(cases) - heard,
        confusion=found.table,
        agreement=_shown(found.agreement),
        kappa=_shown(found.kappa),
        sensitivity=_shown(found.sensitivity),
        specificity=_shown(found.specificity),
        advised=found.advised,
        advised_kappa=_shown(found.advised_kappa),
        held_out_kappa=_shown(found.held_out),
        advice=_advice(found, setup.threshold),
        bounds=bounds,
        figures=JudgeFigures.model_validate(asdict(judge.figures())),
        cases=cases,
        exit_code=code,
        verdict_line=_verdict_line(code, cases, found, bounds),
    )


@dataclass(frozen=True, slots=True)
class _Measured:
    """The figures of the labels a judge answered."""

    table: Table
    agreement: Estimate
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    advised: float | None
    advised_kappa: Estimate
    held_out: Estimate


def _measured(cases: Sequence[JudgedLabel], threshold: float) -> _Measured:
    """Return the figures at the threshold, and at the best one."""
    human = [case.human for case in cases if case.score is not None]
    scores = [case.score for case in cases if case.score is not None]
    table = confusion(human, scores, threshold)
    (no_no, no_yes), (yes_no, yes_yes) = table
    advised = best_threshold(human, scores, threshold) if human else None
    return _Measured(
        table=table,
        agreement=wilson(no_no + yes_yes, len(human)),
        kappa=kappa(table),
        sensitivity=wilson(yes_yes, yes_no + yes_yes),
        specificity=wilson(no_no, no_no + no_yes),
        advised=advised,
        advised_kappa=Estimate(None) if advised is None else kappa(confusion(human, scores, advised)),
        held_out=held_out(human, scores, threshold),
    )


def _check(setup: Setup) -> None:
    """Refuse what could never be measured."""
    if "judge" not in setup.metric.needs:
        remedy = "Name a metric that needs a judge (`sqlassay list metrics`)"
        raise InputError(f"'{setup.metric.name}' asks no judge", field="--metric", remedy=remedy)
    more = sorted(need for need in setup.metric.needs if need.partition(":")[0] in _OF_A_RUN)
    if more:
        remedy = "Calibrate the metrics by judge that it is made of, such as sqlas.semantic_equivalence"
        message = f"'{setup.metric.name}' needs what only a run has: {', '.join(more)}"
        raise InputError(message, field="--metric", remedy=remedy)
    unknown = [figure for figure, _ in setup.bounds if figure not in BOUNDS]
    if unknown:
        remedy = f"Name one of {', '.join(BOUNDS)}"
        raise InputError(f"'{unknown[0]}' is no figure of a calibration", field="--fail-under", remedy=remedy)


def _score(label: Label, metric: Metric, judge: Seated, statements: Statements) -> Score:
    """Return the metric's score of one label; what compares results has none where the label does not hold both."""
    compares = any(need.startswith("policy:") for need in metric.needs)
    if compares and (label.rows is None or label.gold_rows is None):
        return Score(None, "the label does not hold rows and gold_rows, which this metric compares")
    return metric.compute(statements.judged(label), judge)


def _judged(label: Label, setup: Setup, judge: Seated, statements: Statements) -> JudgedLabel:
    """Return what the judge makes of one label, its score brought to 0–1."""
    score = _score(label, setup.metric, judge, statements)
    low, high = setup.metric.range
    value = None if score.value is None else (score.value - low) / (high - low)
    return JudgedLabel(
        id=label.id,
        human=label.positive(setup.positive),
        label=label.label,
        score=value,
        judge=None if value is None else value >= setup.threshold,
        reason=score.reason,
    )


def _shown(estimate: Estimate) -> Interval95:
    """Return an estimate as it is written."""
    return Interval95(value=estimate.value, low=estimate.low, high=estimate.high)


def _bound(figure: str, minimum: float, value: float | None) -> Bound:
    """Return a declared bound with whether it holds; a figure without a value does not."""
    return Bound(figure=figure, minimum=minimum, value=value, held=value is not None and value >= minimum)


def _advice(found: _Measured, now: float) -> str:
    """Say whether another threshold is worth taking, and why not where it is not."""
    n, advised, others = sum(map(sum, found.table)), found.advised, found.held_out.value
    if 0 in map(sum, found.table):
        return "keep the threshold: people gave one class only, so no threshold can be told from another"
    if n < FEW:
        return f"keep the threshold: {n} labels are too few to choose one by (at least {FEW})"
    if advised is None or advised == now:
        return f"keep {now:g}: no other threshold has a higher kappa on these labels"
    if others is None or others < (found.kappa.value or 0.0) + GAIN:
        shown = "unknown" if others is None else f"{others:.3f}"
        return f"keep {now:g}: {advised:.3g} fits these labels better, but not others (held-out kappa {shown})"
    return f"take {advised:.3g} instead of {now:g}: held-out kappa {others:.3f}"


def _exit_code(count: int, judged: int, bounds: Sequence[Bound]) -> ExitCode:
    """Return 3 where a label has no judgement, 5 where none has one, 1 where a bound does not hold."""
    codes = {ExitCode.OK}
    if judged < count:
        codes.add(ExitCode.INFRASTRUCTURE)
    if not judged:
        codes.add(ExitCode.NOTHING_SCORABLE)
    if any(not bound.held for bound in bounds):
        codes.add(ExitCode.THRESHOLD)
    return worst(codes)


def _verdict_line(code: ExitCode, cases: Sequence[JudgedLabel], found: _Measured, bounds: Sequence[Bound]) -> str:
    """Return the last line: it says the same as the exit code."""
    heard = sum(case.score is not None for case in cases)
    figures = f"{_interval('kappa', found.kappa)}, {_interval('agreement', found.agreement)} over {heard} labels"
    silent = next((case for case in cases if case.score is None), None)
    if code is ExitCode.INFRASTRUCTURE and silent is not None:
        missing = f"{len(cases) - heard} of {len(cases)} labels have no judgement, first {silent.id}: {silent.reason}"
        return f"NOT WHOLE: {missing} (exit 3)"
    if code is ExitCode.THRESHOLD:
        failed = [
            f"{b.figure} {'has no value' if b.value is None else f'{b.value:.3f}'}, at least {b.minimum:g} was asked"
            for b in bounds
            if not b.held
        ]
        return f"FAIL: {'; '.join(failed)}: {figures} (exit 1)"
    return f"{'PASS' if bounds else 'DONE'}: {figures} (exit 0)"


def _interval(name: str, found: Estimate) -> str:
    """Return a figure with its interval."""
    if found.value is None or found.low is None or found.high is None:
        return f"{name} not defined"
    return f"{name} {found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
