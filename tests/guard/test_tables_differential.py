"""A fixed sample of the soak of tables: whatever an engine reads as a table, the guard has seen as one."""

from __future__ import annotations

import importlib.util

import pytest
from table_soak import SEED, reader, soak

_DUCKDB = pytest.mark.skipif(importlib.util.find_spec("_duckdb") is None, reason="the duckdb package is not installed")
_SAMPLES = [
    pytest.param("sqlite", 1_000),
    pytest.param("duckdb", 150, marks=_DUCKDB),
    pytest.param("duckdb", 400, marks=(_DUCKDB, pytest.mark.slow)),
    *(pytest.param(dialect, 400, marks=pytest.mark.docker) for dialect in ("postgres", "mysql", "mariadb")),
]


@pytest.mark.parametrize(("dialect", "count"), _SAMPLES)
def test_no_table_an_engine_reads_is_missed(dialect: str, count: int) -> None:
    """Of random queries whose CTEs bear names of tables, none passes with a table that the guard takes for a CTE."""
    with reader(dialect) as reads:
        held = soak(dialect, count, SEED, reads)
    assert held.missed == []
    assert held.taken > count / 4
    assert held.tables > held.taken
    assert held.refused < held.taken / 3
