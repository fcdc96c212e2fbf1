"""Name the cause of one disagreement from what the probes gave: pure, and only from the closed list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.crosscheck.looser import Loosened
from sqlassay.harness.results.crosscheck import Found, Owner, Predict

Form = Literal["agrees", "differs", "fails", "refused", "not tried"]
"""What became of the statement's rewritten form on the other engine."""

_FORMS: dict[Form, str] = {
    "agrees": "the rewritten form agrees, and nothing is known of the statement",
    "differs": "the rewritten form gives other rows",
    "fails": "the rewritten form fails: ",
    "refused": "no form of it is known there: ",
    "not tried": "no other form was there to try",
}

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


Causes = tuple[Difference, ...]
"""Causes that hold together, at least one."""


@dataclass(frozen=True, slots=True)
class Clues:
    """All that is known of one disagreement.

    `failure` is the kind of the side that failed (None: both gave rows) and `complaint` what its message is about.
    `undecided` are the reasons for which the data gave the statement's rows a choice. `form` is the rewritten form's
    fate on the other engine, `shown_by` which form that was, `shown` its text. `needed` are the causes that have to be
    repaired for the engines to agree, each tried by itself, with the rows compared by `lax`; None where that was not
    tried, or not even all repairs agree. `unsaid` are causes of what no form is known for. `first_fails` says that the
    first engine is the one that failed; `form_complaint` what the rewritten form's failure is about.
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
    shown: str = ""
    needed: tuple[Difference, ...] | None = None
    lax: Loosened | None = None
    unsaid: tuple[Difference, ...] = ()
    first_fails: bool = False
    form_complaint: Difference | None = None


def classify(clues: Clues) -> Found:
    """Return the cause, its owner and the probe that shows it; what no probe shows is `other` or not explained."""
    causes, probe = _failed(clues) if clues.failure is not None else _silent(clues)
    cause = causes[0]
    explained = bool(probe) and cause is not Difference.OTHER
    at_home = clues.first_fails or (clues.failure is not None and clues.origin == "own")
    shown_open = cause in {REASONS[reason] for reason in clues.undecided}
    return Found(
        cause=cause.value,
        owner=_owner(clues, cause),
        probe=probe or f"no probe changed the outcome; {_FORMS[clues.form]}{_why(clues)}",
        explained=explained,
        also=tuple(one.value for one in causes[1:]) if explained else (),
        form=clues.shown if explained else "",
        suspects=tuple(one.value for one in clues.suspects),
        set_aside=clues.golds and explained and (at_home or shown_open),
    )


def _why(clues: Clues) -> str:
    """Return why no other form agrees, where it failed or was refused."""
    return clues.refusal if clues.form in ("fails", "refused") else ""


def _failed(clues: Clues) -> tuple[Causes, str]:
    """Return the causes of a failure and the probe: what the engine complains about, and the form that it takes."""
    if clues.failure == "blocked":
        return (Difference.BLOCKED,), "the guard refused it before any engine saw it"
    if clues.failure in _LIMITS:
        return (Difference.LIMITS,), f"it ended as {clues.failure}" + (
            ", the rewritten form agrees" * (clues.form == "agrees")
        )
    cause = _refined(clues)
    if clues.first_fails:
        return (cause,), "it fails on the first engine itself, for which it was written"
    if (clues.form_complaint or cause) in _IN_THE_DATA and clues.form in ("fails", "not tried"):
        return (cause,), "the engine found it in the data, whatever the form"
    if clues.needed is not None and (clues.needed or clues.form == "agrees"):
        return _with(cause, clues), _flipped(clues)
    if clues.form == "agrees":
        return (cause,), f"{clues.shown_by} agrees"
    if clues.undecided:
        return (cause,), f"the rewritten form runs; the rest is open: {clues.undecided[0]}" * (clues.form == "differs")
    if clues.form == "differs" and clues.loosened:
        return (cause,), f"the rewritten form agrees where {_LAX[clues.loosened[0]]}"
    if clues.form == "refused":
        return (cause,), f"no form of it is known there: {clues.refusal}"
    return (cause,), ""


def _with(cause: Difference, clues: Clues) -> Causes:
    """Return what an engine complains about, and what else is needed for it to agree."""
    tied = {Difference.UNKNOWN_NAME, Difference.MISSING_FUNCTION, Difference.SYNTAX, Difference.TYPE_ERROR}
    needed = [one for one in clues.needed or () if one is not cause]
    # A general complaint and the one thing that cures it are two names for one cause.
    told_twice = cause in tied and len(needed) == 1
    more = [] if told_twice else needed
    if clues.lax is not None:
        more.append(_about(clues.lax, clues.suspects))
    return (cause, *more)


def _flipped(clues: Clues) -> str:
    """Say which repairs made the engines agree."""
    names = " and ".join(one.value for one in clues.needed or ())
    what = f"with nothing but {names} said as the first engine means it" if names else "said in its own words"
    return f"{what}, it agrees" + (f" where {_LAX[clues.lax]}" if clues.lax is not None else "")


_LAX = {
    "cut_ties": "rows tied at the cut may stand for each other",
    "row_order": "the order of rows does not count",
    "text_numbers": "a text that is a number counts as that number",
    "decimals": "numbers are compared to three digits",
    "text_case": "upper and lower case are the same",
    "parts": "the parts of a joined text may come in any order",
}


def _refined(clues: Clues) -> Difference:
    """Return what an engine complains about, in the light of what the statement is suspected of, or needs."""
    complaint = clues.complaint
    known = clues.suspects if clues.needed is None else clues.needed
    for general, particular in _PARTICULAR:
        if complaint is general and particular in known:
            return particular
    if complaint is not None:
        return complaint
    return _first(known) if clues.form == "agrees" else Difference.OTHER


_PARTICULAR = (
    (Difference.UNKNOWN_NAME, Difference.QUOTED_STRING),
    (Difference.UNKNOWN_NAME, Difference.QUOTED_NAME),
    (Difference.SYNTAX, Difference.QUOTED_NAME),
    (Difference.MISSING_FUNCTION, Difference.DATE_FUNCTION),
    (Difference.TEXT_AND_NUMBER, Difference.DATE_ARITHMETIC),
    (Difference.TYPE_ERROR, Difference.DATE_ARITHMETIC),
    (Difference.TYPE_ERROR, Difference.TEXT_AND_NUMBER),
    (Difference.SYNTAX, Difference.CAST),
)
"""General complaints, and the suspicion that says more precisely what is complained about."""


def _first(suspects: Sequence[Difference]) -> Difference:
    """Return the most telling suspicion; those that any ORDER BY raises come last."""
    return next((one for one in suspects if one not in _ANY_STATEMENT), suspects[0] if suspects else Difference.OTHER)


def _silent(clues: Clues) -> tuple[Causes, str]:
    """Return the causes of rows that differ without an error, and the probe."""
    if "cut_ties" in clues.loosened and "LIMIT cuts a tie" in clues.undecided:
        return (Difference.LIMIT_TIE,), "asked of the data: LIMIT cuts a tie, and any of its rows would agree"
    if clues.needed:
        lax = () if clues.lax is None else (_about(clues.lax, clues.suspects),)
        return (*clues.needed, *lax), _flipped(clues)
    if clues.undecided:
        return (REASONS[clues.undecided[0]],), f"asked of the data: {clues.undecided[0]}"
    if clues.form == "fails" and clues.form_complaint in _IN_THE_DATA and clues.form_complaint is not None:
        probe = f"the rewritten form, which computes as the first engine does: {clues.refusal}"
        return (clues.form_complaint,), probe
    if clues.form == "agrees" and clues.origin == "rewritten" and Difference.AGGREGATE_ORDER in clues.suspects:
        return (Difference.AGGREGATE_ORDER,), f"{clues.shown_by} agrees"  # what a rewrite can still lose
    if clues.loosened:
        lax_way = clues.loosened[0]
        return (_about(lax_way, clues.suspects),), f"they agree where {_LAX[lax_way]}"
    if clues.form == "refused" and clues.unsaid:
        return clues.unsaid, f"all else is said as the first engine means it; no form is known of this: {clues.refusal}"
    if clues.form == "refused" and "function" in clues.refusal:
        return (Difference.FUNCTION_MEANING,), f"no form of it is known there: {clues.refusal}"
    if clues.form == "agrees" and clues.predict == "per-dialect":
        return (Difference.OTHER_QUESTION,), "the first dialect's statement, rewritten, agrees"
    return (Difference.OTHER,), ""


def _about(lax: Loosened, suspects: Sequence[Difference]) -> Difference:
    """Return the cause that a laxer comparison names."""
    if lax == "row_order":
        return next(
            (one for one in (Difference.COLLATION, Difference.NULL_ORDER) if one in suspects), Difference.TIE_ORDER
        )
    if lax == "decimals":
        known = (Difference.SINGLE_PRECISION, Difference.AVG_DECIMALS)
        return next((one for one in known if one in suspects), Difference.ROUNDING)
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
    left_open = clues.undecided and not clues.needed and (clues.failure is None or clues.form != "agrees")
    if cause in open_for or left_open:
        return asker
    if clues.origin == "own":
        return asker
    return "transpiler" if clues.origin == "rewritten" else "dialect"
