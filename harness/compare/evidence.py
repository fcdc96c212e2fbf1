"""A judgement made into evidence a person can act on: counts, first difference, mapping, what would have matched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from typing import cast
from uuid import UUID

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import FarTemporal, Interval, Json, Relation
from sqlassay.harness.compare.cells import brief
from sqlassay.harness.compare.columns import KNOWN_OF_NONE, Constants, compared, ignored_notes
from sqlassay.harness.compare.joint import Joint, Table
from sqlassay.harness.compare.judge import Judgement, Mapping, judge, row_judge
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError
from sqlassay.harness.compare.order import GoldOrder
from sqlassay.harness.compare.partial import column_edges
from sqlassay.harness.compare.rows import RowJudge, RowVerdict
from sqlassay.harness.results.verdicts import Comparison, Difference

_LOOSER_CELLS = 60_000
_CELLS_COMPARED = 600_000
_NAMED = 3
_SHOWN = 60
Together = Sequence[tuple[int, int]]
"""Places of gold and predicted rows that stand beside each other."""

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_STEPS = 100_000
_LOOSER_STEPS = 20_000
NOT_ALIGNED = "which rows and columns differ is not shown: pairing the rows took more steps than the evidence may"

_REASONS = {
    "exact": "the rows are equal",
    "rows": "rows differ",
    "set": "the sets of rows differ",
    "multiplicity": "the same rows occur in other numbers",
    "row_count": "the numbers of rows differ",
    "row_order": "the rows are the same but stand in another order",
    "tolerance": "no one-to-one pairing of rows lies within the tolerance",
    "joint_columns": "rows differ in whatever order the columns are taken",
    "names": "the column names do not agree",
    "empty": "both results are empty",
    "truncated": "a cut result proves nothing",
    "budget": "too many ways to pair rows or columns to decide within the step budget",
    "cut_tie": "the LIMIT cuts a tie, and hidden keys cannot be checked on the prediction",
    "required_columns": "the policy requires no column that is compared, so any result would do",
    "ignore_columns": "every column of the gold is ignored by name, so nothing is left to compare",
    "gold_nulls_order": "the gold itself does not place NULLs where nulls_order says",
    "gold_nondeterministic": "the gold gave other rows when run again, so its order proves nothing",
}
_MATCHES = {
    "rows": "the rows are equal",
    "set": "the sets of rows are equal",
    "tolerance": "the rows pair one to one within the tolerance",
    "cut_tie": "the rows are equal but for members of the tie the LIMIT cuts",
}

_LOOSER: tuple[tuple[str, Callable[[Policy], dict[str, object]]], ...] = (
    ("order ignored", lambda _: {"row_order": "ignore"}),
    ("multiplicity set", lambda _: {"multiplicity": "set"}),
    ("columns in any order", lambda _: {"columns": "any"}),
    ("extra columns allowed", lambda _: {"extra_columns": "allow"}),
    ("extra columns allowed in any order", lambda _: {"extra_columns": "allow", "columns": "any"}),
    ("names ignored", lambda _: {"names": "ignore", "columns": "position"}),
    ("text case folded", lambda _: {"text_case": "fold"}),
    ("text trimmed", lambda _: {"text_trim": "both"}),
    ("numbers as text", lambda _: {"text_numbers": True}),
    ("JSON texts without their quotes", lambda _: {"json_string_as_text": True}),
    ("booleans as integers", lambda _: {"bool_as_int": True}),
    ("decimal scale ignored", lambda _: {"scale_aware": True}),
    ("dates as text", lambda _: {"temporal_text": True, "date_midnight": True}),
    ("seconds only", lambda _: {"temporal_precision": "s"}),
    ("naive times as UTC", lambda policy: {"naive_tz": policy.naive_tz or "UTC"}),
    ("relative tolerance 1e-6", lambda policy: {"rel_tol": max(1e-6, policy.rel_tol)}),
    ("tolerance 0.01", lambda policy: {"rel_tol": max(1e-4, policy.rel_tol), "abs_tol": max(0.01, policy.abs_tol)}),
    (
        "order ignored, columns in any order, extra allowed",
        lambda _: {"row_order": "ignore", "columns": "any", "extra_columns": "allow"},
    ),
)


def explained(
    gold: Relation,
    pred: Relation,
    policy: Policy,
    order: GoldOrder | None,
    found: Judgement,
    constants: Constants = KNOWN_OF_NONE,
) -> Comparison:
    """Return the comparison a judgement stands for, with the evidence for a mismatch."""
    comparison = Comparison(
        found.verdict,
        found.rule,
        _reason(gold, pred, policy, found, constants),
        policy.digest,
        columns=_faced(found.kept, found.mapping, len(gold.columns)),
        flags=(*found.flags, *ignored_notes(gold, pred, policy)),
    )
    if found.verdict == "match":
        return comparison
    looser = looser_policy(gold, pred, policy, order, constants) if found.verdict == "mismatch" else None
    with_rows = _with_rows(gold, pred, policy, found, comparison) if found.verdict == "mismatch" else comparison
    return replace(with_rows, looser=looser)


def _reason(gold: Relation, pred: Relation, policy: Policy, found: Judgement, constants: Constants) -> str:
    """Say in one line why the verdict is what it is."""
    if found.rule == "columns":
        ours, theirs = len(compared(gold, policy)), len(compared(pred, policy))
        said = f"the gold has {ours} columns, the prediction {theirs}" + " to compare" * bool(policy.ignore_columns)
        return said + _columns_missing(gold, pred, policy)
    if found.rule == "extra_columns":
        ours, theirs, most = len(compared(gold, policy)), len(compared(pred, policy)), policy.max_extra_columns
        return f"the gold has {ours} columns, the prediction {theirs}: more than {most} beside them (max_extra_columns)"
    if found.rule == "constants":
        named = ", ".join(repr(pred.columns[place].name) for place in sorted(constants.pred)[:_NAMED])
        more = f" and {len(constants.pred) - _NAMED} more" if len(constants.pred) > _NAMED else ""
        return f"{named}{more} of the prediction reads no table, so it stands for no column that the gold computes"
    if found.rule == "row_count":
        return f"the gold has {len(gold.rows)} rows, the prediction {len(pred.rows)}"
    if found.verdict == "match" and found.rule in _MATCHES:
        return _MATCHES[found.rule]
    return _REASONS.get(found.rule, found.rule)


def _columns_missing(gold: Relation, pred: Relation, policy: Policy) -> str:
    """Name the gold columns of which the prediction has none by name or values, or those of it that the gold lacks."""
    kept, offered = compared(gold, policy), compared(pred, policy)
    if len(kept) < len(offered):
        known = {gold.columns[place].name.casefold() for place in kept}
        more = [repr(pred.columns[place].name) for place in offered if pred.columns[place].name.casefold() not in known]
        dots = ", …" if len(more) > _NAMED else ""
        return f"; the gold has no {', '.join(more[:_NAMED])}{dots}" if more else ""
    if len(kept) == len(offered) or len(gold.rows) * len(kept) > _CELLS_COMPARED:
        return ""
    names = {pred.columns[place].name.casefold() for place in offered}
    held = column_edges(gold, pred, kept, policy) if gold.rows else [[] for _ in kept]
    absent = [
        repr(gold.columns[place].name)
        for place, faced in zip(kept, held, strict=True)
        if not faced and gold.columns[place].name.casefold() not in names
    ]
    return f"; it has none like {', '.join(absent)}" if absent else ""


def _faced(kept: tuple[int, ...], mapping: Mapping | None, width: int) -> tuple[int | None, ...]:
    """Return the predicted column each gold column faces; empty where no mapping was made."""
    if mapping is None:
        return ()
    faces = dict(zip(kept, mapping, strict=True))
    return tuple(faces.get(column) for column in range(width))


def _with_rows(gold: Relation, pred: Relation, policy: Policy, found: Judgement, comparison: Comparison) -> Comparison:
    """Attach missing and extra rows and the first difference, under the mapping used or the likeliest one."""
    if not (gold.rows or pred.rows) or (found.mapping is None and found.rule not in ("joint_columns", "row_count")):
        return comparison
    kept, mapping = found.kept or compared(gold, policy), found.mapping
    if mapping is None:
        mapping = _likeliest(gold, pred, kept, policy, found.joint)
    if mapping is None:
        return comparison
    sides = found.joint.sides if found.joint is not None else (Table(gold), Table(pred))
    pairs = found.pairs or row_judge(*sides, kept, mapping, policy, Budget(_STEPS), found.joint)
    try:
        rows = found.rows or pairs.judge(None)
    except OutOfBudgetError:
        return replace(comparison, reason=f"{comparison.reason}; {NOT_ALIGNED}")
    in_order = rows.rule == "row_order"
    agree, together = ((), ()) if in_order else _together(pairs, rows, len(kept))
    first = _first(gold, pred, pairs, rows, kept, together)
    summed = _columns_said(gold, pred, pairs, rows, kept, mapping, agree, together) if together else ""
    reason = comparison.reason + _cells_said(first, gold, mapping, kept) + summed
    return replace(
        comparison,
        missing=0 if in_order else len(rows.missing),
        extra=0 if in_order else len(rows.extra),
        first=first,
        columns=_faced(kept, mapping, len(gold.columns)),
        reason=reason,
    )


def _likeliest(
    gold: Relation, pred: Relation, kept: tuple[int, ...], policy: Policy, joint: Joint | None
) -> Mapping | None:
    """Return a mapping by equal value bags, then by equal names, then in order; None where columns are too few."""
    edges = column_edges(gold, pred, kept, policy, joint)
    taken: dict[int, int] = {}
    for place, choices in enumerate(edges):
        free = next((choice for choice in choices if choice not in taken.values()), None)
        if free is not None:
            taken[place] = free
    left = [column for column in compared(pred, policy) if column not in taken.values()]
    for place, column in enumerate(kept):
        name = gold.columns[column].name.casefold()
        named = next((other for other in left if pred.columns[other].name.casefold() == name), None)
        if place not in taken and named is not None:
            taken[place] = named
            left.remove(named)
    spare = iter(left)
    chosen = [taken[place] if place in taken else next(spare, None) for place in range(len(kept))]
    found = tuple(column for column in chosen if column is not None)
    return found if len(found) == len(kept) else None


def _first(
    gold: Relation, pred: Relation, pairs: RowJudge, rows: RowVerdict, kept: tuple[int, ...], together: Together
) -> Difference | None:
    """Return the first row left over beside the one it is aligned with, else the one of the other side most like it."""
    if together:
        index, other = together[0]
        return Difference(index, gold.rows[index], pred.rows[other], _differing(pairs, index, other, kept))
    if rows.rule == "row_order" and rows.extra:
        index = rows.extra[0]
        ours = gold.rows[index] if index < len(gold.rows) else None
        return Difference(index, ours, pred.rows[index], _differing(pairs, index, index, kept) if ours else ())
    if not rows.missing:
        return Difference(rows.extra[0], None, pred.rows[rows.extra[0]]) if rows.extra else None
    index = rows.missing[0]
    key = pairs.gold[index]
    near = max(
        rows.extra[: _CELLS_COMPARED // max(1, len(kept))],
        key=lambda other: sum(a == b for a, b in zip(key, pairs.pred[other], strict=True)),
        default=None,
    )
    if near is None:
        return Difference(index, gold.rows[index], None)
    return Difference(index, gold.rows[index], pred.rows[near], _differing(pairs, index, near, kept))


def _differing(pairs: RowJudge, ours: int, theirs: int, kept: tuple[int, ...]) -> tuple[int, ...]:
    """Return the gold columns in which two rows differ as cells, where their keys alone do not tell too."""
    return tuple(column for place, column in enumerate(kept) if not pairs.same(ours, theirs, (place,)))


def _together(pairs: RowJudge, rows: RowVerdict, width: int) -> tuple[Sequence[int], Together]:
    """Return the columns by which rows left over are set beside each other and the pairs; none where that is unclear.

    They are the columns that agree as a whole, else the one column that most rows share, if that is half of them.
    """
    missing, extra = rows.missing, rows.extra
    if min(len(missing), len(extra)) < 2 or max(len(missing), len(extra)) * width > _CELLS_COMPARED:
        return (), ()
    agree, together = _agreeing(pairs, missing, extra, width)
    if not together:
        place, together = beside(pairs, missing, extra, width)
        agree = [place]
    return (agree, together) if 2 * len(together) >= max(4, min(len(missing), len(extra))) else ((), ())


def _columns_said(
    gold: Relation,
    pred: Relation,
    pairs: RowJudge,
    rows: RowVerdict,
    kept: tuple[int, ...],
    mapping: Mapping,
    agree: Sequence[int],
    together: Together,
) -> str:
    """Say in which columns the rows that stand beside each other differ, and how many stand alone."""
    counts: list[str] = []
    for place in range(len(kept)):
        if place in agree:
            continue
        cells = [
            (gold.rows[i][kept[place]], pred.rows[k][mapping[place]])
            for i, k in together
            if not pairs.same(i, k, (place,))
        ]
        if cells:
            name = gold.columns[kept[place]].name
            counts.append(f"{name!r} in {len(cells)} of {len(together)}{_pattern(cells)}")
    alone = zip(
        left_over(rows.missing, rows.extra, together),
        ("missing from the prediction", "in the prediction alone"),
        strict=True,
    )
    more = "".join(f"; {len(places)} more {side}" for places, side in alone if places)
    by = ", ".join(repr(gold.columns[kept[place]].name) for place in agree[:_NAMED])
    return f"; aligned by {by}, the rows left over differ in {', '.join(counts)}{more}" if counts else ""


def _agreeing(
    pairs: RowJudge, missing: Sequence[int], extra: Sequence[int], width: int
) -> tuple[list[int], list[tuple[int, int]]]:
    """Return the columns that hold the same values on both sides and the pairs of rows they make; none if unclear."""
    agree = [
        place
        for place in range(width)
        if Counter(pairs.gold[i][place] for i in missing) == Counter(pairs.pred[k][place] for k in extra)
    ]
    ours = {tuple(pairs.gold[i][place] for place in agree): i for i in missing}
    theirs = {tuple(pairs.pred[k][place] for place in agree): k for k in extra}
    if not agree or len(agree) == width or len(ours) != len(missing) or ours.keys() != theirs.keys():
        return [], []
    return agree, [(i, theirs[key]) for key, i in ours.items()]


def beside(
    pairs: RowJudge, missing: Sequence[int], extra: Sequence[int], width: int
) -> tuple[int, list[tuple[int, int]]]:
    """Return the column that most rows left over share, each value of it standing once, and the pairs it makes."""
    best: tuple[int, list[tuple[int, int]]] = (0, [])
    for place in range(width):
        ours, theirs = _once(pairs.gold, missing, place), _once(pairs.pred, extra, place)
        found = [(i, theirs[key]) for key, i in ours.items() if key in theirs]
        best = (place, sorted(found)) if len(found) > len(best[1]) else best
    return best


def _once(rows: Sequence[tuple[Hashable, ...]], places: Sequence[int], column: int) -> dict[Hashable, int]:
    """Return the rows by their value in a column, without values that stand more than once."""
    found: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for place in places:
        key = rows[place][column]
        (twice.add(key) if key in found else found.setdefault(key, place))
    return {key: place for key, place in found.items() if key not in twice}


def left_over(missing: Sequence[int], extra: Sequence[int], together: Together) -> tuple[list[int], list[int]]:
    """Return the rows of each side that stand beside none of the other."""
    taken = {i for i, _ in together}, {k for _, k in together}
    return [i for i in missing if i not in taken[0]], [k for k in extra if k not in taken[1]]


def _pattern(cells: Sequence[tuple[object, object]]) -> str:
    """Say by what numbers differ: one factor or one distance for all, else the largest distance."""
    if not all(_is_number(a) and _is_number(b) for a, b in cells):
        return ""
    pairs = [(float(cast(float, a)), float(cast(float, b))) for a, b in cells]
    factors = [b / a for a, b in pairs if a]
    if len(factors) == len(pairs) and max(factors) - min(factors) <= 1e-9 * abs(factors[0]):
        return f" (×{factors[0]:.6g})"
    gaps = [b - a for a, b in pairs]
    if max(gaps) - min(gaps) <= 1e-9 * abs(gaps[0]):
        return f" ({gaps[0]:+.6g})"
    return f" (by up to {max(map(abs, gaps)):.6g})"


def _is_number(cell: object) -> bool:
    """Tell whether a cell is a finite number of a size that a float holds."""
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return False
    try:
        return math.isfinite(float(cell))
    except (OverflowError, ValueError):
        return False


def _cells_said(first: Difference | None, gold: Relation, mapping: Mapping, kept: tuple[int, ...]) -> str:
    """Say the first differing cell in words."""
    if first is None:
        return ""
    if first.gold is None or first.predicted is None:
        side, row = ("extra", first.predicted) if first.gold is None else ("missing", first.gold)
        return f"; first {side} row {first.index}: ({', '.join(map(literal, row or ()))})"
    if not first.cells:
        return ""
    column = first.cells[0]
    ours, theirs = first.gold[column], first.predicted[mapping[kept.index(column)]]
    at = _from(ours, theirs)
    said = f"{literal(ours, at)} is not {literal(theirs, at)}"
    return f"; row {first.index}, column {gold.columns[column].name!r}: {said}"


def literal(cell: object, start: int = 0) -> str:
    r"""Return a value as SQL writes it, a text or bytes from `start` on; `…` outside the quotes says that it is cut.

    A text with characters that cannot be seen is written with escapes, as E'a\u00a0b'.
    """
    if cell is None:
        return "NULL"
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return _framed(_quoted(cell[start : start + _SHOWN]), cell, start)
    if isinstance(cell, bytes):
        return _framed(f"X'{cell[start : start + _SHOWN // 2].hex()}'", cell, start, _SHOWN // 2)
    if isinstance(cell, Json | FarTemporal):
        return _framed(_quoted(cell.text[start : start + _SHOWN]), cell.text, start)
    if isinstance(cell, Decimal | date | time | UUID | timedelta):
        return str(cell)
    if isinstance(cell, Interval):
        return f"INTERVAL '{cell.months} months {cell.days} days {Decimal(cell.microseconds).scaleb(-6)} seconds'"
    if isinstance(cell, tuple | list):
        items = ", ".join(map(literal, cell[:_SHOWN]))
        whole = len(cell) <= _SHOWN and len(items) <= _SHOWN
        return f"ARRAY[{items if whole else items[:_SHOWN] + '…'}]"
    return brief(cell, limit=_SHOWN)


def _quoted(text: str) -> str:
    """Return a text in single quotes, what cannot be seen as an escape."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    seen = "".join(one if one.isprintable() else _ESCAPES.get(one) or _escaped(ord(one)) for one in _doubled(text))
    return f"E'{seen}'"


def _doubled(text: str) -> str:
    """Return a text with quotes and backslashes twice, as between the quotes of E'…'."""
    return text.replace("\\", "\\\\").replace("'", "''")


def _escaped(point: int) -> str:
    """Return a code point as four or eight hexadecimal digits behind a backslash."""
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def _framed(shown: str, whole: Sequence[object], start: int, most: int = _SHOWN) -> str:
    """Return what is shown of a text or bytes with a sign at each end where more of it stands."""
    return f"{'…' if start else ''}{shown}{'…' if start + most < len(whole) else ''}"


def _from(ours: object, theirs: object) -> int:
    """Return where two long texts, documents or bytes are shown from, so that their first difference is seen."""
    left, right = _written(ours), _written(theirs)
    if left is None or type(left) is not type(right):
        return 0
    same = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return max(0, same - _SHOWN // 4) if same > _SHOWN // 2 - _SHOWN // 4 * isinstance(left, bytes) else 0


def _written(cell: object) -> str | bytes | None:
    """Return the characters or bytes of a value that can be long; None of any other."""
    if isinstance(cell, Json | FarTemporal):
        return cell.text
    return cell if isinstance(cell, str | bytes) else None


def looser_policy(
    gold: Relation, pred: Relation, policy: Policy, order: GoldOrder | None, constants: Constants
) -> str | None:
    """Name the first looser policy under which two small relations would match; None where none does."""
    if len(gold.rows) * len(gold.columns) + len(pred.rows) * len(pred.columns) > _LOOSER_CELLS or policy.truncated:
        return None
    for name, change in _LOOSER:
        trial = policy.model_copy(update=change(policy))
        if trial == policy or (trial.multiplicity == "set" and len(gold.columns) != len(pred.columns)):
            continue
        if (
            judge(
                gold,
                pred,
                trial,
                None if trial.row_order == "ignore" else order,
                constants=constants,
                steps=_LOOSER_STEPS,
            ).verdict
            == "match"
        ):
            return name
    return None
