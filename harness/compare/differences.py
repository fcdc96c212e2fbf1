"""Every cell in which a prediction differs from its gold, rows set beside each other as well as their values allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation, Row
from sqlassay.harness.compare.columns import compared
from sqlassay.harness.compare.evidence import NOT_ALIGNED, beside, left_over
from sqlassay.harness.compare.joint import Table
from sqlassay.harness.compare.judge import effective_order, row_judge
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError
from sqlassay.harness.compare.order import GoldOrder
from sqlassay.harness.compare.rows import RowJudge
from sqlassay.harness.results.verdicts import CellDifference, Comparison

_STEPS = 400_000
_STEPS_PER_ROW = 20


def differences(
    gold: Relation, pred: Relation, policy: Policy, order: GoldOrder | None, found: Comparison
) -> Iterator[CellDifference]:
    """Yield each differing cell under the columns that a comparison set beside each other; none for a match.

    Columns that only one side has come first, by name. A row that only one side has is told cell by cell. Where the
    rows agree but for their order, each place at which another row stands is told. Where pairing the rows takes too
    many steps, one line says that.
    """
    if found.verdict == "match":
        return
    kept, mapping = _faced(gold, pred, policy, found)
    yield from _faceless(gold, pred, policy, found, (kept, mapping))
    budget = Budget(_STEPS + _STEPS_PER_ROW * (len(gold.rows) + len(pred.rows)))
    pairs = row_judge(Table(gold), Table(pred), kept, mapping, policy, budget, None)
    ours, theirs = [column.name for column in gold.columns], [column.name for column in pred.columns]
    try:
        rows = pairs.judge(effective_order(gold, policy, order))
    except OutOfBudgetError:
        yield CellDifference(NOT_ALIGNED, None, None, None, None, None, None)
        return
    if rows.rule == "row_order":
        for place in range(min(len(gold.rows), len(pred.rows))):
            yield from _told("moved", (place, place), _apart(pairs, place, place), (kept, mapping), (gold, pred))
        return
    _, together = beside(pairs, rows.missing, rows.extra, len(kept))
    if not together and len(rows.missing) == len(rows.extra) == 1:
        together = [(rows.missing[0], rows.extra[0])]
    missing, extra = left_over(rows.missing, rows.extra, together)
    for i, k in together:
        yield from _told("differs", (i, k), _apart(pairs, i, k), (kept, mapping), (gold, pred))
    for i in missing:
        yield from _lonely("missing", i, gold.rows[i], ours)
    for k in extra:
        yield from _lonely("extra", k, pred.rows[k], theirs)


def _faceless(
    gold: Relation,
    pred: Relation,
    policy: Policy,
    found: Comparison,
    faces: tuple[tuple[int, ...], tuple[int, ...]],
) -> Iterator[CellDifference]:
    """Yield a line for each column that only one side has, where the columns cannot agree."""
    if found.rule not in ("columns", "extra_columns", "names"):
        return
    for place in compared(gold, policy):
        if place not in faces[0]:
            yield CellDifference("missing column", None, None, gold.columns[place].name, None, None, None)
    for place in compared(pred, policy):
        if place not in faces[1]:
            yield CellDifference("extra column", None, None, None, pred.columns[place].name, None, None)


def _faced(
    gold: Relation, pred: Relation, policy: Policy, found: Comparison
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return gold columns and the predicted ones they face: as compared, else by name, and the rest by position."""
    if any(face is not None for face in found.columns):
        pairs = [(place, face) for place, face in enumerate(found.columns) if face is not None]
    else:
        left = list(compared(pred, policy))
        named = {}
        for place in compared(gold, policy):
            name = gold.columns[place].name.casefold()
            face = next((one for one in left if pred.columns[one].name.casefold() == name), None)
            if face is not None:
                named[place] = face
                left.remove(face)
        rest = [place for place in compared(gold, policy) if place not in named]
        pairs = sorted((named | dict(zip(rest, left, strict=False))).items())
    return tuple(place for place, _ in pairs), tuple(face for _, face in pairs)


def _apart(pairs: RowJudge, ours: int, theirs: int) -> list[int]:
    """Return the places of the column pairs in which two rows are not equal."""
    width = len(pairs.gold[ours])
    return [place for place in range(width) if not pairs.same(ours, theirs, (place,))]


def _told(
    kind: str,
    rows: tuple[int, int],
    places: Sequence[int],
    faces: tuple[tuple[int, ...], tuple[int, ...]],
    sides: tuple[Relation, Relation],
) -> Iterator[CellDifference]:
    """Yield the differing cells of two rows."""
    gold, pred = sides
    for place in places:
        ours, theirs = faces[0][place], faces[1][place]
        names = gold.columns[ours].name, pred.columns[theirs].name
        cells = gold.rows[rows[0]][ours], pred.rows[rows[1]][theirs]
        yield CellDifference(kind, *rows, *names, *cells)


def _lonely(kind: str, index: int, row: Row, names: Sequence[str]) -> Iterator[CellDifference]:
    """Yield the cells of a row that one side alone has."""
    for name, cell in zip(names, row, strict=True):
        if kind == "missing":
            yield CellDifference(kind, index, None, name, None, cell, None)
        else:
            yield CellDifference(kind, None, index, None, name, None, cell)
