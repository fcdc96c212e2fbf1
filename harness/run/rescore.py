"""Judge a finished run's stored rows again under other policies: no database, no engine, no agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Changed
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.presets import case_policy
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import UNSCORABLE, ExitCode, Verdict, worst
from sqlassay.harness.change import cells_between, compare_states
from sqlassay.harness.reports.differences import head, lines
from sqlassay.harness.results.case_result import CaseResult, ComparisonRecord, OrderRecord
from sqlassay.harness.results.parsed import OrderFacts, OrderKey
from sqlassay.harness.results.records import comparison_record
from sqlassay.harness.results.rescored import Flip, OtherGold, PolicyTotal, Rescored
from sqlassay.harness.results.verdicts import Comparison, distance, is_gold_open
from sqlassay.harness.store.reading import StoredGold, StoredRun, StoredSides, by_state, has_rows, read_run, read_sides
from sqlassay.harness.verdict import GoldRows, cells_apart, credited, judge_rows, quotient_scale

OWN = "run"
"""Names the run's own policy among those it is judged by again."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The comparison with the accepted gold that decides under a policy, and which gold that is."""

    record: ComparisonRecord
    gold: StoredGold

    @property
    def verdict(self) -> str:
        """Return the verdict."""
        return self.record.verdict


@dataclass(frozen=True, slots=True)
class _Judged:
    """One result with what is stored of it and the comparison under each policy."""

    result: CaseResult
    sides: StoredSides
    under: dict[str, _Best]


def rescore(path: Path, policies: Sequence[tuple[str, Policy]]) -> Rescored:
    """Judge every result of a run folder whose rows were stored, under its own policy and the named ones.

    A policy is laid under each case's own choices, as `sqlassay run --policy` does; a peer's keeps the peer's rule.
    Where a peer is named, `strict` is judged too.
    Raises: InputError where the folder is damaged or a policy cannot be applied.
    """
    run = read_run(path)
    chosen = {OWN: _own(run)} | dict(policies)
    if any(policy.peer for policy in chosen.values()) and Policy() not in chosen.values():
        chosen["strict"] = Policy()
    compared = [result for result in run.results if has_rows(result) or by_state(result)]
    judged: list[_Judged] = []
    missing: list[str] = []
    for result in compared:
        sides = read_sides(run, result)
        if sides is None:
            missing.append(_label(result))
        else:
            judged.append(
                _Judged(result, sides, {name: _best(result, sides, policy) for name, policy in chosen.items()})
            )
    return _rescored(run, chosen, compared, judged, tuple(missing))


def _own(run: StoredRun) -> Policy:
    """Return the policy the run was judged by.

    Raises: InputError where the manifest's policy is not one.
    """
    try:
        return Policy.model_validate(run.manifest.policy)
    except ValueError as error:
        message = f"no policy of this version: {str(error).splitlines()[0]}"
        remedy = "Use the version that wrote it"
        raise InputError(message, file=run.path / "manifest.json", field="policy", remedy=remedy) from None


def _best(result: CaseResult, sides: StoredSides, policy: Policy) -> _Best:
    """Return the comparison with each accepted gold that is the kindest, as a run itself takes it."""
    own = case_policy(policy, _case(result))
    found = [(_judge(gold, sides, own, result.dialect), gold) for gold in sides.golds]
    (comparison, _), gold = min(found, key=lambda pair: distance(*pair[0]))
    return _Best(comparison_record(comparison), gold)


def _judge(gold: StoredGold, sides: StoredSides, policy: Policy, dialect: str) -> tuple[Comparison, float | None]:
    """Return the comparison with one gold under a policy, and the partial credit that ranks mismatches."""
    predicted = sides.predicted
    if isinstance(gold.content, Changed) and isinstance(predicted, Changed):
        return compare_states(gold.content, predicted, policy, [_facts(order) for order in sides.orders]), None
    if not isinstance(gold.content, Relation) or not isinstance(predicted, Relation):
        raise AssertionError("rows stand beside rows and states beside states")  # noqa: TRY004 (read_sides refuses others)
    rows, idle = _rows(gold, gold.content, dialect), sides.constants
    if len(sides.golds) > 1:
        return credited(rows, predicted, policy, constants=idle, literals=sides.literals)
    return judge_rows(rows, predicted, policy, constants=idle, literals=sides.literals), None


def _rows(gold: StoredGold, relation: Relation, dialect: str) -> GoldRows:
    """Return a stored gold's rows with all that was known of it when it ran."""
    probe = gold.probe if isinstance(gold.probe, Relation) else None
    scale = quotient_scale(dialect, divides=gold.divides)
    return GoldRows(relation, gold.sql, _facts(gold.order), probe, gold.constants, scale, gold.literals)


def differing(sides: StoredSides, policy: Policy, dialect: str) -> str:
    """Return as CSV every cell in which a prediction differs from the gold that counted; "" for a match.

    Where the states of two changes were compared each line begins with the part that it is of.
    """
    gold, predicted = sides.golds[0], sides.predicted
    if isinstance(gold.content, Relation) and isinstance(predicted, Relation):
        rows = _rows(gold, gold.content, dialect)
        told = lines(cells_apart(rows, predicted, policy, constants=sides.constants))
        return told and head() + told
    if isinstance(gold.content, Changed) and isinstance(predicted, Changed):
        found = cells_between(gold.content, predicted, policy, [_facts(order) for order in sides.orders])
        told = "".join(lines([one], part) for part, one in found)
        return told and head("part") + told
    return ""


def differing_under(path: Path, policies: Sequence[tuple[str, Policy]]) -> Iterator[tuple[str, CaseResult, str]]:
    """Yield policy, result and differing cells as CSV for each of a run's stored results that differs under a policy.

    Raises: InputError where the folder is damaged or a policy cannot be applied.
    """
    run = read_run(path)
    chosen = {OWN: _own(run)} | dict(policies)
    for result in run.results:
        sides = read_sides(run, result) if has_rows(result) or by_state(result) else None
        for name, policy in chosen.items() if sides is not None else ():
            text = "" if sides is None else differing(sides, case_policy(policy, _case(result)), result.dialect)
            if text:
                yield name, result, text


def _case(result: CaseResult) -> Case:
    """Return as much of the case as its policy needs.

    Raises: InputError where the result's own fields of the policy are none.
    """
    try:
        own = result.policy_overrides
        return Case(
            id=result.case_id,
            question=result.question,
            snapshot=result.snapshot,
            order_required=result.order_required,
            allow_extra_predicted_columns=result.allow_extra_predicted_columns,
            policy=None if own is None else PolicyOverrides.model_validate(own),
        )
    except ValueError as error:
        message = f"case '{result.case_id}' cannot be judged again: {str(error).splitlines()[0]}"
        remedy = "The folder is damaged or was changed: run the evaluation again"
        raise InputError(message, file="results.jsonl", field="policy_overrides", remedy=remedy) from None


def _facts(order: OrderRecord | None) -> OrderFacts | None:
    """Return an outermost ORDER BY as the run's own parser saw it, names resolved against the catalogue."""
    if order is None:
        return None
    keys = tuple(
        OrderKey(column, cast(Literal["asc", "desc"], direction), cast(Literal["first", "last"] | None, nulls), sql)
        for column, direction, nulls, sql in order.keys
    )
    return OrderFacts(keys, order.limit, order.has_limit, None, order.offset)


def _rescored(
    run: StoredRun,
    chosen: dict[str, Policy],
    compared: Sequence[CaseResult],
    judged: Sequence[_Judged],
    missing: tuple[str, ...],
) -> Rescored:
    """Return the whole answer: totals, flips, and what could not be judged or found again."""
    scorable = sum(result.verdict not in UNSCORABLE for result in run.results)
    looked = {result.key for result in compared}  # results themselves compare field by field, for minutes
    leaves = bool(run.manifest.settings.get("leave_undetermined"))
    lost = tuple(_label(one.result) for one in judged if _ended(one.under[OWN], leaves) != one.result.verdict.value)
    flips = tuple(_flip(one) for one in judged if len({one.result.verdict.value, *_verdicts(one, leaves)}) > 1)
    left = sum(one.result.verdict is Verdict.UNAVAILABLE for one in judged)  # compared, so its gold was there
    whole = scorable + left if not missing else None
    totals = tuple(_total(name, policy, judged, whole, leaves) for name, policy in chosen.items())
    code = _exit_code(run, judged, lost)
    return Rescored(
        run_id=run.manifest.run_id,
        pack=run.manifest.pack,
        dialect=run.manifest.dialect,
        own_policy=str(run.manifest.settings.get("policy", run.manifest.policy_digest)),
        store_rows=str(run.manifest.settings.get("store_rows", "unknown")),
        results=len(run.results),
        compared=len(compared),
        judged=len(judged),
        scorable=scorable,
        carried=dict(sorted(Counter(r.verdict.value for r in run.results if r.key not in looked).items())),
        not_stored=missing,
        not_reproduced=lost,
        totals=totals,
        flips=flips,
        exit_code=code,
        verdict_line=_verdict_line(code, totals, judged, missing, lost, flips),
    )


def _verdicts(one: _Judged, leaves: bool) -> list[str]:
    """Return what the result ends as under each policy."""
    return [_ended(best, leaves) for best in one.under.values()]


def _ended(best: _Best, leaves: bool) -> str:
    """Return what a result ends as: the verdict, or unavailable where the run leaves out what its gold leaves open."""
    return Verdict.UNAVAILABLE.value if leaves and is_gold_open(best.record) else best.verdict


def _flip(one: _Judged) -> Flip:
    """Return a result on which verdicts differ, with every policy's evidence."""
    result = one.result
    return Flip(
        case_id=result.case_id,
        trial=result.trial,
        recorded=result.verdict.value,
        judged={name: best.record for name, best in one.under.items()},
        other_gold={name: _other(best.gold) for name, best in one.under.items() if best.gold is not one.sides.golds[0]},
        gold_columns=result.gold_columns,
        predicted_columns=result.predicted_columns,
    )


def _other(gold: StoredGold) -> OtherGold:
    """Return a gold that did not count in the run as it is shown."""
    names = tuple(column.name for column in gold.content.columns) if isinstance(gold.content, Relation) else ()
    return OtherGold(sql=gold.sql, columns=names)


def _total(name: str, policy: Policy, judged: Sequence[_Judged], scorable: int | None, leaves: bool) -> PolicyTotal:
    """Count one policy's verdicts; the accuracy has the denominator of a run, and none where rows are missing."""
    counts = Counter(one.under[name].verdict for one in judged)
    left = sum(_ended(one.under[name], leaves) == Verdict.UNAVAILABLE.value for one in judged)
    scored = None if scorable is None else scorable - left
    return PolicyTotal(
        name=name,
        digest=policy.digest,
        peer=policy.peer,
        n=len(judged),
        match=counts["match"],
        mismatch=counts["mismatch"],
        undecided=counts["undecided"],
        left_out=left,
        accuracy=counts["match"] / scored if scored else None,
    )


def _exit_code(run: StoredRun, judged: Sequence[_Judged], lost: Sequence[str]) -> ExitCode:
    """Return 3 where a recorded verdict is not found again or a fault of ours is in the run, 5 without a judged one."""
    ours = {Verdict.GOLD_ERROR, Verdict.INFRASTRUCTURE}
    codes = {ExitCode.OK}
    if lost or any(result.verdict in ours for result in run.results):
        codes.add(ExitCode.INFRASTRUCTURE)
    if not judged:
        codes.add(ExitCode.NOTHING_SCORABLE)
    return worst(codes)


def _verdict_line(
    code: ExitCode,
    totals: Sequence[PolicyTotal],
    judged: Sequence[_Judged],
    missing: Sequence[str],
    lost: Sequence[str],
    flips: Sequence[Flip],
) -> str:
    """Return the last line printed: it says the same as the exit code."""
    if not judged:
        why = f"the rows of {len(missing)} compared results were not stored" if missing else "nothing was compared"
        line = f"NOTHING SCORABLE: {why}" if code is ExitCode.NOTHING_SCORABLE else f"NOT WHOLE: {why}"
        return f"{line} (exit {int(code)})"
    counts = ", ".join(f"{total.name} {total.match}" for total in totals)
    rest = f", {len(missing)} have no stored rows" if missing else ""
    share = f"{len(judged)} results judged again{rest}; matches: {counts}; {len(flips)} differ"
    if lost:
        return f"NOT WHOLE: {len(lost)} recorded verdicts are not found again; {share} (exit {int(code)})"
    word = "OK" if code is ExitCode.OK else "NOT WHOLE: gold errors or infrastructure failures in the run"
    return f"{word}: {share} (exit {int(code)})"


def _label(result: CaseResult) -> str:
    """Name a result: its case id, and its trial where there are several."""
    return result.case_id if result.trial == 0 else f"{result.case_id} (trial {result.trial})"
