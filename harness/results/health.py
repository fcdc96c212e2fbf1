"""What a check of a pack's gold found, as every report reads it: the closed list of flags, findings and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.counting import counted
from sqlassay.cases.verdicts import ExitCode


class Flag(StrEnum):
    """What can be wrong with a gold statement; a closed list."""

    DOES_NOT_RUN = "does_not_run"
    REFUSED_BY_GUARD = "refused_by_guard"
    NON_DETERMINISTIC = "non_deterministic"
    ORDER_DEPENDENT = "order_dependent"
    FLOAT_SUM = "float_sum"
    TIE_AT_LIMIT = "tie_at_limit"
    NULL_ORDER = "null_order"
    NUMBERS_SORTED_AS_TEXT = "numbers_sorted_as_text"
    EMPTY = "empty"
    DIALECTS_DISAGREE = "dialects_disagree"
    CLOCK_DEPENDENT = "clock_dependent"
    ALTERNATIVES_DISAGREE = "alternatives_disagree"
    TOO_SLOW = "too_slow"
    TOO_MANY_ROWS = "too_many_rows"
    UNDECIDED = "undecided"


MEANINGS: dict[Flag, tuple[str, str]] = {
    Flag.DOES_NOT_RUN: ("it fails on the engine", "Correct the statement, or remove it in this dialect"),
    Flag.REFUSED_BY_GUARD: (
        "an agent that gave it would be refused",
        "Write it without what the guard refuses: a correct answer must be allowed",
    ),
    Flag.NON_DETERMINISTIC: (
        "its text leaves a choice of rows, or two runs differ",
        "Group by every selected column, make a subquery give one row, leave random functions out",
    ),
    Flag.ORDER_DEPENDENT: (
        "other rows come where the same data is stored in another order",
        "Add an ORDER BY that decides, inside aggregates that join values, too",
    ),
    Flag.FLOAT_SUM: (
        "the last digits of a sum or average of doubles depend on the order of its rows, and rounding shows them",
        "Round to other digits, or CAST to a decimal before adding up: no ORDER BY helps",
    ),
    Flag.TIE_AT_LIMIT: (
        "a LIMIT cuts rows that its order does not tell apart",
        "Order by a unique column besides, accept each answer as an alternative, or let the policy say cut_ties: any",
    ),
    Flag.NULL_ORDER: (
        "an ORDER BY key is NULL, and engines place NULLs differently",
        "Say NULLS FIRST or NULLS LAST (on MySQL: order by key IS NULL first), or filter them out",
    ),
    Flag.NUMBERS_SORTED_AS_TEXT: (
        "numbers stored as text are ordered as text, so that '10' comes before '9'",
        "Cast the column to a number, or load it as one",
    ),
    Flag.EMPTY: (
        "it gives no row, or NULLs alone, so that wrong answers match too",
        "Ask for something the data has, or add the rows it looks for",
    ),
    Flag.DIALECTS_DISAGREE: (
        "two dialects' gold gives other rows on the same data",
        "Correct the one that is wrong: an agent would be judged differently on each engine",
    ),
    Flag.CLOCK_DEPENDENT: (
        "its rows depend on the day it runs",
        "Pin the case's `clock`, or the pack's: then gold and prediction see that day",
    ),
    Flag.ALTERNATIVES_DISAGREE: (
        "two accepted alternatives of one case give other rows",
        "Keep both only where the question really has two answers",
    ),
    Flag.TOO_SLOW: (
        "it takes longer than a prediction may",
        "Rewrite it, raise `timeout`, or use a smaller snapshot",
    ),
    Flag.TOO_MANY_ROWS: (
        "its result passes a row or byte limit",
        "Ask for an aggregate or fewer rows, or raise `row_limit`",
    ),
    Flag.UNDECIDED: (
        "the comparator could not decide whether it equals itself",
        "Select fewer columns alike, or choose a policy that maps columns by position",
    ),
}
"""Each flag in words: what is wrong, and what to do about it."""

FAIL_ON: tuple[Flag, ...] = (Flag.DOES_NOT_RUN, Flag.REFUSED_BY_GUARD, Flag.NON_DETERMINISTIC)
"""The flags that end a check with exit code 1 where nobody names others."""


class _Record(BaseModel):
    """A frozen written value that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Finding(_Record):
    """One flag on one gold statement, with what shows it: `probe` is the question asked, `rows` those that differ."""

    case_id: str
    dialect: str
    alternative: int
    flag: Flag
    evidence: str
    sql: str
    probe: str | None = None
    rows: tuple[str, ...] = ()
    remedy: str = ""


class Note(_Record):
    """Something that could not be examined, and why."""

    case_id: str
    dialect: str
    text: str


class Checked(_Record):
    """How much was examined in one dialect: cases, gold statements, executions, and on which engine."""

    dialect: str
    engine_version: str
    engine_settings: str = ""
    cases: int
    golds: int
    executions: int


class Health(_Record):
    """The health of a pack's gold. `problems` are ours: what they touch was not examined."""

    format: Literal[1] = 1
    pack: str
    pack_digest: str
    policy: str
    seed: int
    fail_on: tuple[Flag, ...]
    checked: tuple[Checked, ...]
    findings: tuple[Finding, ...]
    notes: tuple[Note, ...] = ()
    problems: tuple[str, ...] = ()
    cases: int
    flagged: int
    counts: dict[str, dict[str, int]]
    exit_code: ExitCode
    verdict_line: str


def health(
    *,
    pack: str,
    digest: str,
    policy: str,
    seed: int,
    fail_on: Iterable[Flag],
    checked: Iterable[Checked],
    findings: Iterable[Finding],
    notes: Iterable[Note],
    problems: Iterable[str],
    cases: int,
) -> Health:
    """Return the health record with its counts, exit code and verdict line."""
    found, mine, fatal, looked = tuple(findings), tuple(problems), tuple(fail_on), tuple(checked)
    per_flag: dict[str, Counter[str]] = {}
    for flag, dialect, _ in sorted({(one.flag, one.dialect, one.case_id) for one in found}):
        per_flag.setdefault(flag.value, Counter())[dialect] += 1
    flagged = len({one.case_id for one in found})
    code = _exit_code(found, mine, fatal, looked)
    return Health(
        pack=pack,
        pack_digest=digest,
        policy=policy,
        seed=seed,
        fail_on=fatal,
        checked=looked,
        findings=found,
        notes=tuple(notes),
        problems=mine,
        cases=cases,
        flagged=flagged,
        counts={name: dict(per_flag[name]) for name in Flag if name in per_flag},
        exit_code=code,
        verdict_line=_verdict_line(found, mine, fatal, code, cases, flagged),
    )


def _exit_code(
    findings: tuple[Finding, ...], problems: tuple[str, ...], fatal: tuple[Flag, ...], checked: tuple[Checked, ...]
) -> ExitCode:
    """Return 3 where something was not examined, 5 where there was no gold at all, 1 where a named flag occurs."""
    if problems:
        return ExitCode.INFRASTRUCTURE
    if not sum(one.golds for one in checked):
        return ExitCode.NOTHING_SCORABLE
    return ExitCode.THRESHOLD if any(one.flag in fatal for one in findings) else ExitCode.OK


def _verdict_line(
    findings: tuple[Finding, ...],
    problems: tuple[str, ...],
    fatal: tuple[Flag, ...],
    code: ExitCode,
    cases: int,
    flagged: int,
) -> str:
    """Return the last line of the terminal: one verdict that equals the exit code."""
    if code is ExitCode.INFRASTRUCTURE:
        return f"INCOMPLETE: {counted(len(problems), 'check')} could not be made, first: {problems[0]} (exit 3)"
    if code is ExitCode.NOTHING_SCORABLE:
        return "NOTHING: no case has gold in these dialects (exit 5)"
    if code is ExitCode.THRESHOLD:
        named = [flag.value for flag in fatal if any(one.flag is flag for one in findings)]
        ill = len({one.case_id for one in findings if one.flag in fatal})
        return f"UNHEALTHY: {ill} of {cases} cases are {', '.join(named)} (exit 1)"
    if not flagged:
        return f"HEALTHY: nothing to say against the gold of {counted(cases, 'case')} (exit 0)"
    kept = "none of it fails the check" if fatal else "no flag fails this check"
    return f"HEALTHY: {flagged} of {cases} cases carry a flag, {kept} (exit 0)"
