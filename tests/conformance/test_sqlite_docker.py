"""SQLite in containers passes the execution conformance suite."""

from __future__ import annotations

import pytest

from sqlassay.dialect_adapters.conformance import ExecutionConformance
from sqlassay.dialect_adapters.conformance_write import ChangeConformance


@pytest.mark.docker
class TestSqliteDocker(ExecutionConformance):
    """SQLite by the docker provider."""

    dialect = "sqlite"
    provider = "docker"
    leak = ("CREATE TEMPORARY TABLE kept (id INT)", "SELECT count(*) AS c FROM sqlite_master")


@pytest.mark.docker
class TestSqliteDockerChanges(ChangeConformance):
    """Changes on SQLite by the docker provider."""

    dialect = "sqlite"
    provider = "docker"
