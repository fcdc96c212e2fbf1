"""One question and its query assessed: every signal as it is written, and the function that finds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from sqlassay.harness.prompts import UNTOLD
from sqlassay.harness.results.blocks import Block
from sqlassay.harness.results.judging import Ask, Judgement
from sqlassay.harness.results.stef import Mark
from sqlassay.harness.stef import judging
from sqlassay.harness.stef.alignment import Alignment, align
from sqlassay.harness.stef.answers import DriftAnswer, QuestionSpec, Verdict, VerdictAnswer
from sqlassay.harness.stef.normalisation import LimitSignal, OrderSignal
from sqlassay.harness.stef.phrases import asks_for_one, asks_for_order, top_k
from sqlassay.harness.stef.rules import RuleProfile
from sqlassay.harness.stef.score import (
    ACTIONS,
    SIGMA_FILTERS,
    SIGMA_VERDICT,
    FilterStatus,
    Reliability,
    Tier,
    base,
    composite,
    leniency,
    multiplier,
    reliability,
    tier,
)
from sqlassay.harness.stef.specification import SqlSpec, Writer

FORMAT = 1
NO_JUDGE = "no judge was asked and none is given"

_Said = TypeVar("_Said", bound=BaseModel)


class _Written(BaseModel):
    """A part of what is written."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Drift(_Written):
    """Stage 1: whether the enriched question still asks for what the user asked; None where that is not known."""

    faithful: bool | None
    reason: str = ""
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: tuple[tuple[str, str], ...] = ()


class Filters(_Written):
    """Stage 3's filter alignment, each filter as a person writes it."""

    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    mismatched: tuple[tuple[str, str], ...] = ()
    extras: tuple[str, ...] = ()
    benign: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class Signals(_Written):
    """The binary signals with what is behind them, and how order and limit stand."""

    projection: bool
    aggregation: bool
    grouping: bool
    missing_outputs: tuple[str, ...]
    extra_outputs: tuple[str, ...]
    missing_aggregations: tuple[str, ...]
    extra_aggregations: tuple[str, ...]
    missing_groups: tuple[str, ...]
    extra_groups: tuple[str, ...]
    required_groups: tuple[str, ...]
    pinned_groups: tuple[str, ...]
    order: OrderSignal
    limit: LimitSignal


class SqlSide(_Written):
    """S_sql as it is written, names and values folded and mapped."""

    projections: tuple[str, ...]
    aggregations: tuple[str, ...]
    filters: tuple[str, ...]
    group_by: tuple[str, ...]
    order_by: tuple[str, ...]
    limit: int | None


class Assessment(_Written):
    """Every signal of one row. `phi` None means unavailable, and `reason` says why; it is never a default."""

    phi: float | None
    reason: str
    tier: Tier | None = None
    action: str | None = None
    filter_status: FilterStatus | None = None
    sigma_filters: int | None = None
    verdict: Verdict | None = None
    verdict_reason: str = ""
    sigma_verdict: int | None = None
    delta: int | None = None
    base: int | None = None
    confidence: float | None = None
    gamma: float | None = None
    reliability: Reliability | None = None
    filters: Filters | None = None
    signals: Signals | None = None
    drift: Drift | None = None
    spec: QuestionSpec | None = None
    sql_spec: SqlSide | None = None

    def mark(self, agent: str | None = None, version: str | None = None, category: str | None = None) -> Mark:
        """Return what a run's figures count of this row."""
        return Mark(
            self.phi,
            self.tier,
            self.reliability,
            self.filter_status,
            None if self.signals is None else self.signals.limit,
            None if self.drift is None else self.drift.faithful,
            agent,
            version,
            category,
        )


class Submitted(_Written):
    """What is assessed; `spec`, `verdict` and `drift` as given, None where a judge is to be asked.

    `sql` is the statement without its comments, None where the parser could not tell what is one.
    """

    question: str
    sql: str | None
    enriched_question: str | None = None
    spec: object = None
    verdict: object = None
    drift: object = None


def assess(
    row: Submitted, blocks: Sequence[Block] | None, unread: str, profile: RuleProfile, ask: Ask | None
) -> Assessment:
    """Return every signal of one row; `blocks` are its SQL's, None where it could not be read, `unread` says why."""
    drift = _drift(row, profile, ask)
    if blocks is None:
        return Assessment(phi=None, reason=f"the query cannot be read: {unread}", drift=drift)
    found = _said(row.spec, QuestionSpec) or _asked(
        ask, lambda judge: judging.ask_specification(judge, row.question, row.enriched_question, profile, blocks)
    )
    if found.value is None:
        return Assessment(phi=None, reason=f"the question's specification is unavailable: {found.reason}", drift=drift)
    spec = found.value
    texts = (row.question, row.enriched_question)
    writer = Writer(profile)
    given = writer.of_sql(blocks)
    alignment = align(
        writer.of_question(spec, top_k(*texts)),
        given,
        profile,
        order_asked=asks_for_order(*texts),
        one_asked=asks_for_one(*texts),
    )
    verdict = _said(row.verdict, VerdictAnswer) or _asked(
        ask,
        lambda judge: (
            judging.ask_verdict(judge, row.question, row.enriched_question, row.sql, profile, alignment)
            if row.sql is not None
            else Judgement(None, UNTOLD)
        ),
    )
    known: dict[str, Any] = {"drift": drift, "spec": spec, "sql_spec": _sql_side(given)}
    return _scored(alignment, verdict, profile, known)


def _sql_side(spec: SqlSpec) -> SqlSide:
    """Return S_sql as it is written."""
    return SqlSide(
        projections=tuple(each.expression for each in spec.projections),
        aggregations=tuple(map(str, spec.aggregations)),
        filters=tuple(map(str, spec.filters)),
        group_by=spec.group_by,
        order_by=tuple(f"{each.key} {each.direction}" for each in spec.order_by),
        limit=spec.limit,
    )


def _scored(
    alignment: Alignment, said: Judgement[VerdictAnswer], profile: RuleProfile, known: dict[str, Any]
) -> Assessment:
    """Return the assessment of an alignment and a verdict beside what is known, without a score where there is none."""
    found = alignment.filters
    facts: dict[str, Any] = {
        "filter_status": found.status,
        "sigma_filters": SIGMA_FILTERS[found.status],
        "delta": leniency(found.status, benign=found.all_benign),
        "filters": _filters(alignment),
        "signals": Signals(**{name: getattr(alignment, name) for name in Signals.model_fields}),
        **known,
    }
    if said.value is None:
        return Assessment(phi=None, reason=f"the verdict is unavailable: {said.reason}", **facts)
    verdict, confidence = said.value.verdict, said.value.confidence
    tolerance = profile.tolerance
    phi = composite(found.status, verdict, confidence, benign=found.all_benign, tolerance=tolerance)
    quality = tier(phi, tolerance)
    points = base(found.status, verdict, leniency(found.status, benign=found.all_benign))
    return Assessment(
        phi=phi,
        reason=f"{found.status}, {verdict} with confidence {confidence}",
        tier=quality,
        action=ACTIONS[quality],
        verdict=verdict,
        verdict_reason=said.value.reason,
        sigma_verdict=SIGMA_VERDICT[verdict],
        base=points,
        confidence=confidence,
        gamma=multiplier(confidence, tolerance),
        reliability=reliability(confidence, tolerance),
        **facts,
    )


def _filters(alignment: Alignment) -> Filters:
    """Return the filter alignment as it is written."""
    found = alignment.filters
    return Filters(
        matched=tuple(map(str, found.matched)),
        missing=tuple(map(str, found.missing)),
        mismatched=tuple((str(wanted), str(given)) for wanted, given in found.mismatched),
        extras=tuple(map(str, found.extras)),
        benign=tuple(map(str, found.benign)),
        ignored=tuple(map(str, found.ignored)),
    )


def _drift(row: Submitted, profile: RuleProfile, ask: Ask | None) -> Drift:
    """Return stage 1's finding; without an enriched question there is nothing to find."""
    enriched = row.enriched_question
    if enriched is None:
        return Drift(faithful=None, reason="there is no enriched question")
    if " ".join(enriched.split()).casefold() == " ".join(row.question.split()).casefold():
        return Drift(faithful=True, reason="the enriched question is the user's")
    said = _said(row.drift, DriftAnswer) or _asked(
        ask, lambda judge: judging.ask_drift(judge, row.question, enriched, profile)
    )
    if said.value is None:
        return Drift(faithful=None, reason=said.reason)
    found = said.value
    changed = tuple((each.user, each.enriched) for each in found.changed)
    return Drift(
        faithful=found.faithful, reason=found.reason, added=found.added, dropped=found.dropped, changed=changed
    )


def _said(given: object, model: type[_Said]) -> Judgement[_Said] | None:
    """Return what a file says in a judge's place, unavailable where it is malformed; None where it says nothing."""
    if given is None:
        return None
    if isinstance(given, model):
        return Judgement(given)
    try:
        return Judgement(model.model_validate(given))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return Judgement(None, f"malformed: {place}: {first['msg']}" if place else f"malformed: {first['msg']}")


def _asked(ask: Ask | None, question: Callable[[Ask], Judgement[_Said]]) -> Judgement[_Said]:
    """Return a judge's answer, unavailable where there is no judge."""
    return Judgement(None, NO_JUDGE) if ask is None else question(ask)
