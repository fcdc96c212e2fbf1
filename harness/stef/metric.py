"""STEF as a metric of a run: the composite score of one prediction, its question judged without any gold."""

from __future__ import annotations

from sqlassay.cases.errors import InputError
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.grading import NO_JUDGE
from sqlassay.harness.prompts import without_comments
from sqlassay.harness.results.evidence import LEAST, MOST, Evidence, MetricSettings, Score
from sqlassay.harness.results.parsed import SYNTAX_ERROR
from sqlassay.harness.stef.assessment import Assessment, Submitted, assess
from sqlassay.harness.stef.rules import RuleBook, RuleProfile, book_from, profile_from
from sqlassay.harness.stef.score import ACTIONS

_NAME = "stef"
_UNSCORED = {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE}


def _book(settings: MetricSettings) -> RuleBook:
    """Return the rule book of the option `stef.rules`, an empty one without it."""
    given = settings.option(_NAME, "rules")
    return RuleBook() if given is None else book_from(given, "--metric-option stef.rules")


def _check(settings: MetricSettings) -> None:
    """Refuse rules that are none, before anything runs."""
    _profile(None, settings)


def _profile(rules: str | None, settings: MetricSettings) -> RuleProfile:
    """Return the rules of a case: its own, or those the option `stef.profile` names, or the default ones."""
    book = _book(settings)
    if rules is not None:
        return profile_from(rules, book)
    chosen = settings.option(_NAME, "profile")
    return book.profile(None if chosen is None else str(chosen))


def _compute(evidence: Evidence, ask: Ask | None) -> Score:
    """Score one prediction; no statement, a blocked one and one that cannot be parsed are the agent's, and 0."""
    prediction, parsed = evidence.prediction, evidence.predicted_parsed
    if evidence.verdict in _UNSCORED:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if ask is None:  # predictions that are no answer alone would give a mean of 0
        return Score(None, NO_JUDGE)
    if prediction is None or prediction.sql is None or parsed is None:
        return _nothing("there is no predicted statement")
    if evidence.verdict is Verdict.BLOCKED or (evidence.guard is not None and not evidence.guard.allowed):
        return _nothing("the predicted statement was blocked")
    if parsed.error is not None and parsed.error.startswith(SYNTAX_ERROR):
        return _nothing(f"the predicted statement cannot be parsed: {parsed.error}")
    try:
        profile = _profile(evidence.case.rules, evidence.settings)
    except InputError as error:
        return Score(None, f"the case's rules: {error}")
    question, enriched = evidence.case.question, prediction.enriched_question
    row = Submitted(question=question, sql=without_comments(parsed), enriched_question=enriched)
    found = assess(row, parsed.blocks if parsed.error is None else None, parsed.error or "", profile, ask)
    # What can be read has a score save where a judge gave no answer: it may be anything.
    left_open = ((LEAST, 0.0), (MOST, 100.0)) if found.phi is None and parsed.error is None else ()
    return Score(found.phi, found.reason, (*_details(found), *left_open))


def _nothing(reason: str) -> Score:
    """Return the score of a prediction that is no answer."""
    return Score(0.0, reason, (("tier", "Poor"), ("action", ACTIONS["Poor"])))


def _details(found: Assessment) -> tuple[tuple[str, str | float | None], ...]:
    """Return the signals a report shows beside the score."""
    details: list[tuple[str, str | float | None]] = [
        ("tier", found.tier),
        ("action", found.action),
        ("filter_status", found.filter_status),
        ("sigma_filters", found.sigma_filters),
        ("verdict", found.verdict),
        ("sigma_verdict", found.sigma_verdict),
        ("delta", found.delta),
        ("confidence", found.confidence),
        ("gamma", found.gamma),
        ("reliability", found.reliability),
    ]
    if found.signals is not None:
        signals = found.signals
        details += [
            ("projection", float(signals.projection)),
            ("aggregation", float(signals.aggregation)),
            ("grouping", float(signals.grouping)),
            ("order", signals.order),
            ("limit", signals.limit),
        ]
    if found.filters is not None:
        details.append(("missing_filters", "; ".join(found.filters.missing)))
        details.append(("mismatched_filters", "; ".join(f"{w} ≠ {g}" for w, g in found.filters.mismatched)))
        details.append(("extra_filters", "; ".join(found.filters.extras)))
    if found.drift is not None and found.drift.faithful is not None:
        details.append(("faithful_enrichment", float(found.drift.faithful)))
    return tuple(details)


STEF = Metric(
    name=_NAME,
    needs=frozenset({"judge"}),
    citation="STEF, Eq. 1–18 and Tables 1–3, as docs/stef.md decides them",
    formula="(σ_filters + σ_verdict + δ) / 10 · 100 · Γ(γ)",
    range=(0.0, 100.0),
    compute=_compute,
    options=("rules", "profile"),
    check=_check,
)
"""The metric."""
