"""What the gold's ORDER BY demands: tie groups, the orders they may come in, and whether a LIMIT cuts one."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby, pairwise, product
from typing import cast

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation, Row
from sqlassay.harness.compare.cells import Atom, Rules, at_full_scale, canonical
from sqlassay.harness.compare.columns import compared
from sqlassay.harness.compare.numbers import Number
from sqlassay.harness.results.parsed import OrderFacts, OrderKey

Key = tuple[Atom, ...]

_FREE_LEVELS = 4
_NULL: Atom = ("null",)


@dataclass(frozen=True, slots=True)
class GoldOrder:
    """The tie group of each gold row, learnt from the gold alone.

    `sequences` are the orders in which the groups may come: one, or several where the place of NULLs is free.
    `cut_tie` tells whether the LIMIT leaves out rows tied with the last one; None where nobody looked.
    `offset` tells that rows are cut at the start too, where nobody looks: the first group may lack tied rows.
    `keys` are the gold columns that hold order keys; `hidden` tells that others are not selected.
    `open` tells that NULLs are free in more keys than are tried, so that no sequence of groups is ruled out.
    `members` are rows of the gold's query that are tied with the last group, those past the LIMIT too, as far as
    somebody looked; `all_members` tells that there are no others.
    """

    groups: tuple[int, ...]
    sequences: tuple[tuple[int, ...], ...]
    keys: tuple[int, ...] = ()
    cut_tie: bool | None = False
    hidden: bool = False
    keys_unknown: bool = False
    contradicted: bool = False
    broken_nulls: bool = False
    rule: str = "order_keys"
    offset: bool = False
    open: bool = False
    members: tuple[Row, ...] = ()
    all_members: bool = False

    def cuttable(self, policy: Policy) -> frozenset[int]:
        """Return the groups whose members a cut may have chosen among ties, where the policy frees such members."""
        if policy.cut_ties != "any" or self.rule != "order_keys" or not self.groups:
            return frozenset()
        last = {self.groups[-1]} if self.cut_tie is not False else set()
        return frozenset(last | ({self.groups[0]} if self.offset else set()))

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the notes a verdict under this order carries."""
        notes = {
            "cut_tie": self.cut_tie is True,
            "offset_unchecked": self.offset and self.rule == "order_keys",
            "keys_unknown": self.keys_unknown,
            "gold_nondeterministic": self.contradicted,
            "gold_nulls_order": self.broken_nulls,
        }
        return tuple(name for name, holds in notes.items() if holds)

    def blocks(self, sequence: tuple[int, ...]) -> list[int]:
        """Return the group that stands at each row position when the groups come in this order."""
        sizes = Counter(self.groups)
        return [group for group in sequence for _ in range(sizes[group])]


def exact_order(rows: int, *, keys_unknown: bool = False, contradicted: bool = False) -> GoldOrder:
    """Return the order in which every row is a group of its own."""
    rule = "keys_unknown" if keys_unknown else "row_order"
    every = tuple(range(rows))
    return GoldOrder(every, (every,), keys_unknown=keys_unknown, contradicted=contradicted, rule=rule)


def order_by_keys(
    keys: Sequence[Key],
    policy: Policy,
    *,
    columns: tuple[int, ...],
    cut: bool | None,
    hidden: bool,
    ranks: Sequence[object] = (),
) -> GoldOrder:
    """Return the order of gold rows with these key values: equal neighbours are tied, and those of one rank."""
    groups: list[int] = []
    firsts: list[Key] = []
    rules = _noise(policy)
    previous: Key | None = None
    for place, key in enumerate(keys):
        same_rank = bool(ranks) and place > 0 and ranks[place] == ranks[place - 1]
        if previous is None or not (same_rank or tied(rules, previous, key)):
            firsts.append(key)
        groups.append(len(firsts) - 1)
        previous = key
    broken = policy.nulls_order in ("first", "last") and not _nulls_stand(
        firsts, 0, at_front=policy.nulls_order == "first"
    )
    free = _null_levels(firsts) if policy.nulls_order == "any" else ()
    sequences = _sequences(firsts, free)
    too_many = len(free) > _FREE_LEVELS
    return GoldOrder(tuple(groups), sequences, columns, cut, hidden, broken_nulls=broken, open=too_many)


def tied(rules: Rules, first: Key, second: Key) -> bool:
    """Tell whether an engine may as well have put the second of two neighbours first.

    Keys that differ by the noise of floats alone are equal cells; what the keys after them say then orders nothing.
    """
    for left, right in zip(first, second, strict=True):
        if left != right:
            return left[0] == right[0] == "num" and rules.same(_flavoured(left), _flavoured(right))
    return True


def _noise(policy: Policy) -> Rules:
    """Return the rules by which keys of one engine are tied: decimals of two scales are two values there."""
    return Rules.of(at_full_scale(policy))


def _flavoured(atom: Atom) -> Atom:
    """Return a canonical number as the atom of a cell again."""
    value = cast(Number, atom[1])
    return ("num", "f" if isinstance(value, float) else "d" if isinstance(value, Decimal) else "i", value)


def gold_order(gold: Relation, policy: Policy) -> GoldOrder:
    """Return the order the policy's own order_keys demand of the gold's rows."""
    rules = Rules.of(policy).exact()
    columns = tuple(column for column, _ in policy.order_keys)
    return order_by_keys(
        [_key(rules, row, columns) for row in gold.rows], policy, columns=columns, cut=None, hidden=False
    )


def _key(rules: Rules, row: Row, columns: Sequence[int]) -> Key:
    """Return the canonical values of a row's key columns."""
    return tuple(canonical(rules.atom(row[column])) for column in columns)


def _nulls_stand(keys: list[Key], level: int, *, at_front: bool) -> bool:
    """Tell whether NULL keys stand where nulls_order says, at every level of the keys."""
    if not keys or level == len(keys[0]):
        return True
    runs = [(value, list(run)) for value, run in groupby(keys, key=lambda key: key[level])]
    allowed = 0 if at_front else len(runs) - 1
    placed = all(value != _NULL or index == allowed for index, (value, _) in enumerate(runs))
    return placed and all(_nulls_stand(run, level + 1, at_front=at_front) for _, run in runs)


def _null_levels(keys: list[Key]) -> tuple[int, ...]:
    """Return the levels of the keys at which a NULL stands."""
    return tuple(level for level in range(len(keys[0]) if keys else 0) if any(key[level] == _NULL for key in keys))


def _sequences(keys: list[Key], free: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the orders of the groups with the NULLs of each free level at either end; of too many, all or none."""
    every = list(range(len(keys)))
    together = len(free) > _FREE_LEVELS
    choices = product((False, True), repeat=1 if together else len(free))
    flips = [dict.fromkeys(free, one[0]) if together else dict(zip(free, one, strict=True)) for one in choices]
    return tuple(dict.fromkeys(tuple(_arranged(every, keys, 0, one)) for one in flips))


def _arranged(groups: list[int], keys: list[Key], level: int, flips: dict[int, bool]) -> list[int]:
    """Return the groups with the NULL run of each flipped level moved to the other end."""
    if level > max(flips, default=-1):
        return groups
    runs = [
        (value, _arranged(list(run), keys, level + 1, flips))
        for value, run in groupby(groups, key=lambda g: keys[g][level])
    ]
    flipped = flips.get(level, False)
    if flipped and runs[0][0] == _NULL:
        runs = [*runs[1:], runs[0]]
    elif flipped and runs[-1][0] == _NULL:
        runs = [runs[-1], *runs[:-1]]
    return [group for _, run in runs for group in run]


def resolve_policy(
    policy: Policy, *, facts: OrderFacts | None, gold: Relation, probe: Relation | None, gold_sql: str | None = None
) -> tuple[Policy, GoldOrder | None]:
    """Turn auto, or keys without order_keys, into tie groups by the gold's ORDER BY; exact where that is impossible.

    `probe` is the gold run again with hidden keys as last columns and one row more than its LIMIT. `gold_sql` matters
    to peers alone: Spider looks for "order by" anywhere in the text, be it in a subquery or a literal.
    """
    if policy.peer is not None:
        searched = policy.peer == "spider" and gold_sql is not None
        ordered = "order by" in (gold_sql or "").lower() if searched else facts is not None and bool(facts.keys)
        return policy, exact_order(len(gold.rows)) if ordered else None
    if policy.row_order in ("ignore", "exact") or policy.order_keys:
        return policy, None
    if facts is None or not facts.keys:
        if policy.row_order == "auto":
            return policy.model_copy(update={"row_order": "ignore"}), None
        return _unknown(policy, gold)
    columns = tuple(key.column for key in facts.keys if key.column is not None)
    if any(column >= len(gold.columns) for column in columns):
        return _unknown(policy, gold)
    hidden = len(facts.keys) - len(columns)
    if probe is None and hidden:
        return _unknown(policy, gold)
    order = _order_of(policy, facts, gold) if probe is None else _probed(policy, facts, gold, probe)
    if order is None:
        return _unknown(policy, gold, contradicted=True)
    order = replace(order, offset=facts.offset)
    directions = {key.column: key.direction for key in facts.keys}
    keys = tuple((column, directions[column]) for column in columns)
    return policy.model_copy(update={"row_order": "keys", "order_keys": keys}), order


def _unknown(policy: Policy, gold: Relation, *, contradicted: bool = False) -> tuple[Policy, GoldOrder]:
    """Return exact order, flagged: the tie groups could not be learnt."""
    exact = policy.model_copy(update={"row_order": "exact"})
    return exact, exact_order(len(gold.rows), keys_unknown=True, contradicted=contradicted)


def _order_of(policy: Policy, facts: OrderFacts, gold: Relation) -> GoldOrder:
    """Return the order by selected keys alone; whether a LIMIT cuts a tie stays open unless fewer rows came."""
    rules = Rules.of(policy).exact()
    columns = tuple(key.column for key in facts.keys if key.column is not None)
    whole = not facts.has_limit or (facts.limit is not None and len(gold.rows) < facts.limit)
    keys = [_key(rules, row, columns) for row in gold.rows]
    return order_by_keys(keys, policy, columns=columns, cut=False if whole else None, hidden=False)


def may_tie(facts: OrderFacts, gold: Relation, probe: Relation | None) -> bool:
    """Tell whether two neighbours have keys that a collation may call equal though their texts differ."""
    shown = gold if probe is None else probe
    places = (
        [key.column for key in facts.keys if key.column is not None]
        if probe is None
        else _places(facts.keys, len(gold.columns))
    )
    if any(place >= len(shown.columns) for place in places):
        return False
    for left, right in pairwise(shown.rows):
        pairs = [(left[place], right[place]) for place in places]
        different = [pair for pair in pairs if pair[0] != pair[1]]
        if different and all(isinstance(a, str) and isinstance(b, str) and _bare(a) == _bare(b) for a, b in different):
            return True
    return False


def _bare(text: str) -> str:
    """Return a text without case, accents and blanks at its end, which the collations of engines may leave out."""
    if text.isascii():
        return text.lower().rstrip(" ")
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).rstrip(" ")


def _probed(policy: Policy, facts: OrderFacts, gold: Relation, probe: Relation) -> GoldOrder | None:
    """Return the order by the probe's keys; None where the probe contradicts the gold."""
    rules = Rules.of(policy).exact()
    places = _places(facts.keys, len(gold.columns))
    rows, width = len(gold.rows), len(gold.columns)
    hidden = width + sum(key.column is None for key in facts.keys)
    ranked = len(probe.columns) == hidden + 1  # the engine's own rank by the keys stands last
    if len(probe.columns) != hidden + ranked:
        return None
    if len(probe.rows) < rows or (len(probe.rows) > rows and not facts.has_limit):
        return None
    keys = [_key(rules, row, places) for row in probe.rows]
    ranks = [row[-1] for row in probe.rows] if ranked else []
    cut = bool(rows) and len(keys) > rows and tied(_noise(policy), keys[rows - 1], keys[rows])
    cut = cut or (ranked and 0 < rows < len(ranks) and ranks[rows - 1] == ranks[rows])
    columns = tuple(key.column for key in facts.keys if key.column is not None)
    order = order_by_keys(keys[:rows], policy, columns=columns, cut=cut, hidden=len(columns) < len(places), ranks=ranks)
    if not _agrees(rules, order, gold, probe):
        return None
    return order if ranked or not cut else _with_members(policy, order, gold, probe, keys)


def _with_members(policy: Policy, order: GoldOrder, gold: Relation, probe: Relation, keys: list[Key]) -> GoldOrder:
    """Return the order with the members of its cut tie that the probe shows; a row past them shows that it ends.

    A probe longer than by one row was asked without the LIMIT, so it holds the whole tie.
    """
    rows, width = len(gold.rows), len(gold.columns)
    end = tie_end(policy, keys, rows)
    rules, start = Rules.of(policy).exact(), order.groups.index(order.groups[-1])
    members: list[Row] = [row[:width] for row in probe.rows[start:end]]
    again = Counter(_key(rules, row, range(width)) for row in members)
    for row in gold.rows[start:]:  # the engine may have chosen others when it ran the gold
        key = _key(rules, row, range(width))
        again[key] -= 1
        if again[key] < 0:
            members.append(row)
    return replace(order, members=tuple(members), all_members=end < len(keys) or len(keys) > rows + 1)


def tie_end(policy: Policy, keys: Sequence[Key], rows: int) -> int:
    """Return how many of a probe's rows come before the first that is not tied with the last of `rows`."""
    rules = _noise(policy)
    return next((at for at in range(rows, len(keys)) if not tied(rules, keys[at - 1], keys[at])), len(keys))


def cut_members(facts: OrderFacts, gold: Relation, probe: Relation, whole: Relation) -> Relation | None:
    """Return the probe as the query without its LIMIT shows it, up to the row behind the tie that the LIMIT cuts."""
    places = _places(facts.keys, len(gold.columns))
    if len(whole.columns) != len(probe.columns) or len(whole.rows) < len(probe.rows):
        return None
    policy = Policy()
    rules = Rules.of(policy).exact()
    keys = [_key(rules, row, places) for row in whole.rows]
    return Relation(whole.columns, whole.rows[: tie_end(policy, keys, len(gold.rows)) + 1])


def cuts_tie(facts: OrderFacts, gold: Relation, probe: Relation | None) -> bool:
    """Tell whether the LIMIT cuts a tie at its end alone, so that the query without it would show the tie's members."""
    if probe is None or not gold.rows or facts.offset or facts.whole_sql is None or len(probe.rows) <= len(gold.rows):
        return False
    policy = Policy()
    rules = Rules.of(policy).exact()
    places = _places(facts.keys, len(gold.columns))
    if any(place >= len(probe.columns) for place in places):
        return False
    last, after = (_key(rules, probe.rows[len(gold.rows) - step], places) for step in (1, 0))
    return tied(_noise(policy), last, after)


def _places(keys: Sequence[OrderKey], width: int) -> tuple[int, ...]:
    """Return the probe column of each key: selected ones where they are, hidden ones appended in order."""
    places: list[int] = []
    hidden = width
    for key in keys:
        places.append(hidden if key.column is None else key.column)
        hidden += key.column is None
    return tuple(places)


def _agrees(rules: Rules, order: GoldOrder, gold: Relation, probe: Relation) -> bool:
    """Tell whether the probe shows the gold's rows group by group; a cut last group may hold other members."""
    width = compared(gold, rules.policy)
    last = order.groups[-1] if order.groups and order.cut_tie else None
    ours = Counter(
        (group, _key(rules, row, width)) for group, row in zip(order.groups, gold.rows, strict=True) if group != last
    )
    again = Counter(
        (group, _key(rules, row, width)) for group, row in zip(order.groups, probe.rows, strict=False) if group != last
    )
    return ours == again
