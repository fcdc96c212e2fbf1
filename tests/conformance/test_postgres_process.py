"""Postgres of this machine, jailed, passes the execution conformance suite."""

from __future__ import annotations

import pytest

from sqlassay.cases.errors import SqlassayError
from sqlassay.dialect_adapters.conformance import ExecutionConformance
from sqlassay.dialect_adapters.conformance_write import ChangeConformance, Yard
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.sandboxes.process.programs import host_programs


def unavailable() -> str:
    """Return why no Postgres of this machine can be jailed, or nothing."""
    try:
        host_programs(RECIPE)
    except SqlassayError as error:
        return error.message
    return ""


pytestmark = [pytest.mark.jail, pytest.mark.skipif(bool(unavailable()), reason=unavailable())]


class TestPostgresProcess(ExecutionConformance):
    """Postgres by the process provider."""

    dialect = "postgres"
    provider = "process"
    other_database = ("SELECT * FROM secret", "SELECT * FROM beta.secret", "SELECT * FROM beta.public.secret")
    leak = ("SET application_name = 'left over'", "SHOW application_name")
    spy = "SELECT * FROM pg_stat_activity"


class TestPostgresProcessChanges(ChangeConformance):
    """Changes on Postgres by the process provider."""

    dialect = "postgres"
    provider = "process"

    def test_a_pinned_clock_holds_for_setup_and_statement(self, yard: Yard) -> None:
        """Moments that are stored are the pinned one, where this machine has libfaketime."""
        if not host_programs(RECIPE).preload:
            pytest.skip("libfaketime is not installed, which the report lists as missing")
        super().test_a_pinned_clock_holds_for_setup_and_statement(yard)
