"""Rows under a fixed column mapping: bags per tie group, and a bijection where a tolerance decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlassay.cases.policy import Policy
from sqlassay.harness.compare.cells import Atom, Rules
from sqlassay.harness.compare.encode import Encoded, encode
from sqlassay.harness.compare.loose import pair_class
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError
from sqlassay.harness.compare.order import GoldOrder
from sqlassay.harness.compare.plain import Cells

RowKeys = list[tuple[Hashable, ...]]

_FREE = "any member of the cut tie"


@dataclass(frozen=True, slots=True)
class Aligned:
    """Two relations whose columns are paired: column i of one faces column i of the other."""

    gold: tuple[Cells, ...]
    pred: tuple[Cells, ...]
    rules: tuple[Rules, ...]
    gold_columns: tuple[int, ...]
    gold_rows: int
    pred_rows: int


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """How the rows of two aligned relations compare, with the rows left over on each side."""

    verdict: Literal["match", "mismatch", "undecided"]
    rule: str
    missing: tuple[int, ...] = ()
    extra: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()


class RowJudge:
    """Judges the rows of one alignment; cells are keyed once for every question asked of them."""

    def __init__(
        self, aligned: Aligned, policy: Policy, budget: Budget, coded: Sequence[Encoded] | None = None
    ) -> None:
        """Key every column pair, unless `coded` brings the keys of each."""
        self._aligned = aligned
        self._policy = policy
        self._budget = budget
        sides = zip(aligned.gold, aligned.pred, aligned.rules, strict=True)
        self._columns = list(coded or (encode([gold], [pred], rules) for gold, pred, rules in sides))
        self._exact = not any(column.loose for column in self._columns)
        self.gold: RowKeys = _rows([column.gold[0] for column in self._columns], aligned.gold_rows)
        self.pred: RowKeys = _rows([column.pred[0] for column in self._columns], aligned.pred_rows)

    def judge(self, order: GoldOrder | None) -> RowVerdict:
        """Compare the rows under an order, or as bags without one."""
        if order is None:
            return self._bag(self.gold, self.pred)
        if self._policy.multiplicity == "set":
            plain = self._sets(self.gold, self.pred)
            return self._in_set_order(order) if plain.verdict == "match" else plain
        ordered = self._ordered(order, self.gold, self.pred)
        if ordered.verdict == "match":
            return ordered
        return self._freed(order) or self._explained(ordered)

    def _explained(self, ordered: RowVerdict) -> RowVerdict:
        """Say whether a failure under an order is one of order alone."""
        try:
            plain = self._bag(self.gold, self.pred)
        except OutOfBudgetError:
            return ordered
        if plain.verdict == "mismatch":
            return plain
        return replace(ordered, rule="row_order", flags=("order_differs",))

    def _ordered(self, order: GoldOrder, gold: RowKeys, pred: RowKeys) -> RowVerdict:
        """Compare group by group, in any order of groups that the gold allows."""
        ours = [(group, *key) for group, key in zip(order.groups, gold, strict=True)]
        verdicts: list[RowVerdict] = []
        for sequence in order.sequences:
            blocks = order.blocks(sequence)
            blocks += [-1] * (len(pred) - len(blocks))
            verdicts.append(self._bag(ours, [(group, *key) for group, key in zip(blocks, pred, strict=False)], shift=1))
            if verdicts[-1].verdict == "match":
                return verdicts[-1]
        return verdicts[0]

    def _in_set_order(self, order: GoldOrder) -> RowVerdict:
        """Compare the orders in which distinct rows first appear, as `set` leaves no other multiplicity."""
        if list(dict.fromkeys(self.gold)) == list(dict.fromkeys(self.pred)):
            return RowVerdict("match", "set")
        groups = dict(reversed(list(zip(self.gold, order.groups, strict=True))))
        seen = [groups.get(key, -1) for key in dict.fromkeys(self.pred)]
        for sequence in order.sequences:
            rank = {group: place for place, group in enumerate(sequence)}
            places = [rank.get(group, -1) for group in seen]
            if places == sorted(places):
                return RowVerdict("match", "set")
        return RowVerdict("mismatch", "row_order", flags=("order_differs",))

    def _freed(self, order: GoldOrder) -> RowVerdict | None:
        """Compare again with the members of a cut tie free beyond their keys, where the policy frees them."""
        free = order.cuttable(self._policy)
        if not free or len(self.gold) != len(self.pred):
            return None
        held = [column in order.keys for column in self._aligned.gold_columns]
        gold = _masked_rows(self.gold, order.groups, free, held)
        for sequence in order.sequences:
            pred = _masked_rows(self.pred, order.blocks(sequence), free, held)
            found = self._ordered(replace(order, sequences=(sequence,)), gold, pred)
            if found.verdict != "match":
                continue
            chosen = self._members_only(order, sequence)
            if chosen is False:
                continue
            if chosen is None and order.hidden:
                return RowVerdict("undecided", "cut_tie", flags=("cut_tie",))
            return replace(found, rule="cut_tie", flags=("cut_tie",))
        return None

    def _members_only(self, order: GoldOrder, sequence: tuple[int, ...]) -> bool | None:
        """Tell whether the rows that stand in the cut tie are members of it; None where that is not known."""
        if not order.members or order.offset:
            return None
        chosen = [place for place, group in enumerate(order.blocks(sequence)) if group == order.groups[-1]]
        aligned = self._aligned
        sides = zip(aligned.gold_columns, aligned.pred, aligned.rules, strict=True)
        coded = [
            encode([[row[column] for row in order.members]], [[cells[place] for place in chosen]], rules)
            for column, cells, rules in sides
        ]
        there = Counter(_rows([one.gold[0] for one in coded], len(order.members)))
        taken = Counter(_rows([one.pred[0] for one in coded], len(chosen)))
        if not taken <= there:
            return False if order.all_members else None
        return None if any(one.loose for one in coded) else True

    def _bag(self, gold: RowKeys, pred: RowKeys, shift: int = 0) -> RowVerdict:
        """Compare two lists of row keys as bags; `shift` counts the key items before the first column."""
        if self._policy.multiplicity == "set":
            return self._sets(gold, pred)
        ours, theirs = Counter(gold), Counter(pred)
        if ours != theirs:
            rule = "multiplicity" if ours.keys() == theirs.keys() else "rows"
            return RowVerdict("mismatch", rule, _surplus(gold, theirs), _surplus(pred, ours))
        return RowVerdict("match", "rows") if self._exact else self._within_tolerance(gold, pred, shift)

    def _sets(self, gold: RowKeys, pred: RowKeys) -> RowVerdict:
        """Compare as sets of rows: each row needs an equal one on the other side."""
        ours, theirs = set(gold), set(pred)
        missing = tuple(index for index, key in enumerate(gold) if key not in theirs)
        extra = tuple(index for index, key in enumerate(pred) if key not in ours)
        if not missing and not extra and not self._exact:
            missing, extra = self._uncovered(gold, pred)
        return RowVerdict("mismatch" if missing or extra else "match", "set", missing, extra)

    def _uncovered(self, gold: RowKeys, pred: RowKeys) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows of loose classes that have no equal row on the other side."""
        missing: list[int] = []
        extra: list[int] = []
        for ours, theirs, columns in self._loose_classes(gold, pred, 0):
            self._budget.spend(len(ours) * len(theirs))
            equal = {(i, k) for i in ours for k in theirs if self.same(i, k, columns)}
            missing += [i for i in ours if not any((i, k) in equal for k in theirs)]
            extra += [k for k in theirs if not any((i, k) in equal for i in ours)]
        return tuple(missing), tuple(extra)

    def same(self, ours: int, theirs: int, columns: Sequence[int]) -> bool:
        """Tell whether two rows are equal in these columns."""
        aligned = self._aligned
        for column in columns:
            rules = aligned.rules[column]
            if not rules.same(rules.atom(aligned.gold[column][ours]), rules.atom(aligned.pred[column][theirs])):
                return False
        return True

    def _within_tolerance(self, gold: RowKeys, pred: RowKeys, shift: int) -> RowVerdict:
        """Look for a bijection inside each class of rows whose keys are equal but do not decide."""
        missing: list[int] = []
        extra: list[int] = []
        for ours, theirs, columns in self._loose_classes(gold, pred, shift):
            rules = [self._aligned.rules[column] for column in columns]
            left = [self._atoms(self._aligned.gold, columns, index) for index in ours]
            right = [self._atoms(self._aligned.pred, columns, index) for index in theirs]
            lost = pair_class(left, right, rules, self._budget)
            missing += ours[:lost]
            extra += theirs[:lost]
        if not missing:
            return RowVerdict("match", "tolerance")
        return RowVerdict("mismatch", "tolerance", tuple(missing), tuple(extra))

    def _atoms(self, columns: Sequence[Cells], which: list[int], index: int) -> tuple[Atom, ...]:
        """Return the atoms of one row in the given columns."""
        return tuple(self._aligned.rules[column].atom(columns[column][index]) for column in which)

    def _loose_classes(self, gold: RowKeys, pred: RowKeys, shift: int) -> list[tuple[list[int], list[int], list[int]]]:
        """Return gold rows, predicted rows and loose columns of each class that keys alone do not decide."""
        loose = [column.loose for column in self._columns]
        marked = [(place, marks) for place, marks in enumerate(loose, shift) if marks]
        classes: dict[tuple[Hashable, ...], tuple[list[int], list[int]]] = {}
        for side, rows in enumerate((gold, pred)):
            for index, key in enumerate(rows):
                if any(key[place] in marks for place, marks in marked):
                    classes.setdefault(key, ([], []))[side].append(index)
        return [
            (ours, theirs, [j for j, item in enumerate(key[shift:]) if item in loose[j]])
            for key, (ours, theirs) in classes.items()
        ]


def _rows(columns: Sequence[Sequence[Hashable]], count: int) -> RowKeys:
    """Return the key of each row; rows without columns are all alike."""
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _masked_rows(rows: RowKeys, groups: Sequence[int], free: frozenset[int], held: list[bool]) -> RowKeys:
    """Return the row keys with those of the free groups masked beyond the held columns."""
    return [_masked(row, held) if group in free else row for group, row in zip(groups, rows, strict=True)]


def _masked(row: tuple[Hashable, ...], held: list[bool]) -> tuple[Hashable, ...]:
    """Return a row key with only the held columns kept."""
    return tuple(item if keep else _FREE for item, keep in zip(row, held, strict=True))


def _surplus(rows: RowKeys, other: Counter[tuple[Hashable, ...]]) -> tuple[int, ...]:
    """Return the indexes of rows that occur more often here than on the other side."""
    left = Counter(other)
    found: list[int] = []
    for index, key in enumerate(rows):
        left[key] -= 1
        if left[key] < 0:
            found.append(index)
    return tuple(found)
