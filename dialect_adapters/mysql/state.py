"""How the state of a database of MySQL's family is read: schema as relations, checksums of large tables, setup."""

# ruff: noqa: S608 (every question is put together from constants of our own and quoted names)

from __future__ import annotations

from collections.abc import Sequence

import pymysql

from sqlassay.cases.errors import GoldBrokenError
from sqlassay.dialect_adapters.contract import Endpoint, Pins, StateRules
from sqlassay.dialect_adapters.mysql.digest import row_sum
from sqlassay.dialect_adapters.mysql.scripts import run_statement, statements_of
from sqlassay.dialect_adapters.mysql.session import ADMIN, connect, pinned

_COLUMNS = """
SELECT table_name, column_name, column_type, is_nullable, column_default, extra, collation_name, generation_expression,
  ordinal_position AS position
FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position
"""
_TABLES = """
SELECT table_name, table_type, engine, table_collation FROM information_schema.tables WHERE table_schema = DATABASE()
"""
_CONSTRAINTS = """
SELECT t.table_name, t.constraint_type, t.enforced,
  (SELECT group_concat(k.column_name, ifnull(concat(' > ', k.referenced_table_name, '.', k.referenced_column_name), '')
      ORDER BY k.ordinal_position) FROM information_schema.key_column_usage k
    WHERE k.constraint_schema = t.constraint_schema AND k.constraint_name = t.constraint_name
      AND k.table_name = t.table_name) AS constrained,
  r.update_rule, r.delete_rule, c.check_clause, t.constraint_name
FROM information_schema.table_constraints t
LEFT JOIN information_schema.referential_constraints r ON r.constraint_schema = t.constraint_schema
  AND r.constraint_name = t.constraint_name AND r.table_name = t.table_name
LEFT JOIN information_schema.check_constraints c ON t.constraint_type = 'CHECK'
  AND c.constraint_schema = t.constraint_schema AND c.constraint_name = t.constraint_name
WHERE t.table_schema = DATABASE()
"""
# An index that backs a constraint may have a name the engine chose, so its name counts no more than the constraint's.
_INDEXES = """
SELECT s.table_name, max(s.non_unique) AS non_unique, s.index_type,
  group_concat(ifnull(s.column_name, s.expression), ' ', ifnull(s.collation, ''), ' ', ifnull(s.sub_part, '')
    ORDER BY s.seq_in_index) AS indexed,
  if(count(t.constraint_name), '', s.index_name) AS index_name
FROM information_schema.statistics s
LEFT JOIN information_schema.table_constraints t ON t.constraint_schema = s.table_schema
  AND t.table_name = s.table_name AND t.constraint_name = s.index_name
WHERE s.table_schema = DATABASE() GROUP BY s.table_name, s.index_name, s.index_type
"""
_SEQUENCES = """
SELECT table_name, auto_increment FROM information_schema.tables
WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL
"""
_TRIGGERS = """
SELECT event_object_table AS table_name, trigger_name, action_timing, event_manipulation, action_order,
  action_statement FROM information_schema.triggers WHERE trigger_schema = DATABASE()
"""
_ROUTINES = """
SELECT routine_name, routine_type, routine_definition FROM information_schema.routines
WHERE routine_schema = DATABASE()
"""
_VIEWS = """
SELECT table_name, check_option, security_type FROM information_schema.views WHERE table_schema = DATABASE()
"""
_COMMENTS = """
SELECT table_name, NULL AS column_name, table_comment AS comment FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' AND table_comment <> ''
UNION ALL SELECT table_name, column_name, column_comment FROM information_schema.columns
WHERE table_schema = DATABASE() AND column_comment <> ''
"""
_LISTED = """
SELECT table_name, NULL, if(table_type = 'VIEW', 'v', 't') FROM information_schema.tables
WHERE table_schema = DATABASE() ORDER BY table_name
"""


def _checksum(target: str, columns: Sequence[str]) -> str:
    """Return the question for a sum over the hashes of a table's rows."""
    return f"SELECT COUNT(*), {row_sum(columns)} FROM {target}"  # noqa: S608 - quoted names


def state_rules(prepare: str, constraints: str, indexes: str) -> StateRules:
    """Return how a state is read, from what the servers of the family ask in ways of their own.

    Views are read by what they show, not by their text.
    """
    return StateRules(
        prepare=(prepare,),
        tables=_LISTED,
        schema=(
            ("columns", _COLUMNS),
            ("tables", _TABLES),
            ("constraints", constraints),
            ("indexes", indexes),
            ("sequences", _SEQUENCES),
            ("triggers", _TRIGGERS),
            ("routines", _ROUTINES),
            ("views", _VIEWS),
            ("comments", _COMMENTS),
        ),
        checksum=_checksum,
    )


# The server keeps old figures for a day otherwise, the next automatic key among them.
_PREPARE = "SET SESSION information_schema_stats_expiry = 0, SESSION group_concat_max_len = 1048576"

STATE = state_rules(_PREPARE, _CONSTRAINTS, _INDEXES)
"""MySQL's own state."""


def set_up(endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins, executable: str) -> None:
    """Run trusted SQL as the administrator; the logins' rights are the whole database's.

    Raises:
        GoldBrokenError: a statement failed.
    """
    with connect(endpoint, database, ADMIN) as connection:
        connection.query(f"SET SESSION {', '.join(pinned(pins))}")
        for script in scripts:
            for statement in statements_of(script, executable):
                try:
                    run_statement(connection, statement)
                except pymysql.Error as error:
                    message = error.args[-1] if error.args else type(error).__name__
                    raise GoldBrokenError(f"setup_sql failed: {message}") from None
