"""A second comparator, written from docs/policies.md alone: plain, exponential, for at most five rows and four columns.

It shares no code with the one it checks. Every mapping of columns, every order of tie groups and every pairing of rows
is tried; two cells are compared by fractions, calendars and decoded JSON as the page says.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Json, Kind, Relation

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
CLOCK = re.compile(r"\d{1,3}:\d\d(:\d\d)?", re.ASCII)
UUIDS = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
MISSING = object()
FULL_SCALE: dict[str, Any] = {"scale_aware": False, "quotient_scale": None}


def judge(gold: Relation, pred: Relation, policy: Policy) -> str:
    """Return match, mismatch or undecided."""
    ours, theirs = shown(gold, policy), shown(pred, policy)
    required = ours if policy.required_columns is None else [i for i in ours if i in policy.required_columns]
    if gold.columns and (not ours or not required):
        return "undecided"
    if policy.extra_columns == "allow" and len(theirs) > len(ours) + policy.max_extra_columns:
        return "mismatch"
    if policy.truncated is not None:
        return cut(gold, pred, policy)
    if not gold.rows and not pred.rows and policy.empty == "any":
        return "match"
    every = list(alignments(gold, pred, policy))
    if not gold.rows and not pred.rows:
        return "match" if every else "mismatch"
    if not list(widths(gold, pred, policy)):
        return "mismatch"
    order = Order(gold, policy)
    if order.broken:
        return "undecided"
    return "match" if any(rows_agree(gold, pred, kept, faced, policy, order) for kept, faced in every) else "mismatch"


def cut(gold: Relation, pred: Relation, policy: Policy) -> str:
    """Judge results one of which was cut: never a match."""
    if not list(widths(gold, pred, policy)):
        return "mismatch"
    bags = policy.multiplicity == "bag"
    if bags and policy.truncated == "pred" and len(pred.rows) > len(gold.rows):
        return "mismatch"
    if bags and policy.truncated == "gold" and len(gold.rows) > len(pred.rows):
        return "mismatch"
    shown_rows = min(len(gold.rows), len(pred.rows))
    if bags and policy.row_order == "exact" and shown_rows:
        heads = [Relation(side.columns, side.rows[:shown_rows]) for side in (gold, pred)]
        if judge(*heads, policy.model_copy(update={"truncated": None})) == "mismatch":
            return "mismatch"
    return "undecided"


def shown(side: Relation, policy: Policy) -> list[int]:
    """Return the columns that no name leaves out."""
    hidden = [name.casefold() for name in policy.ignore_columns]
    return [i for i, column in enumerate(side.columns) if column.name.casefold() not in hidden]


def widths(gold: Relation, pred: Relation, policy: Policy) -> Iterator[tuple[int, ...]]:
    """Yield the sets of gold columns that a prediction of this width may answer."""
    ours, offered = shown(gold, policy), len(shown(pred, policy))
    required = ours if policy.required_columns is None else [i for i in ours if i in policy.required_columns]
    optional = [i for i in ours if i not in required]
    for size in range(len(optional) + 1):
        for more in combinations(optional, size):
            kept = tuple(sorted((*required, *more)))
            if len(kept) == offered or (policy.extra_columns == "allow" and len(kept) <= offered):
                yield kept


def alignments(gold: Relation, pred: Relation, policy: Policy) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield every way to set predicted columns beside the gold's."""
    offered = shown(pred, policy)
    names = [[column.name.casefold() for column in side.columns] for side in (gold, pred)]
    for kept in widths(gold, pred, policy):
        if policy.columns == "position":
            ways = [tuple(offered[: len(kept)])]
        elif policy.columns == "any":
            ways = list(permutations(offered, len(kept)))
        else:
            places = [nth(names[1], names[0][i], names[0][:i].count(names[0][i])) for i in kept]
            ways = [] if None in places else [tuple(places)]  # type: ignore[list-item]
        for faced in ways:
            if policy.names == "ignore" or all(names[0][i] == names[1][j] for i, j in zip(kept, faced, strict=True)):
                yield kept, faced


def nth(names: list[str], name: str, count: int) -> int | None:
    """Return where a name stands for the count-th time."""
    places = [i for i, one in enumerate(names) if one == name]
    return places[count] if count < len(places) else None


@dataclass
class Order:
    """Which gold rows are tied, and in which orders their groups may come; no groups where rows are a bag."""

    groups: list[int] | None
    sequences: list[list[int]]
    keys: list[int]
    broken: bool
    free: int | None

    def __init__(self, gold: Relation, policy: Policy) -> None:
        self.groups, self.sequences, self.keys, self.broken, self.free = None, [], [], False, None
        if policy.row_order in ("ignore", "auto"):
            return
        self.keys = [column for column, _ in policy.order_keys] if policy.row_order == "keys" else []
        if not self.keys:
            self.groups = list(range(len(gold.rows)))
            self.sequences = [self.groups]
            return
        values = [[row[column] for column in self.keys] for row in gold.rows]
        self.groups = []
        for place, value in enumerate(values):
            same_group = bool(place) and tied(values[place - 1], value, policy)
            self.groups.append(self.groups[-1] if same_group else (self.groups[-1] + 1 if place else 0))
        firsts = [values[self.groups.index(group)] for group in sorted(set(self.groups))]
        if policy.nulls_order in ("first", "last"):
            self.broken = not nulls_stand(firsts, 0, policy)
        every = list(range(len(firsts)))
        self.sequences = [every]
        if policy.nulls_order == "any":
            levels = [level for level in range(len(self.keys)) if any(one[level] is None for one in firsts)]
            flips = product((False, True), repeat=len(levels))
            self.sequences = [turned(every, firsts, 0, dict(zip(levels, flip, strict=True)), policy) for flip in flips]
        if policy.cut_ties == "any" and self.groups:
            self.free = self.groups[-1]


def tied(first: list[Any], second: list[Any], policy: Policy) -> bool:
    """Tell whether two neighbours are tied: equal keys, or keys parted by a number that the policy calls equal."""
    strict = policy.model_copy(update={"rel_tol": 0.0, "abs_tol": 0.0, **FULL_SCALE, "float32_rel_tol": 0.0})
    for left, right in zip(first, second, strict=True):
        if not identical(left, right, strict):
            plain = policy.model_copy(update=FULL_SCALE)
            return is_number(left, policy) and is_number(right, policy) and numbers(left, right, plain, policy.rel_tol)
    return True


def identical(left: Any, right: Any, policy: Policy) -> bool:
    """Tell whether two keys are the same value of the same sort."""
    if is_number(left, policy) and is_number(right, policy):
        return bool(left == right) or (left != left and right != right)
    if is_number(left, policy) or is_number(right, policy) or (left is None) != (right is None):
        return False
    return type(left) is type(right) and same(left, right, policy, 0.0, bits=False)


def nulls_stand(keys: list[list[Any]], level: int, policy: Policy) -> bool:
    """Tell whether NULLs stand first or last at every level."""
    if not keys or level == len(keys[0]):
        return True
    runs = runs_of(list(range(len(keys))), keys, level, policy)
    allowed = 0 if policy.nulls_order == "first" else len(runs) - 1
    nulls = [place for place, run in enumerate(runs) if keys[run[0]][level] is None]
    return all(place == allowed for place in nulls) and all(
        nulls_stand([keys[i] for i in run], level + 1, policy) for run in runs
    )


def runs_of(places: list[int], keys: list[list[Any]], level: int, policy: Policy) -> list[list[int]]:
    """Part neighbours by one key."""
    strict = policy.model_copy(update={"rel_tol": 0.0, "abs_tol": 0.0, **FULL_SCALE, "float32_rel_tol": 0.0})
    runs: list[list[int]] = []
    for place in places:
        if runs and identical(keys[runs[-1][-1]][level], keys[place][level], strict):
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def turned(places: list[int], keys: list[list[Any]], level: int, flips: dict[int, bool], policy: Policy) -> list[int]:
    """Return the groups with the NULLs of each flipped level at the other end."""
    if level > max(flips, default=-1):
        return places
    runs = [turned(run, keys, level + 1, flips, policy) for run in runs_of(places, keys, level, policy)]
    if flips.get(level):
        if keys[runs[0][0]][level] is None:
            runs = [*runs[1:], runs[0]]
        elif keys[runs[-1][0]][level] is None:
            runs = [runs[-1], *runs[:-1]]
    return [place for run in runs for place in run]


def rows_agree(
    gold: Relation, pred: Relation, kept: tuple[int, ...], faced: tuple[int, ...], policy: Policy, order: Order
) -> bool:
    """Tell whether some pairing of rows makes them equal with these columns beside each other."""
    pairs = list(zip(kept, faced, strict=True))
    cells = [[[cell_pair(gold, pred, i, j, a, b, policy) for i, j in pairs] for b in pred.rows] for a in gold.rows]
    equal = [[all(line) for line in lines] for lines in cells]
    if policy.multiplicity == "set":
        return all(map(any, equal)) and all(any(line[k] for line in equal) for k in range(len(pred.rows)))
    if len(gold.rows) != len(pred.rows):
        return False
    every = range(len(gold.rows))
    if order.groups is None:
        return any(all(equal[i][k] for i, k in enumerate(pairing)) for pairing in permutations(every))
    held = [place for place, (i, _) in enumerate(pairs) if i in order.keys]
    for sequence in order.sequences:
        blocks = [group for group in sequence for _ in range(order.groups.count(group))]
        for pairing in permutations(every):
            if any(order.groups[i] != blocks[k] for i, k in enumerate(pairing)):
                continue
            if all(
                all(cells[i][k][place] for place in held) if order.groups[i] == order.free else equal[i][k]
                for i, k in enumerate(pairing)
            ):
                return True
    return False


def cell_pair(gold: Relation, pred: Relation, i: int, j: int, a: Any, b: Any, policy: Policy) -> bool:
    """Compare two cells with what the kinds of their columns add to the policy."""
    kinds = {gold.columns[i].kind, pred.columns[j].kind}
    if Kind.CHAR in kinds and policy.text_trim == "none":
        policy = policy.model_copy(update={"text_trim": "right"})
    relative = max(policy.rel_tol, policy.float32_rel_tol) if Kind.FLOAT32 in kinds else policy.rel_tol
    return same(a[i], b[j], policy, relative, bits=policy.bits_as_int and Kind.BITS in kinds)


def is_number(cell: Any, policy: Policy) -> bool:
    """Tell whether a cell is a number; a boolean is one where the policy says so."""
    if isinstance(cell, bool):
        return policy.bool_as_int
    return isinstance(cell, int | float | Decimal)


def fraction(value: Any) -> Fraction:
    """Return a finite number as it is spelled."""
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def places(value: Decimal) -> int:
    """Return the decimals a Decimal is written with."""
    return -int(value.as_tuple().exponent)


def amount(value: Any) -> bool:
    """Tell whether a number has at most four decimals; a float must be below 1e10."""
    if isinstance(value, float) and abs(value) >= 1e10:
        return False
    return places(value) <= 4 if isinstance(value, Decimal) else (fraction(value) * 10_000).denominator == 1


def numbers(left: Any, right: Any, policy: Policy, relative: float) -> bool:
    """Compare two numbers by the table of the page."""
    for test in (math.isnan, math.isinf):
        if test(left) or test(right):
            return test(left) and test(right) and (test is math.isnan or (left > 0) == (right > 0))
    first, second = fraction(left), fraction(right)
    whole = first.denominator == second.denominator == 1
    if whole and not (isinstance(left, float) and isinstance(right, float)):
        return (int(left) if isinstance(left, float) else first) == (int(right) if isinstance(right, float) else second)
    gap = abs(first - second)
    least = 1 if policy.scale_aware else policy.quotient_scale
    if isinstance(least, int):
        scales = [places(value) for value in (left, right) if isinstance(value, Decimal)]
        others = [value for value in (left, right) if not isinstance(value, Decimal | float)]
        if scales and not others and min(scales) >= least and gap <= Fraction(1, 2 * 10 ** min(scales)):
            return True
    if relative <= 1e-9 and policy.abs_tol <= 1e-12:
        one_scale = isinstance(left, Decimal) and isinstance(right, Decimal) and places(left) == places(right)
        if one_scale or (amount(left) and amount(right)):
            return gap == 0
        size = max(abs(first), abs(second))
        noise = min(fraction(relative) * size, max(Fraction(1, 10**5), size / 10**11))
        return gap <= max(fraction(policy.abs_tol), noise)
    return gap <= max(fraction(policy.abs_tol), fraction(relative) * max(abs(first), abs(second)))


def spelled(text: str, policy: Policy) -> str:
    """Return a text as the policy compares it."""
    norm = unicodedata.normalize("NFC", text) if policy.text_norm == "NFC" else text
    if policy.text_case == "fold":
        norm = norm.casefold()
        norm = unicodedata.normalize("NFC", norm) if policy.text_norm == "NFC" else norm
    sides = {"none": lambda t: t, "right": lambda t: t.rstrip(" "), "both": lambda t: t.strip(" ")}
    return sides[policy.text_trim](norm)


def same(left: Any, right: Any, policy: Policy, relative: float, *, bits: bool) -> bool:
    """Tell whether two cells are equal."""
    if left is None or right is None:
        return left is None and right is None
    if isinstance(left, str) and isinstance(right, str):
        return spelled(left, policy) == spelled(right, policy)
    if isinstance(right, str):
        left, right = right, left
    if isinstance(left, str) and isinstance(right, Json) and policy.json_string_as_text:
        held = decoded(right.text)
        if isinstance(held, str) and spelled(held, policy) == spelled(left, policy):
            return True
    if isinstance(left, str):
        return any(same(read, right, policy, relative, bits=False) for read in readings(left, right, policy, bits=bits))
    if is_number(left, policy) and is_number(right, policy):
        return numbers(left, right, policy, relative)
    if isinstance(left, Json) or isinstance(right, Json):
        return documents(left, right, policy, relative, bits=bits)
    if isinstance(left, tuple) and isinstance(right, tuple):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, policy, relative, bits=bits) for a, b in pairs)
    if is_moment(left) and is_moment(right):
        return moments(left, right, policy)
    if isinstance(left, time | timedelta) and isinstance(right, time | timedelta):
        return clipped(length(left), policy) == clipped(length(right), policy)
    return type(left) is type(right) and bool(left == right)


def readings(text: str, other: Any, policy: Policy, *, bits: bool) -> Iterator[Any]:
    """Yield what a text beside a typed cell may be read as."""
    shown_text = spelled(text, policy)
    if is_number(other, policy):
        if bits and re.fullmatch("[01]+", shown_text):
            yield int(shown_text, 2)
        elif policy.text_numbers and NUMBER.fullmatch(shown_text):
            yield Decimal(shown_text)
    elif is_moment(other) and policy.temporal_text and MOMENT.fullmatch(shown_text):
        found = moment_of(shown_text)
        if found is not None:
            yield found
    elif isinstance(other, time | timedelta) and policy.temporal_text and CLOCK.fullmatch(shown_text):
        hours, minutes, seconds = (*map(int, shown_text.split(":")), 0)[:3]
        yield timedelta(hours=hours, minutes=minutes, seconds=seconds)
    elif isinstance(other, UUID) and policy.uuid_text and UUIDS.fullmatch(shown_text):
        yield UUID(shown_text)
    elif isinstance(other, Json | tuple) and policy.json_text and decoded(shown_text) is not MISSING:
        yield Json(shown_text)


def moment_of(text: str) -> date | datetime | None:
    """Return the date or timestamp a text spells."""
    try:
        return date.fromisoformat(text) if len(text) == 10 else datetime.fromisoformat(text)
    except ValueError:
        return None


def is_moment(cell: Any) -> bool:
    """Tell whether a cell is a date or a timestamp."""
    return isinstance(cell, date | datetime)


def moments(left: Any, right: Any, policy: Policy) -> bool:
    """Compare dates, timestamps and instants."""
    stamps = [isinstance(each, datetime) for each in (left, right)]
    if not any(stamps):
        return bool(left == right)
    if not all(stamps):
        day, stamp = (right, left) if stamps[0] else (left, right)
        if stamp.tzinfo is not None or not policy.date_midnight:
            return False
        return clipped(stamp, policy) == datetime(day.year, day.month, day.day)
    aware = [each.tzinfo is not None for each in (left, right)]
    if aware[0] != aware[1]:
        if policy.naive_tz is None:
            return False
        zone = UTC if policy.naive_tz == "UTC" else ZoneInfo(policy.naive_tz)
        left, right = (each if each.tzinfo else clipped(each, policy).replace(tzinfo=zone) for each in (left, right))
    if left.tzinfo is not None:
        left, right = left.astimezone(UTC), right.astimezone(UTC)
    return bool(clipped(left, policy) == clipped(right, policy))


def clipped(value: Any, policy: Policy) -> Any:
    """Drop what lies below the policy's precision."""
    unit = {"us": 1, "ms": 1_000, "s": 1_000_000}[policy.temporal_precision]
    if isinstance(value, datetime):
        return value.replace(microsecond=value.microsecond // unit * unit)
    micros = value // timedelta(microseconds=1)
    return timedelta(microseconds=int(math.copysign(abs(micros) // unit * unit, micros)))


def length(value: time | timedelta) -> timedelta:
    """Return a time of day as the time since midnight."""
    if isinstance(value, timedelta):
        return value
    return timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)


def decoded(text: str) -> Any:
    """Return a JSON text's value with every digit of its numbers, MISSING where it is none."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    def fractional(digits: str) -> Any:
        held = float(digits)
        exact = Decimal(digits)
        return held if math.isfinite(held) and Decimal(repr(held)) == exact and exact % 1 else exact

    try:
        return json.loads(text, parse_float=fractional, parse_int=Decimal, parse_constant=refuse)
    except ValueError:
        return MISSING


def documents(left: Any, right: Any, policy: Policy, relative: float, *, bits: bool) -> bool:
    """Compare a JSON value with another, or with the cell it may spell."""
    if not isinstance(left, Json):
        left, right = right, left
    ours = decoded(left.text)
    if isinstance(right, Json):
        theirs = decoded(right.text)
        if ours is MISSING or theirs is MISSING:
            return ours is theirs and left.text == right.text
        return inside(ours, theirs, policy, relative)
    return ours is not MISSING and ours is not None and spells(ours, right, policy, relative, bits=bits)


def inside(left: Any, right: Any, policy: Policy, relative: float) -> bool:
    """Compare two decoded values: true is not 1, numbers compare as numbers anywhere."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, float | Decimal) and isinstance(right, float | Decimal):
        return numbers(left, right, policy, relative)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(inside(a, b, policy, relative) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        ours, theirs = ({spelled(k, policy): v for k, v in each.items()} for each in (left, right))
        return ours.keys() == theirs.keys() and all(inside(v, theirs[k], policy, relative) for k, v in ours.items())
    return isinstance(left, str) and isinstance(right, str) and spelled(left, policy) == spelled(right, policy)


def spells(value: Any, cell: Any, policy: Policy, relative: float, *, bits: bool) -> bool:
    """Tell whether a decoded JSON value is what a cell, or an item of an array, is written as."""
    if isinstance(cell, tuple):
        pairs = zip(value, cell, strict=False) if isinstance(value, list) else ()
        return (
            isinstance(value, list)
            and len(value) == len(cell)
            and all(spells(v, c, policy, relative, bits=bits) for v, c in pairs)
        )
    if value is None or cell is None:
        return value is None and cell is None
    if isinstance(cell, Json):
        theirs = decoded(cell.text)
        return theirs is not MISSING and inside(value, theirs, policy, 0.0) and value == theirs
    if isinstance(value, bool):
        return (type(cell) in (bool, int) and int(cell) == int(value)) if policy.bool_as_int else cell is value
    if isinstance(value, float | Decimal):
        return is_number(cell, policy) and numbers(value, cell, policy, relative)
    if not isinstance(value, str):
        return False
    if isinstance(cell, str):
        return spelled(value, policy) == spelled(cell, policy)
    return same(value, cell, policy, relative, bits=bits)
