"""How portable the statements are, and what to do about each class of disagreement: counted from the matrix alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.results.crosscheck import Advice, Agreement, CrossCase, Pair, Portability

Counted = Literal["same", "silent", "error", "refused", "vacuous"]
"""What a case counts as; every case counts once."""

_COUNTED: dict[Agreement, Counted] = {
    "agree": "same",
    "vacuous": "vacuous",
    "silent": "silent",
    "undecided": "silent",
    "error": "error",
    "both fail": "error",
    "not run": "refused",
}
_Z = 1.959963984540054


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson score interval of a share, None over nothing (Wilson 1927, JASA 22:209)."""
    if n == 0:
        return None
    share, square = hits / n, _Z * _Z
    middle = share + square / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low, high = (middle - half) / (1 + square / n), (middle + half) / (1 + square / n)
    return 0.0 if hits == 0 else low, 1.0 if hits == n else high  # exact there, where rounding is not


@dataclass(frozen=True, slots=True)
class _Fate:
    """What a case counts as, and why it is set aside where it says nothing about engines."""

    counted: Counted
    set_aside: str = ""
    unexplained: bool = False


def portability(cases: Sequence[CrossCase], dialects: Sequence[str]) -> tuple[Portability, ...]:
    """Return the counts of all dialects together, then of every pair."""
    scores = [_score("all", [_fate(case.pairs) for case in cases])] if len(dialects) > 2 else []
    for one, other in combinations(dialects, 2):
        pairs = [pair for case in cases for pair in case.pairs if (pair.one, pair.other) == (one, other)]
        scores.append(_score(f"{one} to {other}", [_fate([pair]) for pair in pairs]))
    return tuple(scores)


def _fate(pairs: Sequence[Pair]) -> _Fate:
    """Return what a case counts as over these pairs: the worst of them."""
    fates = [_pair_fate(pair) for pair in pairs]
    unexplained = any(fate.unexplained for fate in fates)
    return replace(min(fates, key=_badness), unexplained=unexplained)


def _pair_fate(pair: Pair) -> _Fate:
    """Return what a pair counts as; a gold that is shown to leave its rows open says nothing about engines."""
    if pair.agreement == "both fail":
        return _Fate("error", "both fail")
    aside = "gold" if pair.found is not None and pair.found.set_aside else ""
    unexplained = pair.found is not None and not pair.found.explained
    return _Fate(_COUNTED[pair.agreement], aside, unexplained)


def _badness(fate: _Fate) -> int:
    """Return the rank of a fate, the worst first: what is set aside hides neither a difference nor a refusal."""
    if fate.set_aside:
        return 3 if fate.set_aside == "gold" else 4
    return {"silent": 0, "error": 1, "refused": 2, "vacuous": 5, "same": 6}[fate.counted]


def _score(what: str, fates: Sequence[_Fate]) -> Portability:
    """Count, and return the share of agreement among what can be counted."""
    counts = Counter(fate.counted for fate in fates)
    aside = Counter(fate.set_aside for fate in fates if fate.set_aside)
    n = counts["same"] + counts["silent"] + counts["error"] - aside.total()
    interval = wilson(counts["same"], n)
    asked = len(fates) - aside["gold"]
    return Portability(
        what=what,
        same=counts["same"],
        silent=counts["silent"],
        error=counts["error"],
        refused=counts["refused"],
        vacuous=counts["vacuous"],
        set_aside=dict(sorted(aside.items())),
        unexplained=sum(fate.unexplained for fate in fates),
        n=n,
        share=counts["same"] / n if n else None,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        coverage=n / asked if asked else None,
    )


_ADVICE: dict[Difference, str] = {
    Difference.QUOTED_STRING: "Write text in single quotes: in double quotes it is a name, or a name is text.",
    Difference.QUOTED_NAME: "Quote names as the engine does, or not at all: on MySQL double quotes make text.",
    Difference.DIVISION_SCALE: "CAST one side to a double: MySQL cuts a quotient of decimals four digits on.",
    Difference.DATE_ARITHMETIC: "Say what is meant by the difference of dates with the engine's own function.",
    Difference.SINGLE_PRECISION: "CAST to a double before computing: the column holds seven digits.",
    Difference.LIKE_CASE: "Fold case on both sides (LOWER) where case must not count.",
    Difference.INTEGER_DIVISION: "Say which division is meant: CAST one side to a decimal, or cut the quotient.",
    Difference.TEXT_AND_NUMBER: "Compare like with like: CAST the column, or quote the constant as stored.",
    Difference.DATE_FUNCTION: "Use the engine's own date functions; tell the agent the target dialect.",
    Difference.FUNCTION_MEANING: "The function means something else there: use the engine's own.",
    Difference.CAST: "CAST rounds on some engines and cuts on others: say ROUND or TRUNC.",
    Difference.AVG_DECIMALS: "CAST to a double before AVG, or compare with a tolerance.",
    Difference.ROUNDING: "CAST to a decimal before ROUND.",
    Difference.LITERAL: "Spell the constant as the engine does: a backslash, x'..' or 1e300 is read otherwise.",
    Difference.CONCATENATION: "Use CONCAT with texts: || is OR on MySQL, and does not take numbers on Postgres.",
    Difference.BARE_COLUMN: "Name every selected column in GROUP BY, or wrap it in MIN or MAX.",
    Difference.LIMIT_TIE: "Add keys to ORDER BY until no tie is left, or accept any of the tied rows.",
    Difference.TIE_ORDER: "Add keys to ORDER BY, or do not compare the order.",
    Difference.NOT_DECIDED: "Give LIMIT an ORDER BY that decides, and let a subquery give one row.",
    Difference.NULL_ORDER: "Say where NULLs come: ORDER BY x IS NULL, x.",
    Difference.COLLATION: "Name the collation, or fold case, where texts are sorted or compared.",
    Difference.TIME_ZONE: "Say the zone: AT TIME ZONE or CONVERT_TZ, or set both servers to one.",
    Difference.SQL_MODE: "The server's sql_mode decides: set it alike, or write what no mode changes.",
    Difference.MIXED_COLUMN: "The column holds numbers and texts: clean the data, or compare it as text.",
    Difference.AGGREGATE_ORDER: "Say the order inside the call: an ordered subquery does not order an aggregate.",
    Difference.DISTINCT_ORDER: "Select what ORDER BY names, or group instead of DISTINCT.",
    Difference.DERIVED_TABLE: "Give every subquery in FROM an alias.",
    Difference.LIMIT_IN_SUBQUERY: "Put the limited query into a derived table and join it.",
    Difference.MISSING_FUNCTION: "Use the engine's own function; name the target dialect in the agent's instructions.",
    Difference.TYPE_ERROR: "Say the type: CAST to what the function or operator takes; a condition is no number.",
    Difference.SYNTAX: "Name the target dialect in the agent's instructions: its grammar is another.",
    Difference.UNKNOWN_NAME: "Show the agent the schema as this engine has it.",
    Difference.OVERFLOW: "CAST to a wider type before computing.",
    Difference.LIMITS: "Look at the plan on that engine, or raise the limit.",
    Difference.BLOCKED: "See `sqlassay guard` for what is refused and why.",
    Difference.OTHER_QUESTION: "The statements ask for different things: read both.",
    Difference.OTHER: "Not explained: please report it with the statement.",
}


def advice(cases: Iterable[CrossCase]) -> tuple[Advice, ...]:
    """Return each class that was met, silent ones first, with the shortest statement that shows it."""
    met: dict[str, list[tuple[CrossCase, Pair]]] = {}
    for case in cases:
        for pair in case.pairs:
            for cause in (pair.found.cause, *pair.found.also) if pair.found is not None else ():
                met.setdefault(cause, []).append((case, pair))
    found = [_advice(cause, pairs) for cause, pairs in met.items()]
    return tuple(sorted(found, key=lambda one: (-one.silent, -one.errors, one.cause)))


def _advice(cause: str, met: Sequence[tuple[CrossCase, Pair]]) -> Advice:
    """Return one class with its smallest example, a silent one where there is any."""
    case, pair = min(met, key=lambda one: (one[1].agreement != "silent", len(_sql(*one) or "~" * 4000), one[0].case_id))
    return Advice(
        cause=cause,
        owners=dict(sorted(Counter(one.found.owner for _, one in met if one.found is not None).items())),
        silent=sum(one.agreement == "silent" for _, one in met),
        errors=sum(one.agreement == "error" for _, one in met),
        advice=_ADVICE[Difference(cause)],
        case_id=case.case_id,
        dialect=pair.other,
        sql=_sql(case, pair) or "",
        message=pair.reason,
        probe=pair.found.probe if pair.found is not None else "",
        form=pair.found.form if pair.found is not None else "",
    )


def _sql(case: CrossCase, pair: Pair) -> str | None:
    """Return the statement of a pair's second engine."""
    return next((cell.sql for cell in case.cells if cell.dialect == pair.other), None)
