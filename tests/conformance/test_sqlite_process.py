"""SQLite in jailed workers passes the execution conformance suite."""

from __future__ import annotations

import pytest

from sqlassay.dialect_adapters.conformance import ExecutionConformance
from sqlassay.dialect_adapters.conformance_write import ChangeConformance


@pytest.mark.jail
class TestSqliteProcess(ExecutionConformance):
    """SQLite by the process provider."""

    dialect = "sqlite"
    provider = "process"
    leak = ("CREATE TEMPORARY TABLE kept (id INT)", "SELECT count(*) AS c FROM sqlite_master")


@pytest.mark.jail
class TestSqliteProcessChanges(ChangeConformance):
    """Changes on SQLite by the process provider."""

    dialect = "sqlite"
    provider = "process"
