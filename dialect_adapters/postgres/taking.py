"""How a live Postgres is asked for its rows as text."""

from __future__ import annotations

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.postgres.native import write_native
from sqlassay.dialect_adapters.taking import TakingRules

TAKING = TakingRules(
    driver="postgresql+psycopg",
    begin=(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
        "SET LOCAL datestyle = 'ISO, YMD'",
        "SET LOCAL intervalstyle = 'iso_8601'",
        "SET LOCAL bytea_output = 'hex'",
        "SET LOCAL timezone = 'UTC'",
        "SET LOCAL extra_float_digits = 3",
    ),
    text="CAST({} AS TEXT)",
    native=write_native,
    named={"MONEY": Kind.OTHER, "INET": Kind.OTHER, "CIDR": Kind.OTHER},
)
