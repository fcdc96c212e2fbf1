"""Run a gold that reads the clock on other days: what it gives must not depend on when somebody runs it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.checkup.seen import Seen, Sign, compared, differing
from sqlassay.harness.desk import Desk
from sqlassay.harness.evaluate import Judged, evaluate
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.health import Flag

_FLAGGED = "nondeterministic: "
_CLOCK = ("now", "date", "time", "age", "today", "yesterday", "tomorrow")
MOVES = (timedelta(days=401), timedelta(days=-823), timedelta(days=-3701))
"""How far the clock is moved: to another weekday, month and year each time, later and earlier."""


def reads_clock(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the guard's flags that tell the time."""
    named = [flag.removeprefix(_FLAGGED).strip("'") for flag in flags if flag.startswith(_FLAGGED)]
    return tuple(name for name in named if any(word in name for word in _CLOCK))


def clock_signs(seen: Seen, number: int, answer: GoldAnswer, desk: Desk) -> Iterator[Sign]:
    """Yield the sign of a gold whose rows depend on the day, unless its case or the run says which day it is."""
    names = reads_clock(seen.flags.get(number, ()))
    maybe = bool(names) or desk.rules.hints_at_clock(seen.case, answer.parsed)
    if not maybe or answer.relation is None or seen.case.clock or desk.rules.clock:
        return
    told = ", ".join(names) or "though no word of it says so"
    for move in MOVES:
        day = desk.rules.day + move
        try:
            judged = _on(day_case(seen.case, day), answer, seen, desk)
        except InputError as error:
            if not names:  # it may read no clock at all
                return
            yield Sign(
                Flag.CLOCK_DEPENDENT, f"it reads the clock ({told}), which cannot be moved here: {error.message}"
            )
            return
        found = compared(judged.evidence)
        if judged.evidence.verdict is not Verdict.MATCH:
            rows = differing(found, (f"{desk.rules.day:%Y-%m-%d}", f"{day:%Y-%m-%d}")) if found is not None else ()
            reason = (
                f"it reads the clock ({told}), and on {day:%Y-%m-%d} gives something else: {judged.evidence.reason}"
            )
            yield Sign(Flag.CLOCK_DEPENDENT, reason, rows=rows)
            return
    if names and all(cell is None or cell == 0 for row in answer.relation.rows for cell in row):
        yield Sign(Flag.CLOCK_DEPENDENT, f"it reads the clock ({told}) and finds nothing, today and on other days")


def day_case(case: Case, day: object) -> Case:
    """Return a case that is asked on another day."""
    return case.model_copy(update={"clock": day})


def _on(case: Case, answer: GoldAnswer, seen: Seen, desk: Desk) -> Judged:
    """Judge a gold as a prediction made on the day its case says."""
    seen.executions += 1
    prediction = Prediction(case_id=case.id, sql=answer.sql, dialect=seen.dialect, route=case.route)
    return evaluate(case, prediction, (answer,), desk)
