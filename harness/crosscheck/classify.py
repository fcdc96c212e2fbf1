"""Name the cause of one disagreement from what the probes gave: pure, and only from the closed list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dialect_adapters.transpile.causes import Difference
from harness.results.crosscheck import Found, Owner, Predict

Form = Literal["agrees", "differs", "fails", "refused", "not tried"]
"""What became of the statement's rewritten form on the other engine."""

_FORMS: dict[Form, str] = {
    "agrees": "the rewritten form agrees, and nothing is known of the statement",
    "differs": "the rewritten form gives other rows",
    "fails": "the rewritten form fails: ",
    "refused": "no form of it is known there: ",
    "not tried": "no other form was there to try",
}

Loosened = Literal["cut_ties", "row_order", "text_numbers", "decimals", "text_case", "parts"]
"""A laxer way of comparing under which the two results agree."""

REASONS = {
    "LIMIT cuts a tie": Difference.LIMIT_TIE,
    "LIMIT without ORDER BY": Difference.NOT_DECIDED,
    "a column outside GROUP BY has several values in a group": Difference.BARE_COLUMN,
    "a subquery used as one value gives several rows": Difference.NOT_DECIDED,
}
_ANY_STATEMENT = frozenset(
    (Difference.NULL_ORDER, Difference.TIE_ORDER, Difference.COLLATION, Difference.DISTINCT_ORDER)
)
"""Suspicions that say little: they hold for any ORDER BY, and come last."""

_IN_THE_DATA = frozenset((Difference.NOT_DECIDED, Difference.OVERFLOW))
"""What an engine complains about only once it has seen the rows: its message is the proof."""

_LIMITS = frozenset(("timeout", "too_many_rows", "too_many_bytes", "resource_limit"))


@dataclass(frozen=True, slots=True)
class Clues:
    """All that is known of one disagreement.

    `failure` is the kind of the side that failed (None: both gave rows) and `complaint` what its message is about.
    `undecided` are the reasons for which the data gave the statement's rows a choice. `form` is the rewritten form's
    fate on the other engine, `shown_by` which form that was. `first_fails` says that the first
    engine is the one that failed; `form_complaint` what the rewritten form's failure is about.
    """

    predict: Predict
    golds: bool
    origin: str
    failure: str | None = None
    complaint: Difference | None = None
    suspects: tuple[Difference, ...] = ()
    undecided: tuple[str, ...] = ()
    loosened: tuple[Loosened, ...] = ()
    form: Form = "not tried"
    refusal: str = ""
    shown_by: str = "the rewritten form"
    first_fails: bool = False
    form_complaint: Difference | None = None


def classify(clues: Clues) -> Found:
    """Return the cause, its owner and the probe that shows it; what no probe shows is `other` or not explained."""
    cause, probe = _failed(clues) if clues.failure is not None else _silent(clues)
    explained = bool(probe) and cause is not Difference.OTHER
    at_home = clues.first_fails or (clues.failure is not None and clues.origin == "own")
    shown_open = cause in {REASONS[reason] for reason in clues.undecided}
    return Found(
        cause=cause.value,
        owner=_owner(clues, cause),
        probe=probe or f"no probe changed the outcome; {_FORMS[clues.form]}{_why(clues)}",
        explained=explained,
        suspects=tuple(one.value for one in clues.suspects),
        set_aside=clues.golds and explained and (at_home or shown_open),
    )


def _why(clues: Clues) -> str:
    """Return why no other form agrees, where it failed or was refused."""
    return clues.refusal if clues.form in ("fails", "refused") else ""


def _failed(clues: Clues) -> tuple[Difference, str]:
    """Return the cause of a failure and the probe: what the engine complains about, and the form that it takes."""
    if clues.failure == "blocked":
        return Difference.BLOCKED, "the guard refused it before any engine saw it"
    if clues.failure in _LIMITS:
        return Difference.LIMITS, f"it ended as {clues.failure}" + (
            ", the rewritten form agrees" * (clues.form == "agrees")
        )
    cause = _refined(clues)
    if clues.first_fails:
        return cause, "it fails on the first engine itself, for which it was written"
    if (clues.form_complaint or cause) in _IN_THE_DATA and clues.form in ("fails", "not tried"):
        return cause, "the engine found it in the data, whatever the form"
    if clues.form == "agrees":
        return cause, f"{clues.shown_by} agrees"
    if clues.undecided:
        return cause, f"the rewritten form runs; the rest is open: {clues.undecided[0]}" * (clues.form == "differs")
    if clues.form == "differs" and clues.loosened:
        return cause, f"the rewritten form agrees where {_LAX[clues.loosened[0]]}"
    if clues.form == "refused":
        return cause, f"no form of it is known there: {clues.refusal}"
    return cause, ""


_LAX = {
    "cut_ties": "rows tied at the cut may stand for each other",
    "row_order": "the order of rows does not count",
    "text_numbers": "a text that is a number counts as that number",
    "decimals": "numbers are compared to three digits",
    "text_case": "upper and lower case are the same",
    "parts": "the parts of a joined text may come in any order",
}


def _refined(clues: Clues) -> Difference:
    """Return what an engine complains about, in the light of what the statement is suspected of."""
    complaint = clues.complaint
    if complaint is Difference.UNKNOWN_NAME and Difference.QUOTED_STRING in clues.suspects:
        return Difference.QUOTED_STRING
    if complaint is Difference.MISSING_FUNCTION and Difference.DATE_FUNCTION in clues.suspects:
        return Difference.DATE_FUNCTION
    if complaint is not None:
        return complaint
    return _first(clues.suspects) if clues.form == "agrees" else Difference.OTHER


def _first(suspects: Sequence[Difference]) -> Difference:
    """Return the most telling suspicion; those that any ORDER BY raises come last."""
    return next((one for one in suspects if one not in _ANY_STATEMENT), suspects[0] if suspects else Difference.OTHER)


def _silent(clues: Clues) -> tuple[Difference, str]:
    """Return the cause of rows that differ without an error, and the probe."""
    other_form = clues.form == "agrees"
    first = _first(clues.suspects)
    if clues.origin == "rewritten" and Difference.AGGREGATE_ORDER in clues.suspects:
        first = Difference.AGGREGATE_ORDER  # what a rewrite can still lose
    if other_form and clues.suspects and not (clues.undecided and first in _ANY_STATEMENT):
        return first, f"{clues.shown_by} agrees"
    if clues.undecided:
        return REASONS[clues.undecided[0]], f"asked of the data: {clues.undecided[0]}"
    if clues.form == "fails" and clues.form_complaint in _IN_THE_DATA and clues.form_complaint is not None:
        return clues.form_complaint, f"the rewritten form, which computes as the first engine does: {clues.refusal}"
    if clues.loosened:
        lax = clues.loosened[0]
        return _about(lax, clues.suspects), f"they agree where {_LAX[lax]}"
    if clues.form == "refused" and first is not Difference.OTHER and first not in _ANY_STATEMENT:
        return first, f"no form of it is known there: {clues.refusal}"
    if clues.form == "refused" and "function" in clues.refusal:
        return Difference.FUNCTION_MEANING, f"no form of it is known there: {clues.refusal}"
    if other_form and clues.predict == "per-dialect":
        return Difference.OTHER_QUESTION, "the first dialect's statement, rewritten, agrees"
    return Difference.OTHER, ""


def _about(lax: Loosened, suspects: Sequence[Difference]) -> Difference:
    """Return the cause that a laxer comparison names."""
    if lax == "row_order":
        return next(
            (one for one in (Difference.COLLATION, Difference.NULL_ORDER) if one in suspects), Difference.TIE_ORDER
        )
    if lax == "decimals":
        return Difference.AVG_DECIMALS if Difference.AVG_DECIMALS in suspects else Difference.ROUNDING
    if lax == "text_numbers":
        return Difference.MIXED_COLUMN
    return {"cut_ties": Difference.LIMIT_TIE, "text_case": Difference.COLLATION, "parts": Difference.AGGREGATE_ORDER}[
        lax
    ]


def _owner(clues: Clues, cause: Difference) -> Owner:
    """Return whose a disagreement is."""
    asker: Owner = "gold" if clues.golds else "agent"
    if cause is Difference.MIXED_COLUMN and cause in clues.suspects:
        return "data"
    if clues.first_fails or Difference.NOT_DECIDED in (cause, clues.form_complaint):
        return asker
    open_for = {REASONS[reason] for reason in clues.undecided}
    if cause in open_for or (clues.undecided and (clues.failure is None or clues.form != "agrees")):
        return asker
    if clues.origin == "own":
        return asker
    return "transpiler" if clues.origin == "rewritten" else "dialect"
