"""DuckDB in jailed workers passes the execution conformance suite."""

from __future__ import annotations

import importlib.util

import pytest

from sqlassay.dialect_adapters.conformance import ExecutionConformance
from sqlassay.dialect_adapters.conformance_write import ChangeConformance

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(importlib.util.find_spec("_duckdb") is None, reason="the duckdb package is not installed"),
]
SLOW = "SELECT count(*) AS c FROM big a, big b, big c WHERE (a.id * b.id + c.id) % 7 = 3"
"""The suite's own slow query, which DuckDB turns into a join, asks for more memory than a session may have."""


class TestDuckdbProcess(ExecutionConformance):
    """DuckDB by the process provider."""

    dialect = "duckdb"
    provider = "process"
    slow = SLOW
    leak = ("SET VARIABLE kept = 1", "SELECT getvariable('kept') AS kept")


class TestDuckdbProcessChanges(ChangeConformance):
    """Changes on DuckDB by the process provider; CHAR(19) is as long as any text there."""

    dialect = "duckdb"
    provider = "process"
    slow = SLOW
    moment = "strftime(CURRENT_TIMESTAMP, '%Y-%m-%d %H:%M:%S')"
