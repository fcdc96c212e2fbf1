"""How the state of a DuckDB database is read: schema as relations, checksums of large tables, trusted setup."""

# ruff: noqa: S608 (every question is put together from constants of our own and quoted names)

from __future__ import annotations

from collections.abc import Sequence

from sqlassay.cases.errors import GoldBrokenError
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, StatementError, StateRules
from sqlassay.dialect_adapters.duckdb.session import DuckdbSession

_OWN = "database_name = current_database() AND NOT coalesce(internal, false)"
_NAME = "CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || {}"
_TABLE = f"{_NAME.format('table_name')} AS table_name"

_COLUMNS = f"""
SELECT {_TABLE}, column_name, data_type AS type, is_nullable, column_default, comment, column_index AS position
FROM duckdb_columns() WHERE {_OWN} ORDER BY schema_name, table_oid, column_index
"""
_TABLES = f"""
SELECT {_TABLE}, 'table' AS kind, comment FROM duckdb_tables() WHERE {_OWN} AND NOT temporary
UNION ALL SELECT {_NAME.format("view_name")}, 'view', comment FROM duckdb_views() WHERE {_OWN} AND NOT temporary
"""
_CONSTRAINTS = """
SELECT CASE schema_name WHEN 'main' THEN '' ELSE schema_name || '.' END || table_name AS table_name,
  constraint_type AS kind, constraint_text AS definition, constraint_name
FROM duckdb_constraints() WHERE database_name = current_database() AND constraint_type <> 'NOT NULL'
"""
_INDEXES = f"""
SELECT {_TABLE}, index_name, is_unique, expressions, comment
FROM duckdb_indexes() WHERE database_name = current_database()
"""
_SEQUENCES = f"""
SELECT {_NAME.format("sequence_name")} AS sequence_name, start_value, min_value, max_value, increment_by, cycle,
  last_value FROM duckdb_sequences() WHERE database_name = current_database() AND NOT temporary
"""
_TYPES = f"""
SELECT {_NAME.format("type_name")} AS type_name, logical_type, array_to_string(labels, ',') AS labels
FROM duckdb_types() WHERE {_OWN} AND logical_type IS NOT NULL
"""
_MACROS = f"""
SELECT {_NAME.format("function_name")} AS macro, function_type, array_to_string(parameters, ',') AS parameters,
  macro_definition FROM duckdb_functions() WHERE {_OWN} AND macro_definition IS NOT NULL
"""
_LISTED = f"""
SELECT table_name, nullif(schema_name, 'main'), 't' FROM duckdb_tables() WHERE {_OWN} AND NOT temporary
UNION ALL SELECT view_name, nullif(schema_name, 'main'), 'v' FROM duckdb_views() WHERE {_OWN} AND NOT temporary
ORDER BY 3, 2, 1
"""


def _checksum(target: str, columns: Sequence[str]) -> str:
    """Return the question for two independent sums over a table's rows."""
    listed = ", ".join(columns)
    sums = ", ".join(f"sum(hash({listed}, {seed})::HUGEINT)" for seed in (0, 1))
    return f"SELECT count(*), {sums} FROM {target}"


STATE = StateRules(
    tables=_LISTED,
    schema=(
        ("columns", _COLUMNS),
        ("tables", _TABLES),
        ("constraints", _CONSTRAINTS),
        ("indexes", _INDEXES),
        ("sequences", _SEQUENCES),
        ("types", _TYPES),
        ("macros", _MACROS),
    ),
    checksum=_checksum,
)
"""Views are read by what they show, not by their text."""


def set_up(endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
    """Run trusted SQL, one text after another, each kept as a whole.

    Raises:
        GoldBrokenError: a statement failed.
    """
    limits = Limits(timeout=300.0)
    session = DuckdbSession(endpoint, database, Role.HARNESS, pins)
    try:
        for script in scripts:
            session.script(script, limits)
    except StatementError as error:
        raise GoldBrokenError(f"setup_sql failed: {error.message}") from None
    finally:
        session.close()
