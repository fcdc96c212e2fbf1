"""Postgres in containers passes the execution conformance suite."""

from __future__ import annotations

import pytest

from sqlassay.dialect_adapters.conformance import ExecutionConformance
from sqlassay.dialect_adapters.conformance_write import ChangeConformance


@pytest.mark.docker
class TestPostgresDocker(ExecutionConformance):
    """Postgres by the docker provider."""

    dialect = "postgres"
    provider = "docker"
    other_database = ("SELECT * FROM secret", "SELECT * FROM beta.secret", "SELECT * FROM beta.public.secret")
    leak = ("SET application_name = 'left over'", "SHOW application_name")
    spy = "SELECT * FROM pg_stat_activity"


@pytest.mark.docker
class TestPostgresDockerChanges(ChangeConformance):
    """Changes on Postgres by the docker provider."""

    dialect = "postgres"
    provider = "docker"
