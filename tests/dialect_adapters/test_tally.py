"""The sums that prove a load: each kind of loss is named."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, Snapshot, TableDef
from sqlassay.dialect_adapters.tally import Tally, check_loadable

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
HELD = (3, 2, 3, 2, Decimal("0.30"), 2, 0.27763173659827955, 0.1, 0.2, 2, 4, 1)


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
        (6, 0.277632, "column f: values changed"),
        (6, float("nan"), "column f: values changed"),
        (6, None, "column f: values changed"),
        (7, 0.10000000149011612, "column f: values changed"),
        (8, 0.20000000298023224, "column f: values changed"),
        (10, 3, "column s: values changed"),
        (11, 0, "column b: 1 values were sent, 0 are held"),
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
    assert made.difference((1, 1, float("inf"), float("inf"), float("inf"))) is None


def test_the_question_asks_for_the_same_figures() -> None:
    """The engine is asked for counts, sums of numbers and bytes of texts, in the order they are compared."""
    assert tally().question("t", lambda name: f'"{name}"') == (
        'SELECT count(*), count("i"), sum("i"), count("d"), sum("d"), count("f"), '
        'sum(sign("f") * ln(1 + abs("f"))), min("f"), max("f"), count("s"), '
        'sum(octet_length("s")), count("b") FROM t'
    )


FLOATS = TableDef("t", (ColumnDef("f", Kind.FLOAT64),))
ORDERED = [
    [9e15, 0.25, -9e15],
    [1e16, 1.5, -1e16],
    [1e17, 3.0, -1e17],
    [0.1, 1e17, -1e17],
    [1e308, 1.7e308, -1e308, 1.7e308],
    [5e-324, -5e-324, 0.0, -0.0],
]


def _mixed(rng: random.Random) -> list[float]:
    """Return some doubles: of any size a double can have, of a few near sizes, or half of them undone by the rest."""
    spread = rng.choice([1, 20, 1022])
    found = [rng.uniform(-1, 1) * 2.0 ** rng.randint(-spread, spread) for _ in range(rng.randint(1, 60))]
    found += [-value for value in found if rng.random() < 0.5]
    rng.shuffle(found)
    return found


def _sent(values: Sequence[float]) -> Tally:
    """Return what is known of these values once they were sent."""
    made = Tally(FLOATS)
    list(made.watch((value,) for value in values))
    return made


Ask: TypeAlias = Callable[[Sequence[float]], Sequence[object]]


@pytest.fixture(scope="module", params=["sqlite3", "duckdb"])
def ask(request: pytest.FixtureRequest) -> Iterator[Ask]:
    """Return what gives an engine's answer to the question where it holds these values."""
    with closing(pytest.importorskip(request.param).connect(":memory:")) as db:
        db.execute("CREATE TABLE t (f DOUBLE)")

        def asked(values: Sequence[float]) -> Sequence[object]:
            db.execute("DELETE FROM t")
            db.execute(f"INSERT INTO t VALUES {', '.join(['(?)'] * len(values))}", list(values))
            answer: Sequence[object] = db.execute(Tally(FLOATS).question("t", lambda name: name)).fetchone()
            return answer

        yield asked


def test_floats_agree_whatever_the_order_of_adding(ask: Ask) -> None:
    """Values of every size that cancel each other out or pass any double in sum are not taken for changed ones."""
    rng = random.Random(7)
    for values in [*ORDERED, *(_mixed(rng) for _ in range(150))]:
        for order in (values, sorted(values), sorted(values, key=abs, reverse=True)):
            assert _sent(values).difference(ask(order)) is None, values


def test_one_changed_float_is_noticed(ask: Ask) -> None:
    """A value that became a float of 32 bits, lost its sign or took another's place is noticed beside huge ones."""
    rng = random.Random(8)
    for _ in range(60):
        values = [9e15, -9e15, 1e17, *(rng.uniform(0.1, 1e9) for _ in range(40)), -1e17]
        place = rng.randrange(3, 43)
        near = struct.unpack("f", struct.pack("f", values[place]))[0]
        for other in (near, -values[place], values[place] * (1 + 1e-9), values[place - 1]):
            held = [*values[:place], other, *values[place + 1 :]]
            assert "column f: values changed" in (_sent(values).difference(ask(held)) or ""), (values, place, other)


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
