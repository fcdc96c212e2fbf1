"""Examine one case's gold as its data is stored: does it run, twice, as a prediction, and are its rows decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import case_policy
from sqlassay.cases.verdicts import Verdict
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.harness.checkup.choices import doubts, is_vacuous, null_keys
from sqlassay.harness.checkup.clock import clock_signs
from sqlassay.harness.checkup.columns import TextNumbers
from sqlassay.harness.checkup.seen import RANDOM, Seen, Sign, compared, differing, reads_places
from sqlassay.harness.desk import Desk
from sqlassay.harness.evaluate import Judged, evaluate
from sqlassay.harness.gold import answer_gold
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.health import Flag
from sqlassay.harness.results.verdicts import Comparison
from sqlassay.harness.store.gold_cache import GoldCache
from sqlassay.harness.verdict import GoldRows, judge_rows

_FAILED: dict[Verdict, Flag] = {
    Verdict.BLOCKED: Flag.REFUSED_BY_GUARD,
    Verdict.ERROR: Flag.DOES_NOT_RUN,
    Verdict.TIMEOUT: Flag.TOO_SLOW,
    Verdict.TOO_MANY_ROWS: Flag.TOO_MANY_ROWS,
    Verdict.TOO_MANY_BYTES: Flag.TOO_MANY_ROWS,
    Verdict.RESOURCE_LIMIT: Flag.DOES_NOT_RUN,
    Verdict.MISMATCH: Flag.NON_DETERMINISTIC,
    Verdict.UNDECIDED: Flag.UNDECIDED,
    Verdict.NO_PREDICTION: Flag.DOES_NOT_RUN,
}


@dataclass(frozen=True, slots=True)
class Examiner:
    """What examining a case needs besides a desk: the engine's adapter and the numbers that columns hold as text."""

    adapter: Adapter
    numbers: TextNumbers

    def examine(self, case: Case, desk: Desk) -> Seen:
        """Return what is to be said about one case's gold, as its data is stored."""
        seen = Seen(case, desk.rules.dialect, answer_gold(case, desk, GoldCache(None)))
        for number, answer in enumerate(seen.answers, 1):
            seen.executions += 1 + (answer.probe is not None)
            if answer.infrastructure:
                seen.problems.append(f"case {case.id} on {seen.dialect}: {answer.failure}")
            elif answer.usable:
                self._usable(seen, number, answer, desk)
            else:
                seen.add(number, [_failure(answer)])
        for number, sign in _alternatives(seen, case_policy(desk.rules.policy, case)):
            seen.add(number, [sign])
        return seen

    def _usable(self, seen: Seen, number: int, answer: GoldAnswer, desk: Desk) -> None:
        """Say what there is about one statement that ran."""
        judged = as_prediction(seen, answer, desk)
        guard = judged.evidence.guard
        flags = guard.flags if guard is not None else ()
        seen.flags[number] = flags
        seen.add(number, _as_itself(judged, flags))
        if answer.seconds > desk.rules.limits.timeout:
            evidence = f"{answer.seconds:.1f} s, and a prediction may take {desk.rules.limits.timeout:g} s"
            seen.add(number, [Sign(Flag.TOO_SLOW, evidence)])
        if answer.relation is None:
            return
        if reads_places(flags):
            seen.notes.append("not run in other row orders: it asks where rows are stored")
        hinted = desk.rules.hints_at_clock(seen.case, answer.parsed)
        plain = guard is not None and guard.allowed and not flags and not hinted
        asked = doubts(seen.case, answer, self.adapter, desk, plain=plain)
        seen.executions += asked.asked
        seen.notes += asked.notes
        seen.add(number, asked.signs)
        seen.add(number, null_keys(seen.case, answer, desk, plain=plain))
        seen.add(number, self._text_numbers(seen, answer))
        vacuous = is_vacuous(answer.relation.rows)
        if vacuous is not None:
            seen.add(number, [Sign(Flag.EMPTY, vacuous)])
        seen.add(number, clock_signs(seen, number, answer, desk))

    def _text_numbers(self, seen: Seen, answer: GoldAnswer) -> Iterator[Sign]:
        """Yield the sign of numbers that are sorted as text."""
        for clause, column, (one, other) in self.numbers.sorted_by(answer.parsed, seen.case.snapshot):
            hidden = column.rpartition(".")[2].lower() in map(str.lower, seen.case.pii_columns)
            shown = "a larger number comes before a smaller one" if hidden else f"'{one}' comes before '{other}'"
            evidence = f"{clause} over {column}, where {shown}"
            yield Sign(Flag.NUMBERS_SORTED_AS_TEXT, evidence)


def as_prediction(seen: Seen, answer: GoldAnswer, desk: Desk, case: Case | None = None) -> Judged:
    """Judge a gold statement as an agent's answer, against what it gave as gold."""
    seen.executions += 1
    asked = case or seen.case
    prediction = Prediction(case_id=asked.id, sql=answer.sql, dialect=seen.dialect, route=asked.route)
    judged = evaluate(asked, prediction, (answer,), desk)
    if judged.evidence.verdict is Verdict.INFRASTRUCTURE:
        seen.problems.append(f"case {asked.id} on {seen.dialect}: {judged.evidence.reason}")
    return judged


def _failure(answer: GoldAnswer) -> Sign:
    """Return the sign of a gold that gave nothing to compare with."""
    reason = answer.failure or "it gave no rows"
    if answer.timed_out:
        return Sign(Flag.TOO_SLOW, reason)
    kind = reason.partition(":")[0]
    past_limit = kind in (Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES)
    return Sign(Flag.TOO_MANY_ROWS if past_limit else Flag.DOES_NOT_RUN, reason)


def _as_itself(judged: Judged, flags: tuple[str, ...]) -> Iterator[Sign]:
    """Yield the sign of a gold that does not match itself when an agent gives it, or gives other rows each time."""
    evidence = judged.evidence
    random = sorted(RANDOM & set(flags))
    if random:
        yield Sign(Flag.NON_DETERMINISTIC, f"it calls {', '.join(flag.partition(': ')[2] for flag in random)}")
    if evidence.guard is not None and not evidence.guard.allowed:
        yield Sign(Flag.REFUSED_BY_GUARD, evidence.guard.reason)
        return
    flag = _FAILED.get(evidence.verdict)
    comparison = compared(evidence)
    if flag is not None:
        rows = differing(comparison, ("first run", "second run")) if comparison is not None else ()
        yield Sign(flag, f"as a prediction it is {evidence.verdict}: {evidence.reason}", rows=rows)
        return
    strict = evidence.executions[-1].strict if evidence.executions else None
    if strict is not None and strict.verdict == "mismatch":
        rows = differing(strict, ("first run", "second run"))
        yield Sign(
            Flag.NON_DETERMINISTIC, f"two runs differ, though the policy forgives it: {strict.reason}", rows=rows
        )


def _alternatives(seen: Seen, policy: Policy) -> Iterator[tuple[int, Sign]]:
    """Yield each accepted alternative that gives other rows than one before it."""
    usable = [(number, answer) for number, answer in enumerate(seen.answers, 1) if answer.relation is not None]
    for (first, one), (second, other) in combinations(usable, 2):
        found = either_way(one, other, policy)
        if found.verdict != "match" and not seen.has(Flag.ALTERNATIVES_DISAGREE, second):
            rows = differing(found, (f"alternative {first}", f"alternative {second}"))
            evidence = f"alternative {second} against {first}: {found.reason}"
            yield second, Sign(Flag.ALTERNATIVES_DISAGREE, evidence, rows=rows)


def either_way(one: GoldAnswer, other: GoldAnswer, policy: Policy) -> Comparison:
    """Compare two gold answers, each once as the reference: one that has more columns may accept the other."""
    forth = _against(one, other, policy)
    if forth.verdict == "match":
        return forth
    back = _against(other, one, policy)
    return back if back.verdict == "match" else forth


def _against(gold: GoldAnswer, other: GoldAnswer, policy: Policy) -> Comparison:
    """Compare what one answer gave with the rows of another as if they were predicted."""
    return judge_rows(GoldRows.of(gold), GoldRows.of(other).relation, policy)
