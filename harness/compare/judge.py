"""The steps of a comparison under a resolved policy: shape, empties, truncation, exact ladder, columns, rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations, product
from operator import itemgetter
from typing import Literal

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Kind, Relation, Row
from sqlassay.harness.compare.bags import same_bag, same_rows
from sqlassay.harness.compare.cells import Rules
from sqlassay.harness.compare.columns import (
    KNOWN_OF_NONE,
    Constants,
    Kept,
    by_name,
    by_position,
    compared,
    facing,
    kept_choices,
    most_choices,
    names_agree,
    shared_names,
)
from sqlassay.harness.compare.encode import Encoded, encode
from sqlassay.harness.compare.joint import Joint, Table
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError
from sqlassay.harness.compare.order import GoldOrder, exact_order, gold_order
from sqlassay.harness.compare.plain import Cells
from sqlassay.harness.compare.rows import Aligned, RowJudge, RowVerdict
from sqlassay.harness.compare.search import Problem, mappings

Mapping = tuple[int, ...]

_STEPS = 400_000
_STEPS_PER_ROW = 20
_VERIFIED_AT_ANY_SIZE = 8
_OTHERS_TRIED = 8


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


@dataclass(frozen=True, slots=True)
class _Case:
    """What two relations are held to: the policy, the gold's order, what reads no table, and the steps allowed."""

    policy: Policy
    order: GoldOrder | None
    constants: Constants
    steps: int


def judge(
    gold: Relation,
    pred: Relation,
    policy: Policy,
    order: GoldOrder | None,
    *,
    constants: Constants = KNOWN_OF_NONE,
    steps: int = _STEPS,
) -> Judgement:
    """Compare two relations rule by rule; the first that decides is named. `steps` bounds pairing and search."""
    before = _before_rows(gold, pred, policy, constants)
    if before is not None:
        return before
    if policy.truncated is not None:
        return _truncated(gold, pred, policy, order)
    if not gold.rows and not pred.rows:
        return _both_empty(gold, pred, policy, constants)
    kept = kept_choices(gold, pred, policy)
    if not kept:
        return Judgement("mismatch", "columns")
    order = effective_order(gold, policy, order)
    notes = order.flags if order is not None else ()
    if order is not None and order.broken_nulls:
        return Judgement("undecided", "gold_nulls_order", flags=notes)
    sides = Table(gold), Table(pred)
    case = _Case(policy, order, constants, steps)
    found: list[Judgement] = []
    most = most_choices(gold, pred)
    for choice in kept[:most]:
        found.append(_judge_choice(*sides, choice, case))
        if found[-1].verdict == "match":
            break
    best = next((one for wanted in ("match", "undecided") for one in found if one.verdict == wanted), found[0])
    if best.verdict == "mismatch" and len(kept) > most:
        best = Judgement("undecided", "budget")
    if best.rule == "row_order" and order is not None and (order.contradicted or order.open):
        best = replace(best, verdict="undecided", rule="gold_nondeterministic" if order.contradicted else "budget")
    chosen = _choice_notes(*sides, best, case) if best.verdict == "match" else ()
    return replace(best, flags=tuple(dict.fromkeys((*notes, *best.flags, *chosen))))


def _before_rows(gold: Relation, pred: Relation, policy: Policy, constants: Constants) -> Judgement | None:
    """Decide by the columns alone where they leave nothing to compare, are too many, or read no table."""
    ours, offered = compared(gold, policy), compared(pred, policy)
    if gold.columns and not ours:
        return Judgement("undecided", "ignore_columns")
    required = kept_choices(gold, pred, policy)  # also refuses a policy that names a column the gold lacks
    if policy.required_columns is not None and gold.columns and not set(policy.required_columns).intersection(ours):
        return Judgement("undecided", "required_columns")
    if policy.extra_columns == "allow" and len(offered) > len(ours) + policy.max_extra_columns:
        return Judgement("mismatch", "extra_columns")
    if required and all(constants.leave_too_few(kept, offered) for kept in required):
        return Judgement("mismatch", "constants", required[0])
    return None


def _choice_notes(gold: Table, pred: Table, found: Judgement, case: _Case) -> tuple[str, ...]:
    """Return the notes about how a match chose its columns: against names both sides share, or among equal ones."""
    policy, mapping, kept = case.policy, found.mapping, found.kept
    if mapping is None or policy.columns == "name" or policy.names == "match":
        return ()
    named = shared_names(kept, gold.relation, pred.relation)
    faces = dict(zip(kept, mapping, strict=True))
    turned = [(faces[ours], theirs) for ours, theirs in named.items() if faces[ours] != theirs]
    crossed = any(not _keys_equal(pred, one, other, policy) for one, other in turned)
    notes = ("crossed_names",) * crossed
    spare = [column for column in compared(pred.relation, policy) if column not in mapping]
    if policy.columns != "any" or not spare:
        return notes
    tried = 0
    for place, other in product(range(len(mapping)), spare):
        instead = (*mapping[:place], other, *mapping[place + 1 :])
        if case.constants.bar(kept, instead) or not _alike(pred, mapping[place], other, policy):
            continue
        tried += 1
        if tried > _OTHERS_TRIED or _verified(gold, pred, kept, instead, case).verdict != "mismatch":
            return (*notes, "chosen_columns")
    return notes


def _keys_equal(pred: Table, one: int, other: int, policy: Policy) -> bool:
    """Tell whether two predicted columns hold the same values row by row, as far as their keys can tell."""
    coded = encode([pred.columns[one]], [pred.columns[other]], Rules.of(policy, pred.kind(one), pred.kind(other)))
    return list(coded.gold[0]) == list(coded.pred[0])


def _alike(pred: Table, one: int, other: int, policy: Policy) -> bool:
    """Tell whether two predicted columns hold the same bag of values, as far as their keys can tell."""
    coded = encode([pred.columns[one]], [pred.columns[other]], Rules.of(policy, pred.kind(one), pred.kind(other)))
    return _same_cells(coded, policy)


def _same_cells(coded: Encoded, policy: Policy) -> bool:
    """Tell whether a pair of columns may hold the same cells: as bags, or as sets where the policy compares those."""
    ours, theirs = coded.gold[0], coded.pred[0]
    if policy.multiplicity == "set":
        return set(ours) == set(theirs)
    return len(ours) == len(theirs) and (ours == theirs or Counter(ours) == Counter(theirs))


def effective_order(gold: Relation, policy: Policy, order: GoldOrder | None) -> GoldOrder | None:
    """Return the order to hold the prediction to; None where rows are a bag."""
    if policy.row_order == "ignore" or (policy.row_order == "auto" and order is None):
        return None
    if order is not None:
        return order
    if policy.row_order == "keys" and policy.order_keys:
        return gold_order(gold, policy)
    return exact_order(len(gold.rows), keys_unknown=policy.row_order == "keys")


def _both_empty(gold: Relation, pred: Relation, policy: Policy, constants: Constants) -> Judgement:
    """Compare two relations without rows by their columns alone: weak evidence, flagged as vacuous."""
    if policy.empty == "any":
        return Judgement("match", "empty", flags=("vacuous",))
    for kept in kept_choices(gold, pred, policy):
        mapping = by_position(kept, pred, policy) if policy.columns == "position" else by_name(kept, gold, pred)
        if policy.columns == "any" and policy.names == "ignore":
            return Judgement("match", "empty", kept, flags=("vacuous",))
        if mapping is not None and (policy.names == "ignore" or names_agree(kept, mapping, gold, pred)):
            if constants.bar(kept, mapping):
                return Judgement("mismatch", "constants", kept, mapping, flags=("vacuous",))
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


def _judge_choice(gold: Table, pred: Table, kept: Kept, case: _Case) -> Judgement:
    """Compare with these gold columns kept."""
    policy = case.policy
    if policy.columns == "any":
        return _judge_any(gold, pred, kept, case)
    theirs = pred.relation
    mapping = (
        by_position(kept, theirs, policy) if policy.columns == "position" else by_name(kept, gold.relation, theirs)
    )
    if mapping is None or (policy.names == "match" and not names_agree(kept, mapping, gold.relation, theirs)):
        return Judgement("mismatch", "names", kept)
    if case.constants.bar(kept, mapping):
        return Judgement("mismatch", "constants", kept, mapping)
    if _ladder(gold, pred, kept, mapping, policy, case.order):
        return Judgement("match", "exact", kept, mapping)
    return _verified(gold, pred, kept, mapping, case)


def _verified(
    gold: Table,
    pred: Table,
    kept: Kept,
    mapping: Mapping,
    case: _Case,
    joint: Joint | None = None,
    coded: list[Encoded] | None = None,
) -> Judgement:
    """Compare the rows under one mapping, cell by cell as the policy says; `coded` are the pairs' keys where known."""
    budget = Budget(case.steps + _STEPS_PER_ROW * (len(gold.rows) + len(pred.rows)))
    judge_rows = row_judge(gold, pred, kept, mapping, case.policy, budget, joint, coded)
    try:
        rows = judge_rows.judge(case.order)
    except OutOfBudgetError:
        return Judgement("undecided", "budget", kept, mapping)
    if rows.rule in ("rows", "multiplicity") and len(gold.rows) != len(pred.rows) and rows.verdict == "mismatch":
        rows = replace(rows, rule="row_count")
    return Judgement(rows.verdict, rows.rule, kept, mapping, rows, judge_rows, rows.flags, joint)


def row_judge(
    gold: Table,
    pred: Table,
    kept: Kept,
    mapping: Mapping,
    policy: Policy,
    budget: Budget,
    joint: Joint | None,
    coded: list[Encoded] | None = None,
) -> RowJudge:
    """Return what judges the rows under a mapping, with the keys of the search where they hold for its pairs."""
    pairs = aligned(gold, pred, kept, mapping, policy)
    if coded is None and joint is not None and joint.kept == kept:
        coded = joint.pairs(mapping, pairs.rules)
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


def _judge_any(gold: Table, pred: Table, kept: Kept, case: _Case) -> Judgement:
    """Look for one joint column permutation: by names, as they stand, by value signatures, then by search.

    The guesses are judged as under the other policies, so that what matches in position matches in any order.
    """
    policy = case.policy
    if len(gold.rows) != len(pred.rows) and policy.multiplicity == "bag":
        return Judgement("mismatch", "row_count", kept)
    offered = compared(pred.relation, policy)
    guesses: dict[Mapping, None] = {}
    for mapping in _guesses(gold, pred, kept, offered, case):
        if mapping not in guesses and _ladder(gold, pred, kept, mapping, policy, case.order):
            return Judgement("match", "exact", kept, mapping)
        guesses[mapping] = None
    for mapping in guesses:
        coded = _keyed(gold, pred, kept, mapping, case)
        found = None if coded is None else _verified(gold, pred, kept, mapping, case, coded=coded)
        if found is not None and found.verdict == "match":
            return found
    rows, width = len(gold.rows), len(kept) + len(pred.relation.columns)
    budget = Budget(30 * case.steps + (8 + 30 * _VERIFIED_AT_ANY_SIZE) * rows * (width + 1))
    try:
        return _searched(gold, pred, kept, case, budget)
    except (OutOfBudgetError, RecursionError):
        return Judgement("undecided", "budget", kept)


def _guesses(gold: Table, pred: Table, kept: Kept, offered: Mapping, case: _Case) -> Iterator[Mapping]:
    """Yield the mappings that are soon tried: equal names, the columns as they stand, then those with equal sums."""
    policy = case.policy
    named = by_name(kept, gold.relation, pred.relation)
    yield from _allowed(named, kept, case)
    if policy.names == "match":
        return
    yield from _allowed(facing(kept, compared(gold.relation, policy), offered), kept, case)
    free = tuple(column for column in offered if column not in case.constants.pred)
    for theirs in dict.fromkeys((free, offered)):
        yield from _allowed(_by_sums(gold, pred, kept, theirs), kept, case)


def _allowed(mapping: Mapping | None, kept: Kept, case: _Case) -> Iterator[Mapping]:
    """Yield a mapping that lets no constant stand for a computed column."""
    if mapping is not None and not case.constants.bar(kept, mapping):
        yield mapping


def _keyed(gold: Table, pred: Table, kept: Kept, mapping: Mapping, case: _Case) -> list[Encoded] | None:
    """Return the keys of each pair of columns; None as soon as one pair cannot hold the same cells.

    A cut tie may free some rows: then nothing is ruled out.
    """
    cut = case.order is not None and bool(case.order.cuttable(case.policy))
    pairs = aligned(gold, pred, kept, mapping, case.policy)
    coded: list[Encoded] = []
    for ours, theirs, rules in zip(pairs.gold, pairs.pred, pairs.rules, strict=True):
        coded.append(encode([ours], [theirs], rules))
        if not cut and not _same_cells(coded[-1], case.policy):
            return None
    return coded


def _by_sums(gold: Table, pred: Table, kept: Kept, offered: Mapping) -> Mapping | None:
    """Guess the mapping from order-free sums of cell hashes, columns of equal sums in turn; None where one has none."""
    try:
        sums: dict[int, list[int]] = {}
        for index in offered:
            sums.setdefault(sum(map(hash, pred.columns[index])), []).append(index)
        left = {total: iter(columns) for total, columns in sums.items()}
        totals = [sum(map(hash, gold.columns[column])) for column in kept]
    except Exception:  # noqa: BLE001 (a foreign value's hash may raise anything; the search does without)
        return None
    found = [next(left.get(total, iter(())), None) for total in totals]
    chosen = tuple(index for index in found if index is not None)
    return chosen if len(chosen) == len(kept) else None


def _searched(gold: Table, pred: Table, kept: Kept, case: _Case, budget: Budget) -> Judgement:
    """Verify each mapping the search finds; an unverifiable one leaves the verdict undecided."""
    policy = case.policy
    unsure: Judgement | None = None
    last: Judgement | None = None
    rules = Rules.of(policy, *(column.kind for table in (gold, pred) for column in table.relation.columns))
    offered = compared(pred.relation, policy)
    coded = encode([gold.columns[column] for column in kept], [pred.columns[column] for column in offered], rules)
    joint = Joint((gold, pred), kept, offered, rules, coded)
    for mapping in _candidates(gold, pred, joint, case, budget):
        budget.spend(30 * len(gold.rows) * (len(kept) + 1))
        last = _verified(gold, pred, kept, mapping, case, joint)
        if last.rule in ("rows", "multiplicity", "tolerance") and last.verdict == "mismatch":
            last = replace(last, rule="joint_columns")
        if last.verdict == "match":
            return last
        unsure = last if last.verdict == "undecided" else unsure
    return unsure or last or Judgement("mismatch", "joint_columns", kept, joint=joint)


def _candidates(gold: Table, pred: Table, joint: Joint, case: _Case, budget: Budget) -> Iterator[Mapping]:
    """Yield the mappings that necessary conditions leave, for one order of the tie groups after another."""
    kept, coded, policy = joint.kept, joint.encoded, case.policy
    marked = policy.names == "match"
    gold_names = [gold.relation.columns[column].name.casefold() if marked else "" for column in kept]
    pred_names = [pred.relation.columns[column].name.casefold() if marked else "" for column in joint.offered]
    as_sets = policy.multiplicity == "set"
    rows = _row_order(gold, pred, policy, case.order)
    exact = joint.rules == Rules.of(policy)
    sorts = _sorts(gold, kept, by_cells=not exact), _sorts(pred, joint.offered, by_cells=not exact)
    classes = list(case.constants.classes(kept, joint.offered))
    for (ours, theirs), (gold_sorts, pred_sorts) in product(rows, classes):
        picked = [_picker(marks) for marks in (ours, theirs)]
        problem = Problem(
            tuple(picked[0](keys) for keys in coded.gold),
            tuple(picked[1](keys) for keys in coded.pred),
            tuple(mark for mark in ours if mark is not None),
            tuple(mark for mark in theirs if mark is not None),
            tuple(zip(gold_names, gold_sorts, strict=True)),
            tuple(zip(pred_names, pred_sorts, strict=True)),
            coded.loose,
            as_sets,
            *sorts,
        )
        for one in chain([_distinct(problem) if as_sets else problem], _by_keys(problem, joint, case, budget)):
            yield from (tuple(joint.offered[place] for place in mapping) for mapping in mappings(one, budget))


def _by_keys(problem: Problem, joint: Joint, case: _Case, budget: Budget) -> Iterator[Problem]:
    """Yield the problem once for each choice of the columns that hold the order keys, where a cut tie frees rows.

    The search does not see rows that are free but for their keys, so it cannot tell by itself which column holds one.
    """
    order, coded = case.order, joint.encoded
    if order is None or case.policy.multiplicity == "set" or not order.cuttable(case.policy):
        return
    held = [place for place, column in enumerate(joint.kept) if column in order.keys]
    for chosen in permutations(range(len(joint.offered)), len(held)) if held else ():
        budget.spend(len(order.groups) * len(held) + 1)
        ours = Counter(zip(order.groups, *(coded.gold[place] for place in held), strict=True))
        for sequence in order.sequences:
            theirs = zip(order.blocks(sequence), *(coded.pred[place] for place in chosen), strict=True)
            if ours != Counter(theirs):
                continue
            sides = [list(marks) for marks in (problem.gold_marks, problem.pred_marks)]
            for number, (place, other) in enumerate(zip(held, chosen, strict=True)):
                sides[0][place], sides[1][other] = (sides[0][place], number), (sides[1][other], number)
            yield replace(problem, gold_marks=tuple(sides[0]), pred_marks=tuple(sides[1]))
            break


def _sorts(table: Table, columns: Sequence[int], *, by_cells: bool) -> tuple[Hashable, ...]:
    """Return what else columns of equal keys must share to be exchanged freely: a kind that brings rules of its own.

    Where such a kind widened the rules of the keys, equal keys are not equal cells, so the cells must be the same too.
    """
    found: list[tuple[Kind | None, int]] = []
    for place, column in enumerate(columns):
        kind = table.kind(column) if table.kind(column) in (Kind.FLOAT32, Kind.BITS, Kind.CHAR) else None
        earlier = (n for n in range(place) if _same_values(table.columns[columns[n]], table.columns[column]))
        found.append((kind, next(earlier, place) if by_cells else 0))
    return tuple(found)


def _same_values(one: Cells, other: Cells) -> bool:
    """Tell whether two columns hold the same Python values of the same types, row by row."""
    try:
        return list(map(type, one)) == list(map(type, other)) and list(one) == list(other)
    except Exception:  # noqa: BLE001 (a cell that cannot be compared, whatever it raises, is no twin of another)
        return False


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
