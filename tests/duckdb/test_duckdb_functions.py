"""What a function's name may reach on DuckDB besides the function that the list means."""

from __future__ import annotations

import importlib
from contextlib import closing

import pytest
from duckdb_servers import installed

from sqlassay.dialect_adapters.duckdb.grammar import RULES

pytestmark = installed


def test_a_table_macro_on_the_list_may_be_called_with_one_column_alone() -> None:
    """A macro in FROM reads the table its argument names, past every check of tables; none does so with one argument.

    The guard's rows say that the listed one is refused with two, however its name is written.
    """
    engine = importlib.import_module("duckdb")
    with closing(engine.connect(config={"threads": 1})) as db:
        found = db.execute(
            "SELECT function_name FROM duckdb_functions() WHERE function_type = 'table_macro'"
        ).fetchall()
        macros = {str(name) for (name,) in found}
        assert {"histogram", "histogram_values"} <= macros
        assert RULES.functions & macros == RULES.column_calls
        db.execute("CREATE TABLE gold AS SELECT 1 AS answer")
        for name in RULES.column_calls:
            assert db.execute(f'FROM "{name}"(gold, answer)').fetchall()  # what is refused does harm
            with pytest.raises(engine.BinderException):
                db.execute(f"FROM {name}(gold)")
