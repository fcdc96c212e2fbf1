"""The bench measures what it says, and its contenders answer."""

from __future__ import annotations

import importlib.util

import pytest
from compare_bench import permuted, rows_of, shuffled
from contenders import ANY, CONTENDERS, Contender
from measure import measure

PACKAGED = {"datacompy", "polars"}


@pytest.mark.parametrize("contender", CONTENDERS, ids=lambda one: one.name)
def test_every_contender_tells_equal_rows_from_others(contender: Contender) -> None:
    """A contender that is installed says equal for a shuffle and not for a changed cell."""
    missing = contender.code == "package" and importlib.util.find_spec(contender.name.split()[0]) is None
    if missing:
        pytest.skip(f"{contender.name} is installed by make bench-compare alone")
    names, gold = ["id", "name", "amount", "day", "kind", "note"], rows_of(50)
    wrong = [*gold[:-1], (*gold[-1][:4], 99, "other")]
    assert contender.prepare(gold, shuffled(gold), names)() is True
    assert contender.prepare(gold, wrong, names)() is False


def test_permuted_columns_are_found() -> None:
    """Our comparator says equal where the columns stand in another order."""
    gold, pred = permuted(40, 8)
    assert ANY.prepare(gold, pred, [f"c{index}" for index in range(8)])() is True


def test_memory_and_time_of_a_call_are_seen() -> None:
    """Forty MiB that a call takes and lets go are counted, and its answer comes back."""
    found = measure(lambda: lambda: len(bytearray(40 << 20)), runs=1)
    assert found is not None
    assert found.said == 40 << 20
    assert 35 < found.mebibytes < 60
    assert 0 <= found.seconds < 10


def test_a_call_that_dies_is_no_measurement() -> None:
    """A child that ends without an answer is reported as none."""
    assert measure(lambda: lambda: 1 / 0, runs=1) is None
