"""The sums that prove a load: each kind of loss is named."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from cases.errors import InputError
from cases.relation import Kind
from cases.snapshot import ColumnDef, ForeignKey, Snapshot, TableDef
from dialect_adapters.tally import Tally, check_loadable

TABLE = TableDef(
    "t",
    (
        ColumnDef("i", Kind.INT),
        ColumnDef("d", Kind.DECIMAL),
        ColumnDef("f", Kind.FLOAT64),
        ColumnDef("s", Kind.TEXT),
        ColumnDef("b", Kind.BOOL),
    ),
)
ROWS = [(1, Decimal("0.10"), 0.1, "ü", True), (2, Decimal("0.20"), 0.2, "ab", None), (None, None, None, None, None)]
HELD = (3, 2, 3, 2, Decimal("0.30"), 2, 0.30000000000000004, 2, 4, 1)


def tally() -> Tally:
    made = Tally(TABLE)
    assert list(made.watch(iter(ROWS))) == ROWS
    return made


def test_a_whole_load_has_no_difference() -> None:
    """Equal counts, sums and bytes are no difference."""
    assert tally().difference(HELD) is None


@pytest.mark.parametrize(
    ("place", "held", "named"),
    [
        (0, 2, "3 rows were sent, 2 are held"),
        (1, 1, "column i: 2 values were sent, 1 are held"),
        (2, 4, "column i: values changed"),
        (4, Decimal("0.3001"), "column d: values changed"),
        (6, 0.31, "column f: values changed"),
        (6, float("nan"), "column f: values changed"),
        (8, 3, "column s: values changed"),
        (9, 0, "column b: 1 values were sent, 0 are held"),
    ],
)
def test_each_loss_is_named(place: int, held: object, named: str) -> None:
    """A lost row, a value gone NULL, a rounded number and a cut text are each named."""
    answer = list(HELD)
    answer[place] = held
    assert named in (tally().difference(answer) or "")


def test_values_without_a_sum_are_counted_only() -> None:
    """Infinity has no sum that could be compared; its column is still counted."""
    made = Tally(TableDef("t", (ColumnDef("f", Kind.FLOAT64),)))
    list(made.watch(iter([(float("inf"),)])))
    assert made.difference((1, 1, float("inf"))) is None


def test_the_question_asks_for_the_same_figures() -> None:
    """The engine is asked for counts, sums of numbers and bytes of texts, in the order they are compared."""
    assert tally().question("t", lambda name: f'"{name}"') == (
        'SELECT count(*), count("i"), sum("i"), count("d"), sum("d"), count("f"), sum("f"), count("s"), '
        'sum(octet_length("s")), count("b") FROM t'
    )


def test_a_snapshot_without_anything_for_the_dialect_is_refused() -> None:
    """An empty database is never baked for a pack that forgot a dialect's script."""
    scripted = Snapshot("s", "s", "x", scripts={"sqlite": (Path("s.sql"),)})
    check_loadable(scripted, "sqlite")
    with pytest.raises(InputError, match="nothing to load into mysql"):
        check_loadable(scripted, "mysql")


def test_an_enforced_reference_to_no_table_is_refused() -> None:
    """A reference that cannot be enforced is refused where the source asks for enforcement, else only recorded."""
    table = replace(TABLE, foreign_keys=(ForeignKey(("i",), "gone", ("id",)),))
    check_loadable(Snapshot("s", "s", "x", (table,)), "mysql")
    with pytest.raises(InputError, match="'gone'"):
        check_loadable(Snapshot("s", "s", "x", (table,), enforce_foreign_keys=True), "mysql")
