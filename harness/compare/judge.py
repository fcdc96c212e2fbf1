"""The steps of a comparison under a resolved policy: shape, empties, truncation, exact ladder, columns, rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal

from cases.policy import Policy
from cases.relation import Relation, Row
from harness.compare.bags import same_bag, same_rows
from harness.compare.cells import Rules
from harness.compare.columns import Kept, by_name, by_position, compared, kept_choices, most_choices, names_agree
from harness.compare.encode import encode
from harness.compare.joint import Joint, Table
from harness.compare.matching import Budget, OutOfBudgetError
from harness.compare.order import GoldOrder, exact_order, gold_order
from harness.compare.plain import Cells
from harness.compare.rows import Aligned, RowJudge, RowVerdict
from harness.compare.search import Problem, mappings

Mapping = tuple[int, ...]

_STEPS = 400_000
_STEPS_PER_ROW = 20


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict before evidence: the gold columns kept, the predicted column each faces, the rows left over."""

    verdict: Literal["match", "mismatch", "undecided"]
    rule: str
    kept: Kept = ()
    mapping: Mapping | None = None
    rows: RowVerdict | None = None
    pairs: RowJudge | None = None
    flags: tuple[str, ...] = ()
    joint: Joint | None = None


def judge(gold: Relation, pred: Relation, policy: Policy, order: GoldOrder | None, *, steps: int = _STEPS) -> Judgement:
    """Compare two relations rule by rule; the first that decides is named. `steps` bounds pairing and search."""
    if gold.columns and not compared(gold, policy):
        return Judgement("undecided", "ignore_columns")
    if policy.truncated is not None:
        return _truncated(gold, pred, policy, order)
    if not gold.rows and not pred.rows:
        return _both_empty(gold, pred, policy)
    kept = kept_choices(gold, pred, policy)
    if not kept:
        return Judgement("mismatch", "columns")
    order = _effective_order(gold, policy, order)
    notes = order.flags if order is not None else ()
    if order is not None and order.broken_nulls:
        return Judgement("undecided", "gold_nulls_order", flags=notes)
    sides = Table(gold), Table(pred)
    found: list[Judgement] = []
    most = most_choices(gold, pred)
    for choice in kept[:most]:
        found.append(_judge_choice(*sides, choice, policy, order, steps))
        if found[-1].verdict == "match":
            break
    best = next((one for wanted in ("match", "undecided") for one in found if one.verdict == wanted), found[0])
    if best.verdict == "mismatch" and len(kept) > most:
        best = Judgement("undecided", "budget")
    if best.rule == "row_order" and order is not None and (order.contradicted or order.open):
        best = replace(best, verdict="undecided", rule="gold_nondeterministic" if order.contradicted else "budget")
    return replace(best, flags=tuple(dict.fromkeys((*notes, *best.flags))))


def _effective_order(gold: Relation, policy: Policy, order: GoldOrder | None) -> GoldOrder | None:
    """Return the order to hold the prediction to; None where rows are a bag."""
    if policy.row_order == "ignore" or (policy.row_order == "auto" and order is None):
        return None
    if order is not None:
        return order
    if policy.row_order == "keys" and policy.order_keys:
        return gold_order(gold, policy)
    return exact_order(len(gold.rows), keys_unknown=policy.row_order == "keys")


def _both_empty(gold: Relation, pred: Relation, policy: Policy) -> Judgement:
    """Compare two relations without rows by their columns alone: weak evidence, flagged as vacuous."""
    if policy.empty == "any":
        return Judgement("match", "empty", flags=("vacuous",))
    for kept in kept_choices(gold, pred, policy):
        mapping = by_position(kept, pred, policy) if policy.columns == "position" else by_name(kept, gold, pred)
        if policy.columns == "any" and policy.names == "ignore":
            return Judgement("match", "empty", kept, flags=("vacuous",))
        if mapping is not None and (policy.names == "ignore" or names_agree(kept, mapping, gold, pred)):
            return Judgement("match", "empty", kept, mapping, flags=("vacuous",))
    return Judgement("mismatch", "columns" if policy.names == "ignore" else "names", flags=("vacuous",))


def _truncated(gold: Relation, pred: Relation, policy: Policy, order: GoldOrder | None) -> Judgement:
    """Judge relations one of which was cut: never a match, a mismatch only where the cut cannot matter."""
    flags = ("truncated",)
    whole = policy.model_copy(update={"truncated": None})
    if not kept_choices(gold, pred, policy):
        return Judgement("mismatch", "columns", flags=flags)
    ours, theirs = len(gold.rows), len(pred.rows)
    longer = (policy.truncated == "pred" and theirs > ours) or (policy.truncated == "gold" and ours > theirs)
    if longer and policy.multiplicity == "bag":
        return Judgement("mismatch", "row_count", flags=flags)
    shown = min(ours, theirs)
    in_order = policy.row_order == "exact" and policy.multiplicity == "bag"  # a set may go on with what it lacks so far
    if in_order and shown and (order is None or not order.contradicted):
        prefix = judge(
            Relation(gold.columns, gold.rows[:shown]), Relation(pred.columns, pred.rows[:shown]), whole, None
        )
        if prefix.verdict == "mismatch":
            return replace(prefix, flags=tuple(dict.fromkeys((*flags, *prefix.flags))))
    return Judgement("undecided", "truncated", flags=flags)


def _judge_choice(
    gold: Table, pred: Table, kept: Kept, policy: Policy, order: GoldOrder | None, steps: int
) -> Judgement:
    """Compare with these gold columns kept."""
    if policy.columns == "any":
        return _judge_any(gold, pred, kept, policy, order, steps)
    theirs = pred.relation
    mapping = (
        by_position(kept, theirs, policy) if policy.columns == "position" else by_name(kept, gold.relation, theirs)
    )
    if mapping is None or (policy.names == "match" and not names_agree(kept, mapping, gold.relation, theirs)):
        return Judgement("mismatch", "names", kept)
    if _ladder(gold, pred, kept, mapping, policy, order):
        return Judgement("match", "exact", kept, mapping)
    return _verified(gold, pred, kept, mapping, policy, order, steps)


def _verified(
    gold: Table,
    pred: Table,
    kept: Kept,
    mapping: Mapping,
    policy: Policy,
    order: GoldOrder | None,
    steps: int,
    joint: Joint | None = None,
) -> Judgement:
    """Compare the rows under one mapping, cell by cell as the policy says."""
    budget = Budget(steps + _STEPS_PER_ROW * (len(gold.rows) + len(pred.rows)))
    judge_rows = row_judge(gold, pred, kept, mapping, policy, budget, joint)
    try:
        rows = judge_rows.judge(order)
    except OutOfBudgetError:
        return Judgement("undecided", "budget", kept, mapping)
    if rows.rule in ("rows", "multiplicity") and len(gold.rows) != len(pred.rows) and rows.verdict == "mismatch":
        rows = replace(rows, rule="row_count")
    return Judgement(rows.verdict, rows.rule, kept, mapping, rows, judge_rows, rows.flags, joint)


def row_judge(
    gold: Table, pred: Table, kept: Kept, mapping: Mapping, policy: Policy, budget: Budget, joint: Joint | None
) -> RowJudge:
    """Return what judges the rows under a mapping, with the keys of the search where they hold for its pairs."""
    pairs = aligned(gold, pred, kept, mapping, policy)
    coded = joint.pairs(mapping, pairs.rules) if joint is not None and joint.kept == kept else None
    return RowJudge(pairs, policy, budget, coded)


def aligned(gold: Table, pred: Table, kept: Kept, mapping: Mapping, policy: Policy) -> Aligned:
    """Return both sides' columns under a mapping, each pair with the rules that hold for it."""
    pairs = list(zip(kept, mapping, strict=True))
    chosen = tuple(Rules.of(policy, gold.kind(ours), pred.kind(theirs)) for ours, theirs in pairs)
    ours, theirs = gold.columns, pred.columns
    return Aligned(
        tuple(ours[i] for i, _ in pairs),
        tuple(theirs[j] for _, j in pairs),
        chosen,
        kept,
        len(gold.rows),
        len(pred.rows),
    )


def _ladder(gold: Table, pred: Table, kept: Kept, mapping: Mapping, policy: Policy, order: GoldOrder | None) -> bool:
    """Accept rows that are equal as Python values, by list, then by set where all differ, then by count.

    It accepts only: what it refuses is looked at cell by cell.
    """
    if not policy.bool_as_int or len(gold.rows) != len(pred.rows):
        return False
    ours = _projected(gold, kept)
    theirs = _projected(pred, mapping)
    try:
        if ours == theirs:
            hash(tuple(ours))  # a container that cannot be hashed, such as a dict, compares by other rules than ours
            return True
        if order is None:
            return same_rows(ours, theirs)
        grouped = list(zip(order.groups, ours, strict=True))
        return any(same_bag(grouped, list(zip(order.blocks(one), theirs, strict=True))) for one in order.sequences)
    except Exception:  # noqa: BLE001 (a cell that cannot be hashed or compared, whatever it raises, is for the slow path)
        return False


def _projected(table: Table, columns: tuple[int, ...]) -> Sequence[Row]:
    """Return the rows with only these columns, in this order."""
    if columns == tuple(range(len(table.relation.columns))):
        return table.rows
    if len(columns) < 2:
        return [tuple(row[column] for column in columns) for row in table.rows]
    return list(map(itemgetter(*columns), table.rows))


def _judge_any(gold: Table, pred: Table, kept: Kept, policy: Policy, order: GoldOrder | None, steps: int) -> Judgement:
    """Look for one joint column permutation: as they stand, by value signatures, then by search."""
    if len(gold.rows) != len(pred.rows) and policy.multiplicity == "bag":
        return Judgement("mismatch", "row_count", kept)
    offered = compared(pred.relation, policy)
    guesses = _guesses(gold, pred, kept, offered) if policy.names == "ignore" else iter(())
    for mapping in guesses:
        if mapping is not None and _ladder(gold, pred, kept, mapping, policy, order):
            return Judgement("match", "exact", kept, mapping)
    budget = Budget(30 * steps + 8 * len(gold.rows) * (len(kept) + len(pred.relation.columns)))
    try:
        return _searched(gold, pred, kept, policy, order, budget, steps)
    except (OutOfBudgetError, RecursionError):
        return Judgement("undecided", "budget", kept)


def _guesses(gold: Table, pred: Table, kept: Kept, offered: Mapping) -> Iterator[Mapping | None]:
    """Yield the mappings that are soon tried: the columns as they stand, then those with equal sums."""
    yield offered[: len(kept)]
    yield _by_sums(gold, pred, kept, offered)


def _by_sums(gold: Table, pred: Table, kept: Kept, offered: Mapping) -> Mapping | None:
    """Guess the mapping from order-free sums of cell hashes; None where cells cannot be hashed or sums repeat."""
    try:
        sums: dict[int, int] = {sum(map(hash, pred.columns[index])): index for index in offered}
        mapping = [sums.get(sum(map(hash, gold.columns[column]))) for column in kept]
    except Exception:  # noqa: BLE001 (a foreign value's hash may raise anything; the search does without)
        return None
    chosen = tuple(index for index in mapping if index is not None)
    return chosen if len(set(chosen)) == len(kept) else None


def _searched(
    gold: Table, pred: Table, kept: Kept, policy: Policy, order: GoldOrder | None, budget: Budget, steps: int
) -> Judgement:
    """Verify each mapping the search finds; an unverifiable one leaves the verdict undecided."""
    unsure: Judgement | None = None
    last: Judgement | None = None
    rules = Rules.of(policy, *(column.kind for table in (gold, pred) for column in table.relation.columns))
    offered = compared(pred.relation, policy)
    coded = encode([gold.columns[column] for column in kept], [pred.columns[column] for column in offered], rules)
    joint = Joint((gold, pred), kept, offered, rules, coded)
    for mapping in _candidates(gold, pred, joint, policy, order, budget):
        budget.spend(30 * len(gold.rows) * (len(kept) + 1))
        last = _verified(gold, pred, kept, mapping, policy, order, steps, joint)
        if last.rule in ("rows", "multiplicity", "tolerance") and last.verdict == "mismatch":
            last = replace(last, rule="joint_columns")
        if last.verdict == "match":
            return last
        unsure = last if last.verdict == "undecided" else unsure
    return unsure or last or Judgement("mismatch", "joint_columns", kept, joint=joint)


def _candidates(
    gold: Table, pred: Table, joint: Joint, policy: Policy, order: GoldOrder | None, budget: Budget
) -> Iterator[Mapping]:
    """Yield the mappings that necessary conditions leave, for one order of the tie groups after another."""
    kept, coded = joint.kept, joint.encoded
    marked = policy.names == "match"
    gold_marks = tuple(gold.relation.columns[column].name.casefold() if marked else "" for column in kept)
    pred_marks = tuple(pred.relation.columns[column].name.casefold() if marked else "" for column in joint.offered)
    as_sets = policy.multiplicity == "set"
    rows = _row_order(gold, pred, policy, order)
    for ours, theirs in rows:
        picked = [_picker(marks) for marks in (ours, theirs)]
        problem = Problem(
            tuple(picked[0](keys) for keys in coded.gold),
            tuple(picked[1](keys) for keys in coded.pred),
            tuple(mark for mark in ours if mark is not None),
            tuple(mark for mark in theirs if mark is not None),
            gold_marks,
            pred_marks,
            coded.loose,
            as_sets,
        )
        found = mappings(_distinct(problem) if as_sets else problem, budget)
        yield from (tuple(joint.offered[place] for place in mapping) for mapping in found)


def _picker(marks: list[int | None]) -> Callable[[Cells], Cells]:
    """Return what drops the rows without a mark from a column."""
    if None not in marks:
        return lambda keys: keys
    return lambda keys: [key for key, mark in zip(keys, marks, strict=True) if mark is not None]


def _row_order(
    gold: Table, pred: Table, policy: Policy, order: GoldOrder | None
) -> list[tuple[list[int | None], list[int | None]]]:
    """Return what each row is known by on both sides, once per order of groups; None for rows a cut tie frees."""
    if order is None or policy.multiplicity == "set":
        return [([0] * len(gold.rows), [0] * len(pred.rows))]
    free = order.cuttable(policy)
    marked = [(order.groups, order.blocks(one)) for one in order.sequences]
    return [tuple([None if mark in free else mark for mark in side] for side in sides) for sides in marked]  # type: ignore[misc]


def _distinct(problem: Problem) -> Problem:
    """Return the problem over distinct rows, as sets leave no multiplicity; extra columns keep it as it is."""
    if len(problem.gold) != len(problem.pred):
        return problem
    gold, pred = (list(dict.fromkeys(zip(*columns, strict=True))) for columns in (problem.gold, problem.pred))
    if len(gold) != len(pred) or not gold:
        return problem
    zeros = (0,) * len(gold)
    ours, theirs = tuple(zip(*gold, strict=True)), tuple(zip(*pred, strict=True))
    return replace(problem, gold=ours, pred=theirs, gold_rows=zeros, pred_rows=zeros, as_sets=False)
