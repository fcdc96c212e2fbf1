"""What a function's name may reach on DuckDB besides the function that the list means."""

from __future__ import annotations

import importlib
from contextlib import closing

from duckdb_servers import installed

from dialect_adapters.duckdb.grammar import RULES

pytestmark = installed


def test_no_allowed_name_is_a_table_macro_too() -> None:
    """A macro of the engine's own in FROM reads the table that its argument names, past every check of tables."""
    engine = importlib.import_module("duckdb")
    with closing(engine.connect(config={"threads": 1})) as db:
        found = db.execute(
            "SELECT function_name FROM duckdb_functions() WHERE function_type = 'table_macro'"
        ).fetchall()
    macros = {str(name) for (name,) in found}
    assert {"histogram", "histogram_values"} <= macros
    assert RULES.functions.isdisjoint(macros)
